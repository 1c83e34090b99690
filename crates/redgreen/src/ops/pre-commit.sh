before="$0.before-redgreen"
if [ -x "$before" ]; then "$before" "$@" || exit $?; fi
exec redgreen hook git pre-commit </dev/null
