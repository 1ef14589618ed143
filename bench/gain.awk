# Prints the paired gain between two files of `ambit-data score --per-example` over all records.  The 95 % intervals come
# from 1,000 bootstrap resamples of whole databases (of source_db if present).  For --rule ambiqt: either and both
# interpretations among the first five, in percent.  For --rule dfpl: its five measures, of ambiguous and of other records.
# usage: awk -f gain.awk BEFORE.jsonl AFTER.jsonl

# Adds one record's value of a measure for a class.  Measures are printed in order of first appearance.
function add(class, measure, value,    name) {
    name = class measure
    if (!(name in of)) {
        measures[++n_measures] = name
        of[name] = class
    }
    sum[file, name, db] += value
}

function field(name) { return match($0, "\"" name "\":\"[^\"]*\"") ? substr($0, RSTART + length(name) + 4, RLENGTH - length(name) - 5) : "" }

function number_of(name) {
    if (match($0, "\"" name "\":true"))
        return 1
    return match($0, "\"" name "\":[0-9.]+") ? substr($0, RSTART + length(name) + 3, RLENGTH - length(name) - 3) : 0
}

function add_dfpl(    i, n, names, class) {
    n = split("recall precision f1 one_found all_found", names)
    class = /"ambiguous":true/ ? "ambiguous, " : "unambiguous, "
    if (file == 1)
        records[class, db]++
    for (i = 1; i <= n; i++)
        add(class, names[i], number_of(names[i]))
}

function add_ambiqt(    i, kinds, first, second) {
    if (file == 1)
        records["", db]++
    for (i = 1; i <= split("em direct", kinds); i++) {
        first = $0 ~ "\"" kinds[i] "_orig\":true"
        second = $0 ~ "\"" kinds[i] "_alt\":true"
        add("", "either, " kinds[i], 100 * (first || second))
        add("", "both, " kinds[i], 100 * (first && second))
    }
}

/^[{]"record"/ && !/"recall":/ { next } # the record could not be scored

{
    file = NR == FNR ? 1 : 2
    db = field("source_db")
    if (db == "")
        db = field("db_id")
    if (!(db in number)) {
        number[db] = ++databases
        names_of[databases] = db
    }
    if (/"recall":/)
        add_dfpl()
    else
        add_ambiqt()
}

# Returns the mean over the given databases, or the difference of both files if file is 0.
function share(file, measure, drawn,    d, n, hits) {
    for (d = 1; d <= databases; d++) {
        n += drawn[d] * records[of[measure], names_of[d]]
        hits += drawn[d] * (file ? sum[file, measure, names_of[d]] : sum[2, measure, names_of[d]] - sum[1, measure, names_of[d]])
    }
    return n ? hits / n : 0
}

function sort_numbers(list, n,    i, k, x) {
    for (i = 2; i <= n; i++) {
        x = list[i]
        for (k = i - 1; k > 0 && list[k] > x; k--)
            list[k + 1] = list[k]
        list[k + 1] = x
    }
}

function interval(file, measure,    b, d, list, drawn, form) {
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
    form = of[measure] == "" ? "%5.1f [%5.1f, %5.1f]" : "%6.3f [%6.3f, %6.3f]"
    return sprintf(form, share(file, measure, drawn), list[25], list[976])
}

END {
    for (i = 1; i <= n_measures; i++)
        printf "%-22s before %s  after %s  gain %s\n", measures[i], interval(1, measures[i]), interval(2, measures[i]), interval(0, measures[i])
}
