# shellcheck shell=bash
# Sourced by cli_*.sh: runs that are killed at random moments, every second time while a file is being saved.
# The caller has a folder of its own with a file log, and three functions.  fail MESSAGE... ends the script; train FOLDER becomes
# a run that resumes from FOLDER; same WHOLE FOLDER fails unless two finished runs left the same files.
seed=${2:-$(($(date +%s) % 32768))}
RANDOM=$seed

# Succeeds if folder $1 has an unfinished file that no earlier kill has left.
saving() { [ -n "$(find "$1" -name '*.tmp' -newer started 2>/dev/null)" ]; }

# Kills process $1, which fills folder $2, within the first half of $3 seconds, or when it saves after that.  Fails if the
# process ended before that.
kill_sometime() {
    sleep "$(awk -v s="$3" -v r="$RANDOM" 'BEGIN { print s * r / 65536 }')"
    if ((RANDOM % 2)); then
        until saving "$2" || ! kill -0 "$1" 2>/dev/null; do :; done
    fi
    kill -KILL "$1" 2>/dev/null
    wait "$1" 2>/dev/null
    local code=$?
    [ $code = 137 ] || [ $code = 0 ] || fail "exit code $code after a kill"
    [ $code = 137 ]
}

# Runs train WHOLE undisturbed, then train FOLDER until it was killed $3 times, and once more to its end.  Each run that ends
# must equal WHOLE.  `span` is the duration of the undisturbed run in seconds.
kill_and_resume() {
    local whole=$1 folder=$2 kills=$3 killed=0 halves=0 ended=1 start before
    start=$(date +%s%N)
    (train "$whole") >>log 2>&1 || fail "the run that nobody disturbs"
    span=$(awk -v n=$(($(date +%s%N) - start)) 'BEGIN { print n / 1e9 }')
    before=$(grep -c 'going on after' log)
    while ((killed < kills)); do
        touch started
        train "$folder" >>log 2>&1 &
        if kill_sometime $! "$folder" "$span"; then
            killed=$((killed + 1))
            saving "$folder" && halves=$((halves + 1))
        else
            same "$whole" "$folder"
            rm -rf "$folder"
            ended=$((ended + 1))
        fi
    done
    (train "$folder") >>log 2>&1 || fail "the run after $killed kills"
    same "$whole" "$folder"
    point ok "$killed kills of $folder, $halves of them while saving, $(($(grep -c 'going on after' log) - before)) times gone on from a checkpoint: $ended runs ended, each the same as the undisturbed one"
}
