#!/bin/bash
# ends.sh STATUS PATTERN COMMAND...: the command ends with this status, and all that it prints, but for the end of its last line,
# matches the pattern, which is as a shell's.
said=$("${@:3}" 2>&1)
status=$?
echo "$said"
[ $status = "$1" ] || { echo "ends.sh: status $status instead of $1"; exit 1; }
# shellcheck disable=SC2053
[[ $said == $2 ]] || { echo "ends.sh: not as $2"; exit 1; }
