# What one file of `ambit-data score --rule ambiqt --per-example` has and another has not: either and both readings among
# the first five, over all records, with 95 % intervals of 1,000 resamples of whole databases, in pairs.
# usage: awk -f gain.awk BEFORE.jsonl AFTER.jsonl

function add(file, measure, value) { sum[file, measure, db] += value }

{
    file = NR == FNR ? 1 : 2
    match($0, /"db_id":"[^"]*"/)
    db = substr($0, RSTART + 9, RLENGTH - 10)
    if (!(db in number)) {
        number[db] = ++databases
        names[databases] = db
    }
    if (file == 1)
        records[db]++
    for (i = split("em direct", kinds); i > 0; i--) {
        first = $0 ~ "\"" kinds[i] "_orig\":true"
        second = $0 ~ "\"" kinds[i] "_alt\":true"
        add(file, "either, " kinds[i], first || second)
        add(file, "both, " kinds[i], first && second)
    }
}

# The share over some databases; the difference where file is 0.
function share(file, measure, drawn,    d, n, hits) {
    for (d = 1; d <= databases; d++) {
        n += drawn[d] * records[names[d]]
        hits += drawn[d] * (file ? sum[file, measure, names[d]] : sum[2, measure, names[d]] - sum[1, measure, names[d]])
    }
    return 100 * hits / n
}

function sort_numbers(list, n,    i, k, x) {
    for (i = 2; i <= n; i++) {
        x = list[i]
        for (k = i - 1; k > 0 && list[k] > x; k--)
            list[k + 1] = list[k]
        list[k + 1] = x
    }
}

function interval(file, measure,    b, d, list, drawn) {
    srand(1)
    for (b = 1; b <= 1000; b++) {
        split("", drawn)
        for (d = 1; d <= databases; d++)
            drawn[1 + int(rand() * databases)]++
        list[b] = share(file, measure, drawn)
    }
    sort_numbers(list, 1000)
    for (d = 1; d <= databases; d++)
        drawn[d] = 1
    return sprintf("%5.1f [%5.1f, %5.1f]", share(file, measure, drawn), list[25], list[976])
}

END {
    n = split("either, em;both, em;either, direct;both, direct", measures, ";")
    for (i = 1; i <= n; i++)
        printf "%-15s before %s  after %s  gain %s\n", measures[i], interval(1, measures[i]), interval(2, measures[i]), interval(0, measures[i])
}
