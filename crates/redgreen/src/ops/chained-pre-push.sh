# Git tells one line for each ref that is pushed; `git push --no-verify` leaves this out. A push is stopped when a range is
# refuted, and goes on when nothing could be found out.
before="$0.before-redgreen"
pushed=$(cat)
if [ -x "$before" ]; then printf '%s\n' "$pushed" | "$before" "$@" || exit $?; fi
[ -n "$pushed" ] || exit 0
status=0
while read -r local_ref local_id remote_ref remote_id; do
    # Nothing is proven of a branch that is deleted.
    case $local_id in *[!0]*) ;; *) continue ;; esac
    # The remote has nothing yet: the branch against the one that it goes into.
    case $remote_id in
        *[!0]*) range=$remote_id..$local_id ;;
        *) range=$local_id ;;
    esac
    redgreen verify "$range" </dev/null
    [ $? -eq 1 ] && status=1
done <<PUSHED
$pushed
PUSHED
exit $status
