#!/bin/bash
# launch_test.sh CASE: one case of the launcher's behaviour, on the real binaries. BIN is where they are.
# A case is the function of its name; it fails by calling `fail`, and is skipped (77) by calling `skip`.
set -u
work=$(mktemp -d)
mkdir "$work/tmp"
export TMPDIR=$work/tmp
launcher=
trap '[ -z "$launcher" ] || kill -KILL "$launcher" 2>/dev/null; rm -rf "$work"' EXIT
cd "$work" || exit 1
unset PMIX_NAMESPACE PMIX_RANK PMI_FD PMI_SIZE SLURM_PROCID

fail() { echo "FAILED: $*"; echo "--- stdout"; cat out; echo "--- stderr"; cat err; exit 1; }
skip() { echo "SKIPPED: $*"; exit 77; }

# start STATUS command...: runs it under a watchdog, output to the files out and err, and checks the exit status.
start() {
  local expected=$1 got; shift
  timeout -k 5 60 "$@" >out 2>err </dev/null
  got=$?
  [ $got = "$expected" ] || fail "'$*' ended with status $got instead of $expected"
}
run() { local expected=$1; shift; start "$expected" "$BIN/tutti" run "$@"; }
rank=$BIN/rank_program
says() { grep -qE -- "$1" "$2" || fail "$2 lacks a line like: $1"; }
count() { local got; got=$(grep -cE -- "$1" "$2"); [ "$got" = "$3" ] || fail "$got lines instead of $3 in $2 like: $1"; }
silent() { [ -s "$1" ] && fail "$1 is not empty"; return 0; }
one_line() { [ "$(wc -l <"$1")" = 1 ] || fail "$1 is not one line"; }
none_left() { # none_left MARK: no process has the mark on its command line, after a moment
  for _ in $(seq 100); do pgrep -f "$1" >/dev/null || return 0; sleep 0.1; done
  fail "processes are left: $(pgrep -af "$1")"
}
await() { # await FILE PATTERN
  for _ in $(seq 300); do grep -qE -- "$2" "$1" 2>/dev/null && return 0; sleep 0.1; done
  fail "$1 never said $2"
}

# --- joining ---------------------------------------------------------------------------------------------------
ranks_exchange() {
  for n in 1 2 3 8 20; do  # from 9 on rank 0 gets what is published for all
    run 0 -n $n "$rank" exchange 5 job
    for ((r = 0; r < n; ++r)); do count "^rank $r of $n\$" out 1; done
    count '^exchanged 5$' out $n
    [ "$(grep ^job out | sort -u | wc -l)" = 1 ] || fail "the ranks disagree about the job's id"
    grep ^job out | sort -u >>ids
    silent err
  done
  [ "$(sort -u ids | wc -l)" = 5 ] || { cat ids; fail "two jobs had the same id"; }
}
alone() {
  start 0 "$rank" exchange 3
  says '^rank 0 of 1$' out
  silent err
}
openmpi() {
  local mpirun; mpirun=$(command -v mpirun.openmpi) || skip "mpirun.openmpi is not installed"
  start 0 "$mpirun" --allow-run-as-root --oversubscribe -n 4 "$rank" exchange 5 job
  for r in 0 1 2 3; do count "^rank $r of 4\$" out 1; done
  count '^exchanged 5$' out 4
  [ "$(grep ^job out | sort -u | wc -l)" = 1 ] || fail "the ranks disagree about the job's id"
}
openmpi_dead_rank() {
  local mpirun; mpirun=$(command -v mpirun.openmpi) || skip "mpirun.openmpi is not installed"
  for when in 0 0.5; do  # while the others are in the exchange; before they begin it
    timeout -k 5 60 "$mpirun" --allow-run-as-root --oversubscribe --enable-recovery -n 3 \
      "$rank" exchange 1 die 1 9 idle $when fence 3 >out 2>err </dev/null
    # mpirun (Open MPI 4.1.4) leaves the exchange open now and then, in one of four: then the deadline is what ends it, and
    # the rank is named all the same, as one that did not take part.
    local told='peer dead \(soon\)' name='died before it had joined the job by tutti_init'
    grep -q 'timed out' out && told='timed out \(late\)' name='did not take part'
    count "^rank [02] fence: $told\$" out 2
    count "rank 1 $name\$" err 2
  done
}
hydra() {
  local mpiexec; mpiexec=$(command -v mpiexec.hydra) || skip "mpiexec.hydra is not installed"
  start 3 env --ignore-signal=PIPE "$mpiexec" -n 2 "$rank"  # which may write to a rank that has ended
  count "MPICH.*does not speak PMIx.*tutti run" err 2
  silent out
}
unknown_variable() {
  TUTTI_BARIER=x run 2 -n 1 "$rank"
  says 'TUTTI_BARIER.*TUTTI_BARRIER' err
}
unlike_settings() {  # every rank is told which
  run 1 --keep-going -n 3 sh -c '[ "$PMIX_RANK" != 1 ] || export TUTTI_BARRIER=rds TUTTI_SCAN=linear; exec "$0"' "$BIN/hello"
  count 'rank 1 has other settings than rank 0: barrier=rds for barrier=auto, scan=linear for scan=auto; give all ranks' err 3
}
any_pmix_client() {
  for what in facts subset modex events; do
    run 0 -n 4 "$BIN/pmix_client" $what
    silent out; silent err
  done
}
inside_each_other() { # a rank that is a launcher itself
  run 0 -n 2 "$BIN/tutti" run -n 3 "$rank" exchange 2
  for r in 0 1 2; do count "^rank $r of 3\$" out 2; done
}

