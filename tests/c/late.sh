#!/bin/sh
# late.sh TUTTI LATE: who waits for long is told on standard error, and not where that is switched off or nobody is that late.
set -eu
ulimit -c 0
tutti=$1 late=$2
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
for job in 0.by 1.by 5.by 1.pair; do  # TUTTI_NOTICE_S and the scene
  TUTTI_NOTICE_S=${job%.*} "$tutti" run --timeout 30 -n 2 "$late" "${job#*.}" > "$work/$job" 2>&1 &
done
wait
for scene in receive send signal chain window; do
  case $scene in chain|window) ranks=3 ;; *) ranks=2 ;; esac
  TUTTI_NOTICE_S=1 "$tutti" run --timeout 6 --grace 1 -n $ranks "$late" $scene > "$work/$scene" 2>&1 &
done
TUTTI_NOTICE_S=0 "$tutti" run --grace 1 -n 3 "$late" chain > "$work/quit" 2>&1 &
quit=$!
for _ in $(seq 100); do # until the ranks wait
  sleep 0.1
  [ -e "$work/chain" ] && grep -q waited "$work/chain" && break
done
sleep 0.5
kill -QUIT $quit || true
wait
one_line() { # one_line JOB PATTERN
  [ "$(grep -c "$2" "$work/$1")" -eq 1 ] || { echo "$1 has not one line like '$2': $(cat "$work/$1")"; exit 1; }
}
one_line 1.by '^tutti: '
# (Where starting alone takes a second, that is told, and the next wait after two.)
one_line 1.by '^tutti: rank 0 waited 1 s in a barrier, call [12] of a team of 2, for rank 1, which \(has made 1 there\|is in no call\)'
grep -q '^tutti: rank 0 waited [12] s in an alltoallv, call 2 of a team of 2[,;] .*rank 1' "$work/1.pair" || { echo "1.pair: $(cat "$work/1.pair")"; exit 1; }
for job in 0.by 5.by; do
  [ ! -s "$work/$job" ] || { echo "$job: $(cat "$work/$job")"; exit 1; }
done
told() { # told SCENE PATTERN: in the notices, of which there are several
  grep -q "^tutti: rank $2" "$work/$1" || { echo "$1 has no line like '$2': $(cat "$work/$1")"; exit 1; }
  [ "$(grep -c '^tutti: rank 0 waited [1-9]' "$work/$1")" -ge 2 ] || { echo "$1 is told once: $(cat "$work/$1")"; exit 1; }
}
told receive '0 waited [12] s in a receive of tag 8 from rank 1; unmatched here: tag 7 from rank 1 (8 bytes); rank 1 waits in a receive of tag 1 from rank 0; no other message is here; so they wait for each other$'
told send '0 waited [12] s in a send of 1048576 bytes with tag 3 to rank 1, which no receive there has matched; rank 1 waits in a send of 1048576 bytes .*; so they wait for each other$'
told signal '0 waited [12] s in tutti_wait_signal for the word at offset 16, which is 0 and is to reach 4, by rank 1; rank 1 waits in tutti_wait_signal .*; so they wait for each other$'
told chain '0 waited [1-4] s in a receive of tag 5 from rank 1; .*; rank 1 waits in a receive of tag 5 from rank 2; .*; rank 2 \(waits in no call of tutti\|is in no call of tutti, or does not answer\)$'
told chain '1 waited [1-4] s in a receive of tag 5 from rank 2; .*; rank 2 \(waits in no call of tutti\|is in no call of tutti, or does not answer\)$'
told window '1 waited [1-4] s in tutti_window_create or tutti_window_over, call 2 of a team of 3.*; rank 2 \(waits in no call of tutti\|is in no call of tutti, or does not answer\)$'
shown() { # shown JOB WAIT: the launcher's lines of three ranks, the one that waits for nobody first
  grep '^tutti run: rank' "$work/$1" > "$work/lines" && [ "$(wc -l < "$work/lines")" -eq 3 ] &&
    sed -n 1p "$work/lines" | grep -q 'rank 2 waits in no call of tutti$' &&
    sed -n 2p "$work/lines" | grep -q "rank 0 waits in $2" || { echo "$1: $(cat "$work/$1")"; exit 1; }
}
shown chain 'a receive of tag 5 from rank 1'
shown quit 'a receive of tag 5 from rank 1'
shown window 'tutti_window_create or tutti_window_over, call 2 of a team of 3'
! grep -q 'each other\|rank [01] is in no call' "$work/chain" || { echo "chain: $(cat "$work/chain")"; exit 1; }
