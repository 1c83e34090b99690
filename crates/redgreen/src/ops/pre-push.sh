#!/bin/sh
# Written by `redgreen init --hook pre-push`. Git passes one line for each pushed ref. The push stops
# if a range is refuted, and continues if it is inconclusive. `git push --no-verify` skips this hook.
status=0
while read -r local_ref local_id remote_ref remote_id; do
    # A deleted branch has nothing to prove.
    case $local_id in *[!0]*) ;; *) continue ;; esac
    # The remote does not have the branch yet: compare it with its target branch.
    case $remote_id in
        *[!0]*) range=$remote_id..$local_id ;;
        *) range=$local_id ;;
    esac
    redgreen verify "$range" </dev/null
    [ $? -eq 1 ] && status=1
done
exit $status