# --- programs of MPI -----------------------------------------------------------------------------------------------
mpi_programs() { # become n jobs of one rank each: said in one line, by the file alone
  local mpi compiler
  echo 'int MPI_Init(int *, char ***); int main(void) { return MPI_Init(0, 0); }' >program.c
  for mpi in openmpi:libmpi.so mpich:libmpich.so; do
    compiler=$(command -v mpicc.${mpi%:*}) || continue
    "$compiler" program.c -o program || fail "cannot compile"
    run 0 -n 2 ./program
    says "^tutti run: \./program is linked with ${mpi#*:}\.[0-9]+, .* 2 jobs of one rank each; start it by the mpirun" err
    one_line err
    run 0 -n 1 ./program # the job that MPI takes it for
    silent err
  done
  [ -e program ] || skip "no MPI is installed"
}
# each_mpi FUNCTION: calls it with each MPI that has a compiler and a library of tutti's, its compiler, and the other MPI.
each_mpi() {
  local mpi other some=
  export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 OMPI_MCA_rmaps_base_oversubscribe=1 OMPI_MCA_mpi_yield_when_idle=1
  for mpi in openmpi mpich; do
    other=openmpi; [ $mpi = mpich ] || other=mpich
    command -v mpicc.$mpi >/dev/null && [ -f "$BIN/../lib/libtutti-$mpi.so" ] || continue
    some=1
    "$1" $mpi mpicc.$mpi $other
  done
  [ "$some" ] || skip "no MPI is installed"
}

mpi_children() { each_mpi children_of; }  # what a rank starts is not tutti's, and may be another MPI's
children_of() {
  cat > program.c <<'C'
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
int main(int argc, char **argv, char **environment) {
  int rank, sum = 0, one = 1, ended = 0;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  if (rank == 0) printf("%d ranks\n", sum), fflush(stdout);
  if (rank == 0 && argc > 1) ended = system(argv[1]);
  for (; *environment; ++environment)
    if (rank == 0 && argc == 1 && strncmp(*environment, "LD_PRELOAD=", 11) == 0) puts(*environment);
  MPI_Finalize();
  return ended != 0;
}
C
  local library; library=$(realpath "$BIN/../lib/libtutti-$1.so")
  "$2" program.c -o "program.$1" || fail "cannot compile"
  start 0 "$BIN/tutti" mpi -n 2 "./program.$1" 'echo "child: ${LD_PRELOAD-nothing}"'
  says '^child: nothing$' out
  start 0 env LD_PRELOAD="libm.so.6 libdl.so.2" "$BIN/tutti" mpi -n 2 "./program.$1" 'echo "child: ${LD_PRELOAD-nothing}"'
  says '^child: libm\.so\.6:libdl\.so\.2$' out
  start 0 env LD_PRELOAD=libm.so.6 "$BIN/tutti" mpi -n 2 "./program.$1"
  says '^LD_PRELOAD=libm\.so\.6$' out
  start 0 env TUTTI_MPI_REPORT=1 "$BIN/tutti" mpi -n 2 --mpi "$1" sh -c "env ./program.$1"  # on the way to the rank it stays
  says 'MPI calls of 2 ranks, by time; by tutti over' err
  command -v "mpicc.$3" >/dev/null || return 0
  "mpicc.$3" program.c -o "program.$3" || fail "cannot compile"
  start 0 "$BIN/tutti" mpi -n 2 "./program.$1" "mpiexec.$3 -n 3 ./program.$3"
  says '^3 ranks$' out
  start 0 env -u LD_PRELOAD "$BIN/tutti" mpi -n 2 "./program.$1" "LD_PRELOAD=$library:libm.so.6 ./program.$3"
  says '^1 ranks$' out
  says '^LD_PRELOAD=libm\.so\.6$' out
  says '^tutti: this library is for .*, and the program is of another MPI \(.*\); it runs without tutti$' err
}

mpi_paths_are_kept() { each_mpi paths_of; }  # the launcher changes neither PATH nor LD_LIBRARY_PATH of the ranks
paths_of() {
  mkdir -p first
  printf '#!/bin/sh\necho "ours: $PATH $LD_LIBRARY_PATH"\n' > first/cat; chmod +x first/cat
  start 0 env PATH="$PWD/first:$PATH" LD_LIBRARY_PATH="$PWD/first" "$BIN/tutti" mpi -n 2 --mpi "$1" sh -c cat
  count "^ours: $PWD/first:$PATH $PWD/first\$" out 2
  start 0 env PATH="$PWD/first:$PATH" "$BIN/tutti" mpi -n 1 --mpi "$1" cat
  says "^ours: $PWD/first" out
}

