#!/usr/bin/env bash
# ambit-train evaluate selective: statements behind a detector or tagger.  The published counts, a curve by hand, ties, predictions of detect joined
# with the output of score, and bad input.
# shellcheck source=tests/support/cli.sh
. "$(dirname "$0")/../support/cli.sh"
has() { grep -qE -- "$2" "$1" || complain "$3" "$(head -c 900 "$1")"; }

# --- 19 of 129 statements are right, 53 questions are flagged, 2 of the right ones among them: p .0023 (scipy: 0.0023184678647942)
awk 'BEGIN { for (i = 0; i < 129; i++) {
    flagged = i < 53
    right = i < 2 || i >= 53 && i < 70
    printf "{\"id\":%d,\"score\":%.1f,\"ambiguous\":%s}\n", i, flagged ? 0.9 : 0.1, flagged ? "true" : "false" >"findings.jsonl"
    printf "{\"id\":%d,\"one_found\":%s,\"exm_orig\":%d}\n", i, right ? "true" : "false", right >"each.jsonl"
} }'
run 0 train evaluate selective --predictions findings.jsonl --scored each.jsonl --report verdict.html
has verdict.html '"verdict">Of the 76 questions that the detector does not flag, 22\.4 % have a right statement; of all 129, 14\.7 % have one \(one-sided Fisher p 0\.0023\)\.<' "the verdict"
has shown '^129 questions, 19 correct$' "the counts"
has shown '^0\.589 +76 +17 +0\.224 +0\.002318$' "what is not flagged"
has shown '^1\.000 +129 +19 +0\.147 +1$' "all"
cp shown first
run 0 train evaluate selective --predictions <(shuf findings.jsonl) --scored each.jsonl --field exm_orig --threshold 0.5
cmp -s first shown || complain "--field and --threshold" "$(diff first shown)"
run 0 train evaluate selective --predictions findings.jsonl --scored each.jsonl --threshold 0.05 --report none.html
has none.html '"verdict">The detector flags all 129 questions: no statement remains\.<' "the verdict"
has shown '^0\.000 +0 +0 +- +1$' "all are flagged"

# --- by hand: right, right, wrong, right, wrong with scores .1 .2 .3 .3 .5
awk 'BEGIN { split("0.1 0.2 0.3 0.3 0.5", s); split("true true false true false", r)
    for (i = 1; i <= 5; i++) {
        printf "{\"id\":\"q%d\",\"score\":%s}\n", i, s[i] >"few.jsonl"
        printf "{\"id\":\"q%d\",\"one_found\":%s}\n", i, r[i] >"few.each.jsonl"
    } }'
# errors 0, 0, 1/4, 1/4, 2/5 over 5; the best order 0, 0, 0, 1/4, 2/5
run 0 train evaluate selective --predictions few.jsonl --scored few.each.jsonl --threshold 0.3 --report page.html --json
has shown '"aurc": 0\.18,' "the area"
has shown '"best": 0\.13' "the best order"
has shown '"random": 0\.4' "a random order"
[ "$(tr -d ' \n' <shown | grep -o '"coverage":0.8,"answered":4,"correct":3' | wc -l)" = 4 ] || complain "ties" "$(cat shown)"
has page.html '<title>by the detector</title>' "the page"

# --- a detector's findings and a parser's statements, from files of these programs
data practice -o all --seed 3 >log 2>&1 || fail "ambit-data practice"
cat >gold.jsonl <<'END'
{"id":"a","db_id":"bakery","sql":"SELECT name FROM bread"}
{"id":"b","db_id":"bakery","sql":"SELECT count(*) FROM bread"}
END
printf '%s\n' '{"id":"a","sql":["SELECT name FROM bread"]}' '{"id":"b","sql":["SELECT name FROM bread"]}' >pred.jsonl
data score --gold gold.jsonl --pred pred.jsonl --db all/db --per-example scored.jsonl >log 2>&1 || fail "ambit-data score"
printf '%s\n' '{"id":"a","score":0.2,"ambiguous":false}' '{"id":"b","score":0.7,"ambiguous":true}' '{"id":"c","score":0.5,"ambiguous":true}' \
    '{"id":"d","error":"no"}' >found.jsonl
run 0 train evaluate selective --predictions found.jsonl --scored scored.jsonl
has shown '^0\.500 +1 +1 +1\.000 +0\.5$' "what score wrote"

# --- a tagger's findings: a question with AMB or UNK words is flagged, or one whose problem is probable enough
printf '%s\n' '{"id":"a","status":[],"problem":0.6,"spans":[]}' '{"id":"b","status":["unanswerable"],"problem":0.9,"spans":[]}' >tagged.jsonl
run 0 train evaluate selective --predictions tagged.jsonl --scored scored.jsonl
has shown '^0\.500 +1 +1 +1\.000 +0\.5$' "a tagger's status"
run 0 train evaluate selective --predictions tagged.jsonl --scored scored.jsonl --threshold 0.5
has shown '^0\.000 +0 +0 +- +1$' "a tagger's problem"
echo '{"id":"a","question":"Show the names.","columns":[{"name":"name","type":"text"}]}' >asked.jsonl
infer tag --strategy heuristic asked.jsonl -o said.jsonl 2>log || fail "ambit-infer tag"
run 0 train evaluate selective --predictions said.jsonl --scored <(head -n 1 scored.jsonl)
has shown '^1\.000 +1 +1 +1\.000 +1$' "the output of tag"

# --- bad input
selective() { train evaluate selective "$@"; }
expect 2 'predictions' selective --scored scored.jsonl
expect 2 'threshold' selective --predictions found.jsonl --scored scored.jsonl --threshold 2
expect 3 'few.jsonl: line 1: field "ambiguous"' selective --predictions few.jsonl --scored few.each.jsonl
expect 3 'line 1: field "id": found.jsonl has no prediction for "q1"' selective --predictions found.jsonl --scored few.each.jsonl
expect 3 'field "wrong" is missing, expected true, false or a number' selective --predictions found.jsonl --scored scored.jsonl --field wrong
expect 3 'field "db_id" is a string, expected' selective --predictions found.jsonl --scored scored.jsonl --field db_id
expect 3 'line 3: field "id": expected a new id, got "a"' selective --predictions found.jsonl --scored <(cat scored.jsonl scored.jsonl)
expect 3 'expected a new id, got that of an earlier' selective --predictions <(cat found.jsonl found.jsonl) --scored scored.jsonl
expect 3 'field "score": expected 0 to 1' selective --predictions <(echo '{"id":"a","score":7,"ambiguous":true}') --scored scored.jsonl
expect 3 'field "problem" is missing' selective --predictions <(echo '{"id":"a","status":[]}') --scored scored.jsonl
expect 3 'field "status": expected an array, got a string' selective --predictions <(echo '{"id":"a","status":"no","problem":0}') --scored scored.jsonl
expect 3 'expected scored statements' selective --predictions found.jsonl --scored <(echo '{"id":"a","error":"no"}')
finish
