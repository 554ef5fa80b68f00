#!/bin/bash
# guest_test.sh BIN [NAME-PATTERN]: boots one guest with soft-RoCE devices and runs every program of the list `programs`
# there, or those whose name matches. Exit status 77 where no guest can be had.
set -u
here=$(cd "$(dirname "$0")" && pwd)
exec "$here/verbs-vm" --hosts 4 --timeout 840 -- bash "$here/programs" "$1" "${2-}"