mpi_library_in_odd_folders() { each_mpi refused_from; }  # LD_PRELOAD, or Open MPI's -x, would end the path there
refused_from() {
  local folder
  for folder in 'a b' a:b 'a;b'; do
    mkdir -p "$folder/bin" "$folder/lib"
    cp "$BIN/tutti" "$folder/bin"
    cp "$BIN/../lib/libtutti-$1.so" "$BIN/../lib/"libtutti.so* "$folder/lib"
    start 2 "./$folder/bin/tutti" mpi -n 2 --mpi "$1" true
    one_line err
    says "^tutti mpi: the path of .*/$folder/lib/libtutti-$1\.so has a blank, a colon or a semicolon, .*install tutti in another folder" err
  done
}

led_away_by_mpi() { # Open MPI's MPI_Init puts a job of one into the environment; tutti does not join that
  local compiler; compiler=$(command -v mpicc.openmpi) || skip "Open MPI is not installed"
  cat >both.c <<'C'
#include <mpi.h>
#include <stdio.h>
#include <string.h>
#include <tutti.h>
int main(int argc, char **argv) {
  int first = argc > 1;
  tutti_t job = NULL;
  if (!first) MPI_Init(&argc, &argv);
  tutti_status_t s = tutti_init(NULL, &job);
  if (s == TUTTI_OK) printf("rank %u of %u\n", tutti_rank(job), tutti_size(job));
  else printf("%s: %s\n", tutti_strstatus(s), tutti_error_text(NULL));
  if (first) MPI_Init(&argc, &argv);
  tutti_finalize(&job);
  return MPI_Finalize();
}
C
  "$compiler" both.c -o both -I"$API" -L"$BIN/../lib" -ltutti -Wl,-rpath,"$BIN/../lib" || fail "cannot compile"
  export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
  run 0 -n 2 ./both
  count '^not available: .*MPI_Init of Open MPI .*mpirun.*before MPI_Init$' out 2
  run 0 -n 2 ./both tutti-first
  count '^rank [01] of 2$' out 2
  start 0 mpirun.openmpi --oversubscribe -n 2 ./both
  count '^rank [01] of 2$' out 2
}

reloaded() { # lives of the library in one process, one after the other and two at once: none reads what another has published
  cat >lives.c <<'C'
#include <dlfcn.h>
#include <stdio.h>
#include <tutti.h>
typedef struct { /* what of a library is called */
  void *at;
  tutti_status_t (*init)(const tutti_options_t *, tutti_t *), (*finalize)(tutti_t *), (*barrier)(tutti_team_t);
  tutti_team_t (*world)(tutti_t);
  const char *(*text)(tutti_t);
  tutti_t job;
} life;
static int begin(life *l, const char *path) {
  l->at = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  if (!l->at) return fprintf(stderr, "%s\n", dlerror()), 1;
  *(void **)&l->init = dlsym(l->at, "tutti_init"), *(void **)&l->finalize = dlsym(l->at, "tutti_finalize");
  *(void **)&l->barrier = dlsym(l->at, "tutti_barrier"), *(void **)&l->world = dlsym(l->at, "tutti_world");
  *(void **)&l->text = dlsym(l->at, "tutti_error_text");
  if (l->init(NULL, &l->job) != TUTTI_OK || l->barrier(l->world(l->job)) != TUTTI_OK) return fprintf(stderr, "%s: %s\n", path, l->text(l->job)), 1;
  return 0;
}
static int end(life *l) {
  if (l->barrier(l->world(l->job)) != TUTTI_OK || l->finalize(&l->job) != TUTTI_OK) return fprintf(stderr, "%s\n", l->text(l->job)), 1;
  return dlclose(l->at);
}
int main(int argc, char **argv) {
  life one, other;
  for (int i = 1; i < argc; ++i)
    if (begin(&one, argv[i]) || end(&one)) return 1;
  for (int i = 0; i < 3; ++i)
    if (begin(&one, argv[1]) || begin(&other, argv[2]) || end(&one) || end(&other)) return 1;
  return puts("lived"), 0;
}
C
  cc lives.c -o lives -I"$API" -ldl || fail "cannot compile"
  local library; library=$(realpath "$BIN/../lib/libtutti.so")
  cp "$library" copy.so
  export TUTTI_PROVIDER=shm
  run 0 -n 3 ./lives "$library" "$PWD/copy.so" "$library" "$library"
  count '^lived$' out 3
  silent err
}

