#!/usr/bin/env bash
# ambit-data score --rule agreement: findings beside marked words, each way to agree or differ by hand, and bad input.
# shellcheck source=tests/support/cli.sh
. "$(dirname "$0")/../support/cli.sh"
told=(said shown)

gold() { printf '{"id":"%s","db_id":"%s","question":"Q","ambiguous":%s,"alternatives":%s}\n' "$@"; }
finding() { printf '{"id":"%s","question":"Q","score":0.5,"ambiguous":%s,"type":null,"alternatives":%s}\n' "$@"; }
# tag ID LABEL CONCEPT...: one span
tag() {
    printf '{"id":"%s","question":"Q","spans":[' "$1"
    [ $# = 1 ] || printf '{"label":"%s","alternatives":[' "$2"
    local sep=
    for concept in "${@:3}"; do
        printf '%s{"concept":"%s","type":"column"}' "$sep" "$concept"
        sep=,
    done
    [ $# = 1 ] || printf ']}'
    printf ']}\n'
}
fees='["trainer.trainer_fee","trainer.fee_of_trainer"]' other='["trainer.trainer_fee","trainer.name"]'
{
    for id in same some others detector tagger; do gold $id gym true "$fees"; done
    gold wrong spa true "$other"
    gold alarm spa false '[]'
    gold clear spa false null
} >gold.jsonl
{
    for id in same others detector alarm; do finding $id true "$fees"; done
    finding some true "$other"
    finding wrong true "$fees"
    for id in tagger clear; do finding $id false '[]'; done
} >findings.jsonl
{
    tag same AMB Trainer.Fee_Of_Trainer trainer.name "trainer.trainer fee"
    tag some AMB trainer.trainer_fee trainer.fee_of_trainer
    tag others AMB workout.machine workout.trainer_id
    tag detector UNK
    tag tagger AMB trainer.trainer_fee trainer.fee_of_trainer
    tag wrong AMB trainer.trainer_fee trainer.fee_of_trainer
    tag alarm COL trainer.trainer_fee
    tag clear
} >tags.jsonl
score() { data score --rule agreement --gold gold.jsonl --predictions findings.jsonl --pred tags.jsonl "$@"; }
# expect CODE TEXT ARGUMENTS...
expect() { check "${*:3}" "$1" "$2" score "${@:3}"; }

expect 0 '^8 questions of 2 databases'
for row in 'both, the same alternatives +2 +2 +1 +0 +0 +1' 'both, some of them +1 +1 +0 +0 +1 +0' \
    'both, others +1 +1 +0 +1 +0 +0' 'the detector alone +2 +1 +0 +1 +1 +0' 'the tagger alone +1 +1 +0 +0 +1 +0' \
    'neither +1 +0 +1 +0 +0 +0' 'they agree, % +37.5' 'the detector is right, % +50.0' 'the tagger is right, % +62.5'; do
    grep -qE "^$row" shown || complain table "no row $row: $(cat shown)"
done
expect 0 '"same":\{"questions":2,"ambiguous":2,"correct":\{"both":1,"detector":0,"tagger":0,"none":1\}\}' --json --per-example each.jsonl
grep -q '"agreed":{"value":0.375,"interval":\[0' shown || complain json "$(cat shown)"
grep -q '^{"id":"others","db_id":"gym","found":"others","correct":"detector","gold":\["trainer.trainer fee","trainer.fee of trainer"\],.*"tagger":\["workout.machine","workout.trainer id"\]}$' each.jsonl ||
    complain each "$(cat each.jsonl)"
grep -q '"id":"clear",.*"found":"neither","correct":"both","gold":null,"detector":null,"tagger":null}$' each.jsonl || complain each clear

# --- gold with marked words of one table: the finding has the table's name, the record and its tags have none
cat >marks.jsonl <<'END'
{"id":"m","source":"x","db_id":"t","question":"Which team won?","type":"doubled","columns":[{"name":"Home team","type":"text","values":[]},{"name":"Away team","type":"text","values":[]},{"name":"Year","type":"number","values":[]}],"spans":[{"start":6,"end":10,"label":"AMB","alternatives":[{"column":0},{"column":1}]}]}
END
finding m true '["t.home_team","t.away_team"]' >found.jsonl
tag m AMB "Home team" "Away team" >tagged.jsonl
check marks 0 'both, the same alternatives +1 +1 +1 ' data score --rule agreement --gold marks.jsonl --predictions found.jsonl --pred tagged.jsonl
grep -q '\[-\]' shown || complain marks "an interval of one database"

# --- records that one of the two does not answer
{ sed 1d findings.jsonl && finding else true "$fees" && finding clear false '[]'; } >odd.jsonl
for text in 'same: it has no prediction' 'odd.jsonl: line 8: its id is none of the gold' 'odd.jsonl: line 9: its id came before'; do
    expect 7 "$text" --predictions odd.jsonl
done
sed '2s/.*/{"id":"some","error":"no"}/' tags.jsonl >odd.jsonl
expect 7 'odd.jsonl: line 2: it is an error' --pred odd.jsonl
expect 7 'some: it has no marked words' --pred odd.jsonl
sed '2s/"type":"column"/"type":7/' tags.jsonl >odd.jsonl
expect 7 'odd.jsonl: line 2: spans\[0\]: .*field "type"' --pred odd.jsonl
sed '1s/"trainer.fee_of_trainer"/7/' findings.jsonl >odd.jsonl
expect 7 'odd.jsonl: line 1: alternatives\[1\]: expected a string, got an integer' --predictions odd.jsonl

# --- errors that end the command
expect 3 'expected a common id' --predictions /dev/null
sed '2s/"some"/"same"/' gold.jsonl >bad.jsonl
expect 3 'bad.jsonl: line 2: field "id": expected each id once, got "same" again' --gold bad.jsonl
sed '2s/"ambiguous":true/"ambiguous":"so"/' gold.jsonl >bad.jsonl
expect 3 'bad.jsonl: line 2: field "ambiguous"' --gold bad.jsonl
sed '2s/"db_id"/"base"/' gold.jsonl >bad.jsonl
expect 3 'bad.jsonl: line 2: .*db_id' --gold bad.jsonl
sed 's/"column":1/"column":9/' marks.jsonl >bad.jsonl
expect 3 'bad.jsonl: line 1: ' --gold bad.jsonl
check "no predictions" 2 'requires --gold and --predictions' data score --rule agreement --gold gold.jsonl --pred tags.jsonl
check "other rule" 2 'requires --rule agreement' data score --rule spans --gold marks.jsonl --predictions found.jsonl --pred tagged.jsonl

finish
