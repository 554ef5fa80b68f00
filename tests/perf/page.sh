#!/bin/bash
# page.sh TUTTI: a page is well-formed, needs nothing outside itself and shows every provider; JSON has the same numbers.
set -eu
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
fail() { echo "FAILED: $*"; exit 1; }
providers="shm"
"$1" info | grep -q 'ucx:tcp' && providers+=" ucx:tcp"
timeout -k 5 90 "$1" perf -n 2,3 --provider "${providers// /,}" --seconds 1 --html "$work/page.html" --json "$work/report.json" >"$work/table"

# The same page comes from the numbers that were kept.
"$1" perf --from "$work/report.json" --quiet --html "$work/again.html"
cmp "$work/page.html" "$work/again.html" || fail "the page made from the JSON is another one"

page=$work/page.html
! grep -qiE '<script|<link|<img|<iframe|src=|url\(|@import|https?:|javascript:' "$page" || fail "the page needs something outside itself"
! grep -qE '(nan|inf)[ ",]' "$page" || fail "the page has a number that is none"

# Every tag is closed, in order; every attribute is quoted; every & begins an entity.
tail -n +2 "$page" | tr '\n' ' ' | sed -E 's/<style>[^<]*<\/style>//; s/<!--[^>]*-->//g' >"$work/flat"
! grep -qE '&[^;&<]{0,12}([ <&]|$)' <(sed -E 's/&(amp|lt|gt|quot);//g' "$work/flat") || fail "a bare & in the page"
grep -oE '<[^>]*>' "$work/flat" | awk '
  /^<\// { name = $0; gsub(/[<\/> ]/, "", name); if (depth == 0 || open[depth--] != name) { print "unbalanced: " $0; exit 1 } next }
  /\/>$/ { next }
  { name = $1; gsub(/[<>]/, "", name); open[++depth] = name }
  END { if (depth != 0) { print "left open: " open[depth]; exit 1 } }' || fail "the page is not well-formed"
! grep -oE '<[^>]*>' "$work/flat" | sed 's/"[^"]*"/""/g' | grep -E '=[^"]' || fail "an attribute without quotes"

# Who measured what: the launcher's library as well as the providers'.
for fact in host processor cores kernel compiler when tutti pmix; do
  grep -qE "^  \"$fact\": \"[^\"]+\"" "$work/report.json" || fail "the JSON does not say: $fact"
done
grep -qE '"pmix": "[0-9]+\.[0-9]' "$work/report.json" || fail "the JSON names no version of PMIx"

# Each provider: in the legends of the four plots over sizes and of the one over ranks, with all its points.
for provider in $providers floor; do
  [ "$(grep -oE "</svg>$provider</li>" "$page" | wc -l)" -ge 5 ] || fail "$provider is missing in a legend"
  [ "$(grep -oE "<title>$provider, [0-9.]+ [KM]?i?B: " "$page" | wc -l)" = 44 ] || fail "$provider lacks points over sizes"
  [ "$(grep -oE "<title>$provider, [23] ranks: " "$page" | wc -l)" = 2 ] || fail "$provider lacks points over ranks"
  grep -qE "\"provider\": \"$provider\"" "$work/report.json" || fail "$provider is missing in the JSON"
  grep -qE " $provider" "$work/table" || fail "$provider is missing in the tables"
done
# The picture for a document: XML of its own, with each provider in the legend.
"$1" perf --from "$work/report.json" --quiet --svg "$work/picture.svg"
python3 -c 'import sys, xml.dom.minidom; xml.dom.minidom.parse(sys.argv[1])' "$work/picture.svg" || fail "the picture is no XML"
! grep -qE 'href="[^#]|url\(|@import|<script' "$work/picture.svg" || fail "the picture needs something outside itself"
for provider in $providers floor; do grep -q ">$provider</text>" "$work/picture.svg" || fail "$provider is missing in the picture"; done

# What --peers would ignore is refused.
"$1" perf --peers --json "$work/none.json" 2>"$work/refused" && fail "--peers --json is taken"
grep -q -- '--peers prints tables of the barrier, and does nothing with --json' "$work/refused" || fail "$(cat "$work/refused")"

echo "fine: $(wc -c <"$page") bytes"