# --- the end of a rank -------------------------------------------------------------------------------------------
death_by_signal() {
  for s in 9:SIGKILL 11:SIGSEGV 15:SIGTERM 6:SIGABRT; do
    run $((128 + ${s%:*})) -n 4 "$rank" die 2 "${s%:*}" idle 30
    says "^tutti run: rank 2 \(pid [0-9]+\) was killed by ${s#*:}.*; ending ranks 0, 1, 3\$" err
    one_line err
  done
}
death_by_exit() {
  run 7 -n 3 "$rank" die 1 exit7 idle 30
  says '^tutti run: rank 1 \(pid [0-9]+\) exited with status 7; ending ranks 0, 2$' err
  one_line err
}
death_in_order() { # the others end well soon after
  for idle in 0 0.1; do
    run 5 -n 4 "$rank" exchange 1 end 2 5 idle $idle
    says '^tutti run: rank 2 .* exited with status 5' err
    one_line err
  done
}
death_that_spreads() { # the others notice and fail as well: the first is named, once
  for _ in 1 2 3 4 5; do
    run 9 -n 4 "$rank" exchange 1 die 3 exit9 insist 20
    says 'rank 3 .* status 9' err
    one_line err
  done
}
stubborn_ranks_are_killed() {
  run 4 --grace 0.3 -n 2 bash -c 'trap "" TERM; if [ $PMIX_RANK = 0 ]; then sleep 0.5; exit 4; fi; while :; do sleep 0.1; done'
  one_line err
}
children_of_ranks_end_too() {
  run 3 -n 2 bash -c 'sleep 4711.1 & if [ $PMIX_RANK = 0 ]; then sleep 0.3; exit 3; fi; wait'
  none_left 'sleep 4711\.1'
}
keep_going() {
  for when in 0 0.5 0 0 0 0 0 0 0 0; do  # the rank dies while the others are in the exchange; before they begin it
    run 137 --keep-going -n 4 "$rank" exchange 1 die 1 9 idle $when fence 20
    count '^rank [023] fence: peer dead \(soon\)$' out 3
    count '^rank 1 (died|ended) before it had joined the job by tutti_init$' err 3
    says '^tutti run: rank 1 \(pid [0-9]+\) was killed by SIGKILL \(Killed\)$' err
    says '^tutti run: 1 of 4 ranks failed$' err
    for victim in 0 9; do
      run 137 --keep-going -n 10 "$rank" exchange 1 die $victim 9 idle $when fence 20
      count '^rank [0-9] fence: peer dead \(soon\)$' out 9
    done
  done
}
keep_going_early_death() { # before the others can even meet it
  local how when
  for how in "exit 9" "kill -9 \$\$"; do
    for when in "sleep 0" "sleep 0.5"; do
      SECONDS=0
      run $([[ $how = exit* ]] && echo 9 || echo 137) --keep-going -n 3 \
        bash -c 'if [ $PMIX_RANK = 1 ]; then '"$when; $how"'; fi; exec '"$rank"
      count '^rank 1 ended before it had joined the job by tutti_init$' err 2
      says '^tutti run: 3 of 3 ranks failed$' err
      [ $SECONDS -lt 20 ] || fail "the others were told after $SECONDS s"
    done
  done
}
deaths_at_random() { # while the ranks join, and in the midst of their exchanges
  local ms dies
  RANDOM=$$; echo "seed $$"
  for _ in 1 2 3 4 5 6 7 8; do
    ms=$(printf 0.%03d $((RANDOM % 120 + 5)))
    dies="$rank exchange 100000 >/dev/null 2>&1 & sleep $ms; kill -9 \$! \$\$"
    TUTTI_TIMEOUT_S=20 run 137 --keep-going -n 4 bash -c 'if [ $PMIX_RANK = 1 ]; then '"${dies//\\/}"'; fi; exec '"$rank"' exchange 100000'
    [ "$(cat out err | grep -cE 'rank 1 (died|ended) before it had joined the job by tutti_init$')" = 3 ] || fail "not all were told of rank 1, after $ms s"
    ! grep -q 'did not end in time' out err || fail "waited for the deadline"
  done
}
early_end() { # without an error, and without having joined
  run 3 --keep-going -n 3 bash -c 'if [ $PMIX_RANK = 1 ]; then exit 0; fi; exec '"$rank"
  count '^rank 1 ended before it had joined the job by tutti_init$' err 2
}
lost_finalize() { # with status 0, and in the job still
  run 0 -n 4 "$rank" exchange 2 die 1 exit0
  says '^tutti run: rank 1 of 4 ended without tutti_finalize; what was under way may be lost$' err
  one_line err
  run 0 -n 4 bash -c 'exec "$0" die $PMIX_RANK exit0' "$rank"
  says '^tutti run: ranks 0, 1, 2, 3 of 4 ended without tutti_finalize; what was under way may be lost$' err
  one_line err
}
abort() {
  run 9 -n 3 "$BIN/pmix_client" abort
  says '^tutti run: rank 1 ended the job with status 9: no more paper$' err
}
timeout_names_the_ranks() {
  run 124 --timeout 0.5 -n 4 bash -c 'if [ $PMIX_RANK = 1 ]; then exit 0; fi; sleep 30'
  says '^tutti run: timed out after 0.5 s with ranks 0, 2, 3 of 4 still running; ending the job$' err
  one_line err
}
no_timeout_when_in_time() { run 0 --timeout 50 -n 2 true; silent err; }

