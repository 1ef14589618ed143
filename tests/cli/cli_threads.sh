#!/usr/bin/env bash
# How many threads a program has and how they wait, however it was started.
# shellcheck source=tests/support/cli.sh
. "$(dirname "$0")/../support/cli.sh"
told=(shown said)
unset OMP_NUM_THREADS OMP_WAIT_POLICY GOMP_SPINCOUNT OPENBLAS_THREAD_TIMEOUT

# starts TIMES COMMAND...: libgomp tells of its settings each time that it is loaded
starts() {
    local times=$1 got
    shift
    begin "$*"
    OMP_DISPLAY_ENV=true timeout 60 "$@" >shown 2>said || complain "$*: exit code $?"
    got=$(grep -c 'DISPLAY ENVIRONMENT BEGIN' said)
    [ "$got" = "$times" ] || complain "$*: started $got times, expected $times"
}
# sees NAME VALUE: checks a variable of the last libgomp that was loaded
sees() { [ "$(sed -n "s/^ *$1 = '\(.*\)'/\1/p" said | tail -n 1)" = "$2" ] || complain "$1 is not $2"; }

# --- restarted once, with a short wait; the user's own settings are kept
starts 2 "$bin/ambit-infer" --version
sees OMP_WAIT_POLICY PASSIVE
starts 1 env OMP_WAIT_POLICY=active "$bin/ambit-infer" --version
sees OMP_WAIT_POLICY ACTIVE
starts 2 env OMP_NUM_THREADS=3 "$bin/ambit-infer" --version
sees OMP_NUM_THREADS 3
starts 2 env -i OMP_DISPLAY_ENV=true "$bin/ambit-data" --version

# --- where it would start something else, or cannot, it goes on as it is
loader=$(ldd "$bin/ambit-infer" | awk '/ld-linux|ld64/ { print $1 }')
[ -z "$loader" ] || starts 1 "$loader" "$bin/ambit-infer" --version
cp "$bin/ambit-infer" gone && exec 8<gone && rm gone
starts 1 /proc/self/fd/8 --version
exec 8<&-
[ -z "${ASAN_OPTIONS:-}" ] && command -v valgrind >/dev/null && starts 1 valgrind -q --tool=none "$bin/ambit-data" --version

# --- --threads goes before OMP_NUM_THREADS, that before the processors for us
expect 0 ' 3 threads' train doctor --device cpu --threads 3
expect 0 ' 3 threads' env OMP_NUM_THREADS=2 "$bin/ambit-train" doctor --device cpu --threads 3
expect 0 ' 2 threads' env OMP_NUM_THREADS=2 "$bin/ambit-train" doctor --device cpu
expect 0 ' 1 threads' taskset -c 0 "$bin/ambit-train" doctor --device cpu
expect 0 ' 1 threads' env OMP_WAIT_POLICY=active taskset -c 0 "$bin/ambit-train" doctor --device cpu

# --- bound threads are all threads still; products are whole however few threads OpenMP gives
all=$(nproc)
expect 0 " $all threads" env OMP_PROC_BIND=true "$bin/ambit-train" doctor --device cpu
OMP_DISPLAY_ENV=true OMP_PROC_BIND=true "$bin/ambit-infer" --version >shown 2>said
[ "$(grep OMP_PLACES said | sort -u | wc -l)" = 1 ] || complain "the program that was started again is bound to one place"
expect 0 'ready.* 3 threads' env OMP_DYNAMIC=true OMP_NUM_THREADS=3 "$bin/ambit-train" doctor --device cpu
expect 0 'ready.* 1 threads' env OMP_THREAD_LIMIT=1 OMP_NUM_THREADS=4 "$bin/ambit-train" doctor --device cpu

# --- bad numbers
expect 2 'threads: expected 1 to 1024, got 0' train doctor --threads 0
expect 2 'threads: expected 1 to 1024, got 1025' infer generate --threads 1025
expect 2 "threads: expected an integer, got 'all'" data sql --threads all
finish
