#!/bin/sh
# manuals.sh HEADER TUTTI BSP FOLDER: the pages that the build made (FOLDER/library, /command and /bsp) say all that the header and the
# commands say: each function's name leads to a page that has its declaration, each option and setting stands on its page. BSPlib's
# commands lie in the folder BSP.
set -eu
header=$1 tutti=$2 bsp=$3 folder=$4
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cp -r "$folder/library" "$folder/command" "$folder/bsp" "$work"
gunzip -r "$work"
failed=0
fail() { echo "FAILED: $*"; failed=1; }
plain() { sed 's/\\-/-/g; s/\\f[BR]//g; s/\\&//g; s/\\e/\\/g' "$1"; }

functions=$(sed -n 's/^TUTTI_API .*[ *]\(tutti_[a-z_0-9]*\)(.*/\1/p' "$header")
[ "$(echo "$functions" | wc -l)" -gt 100 ] || fail "the header's functions are not found"
echo "$functions" | sort > "$work/functions"
(cd "$work/library" && grep -H '^\.so ' man3/*.3) | sed 's/^man3\///; s/\.3:\.so / /' | sort > "$work/leads"  # NAME man3/PAGE.3
for page in $(cut -d' ' -f2 "$work/leads" | sort -u); do
  plain "$work/library/$page" | grep -oE '[ *]tutti_[a-z_0-9]+\(' | sed "s|^.||; s|(\$| $page|"
done | sort -u > "$work/declared"
awk 'NR == FNR { declared[$0]; next } !($0 in declared) { print "FAILED: " $2 " does not declare " $1; bad = 1 } END { exit bad }' \
  "$work/declared" "$work/leads" || failed=1
cut -d' ' -f1 "$work/leads" | comm -3 - "$work/functions" > "$work/odd"
[ ! -s "$work/odd" ] || fail "without a page, or with a page and not in the header: $(cat "$work/odd")"

# No word of the header's comments is lost.
sed -n '/^ \*/p; /^\/\*/p' "$header" | grep -v -- '---' | tr -c 'A-Za-z_' '\n' | grep -E '^[a-z]{7,}$' | sort | uniq -c > "$work/said"
for page in "$work"/library/man3/*.3 "$work/library/man7/tutti.7"; do plain "$page"; done | tr -c 'A-Za-z_' '\n' | grep -E '^[a-z]{7,}$' | sort | uniq -c > "$work/shown"
awk 'NR == FNR { shown[$2] = $1; next } shown[$2] < $1 { print "FAILED: " $2 " stands " $1 " times in the header, " shown[$2] + 0 " in the pages"; bad = 1 }
     END { exit bad }' "$work/shown" "$work/said" || failed=1

all_options_stand_on() {  # PAGE; $work/help has the options
  grep -oE '^  (-[a-z],)?--[a-z-]+' "$work/help" | grep -oE -- '--[a-z-]+' | sort -u > "$work/options"
  missing=$(plain "$1" | grep -oE -- '--[a-z-]+' | sort -u | comm -13 - "$work/options")
  [ -z "$missing" ] || fail "$(basename "$1") lacks" $missing
}
for name in bspcc bspc++ bspcxx bsprun; do
  "$bsp/$name" --help > "$work/help"
  grep -q "^Usage: $name " "$work/help" || fail "$name --help: $(cat "$work/help")"
  all_options_stand_on "$work/bsp/man1/$name.1"
  [ -s "$work/options" ] || fail "$name --help tells no options"
done
for page in "$work"/command/man1/*.1; do
  words=$(basename "$page" .1 | sed 's/^tutti-*//; s/bsp-report/bsp_report/; s/-/ /g; s/_/-/')
  # shellcheck disable=SC2086 # several words
  "$tutti" $words --help > "$work/help"
  all_options_stand_on "$page"
  for sub in $(awk '/^Subcommands:/ { on = 1; next } /^$/ { on = 0 } on && /^  [^ ]/ { print $1 }' "$work/help"); do
    [ -e "${page%.1}-$sub.1" ] || fail "tutti $words $sub has no page"
  done
done
"$tutti" info --config | awk '{ print "TUTTI_" toupper($1) }' | sort > "$work/settings"
missing=$(plain "$work/command/man7/tutti-settings.7" | sed -n 's/^[.]B \(TUTTI_[A-Z0-9_]*\)$/\1/p' | sort | comm -13 - "$work/settings")
[ -z "$missing" ] || fail "these settings are on no page:" $missing
exit $failed