# --- output and input ----------------------------------------------------------------------------------------------
lines_stay_whole() { # each line is written in pieces, from all ranks at once, to both streams
  cat >talk <<'T'
for i in $(seq 200); do for p in a b c d e; do printf "$PMIX_RANK$p$PMIX_RANK"; done; printf '\n'
  { for p in v w x; do printf "$PMIX_RANK$p$PMIX_RANK"; done; printf '\n'; } >&2; done
T
  run 0 -n 6 bash talk
  for r in 0 1 2 3 4 5; do
    count "^${r}a$r${r}b$r${r}c$r${r}d$r${r}e$r\$" out 200
    count "^${r}v$r${r}w$r${r}x$r\$" err 200
  done
  count . out 1200
}
lines_stay_in_order() { # of ranks that take turns, whenever the launcher comes to read them
  cat >turns <<'T'
take() { until [ -e turn.$PMIX_RANK.$1 ]; do sleep 0.01; done; }
pass() { echo >"turn.$1"; }
pass $PMIX_RANK.begun; take 0; echo "first $PMIX_RANK" >&$1; pass $((PMIX_RANK - 1)).0
take 1; for line in 1 2 3; do echo "$line $PMIX_RANK" >&$1; done; pass $(((PMIX_RANK + 1) % 4)).$((PMIX_RANK == 3 ? 2 : 1))
take 2; seq -f "$PMIX_RANK %.0f" 3000; pass $((PMIX_RANK + 1)).2
echo "last of $PMIX_RANK"; take 3; pass $((PMIX_RANK + 1)).3
exec 1>&- 2>&-; take 4; pass $((PMIX_RANK + 1)).4
T
  local stream r
  for stream in 1 2; do
    rm -f turn.*
    launch -n 4 bash turns $stream
    for r in 0 1 2 3; do await turn.$r.begun ''; done
    kill -STOP $launcher
    : >turn.3.0
    await turn.-1.0 '' # all have written, and none was read
    kill -CONT $launcher
    : >turn.0.1; : >turn.0.3; : >turn.0.4
    finish 0
    { for r in 3 2 1 0; do echo "first $r"; done; for r in 0 1 2 3; do printf '%s\n' "1 $r" "2 $r" "3 $r"; done; } >expected
    { [ $stream = 1 ] && cat out || cat err; } | head -n 16 | cmp - expected || fail "stream $stream is out of order"
    grep -E '^[0-3] [0-9]+$' out | tail -n +$((stream == 1 ? 13 : 1)) >rest
    for r in 0 1 2 3; do seq -f "$r %.0f" 3000; done | cmp - rest || fail "what follows is out of order"
    count '^last of [0-3]$' out 4
  done
  # one after the other to two streams that are one file
  "$BIN/tutti" run -n 2 bash -c 'if [ $PMIX_RANK = 0 ]; then for i in $(seq 200); do echo $i; echo $i >&2; done; fi' >both 2>&1
  for r in $(seq 200); do echo $r; echo $r; done | cmp - both || fail "the streams are out of order"
}
tagged_output() {
  run 0 --tag-output -n 3 bash -c 'echo one; echo; echo two >&2; printf three'
  for r in 0 1 2; do
    for line in one '' three; do count "^\\[$r\\] $line\$" out 1; done
    count "^\\[$r\\] two\$" err 1
  done
  count '' out 9
}
much_output() {
  run 0 -n 3 bash -c 'head -c 20000000 /dev/zero | tr "\0" "$PMIX_RANK" | fold -w 1000'
  for r in 0 1 2; do count "^$r{1000}\$" out 20000; done
}
single_rank_output_is_not_held_back() { # a prompt has no end of line
  coproc "$BIN/tutti" run -n 1 bash -c 'printf "name? "; read -r n; printf "hello %s" "$n"'
  touch out err
  read -r -t 20 -N 6 prompt <&"${COPROC[0]}"
  [ "$prompt" = "name? " ] || fail "the prompt was '$prompt'"
  echo you >&"${COPROC[1]}"
  read -r -t 20 -N 9 answer <&"${COPROC[0]}"
  [ "$answer" = "hello you" ] || fail "the answer was '$answer'"
}
reader_that_leaves() {
  touch out err
  timeout -k 5 30 "$BIN/tutti" run -n 2 yes 2>err | head -1 >out
  [ "${PIPESTATUS[0]}" = 141 ] || fail "status ${PIPESTATUS[0]} instead of 141"
}
input_goes_to_rank_0() {
  printf 'a\nb\n' | timeout -k 5 60 "$BIN/tutti" run --tag-output -n 3 cat >out 2>err || fail "status $?"
  [ "$(cat out)" = $'[0] a\n[0] b' ] || fail "wrong output"
}
environment_is_passed() {
  run 0 -n 2 -x COLOUR=dark\ red -x EMPTY= bash -c 'echo "<$COLOUR> <${EMPTY-unset}>"'
  count '^<dark red> <>$' out 2
}

# --- signals -------------------------------------------------------------------------------------------------------
# launch command...: in the background, with its pid in $launcher. Job control gives it default signal dispositions.
launch() { set -m; "$BIN/tutti" run "$@" >out 2>err </dev/null & launcher=$!; set +m; }
finish() { wait $launcher; local got=$?; launcher=; [ $got = "$1" ] || fail "status $got instead of $1"; }

