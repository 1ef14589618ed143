# Samples up to N (-v n=10) different statements for each line of constraints, with random names.  Each choice of tables is
# equally likely, and within it each name, string or number.  Writes "ID<tab>[statements]".
# usage: awk -v seed=1 -v n=10 -f random_names.awk CONSTRAINTS.jsonl
# Texts stay JSON-encoded.  Quotes within texts are escaped, so the separators of alternatives and slots occur in no text.

BEGIN { srand(seed) }

# Returns one random text of a slot's list.
function drawn(slots, slot,    rest, at, count, texts) {
    rest = substr(slots, index(slots, "\"" slot "\":[") + length(slot) + 4)
    for (count = 0; match(rest, /^,?"([^"\\]|\\.)*"/); rest = substr(rest, RLENGTH + 1)) {
        at = substr(rest, 1, 1) == "," ? 3 : 2
        texts[count++] = substr(rest, at, RLENGTH - at)
    }
    return texts[int(rand() * count)]
}

function filled(alternative,    template, slots, done, at, n) {
    match(alternative, /^"([^"\\]|\\.)*"/)
    template = substr(alternative, 2, RLENGTH - 2)
    slots = substr(alternative, RLENGTH + 1)
    for (done = ""; match(template, /[{][a-z]+[0-9]*[}]/); template = substr(template, at + n)) {
        at = RSTART
        n = RLENGTH
        done = done substr(template, 1, at - 1) drawn(slots, substr(template, at + 1, n - 2))
    }
    return done template
}

{
    alternatives = split($0, parts, /[{]"template":/) - 1
    list = ""
    split("", seen)
    for (try = count = 0; count < n && try < 5 * n; try++) {
        sql = filled(parts[2 + int(rand() * alternatives)])
        if (!(sql in seen)) {
            list = list (count++ ? "," : "") "\"" sql "\""
            seen[sql]
        }
    }
    match($0, /"id":"[^"]*"[}]$/)
    print substr($0, RSTART + 6, RLENGTH - 8) "\t[" list "]"
}
