#!/usr/bin/env bash
# ambit-infer generate: the forms of its records.  A completion does not depend on its neighbours; constraints hold; a stop
# string ends completions.  Killed runs with beams and constraints end with the bytes of undisturbed ones.
# usage: cli_engine.sh [KILLS [SEED]]
# shellcheck source=tests/support/cli.sh
. "$(dirname "$0")/../support/cli.sh"
kills=${1:-1}
choose_seed "${2:-}"
# shellcheck source=tests/support/lm_records.sh
. "$support/lm_records.sh"
# shellcheck source=tests/support/part_kill.sh
. "$support/part_kill.sh"

generate() { infer generate --device cpu --dtype f32 --model model --max-new 12 "$@"; }

# made FILE ARGUMENTS...: the records of a run
made() {
    local out=$1
    shift
    run 0 generate "$@" -o "$out"
}

# same A B NAME: checks that both have the same records in any order
same() { cmp -s <(sort "$1") <(sort "$2") || complain "$3" "$(diff <(sort "$1") <(sort "$2") | head -n 2)"; }

# each FILE PATTERN NAME: checks that the file has lines and all match
each() {
    { [ -s "$1" ] && ! grep -qvE "$2" "$1"; } || complain "$3" "$(grep -vE -m 1 "$2" "$1")"
}

# column FIELD FILE: its values, a line for each record
column() {
    awk -v field="\"$1\":" '{
        for (line = ""; at = index($0, field); line = line "\t" substr($0, 1, RLENGTH)) {
            $0 = substr($0, at + length(field))
            match($0, /^("([^"\\]|\\.)*"|[^]},]*)/)
        }
        print substr(line, 2)
    }' "$2"
}

cp -r "$gold/llama/base" model && cp "$gold/bpe/llama/tokenizer.json" model
alike=$(printf 'singer%d, ' {1..12}) # more than a page of keys
{
    records 0 18
    for i in {1..6}; do echo "{\"id\":\"alike $i\",\"prompt\":\"$alike question $i:\"}"; done
} >input.jsonl

# --- forms
string='"([^"\\]|\\.)*"' number='-?[0-9.]+(e-?[0-9]+)?'
answer="\"text\":$string"
ended="\"tokens\":[0-9]+,\"finish\":\"(stop|length)\""
scored="\{$answer,\"score\":$number,\"logprob\":$number,$ended\}"
made one.jsonl input.jsonl
each one.jsonl "^\{\"id\":$string,$answer,$ended\}$" "a record without --n"
made list.jsonl --n 1 input.jsonl
each list.jsonl "^\{\"id\":$string,\"texts\":\[$scored\]\}$" "a record of --n 1"
cmp -s <(column text one.jsonl) <(column text list.jsonl) || complain "--n 1 says something else"
made beams.jsonl --n 3 --beams 4 input.jsonl
each beams.jsonl "^\{\"id\":$string,\"texts\":\[$scored,$scored,$scored\]\}$" "a record of --n 3 --beams 4"
column score beams.jsonl | awk '!($1 > $2 && $2 > $3) { exit 1 }' || complain "beams are not in the order of their scores"
paste <(column score beams.jsonl) <(column logprob beams.jsonl) <(column tokens beams.jsonl) |
    awk '{ for (i = 1; i <= 3; i++) if (($i - $(i + 3) / $(i + 6)) ^ 2 > 1e-10) exit 1 }' || complain "a score is not log p by length"
made search.jsonl --beams 4 input.jsonl
cmp -s <(column text beams.jsonl | cut -f 1) <(column text search.jsonl) || complain "--beams 4 alone is not the best of them"
token="\"id\":[0-9]+,\"token\":$string,\"logprob\":$number"
made tokens.jsonl --logprobs 2 --max-new 3 input.jsonl
each tokens.jsonl "^\{\"id\":$string,$answer,\"tokens\":3,\"finish\":\"length\",\"logprobs\":\[(\{$token,\"top\":\[\{$token\},\{$token\}\]\},?){3}\]\}$" "a record of --logprobs 2"
column logprob tokens.jsonl | awk '!($1 == $2 && $2 >= $3 && $4 == $5 && $7 == $8) { exit 1 }' || complain "the likeliest token is not said"
made tokens.jsonl --logprobs 3 --n 2 --beams 2 --max-new 3 input.jsonl
each tokens.jsonl "\"texts\":\[\{.*\"top\":.*\},\{.*\"top\":" "answers of --n 2 --logprobs 3"