signals_end_the_job() {
  for s in 1 2 3 15; do
    launch -n 3 bash -c 'ulimit -c 0; echo ready; sleep 4712.1'
    for _ in 1; do await out ready; done
    sleep 0.2
    kill -$s $launcher
    finish $((128 + s))
    none_left 'sleep 4712\.1'
  done
}
signals_inherited_ignored_or_blocked() { # as by window managers and daemons
  local how
  for how in --ignore-signal=CHLD --ignore-signal --block-signal "--ignore-signal --block-signal"; do
    start 0 env $how "$BIN/tutti" run -n 2 true
    start 7 env $how "$BIN/tutti" run -n 2 sh -c 'sleep 0.2; exit 7'
    start 124 timeout -s KILL 20 env $how "$BIN/tutti" run -n 2 --timeout 0.3 --grace 15 sleep 30
    start 0 env $how "$BIN/tutti" run -n 1 grep Sig /proc/self/status
    says '^SigBlk:.0*$' out
    says '^SigIgn:.0*[01]$' out # SIGHUP, as under nohup
  done
  start 0 env --ignore-signal=CHLD "$BIN/tutti" sim --ranks 2 "$BIN/rank_program"
}
output_that_cannot_be_written() { # is said, and is no success
  local words
  for words in "--version" "--help" "info" "run -n 1 echo hello" "run -n 3 echo hello" "completion bash"; do
    timeout -k 5 60 "$BIN/tutti" $words >/dev/full 2>err && fail "tutti $words: success on a full disk"
    says 'cannot write the output' err
    timeout -k 5 60 "$BIN/tutti" $words >&- 2>err && fail "tutti $words: success with stdout closed"
    says 'cannot write the output' err
  done
  timeout -k 5 60 "$BIN/tutti" run -n 2 true >&- || fail "nothing was to be written"
  timeout -k 5 60 "$BIN/tutti" run -n 2 sh -c 'echo hello; sleep 0.3; echo hello; exit 4' >/dev/full 2>err
  count 'cannot write the output' err 1 # and the job ran on
  says 'exited with status 4' err
}
signals_can_be_handled() {
  launch -n 2 bash -c 'trap "echo bye; exit 0" TERM; echo ready; while :; do sleep 0.05; done'
  await out ready; sleep 0.3
  kill -TERM $launcher
  finish 0
  count '^bye$' out 2
}
signals_are_passed_on() {
  launch -n 2 bash -c 'n=0; trap "echo one" USR1; trap "echo two; exit 0" USR2; echo ready; while :; do sleep 0.05; done'
  await out ready; sleep 0.3
  kill -USR1 $launcher; sleep 0.3
  kill -USR2 $launcher
  finish 0
  count '^one$' out 2
  count '^two$' out 2
}
state() { sed -n 's/^State:\t\(.\).*/\1/p' "/proc/$1/status"; }
stop_and_continue() {
  launch -n 2 bash -c 'echo $$; while [ ! -e go ]; do sleep 0.05; done'
  for _ in $(seq 100); do [ "$(wc -l <out)" = 2 ] && break; sleep 0.1; done
  kill -TSTP $launcher
  for p in $launcher $(cat out); do
    for _ in $(seq 100); do [ "$(state "$p")" = T ] && continue 2; sleep 0.05; done
    kill -KILL $launcher; fail "process $p did not stop"
  done
  kill -CONT $launcher
  for p in $launcher $(cat out); do
    for _ in $(seq 100); do [ "$(state "$p")" != T ] && continue 2; sleep 0.05; done
    kill -KILL $launcher; fail "process $p did not continue"
  done
  touch go
  finish 0
}
killed_launcher_leaves_nothing() {
  launch -n 2 bash -c 'sleep 4713.1 & echo ready; sleep 4713.2'
  await out ready; sleep 0.3
  kill -KILL $launcher
  none_left 'sleep 4713\.'
  for _ in $(seq 100); do [ -z "$(ls "$TMPDIR")" ] && return 0; sleep 0.1; done
  fail "left in TMPDIR: $(ls "$TMPDIR")"
}
nothing_is_left() {
  local before; before=$(ls /dev/shm)
  run 0 -n 4 "$rank" exchange 2
  run 139 -n 4 "$rank" die 1 11 idle 30
  run 137 --keep-going -n 4 "$rank" die 1 9
  run 124 --timeout 0.3 -n 2 sleep 30
  [ -z "$(ls -A "$TMPDIR")" ] || fail "left in TMPDIR: $(ls -A "$TMPDIR")"
  [ "$(ls /dev/shm)" = "$before" ] || echo "note: /dev/shm changed, maybe by others: $(ls /dev/shm)"
}

unnamed_memory_is_removed() { # of UCX's, whose names tell no process; what somebody has open stays
  local name=/dev/shm/ucx_shm_posix_test$$
  exec 9>"$name.held"
  run 137 -n 1 bash -c 'exec 9>&-; : > "$0.0"; kill -KILL $$' "$name"
  exec 9>&-
  [ -e "$name.held" ] || fail "a file that is open was removed"
  rm "$name.held"
  [ -z "$(ls "$name".* 2>/dev/null)" ] || { rm "$name".*; fail "files that nobody has are left"; }
}

