/* Measures the microseconds that compile a constraint from the names of schemas (tables.json of Spider or BIRD): first
 * the tokens of the texts, then the tables of the constraint.  Prints the median of 21 runs on one core. */
#include "data/base/log.h"
#include "data/base/strings.h"
#include "data/schema/schema.h"
#include "models/engine/constraint_form.h"

#include <stdlib.h>

enum { RUNS = 21 };

static const int32_t stop = 1 << 20; /* an id that no text contains */

struct timing {
    double encode[RUNS], build[RUNS];
    int64_t tokens;
    struct automaton_host tables;
};

static int compare(const void *x, const void *y)
{
    double a = *(const double *)x, b = *(const double *)y;
    return (a > b) - (a < b);
}

static double median(double *v)
{
    qsort(v, RUNS, sizeof *v, compare);
    return v[RUNS / 2];
}

/* Collects up to the given number of different column names. */
static json_t *column_names(const struct schema_set *set, int most)
{
    struct strings names = { 0 };
    json_t *list = json_array();

    for (int i = 0; i < set->n; i++)
        for (int k = 0; k < set->schemas[i].n_columns && names.n < most; k++)
            strings_add(&names, set->schemas[i].columns[k].name);
    for (int i = 0; i < names.n; i++)
        json_array_append_new(list, json_string(names.items[i]));
    strings_release(&names);
    return list;
}

static int run_once(struct timing *m, int run, const struct constraint_form *f, const struct tokenizer *t,
                    struct error *err)
{
    double start = now_seconds();
    int n, rc;
    struct token_list *words = constraint_form_encode(f, t, &stop, 1, &n, err);

    if (!words)
        return -1;
    double middle = now_seconds();
    automaton_release(&m->tables);
    rc = automaton_build(&m->tables, words, n, &stop, 1, err);
    m->encode[run] = middle - start;
    m->build[run] = now_seconds() - middle;
    m->tokens = 0;
    for (int i = 0; i < n; i++) {
        m->tokens += words[i].ids.count;
        token_list_release(words + i);
    }
    free(words);
    return rc;
}

static void print_row(const char *what, struct timing *m)
{
    const struct automaton_host *a = &m->tables;
    int forced = 0;

    for (int32_t s = 0; s < a->n_states; s++)
        forced += automaton_forced(a, s, NULL, 0) > 0;
    printf("| %s | %lld | %d | %d | %.0f %% | %.0f | %.0f |\n", what, (long long)m->tokens, a->n_states, a->n_edges,
           100.0 * forced / a->n_states, 1e6 * median(m->encode), 1e6 * median(m->build));
}

static void measure(const char *what, const json_t *o, const struct tokenizer *t)
{
    struct constraint_form f;
    struct timing m = { 0 };
    struct error err;
    int rc = constraint_form_read(&f, o, what, &err);

    for (int i = 0; i < RUNS && rc == 0; i++)
        rc = run_once(&m, i, &f, t, &err);
    CHECK(rc == 0, "%s: %s", what, err.text);
    print_row(what, &m);
    automaton_release(&m.tables);
    constraint_form_release(&f);
}

int main(int argc, char **argv)
{
    struct schema_set set;
    struct error err;

    if (argc != 4) {
        fprintf(stderr, "usage: bench_constraint MODEL_DIR TABLES_JSON NAMES\n");
        return EXIT_CODE_USAGE;
    }
    struct tokenizer *t = tokenizer_open(argv[1], &err);
    if (!t || schema_set_open(&set, argv[2], &err)) {
        fprintf(stderr, "bench_constraint: %s\n", err.text);
        return (int)err.code;
    }
    json_t *names = column_names(&set, (int)strtol(argv[3], NULL, 10));
    json_t *answers = json_pack("{s:O}", "answers", names);
    json_t *query = json_pack("{s:s, s:{s:O}}", "template", "select {column} from singer where {column} = {column}",
                              "slots", "column", names);
    printf("%zu names\n\n| constraint | tokens | states | edges | forced states | tokens, us | tables, us |\n"
           "|---|---|---|---|---|---|---|\n",
           json_array_size(names));
    measure("answers", answers, t);
    measure("template, three slots", query, t);
    json_decref(query);
    json_decref(answers);
    json_decref(names);
    schema_set_close(&set);
    tokenizer_close(t);
    return 0;
}