# --- draws follow from seed and id alone
draw=(--n 3 --temperature 0.9 --top-k 40 --top-p 0.95 --min-p 0.01 --typical-p 0.99)
made drawn.jsonl "${draw[@]}" --seed 5 input.jsonl
made again.jsonl "${draw[@]}" --seed 5 input.jsonl
cmp -s drawn.jsonl again.jsonl || complain "a seed draws something else the second time"
made again.jsonl "${draw[@]}" --seed 6 input.jsonl
[ "$(sort drawn.jsonl again.jsonl | uniq -d | wc -l)" = 0 ] || complain "two seeds draw the same"
sed 's/"id":"/&x/' input.jsonl >renamed.jsonl
made again.jsonl "${draw[@]}" --seed 5 renamed.jsonl
[ "$(cat <(column text drawn.jsonl) <(column text again.jsonl) | sort | uniq -d | wc -l)" = 0 ] || complain "two ids draw the same"
column text drawn.jsonl | awk -F '\t' '$1 == $2 || $2 == $3 { exit 1 }' || complain "two draws of a record are the same"

# --- a completion does not depend on its neighbours
awk '{ sub(/,"(prompt|completion)".*/, ""); print $0 ",\"answers\":[\" yes\",\" no\",\" cannot be known\",\" yes and no\",\" Answer " NR ", word\"]}" }' input.jsonl >answers.jsonl
bound=(--n 3 --beams 3 --max-new 24 --constraint answers.jsonl)
made bound.jsonl "${bound[@]}" input.jsonl
tac input.jsonl >turned.jsonl
for way in drawn beams bound one; do
    case $way in
    drawn) options=("${draw[@]}" --seed 5) ;;
    beams) options=(--n 3 --beams 4) ;;
    bound) options=("${bound[@]}") ;;
    one) options=() ;;
    esac
    made again.jsonl "${options[@]}" --batch 1 --tokens 16 input.jsonl
    cmp -s again.jsonl $way.jsonl || complain "$way: --batch 1 says something else"
    made again.jsonl "${options[@]}" --batch 7 turned.jsonl
    same again.jsonl $way.jsonl "$way: --batch 7 and another order"
    for line in 3 21; do
        sed -n ${line}p input.jsonl >alone.jsonl
        made again.jsonl "${options[@]}" alone.jsonl
        cmp -s again.jsonl <(sed -n ${line}p $way.jsonl) || complain "$way: record $line alone gets another answer"
    done
done
for way in "" "--n 3 --beams 4"; do
    # shellcheck disable=SC2086 # options
    for batch in 64 7 1; do made half-$batch.jsonl --dtype bf16 --batch $batch $way input.jsonl; done
    for batch in 7 1; do cmp -s half-64.jsonl half-$batch.jsonl || complain "bf16 $way: another --batch says something else"; done
done

# --- constraints
each bound.jsonl "\"texts\":\[(\{\"text\":\" (yes|no|cannot be known|yes and no|Answer [0-9]+, word)\",[^{]*\"finish\":\"stop\"\},?){3}\]" "answers of the list"
column text bound.jsonl | awk -F '\t' '$1 == $2 || $2 == $3 || $1 == $3 { exit 1 }' || complain "an answer of the list comes twice"
made drawn-bound.jsonl --max-new 24 --temperature 1 --n 2 --constraint answers.jsonl input.jsonl
each drawn-bound.jsonl "(\{\"text\":\" (yes|no|cannot be known|yes and no|Answer [0-9]+, word)\",[^{]*\"finish\":\"stop\"\},?){2}" "draws of the list"
made forced.jsonl --max-new 24 --n 5 --beams 6 --constraint answers.jsonl --scores allowed --length-penalty 0 input.jsonl
column score forced.jsonl | awk '{ sum = 0; for (i = 1; i <= NF; i++) sum += exp($i); if (sum < 0.9999 || sum > 1.0001) exit 1 }' ||
    complain "--scores allowed: the five texts that are allowed do not have all probability"