# --- limits ----------------------------------------------------------------------------------------------------------
limited() { # limited STATUS OPTIONS... -- WORDS...: `tutti run WORDS`, by prlimit; all that it says in the file out
  local expected=$1 limits=()
  shift
  while [ "$1" != -- ]; do limits+=("$1"); shift; done
  shift
  start "$expected" bash -c '"$@" 2>&1 | cat; exit "${PIPESTATUS[0]}"' bash "${limits[@]}" "$BIN/tutti" run "$@"
}
limit_of_the_stack() {
  local kib
  for kib in 64 128; do
    limited 0 prlimit --stack=$((kib * 1024)) -- -n 3 "$rank" exchange 2
    count '^exchanged 2$' out 3
    limited 0 prlimit --stack=$((kib * 1024)):unlimited -- -n 2 bash -c 'ulimit -s'
    count "^$kib\$" out 2 # the ranks' limit is as it was
  done
  [ -z "$(ls -A "$TMPDIR")" ] || fail "left in TMPDIR: $(ls -A "$TMPDIR")"
}
limits_of_files() {
  limited 0 prlimit --nofile=32:4096 -- -n 20 bash -c 'ulimit -Sn'
  count '^32$' out 20 # the ranks' limit is as it was
  if command -v setpriv >/dev/null; then
    limited 1 prlimit --nofile=32:32 setpriv --inh-caps=-sys_resource --bounding-set=-sys_resource -- -n 20 true
    says 'takes 144 open files here, and the limit is 32; raise it .ulimit -n' out
    one_line out
  fi
  limited 1 prlimit --fsize=0 -- -n 2 true
  says 'raise the limit of file sizes .ulimit -f' out
  one_line out
  for fabric in shm ucx:shm ofi:shm; do
    TUTTI_PROVIDER=$fabric limited 1 prlimit --fsize=4096 -- -n 2 "$BIN/hello"
    says 'ulimit -f' out
  done
  [ -z "$(ls -A "$TMPDIR")" ] || fail "left in TMPDIR: $(ls -A "$TMPDIR")"
}
limits_of_memory() {
  local limit
  for limit in --as=25000000 --as=42000000 --data=4000000 --data=12000000; do
    limited 1 prlimit $limit -- -n 2 true
    says 'raise the limits? .ulimit -[vd]' out
    one_line out
  done
  for limit in --as=25000000 --data=8000000; do
    run 1 -n 2 prlimit $limit "$BIN/hello"
    says 'libpmix needs: .*raise the limit .ulimit -[vd]' err
  done
  [ -f "$BIN/../lib/tutti/tutti_ofi.so" ] || return 0
  TUTTI_PROVIDER=ofi:tcp run 1 -n 2 prlimit --data=44000000 "$BIN/hello" # with which it waits for itself
  says 'libfabric needs: .*raise the limit .ulimit -d' err
}
long_host_names() { # of which libpmix and UCX make too little
  local letters
  for letters in 51 64; do
    unshare -u true 2>/dev/null || skip "no namespace of one's own here"
    start 0 unshare -u bash -c 'hostname "$(printf "%0$0d" 0 | tr 0 x)"; exec "$@"' $letters "$BIN/tutti" run -n 2 "$rank" exchange 2
    count '^exchanged 2$' out 2
  done
  [ -f "$BIN/../lib/tutti/tutti_ucx.so" ] || return 0
  TUTTI_PROVIDER=ucx:tcp start 1 unshare -u bash -c 'hostname "$(printf "%064d" 0 | tr 0 x)"; exec "$@"' - "$BIN/tutti" run -n 1 "$BIN/hello"
  says "UCX ends the process where the host's name has 64 letters; give it a shorter one" err
}
no_interface() {
  unshare -rn true 2>/dev/null || skip "no namespace of one's own here"
  start 1 unshare -rn "$BIN/tutti" run -n 2 true
  says 'an IPv4 interface, and none is up here' err
  one_line err
}
numbers_that_are_none() {
  local seconds
  for seconds in nan inf -1 1e10; do
    run 2 --timeout $seconds -n 1 true
    run 2 --grace $seconds -n 1 true
    one_line err
  done
}