awk '{ sub(/,"(prompt|completion)".*/, ""); print $0 ",\"template\":\" select {column} from {table}\",\"slots\":{\"column\":[\"name\",\"age\"],\"table\":[\"singer\",\"song\"]}}" }' input.jsonl >template.jsonl
made filled.jsonl --max-new 24 --n 4 --beams 4 --constraint template.jsonl input.jsonl
each filled.jsonl "\"texts\":\[(\{\"text\":\" select (name|age) from (singer|song)\",[^{]*\"finish\":\"stop\"\},?){4}\]" "answers of the template"
made few.jsonl --max-new 24 --n 6 --beams 6 --constraint template.jsonl input.jsonl
each few.jsonl "\"texts\":\[(\{\"text\":\" select[^{]*\},?){4}\]\}$" "four texts are all that a template with four allows"

# --- a text ends answers, wherever tokens are cut, and whenever a device is asked
for stop in 'no! k' ru 안; do
    made ended.jsonl --stop "$stop" input.jsonl
    paste <(column text one.jsonl) <(column text ended.jsonl) <(column tokens one.jsonl) <(column tokens ended.jsonl) <(column finish ended.jsonl) |
        awk -F '\t' -v stop="$stop" '{
            at = index($1, stop)
            if ($2 != (at ? substr($1, 1, at - 1) "\"" : $1) || (at && !($4 < $3 && $5 == "\"stop\"")) || (!at && $4 != $3)) exit 1
            n += at > 0
        } END { exit n == 0 }' || complain "--stop $stop: an answer does not end before it"
    made listed.jsonl --stop "$stop" --n 1 --logprobs 1 input.jsonl
    cmp -s <(column text listed.jsonl) <(column text ended.jsonl) || complain "--stop $stop: with --n something else is said"
    sed -E 's/,"score".*"logprobs"/,"logprobs"/' listed.jsonl >tokens.jsonl
    paste <(column logprob listed.jsonl | cut -f 1) <(column tokens listed.jsonl) <(column logprob tokens.jsonl) |
        awk -F '\t' '{ for (i = 3; i <= NF; i += 2) $1 -= $i; if ((NF - 2) / 2 != $2 || $1 ^ 2 > 1e-8) exit 1 }' ||
        complain "--stop $stop: log p is not that of the tokens that are left"
done
head -n 4 input.jsonl >few.jsonl
stopped=(--n 2 --temperature 0.9 --seed 5 --stop ru --max-new 20)
made ended.jsonl "${stopped[@]}" few.jsonl
run 0 infer generate --device simt --dtype f32 --model model "${stopped[@]}" few.jsonl -o later.jsonl
for field in text tokens finish; do
    cmp -s <(column $field ended.jsonl) <(column $field later.jsonl) || complain "--stop: a device that is asked later has another $field"
done
grep -q '"finish":"stop"' ended.jsonl || complain "--stop: no draw is ended"

# --- runs with beams and a constraint, killed
go() { exec "$bin/ambit-infer" generate --device cpu --dtype f32 --model model --max-new 12 --batch 2 "${way[@]}" input.jsonl -o "$2" --resume; }
for way in one drawn beams bound; do
    whole=$way.jsonl
    case $way in
    one) way=() ;;
    drawn) way=("${draw[@]}" --seed 5) ;;
    beams) way=(--n 3 --beams 4) ;;
    bound) way=("${bound[@]}") ;;
    esac
    start=$(date +%s%N)
    (go - again.jsonl) >shown 2>said || complain "$whole" "a run that nobody disturbs"
    span=$(($(date +%s%N) - start))
    cmp -s again.jsonl "$whole" || complain "$whole" "--batch 2 says something else"
    stop_and_resume - "$whole"
done
finish