# --- outsiders ---------------------------------------------------------------------------------------------------
# begin_secretly PROGRAM...: a job of 2 that tells its $name and its server's $port, then waits for the file go.
begin_secretly() {
  launch -n 2 bash -c 'echo $PMIX_NAMESPACE $PMIX_SERVER_URI41 >place.$PMIX_RANK; until [ -e go ]; do sleep 0.05; done; exec "$@"' \
    rank "$@"
  await place.0 tcp4; await place.1 tcp4
  local uri; read -r name uri <place.0
  port=${uri##*:}
  [[ $uri != *"$name"* ]] || fail "the server's address tells the job's name: $uri"
}
# Names that others can list: command lines, and files in folders that they can read or list.
lists_nowhere() { # lists_nowhere NAME
  local where
  echo "$1" >name
  ! grep -lF -f name /proc/[0-9]*/cmdline 2>/dev/null || fail "a command line has the job's name"
  for where in /dev/shm "$TMPDIR" /tmp; do
    [ -z "$(find "$where" -maxdepth 3 -name "*$1*" 2>/dev/null)" ] || fail "a file in $where is called after the job"
  done
  ! grep -qF -- "$1" /proc/net/unix || fail "a socket is called after the job"
  for where in $(ls -d "$TMPDIR"/tutti-run-* 2>/dev/null); do
    [ "$(stat -c %a "$where")" = 700 ] || fail "others can list $where"
  done
}
name_is_secret() {
  local provider reached before=
  for provider in shm ucx:tcp ofi:shm; do
    rm -f go place.*
    [ $provider = shm ] && reached=served || reached=stalled
    TUTTI_PROVIDER=$provider begin_secretly "$BIN/c_away" $reached
    [[ $name =~ ^tutti-[0-9a-f]{32}$ ]] || fail "the name '$name' is not of 128 bits"
    [ "$name" != "$before" ] || fail "two jobs had the same name"
    before=$name
    lists_nowhere "$name"
    # 0100007F is 127.0.0.1; state 0A is listening
    local listeners; listeners=$(awk -v p=":$(printf %04X "$port")$" '$4 == "0A" && $2 ~ p {print $2}' /proc/net/tcp /proc/net/tcp6)
    [ "$listeners" = "0100007F:$(printf %04X "$port")" ] || fail "the server listens at $listeners"
    touch go
    sleep 0.6 # they run
    lists_nowhere "$name"
    finish 0
  done
}
outsiders_of_other_users() {
  [ "$(id -u)" = 0 ] || skip "only root can become somebody else"
  local nobody=(timeout -k 1 60 setpriv --reuid=65534 --regid=65534 --clear-groups env -i PATH="$PATH" TMPDIR="$work" HOME=/)
  "${nobody[@]}" unshare -Ur true || skip "no user namespaces, or no setpriv"
  chmod 755 "$work"; cp "$BIN/outsider" "$work"; chmod 1777 "$TMPDIR"
  begin_secretly "$rank" exchange 3
  local silent
  "${nobody[@]}" bash -c 'exec 3<>/dev/tcp/127.0.0.1/'"$port"' && echo here && exec sleep 60' >connected & silent=$!
  await connected here
  "${nobody[@]}" bash -c 'head -c 100000 /dev/urandom >/dev/tcp/127.0.0.1/'"$port" 2>/dev/null
  local how who
  for how in "tool other" "tool $name" "client other" "client $name"; do
    for who in env "unshare -Ur"; do  # the second declares to be root
      ! "${nobody[@]}" $who "$work/outsider" ${how% *} "$port" "${how#* }" >told 2>&1 || fail "$who $how ended the job"
      kill -0 $launcher || fail "$who $how ended the launcher: $(cat told)"
    done
  done
  touch go
  finish 0
  count '^exchanged 3$' out 2
  silent err
  kill $silent || fail "the job ended only when the silent connection did"
}
outsider_of_this_user() { # the kernel lets him in: the name keeps him out
  begin_secretly "$rank" exchange 3
  local how
  for how in "tool other" "client other" "client ${name%?}"; do
    ! timeout -k 1 3 "$BIN/outsider" ${how% *} "$port" "${how#* }" >told 2>&1 || fail "$how ended the job"
    kill -0 $launcher || fail "$how ended the launcher: $(cat told)"
  done
  touch go
  finish 0
  count '^exchanged 3$' out 2
  silent err
}

# --- calls that make no sense -------------------------------------------------------------------------------------
refuses() { local expected=$1 pattern=$2; shift 2; run "$expected" "$@"; says "$pattern" err; one_line err; silent out; }
bad_calls() {
  refuses 2 '-n 0: .*use -n 1' -n 0 true
  refuses 2 '-n -3: ' -n -3 true
  refuses 2 '-n 1000000 .*at most' -n 1000000 true
  refuses 2 'two' -n two true
  refuses 2 'no program' -n 2
  refuses 2 'unknown option --frobnicate' --frobnicate -n 2 true
  refuses 2 'everywhere' --bind everywhere true
  refuses 2 '-x =red .*NAME=VALUE' -x =red true
  refuses 2 'timeout' --timeout -1 true
  refuses 127 'cannot find no-such-program' -n 2 no-such-program
  refuses 127 'cannot find ./no-such-program' -n 2 ./no-such-program
  echo 'echo hi' >script; refuses 126 'script.*chmod' -n 2 ./script
  chmod +x script; refuses 126 'script.*#!' -n 2 ./script
  echo '#!/no/such/shell' >script; refuses 127 'script' -n 2 ./script
  mkdir folder; refuses 126 'folder' -n 2 ./folder
}
as_mpirun_spells_it() {
  COLOUR=red run 0 -np 2 -x COLOUR -x SIZE=7 sh -c 'echo $COLOUR $SIZE $0' -np
  count '^red 7 -np$' out 2
  run 0 -x NOT_SET_HERE true
  says '-x NOT_SET_HERE: there is no such variable here' err
}
options_after_the_program_are_its_own() {
  run 0 -n 2 echo -n --timeout 3 --keep-going -- x
  [ "$(tr -d '\n' <out)" = '--timeout 3 --keep-going -- x--timeout 3 --keep-going -- x' ] || fail "wrong arguments"
}

# --- binding -------------------------------------------------------------------------------------------------------
binding() {
  local cpus; cpus=$(nproc)
  run 0 -n $((2 * cpus)) --bind core bash -c 'echo $PMIX_RANK $(taskset -cp $$ | sed "s/.*: //")'
  [ "$(cut -d' ' -f2 out | sort -u | wc -l)" -le "$cpus" ] || fail "more places than CPUs"
  run 0 -n $((2 * cpus)) --bind none bash -c 'nproc'
  count "^$cpus\$" out $((2 * cpus))
  local first; first=$(taskset -cp $$ | sed 's/.*: //; s/[-,].*//')
  start 0 taskset -c "$first" "$BIN/tutti" run -n 2 --bind core bash -c 'taskset -cp $$ | sed "s/.*: //"'
  count "^$first\$" out 2
}

: >out; : >err
[ "$(type -t "${1-}")" = function ] || { echo "no case '${1-}'"; exit 1; }
"$1"
