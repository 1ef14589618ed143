#include "data/counterfactual/counterfactual_edit.h"

#include <stdlib.h>
#include <string.h>

static const double VALID_SHARE = 0.1, TEST_SHARE = 0.1;

static int find_root(int *parent, int i)
{
    while (parent[i] != i)
        i = parent[i] = parent[parent[i]];
    return i;
}

/* The first table of each question and database. */
struct first_tables {
    struct strings met;
    int *first, cap;
    int *parent; /* of each table, the root of a group its own */
};

static void join_question(struct first_tables *f, struct counterfactual *c, const struct asked_question *q)
{
    const char *keys[] = { strings_printf(&c->text, "?%s", counterfactual_plain(c, q->text)), q->db_id };

    for (int k = 0; k < ARRAY_LEN(keys); k++) {
        int before = f->met.n, at = strings_add(&f->met, keys[k]);
        if (at == before) {
            GROW(f->first, before, f->cap);
            f->first[at] = q->table;
        }
        f->parent[find_root(f->parent, q->table)] = find_root(f->parent, f->first[at]);
    }
}

/* Tables that have a question, a header or a database in common; databases as a whole last, so that their tables'
 * groups are what they would be without them. */
static void join_tables(struct counterfactual *c)
{
    struct first_tables f = { .parent = xmalloc((size_t)(c->n_tables + 1) * sizeof *f.parent) };

    for (int i = 0; i < c->n_tables; i++)
        f.parent[i] = i;
    for (int whole = 0; whole < 2; whole++)
        for (int i = 0; i < c->n_questions; i++)
            if (c->tables[c->questions[i].table].whole == (whole == 1))
                join_question(&f, c, &c->questions[i]);
    for (int i = 0; i < c->n_tables; i++)
        c->tables[i].group = find_root(f.parent, i);
    free(f.first);
    free(f.parent);
    strings_release(&f.met);
}

/* Groups in a drawn order until a fold has its share of the questions; those with questions for tests go there.
 * Databases as a whole go with their tables, or into training. */
static void counterfactual_split(struct counterfactual *c)
{
    int *order = xmalloc((size_t)(c->n_tables + 1) * sizeof *order), n = 0,
        *size = xcalloc((size_t)c->n_tables + 1, sizeof *size);
    const double wanted[] = { [FOLD_TRAIN] = 1, [FOLD_VALID] = VALID_SHARE, [FOLD_TEST] = TEST_SHARE };
    int64_t got = 0, all = 0;
    enum fold fold = FOLD_TEST;

    c->fold = xcalloc((size_t)c->n_tables + 1, sizeof *c->fold);
    for (int i = 0; i < c->n_tables; i++)
        if (!c->tables[i].whole)
            order[n++] = i;
    for (int i = 0; i < c->n_questions; i++) {
        int group = c->tables[c->questions[i].table].group;
        size[group] += !c->tables[c->questions[i].table].whole;
        all += !c->tables[c->questions[i].table].whole;
        if (c->questions[i].test)
            c->fold[group] = FOLD_TEST;
    }
    rng_shuffle(&c->rng, order, n, sizeof *order);
    for (int i = 0; i < n; i++) {
        int group = order[i];
        if (!size[group] || c->fold[group] == FOLD_TEST)
            continue;
        while (fold != FOLD_TRAIN && (double)got >= wanted[fold] * (double)all) {
            fold = fold == FOLD_TEST ? FOLD_VALID : FOLD_TRAIN;
            got = 0;
        }
        c->fold[group] = (int)fold;
        got += size[group];
    }
    free(order);
    free(size);
}

static int read_sources(struct counterfactual *c, struct error *err)
{
    const struct counterfactual_options *o = c->options;
    int rc = o->synonyms ? synonyms_read(&c->listed.dictionary, o->synonyms, err) : 0;

    if (rc == 0 && o->wikisql)
        rc = counterfactual_read_wikisql(c, o->wikisql, err);
    if (rc == 0 && o->wtq)
        rc = counterfactual_read_wtq(c, o->wtq, err);
    for (int i = 0; i < c->n_tables && rc == 0; i++) {
        const struct asked_table *t = &c->tables[i];
        const char *names[ASKED_COLUMNS];
        enum column_type types[ASKED_COLUMNS];
        for (int k = 0; k < t->n_columns; k++) {
            names[k] = t->columns[k].name;
            types[k] = t->columns[k].type;
        }
        header_pool_add(&c->pool, names, types, t->n_columns);
    }
    if (rc == 0 && o->spider)
        rc = counterfactual_read_spider(c, o->spider, err);
    if (rc == 0 && !c->n_questions)
        rc = error_set(err, EXIT_CODE_DATA,
                       "no question to edit tables for: expected some of WikiSQL or Spider, got none");
    return rc;
}

static int write_folds(struct counterfactual *c, struct error *err)
{
    const struct counterfactual_options *o = c->options;
    struct out_file files[FOLDS] = { 0 };
    int rc = make_dirs(o->out, err);

    for (int f = 0; f < FOLDS && rc == 0; f++) {
        char *name = NULL;
        CHECK(asprintf(&name, "%s/%s.jsonl", o->out, fold_name((enum fold)f)) >= 0, "cannot format %s", o->out);
        rc = out_file_open(&files[f], name, err);
        free(name);
        for (size_t i = 0; i < json_array_size(c->records[f]) && rc == 0; i++)
            rc = json_write_line(&files[f], json_array_get(c->records[f], i), err);
    }
    if (rc == 0)
        rc = out_files_commit(files, FOLDS, o->force, err);
    for (int f = 0; f < FOLDS; f++)
        out_file_abort(&files[f]);
    return rc;
}

static void print_counts(const struct counterfactual *c, FILE *table)
{
    static const char *const sources[] = { "wikisql", "spider", "database" };

    fprintf(table, "%-8s %-21s %8s %8s %8s\n", "source", "kind", "AMB", "UNK", "neither");
    for (int s = 0; s < ARRAY_LEN(sources); s++)
        for (int k = 0; k < EDIT_KINDS; k++) {
            const struct counterfactual_counts *n = &c->counts[s][k];
            if (n->problem[SPAN_AMB] + n->problem[SPAN_UNK] + n->control)
                fprintf(table, "%-8s %-21s %8lld %8lld %8lld\n", sources[s], counterfactual_kind((enum edit_kind)k),
                        (long long)n->problem[SPAN_AMB], (long long)n->problem[SPAN_UNK], (long long)n->control);
        }
    for (int f = 0; f < FOLDS; f++)
        fprintf(table, "%s: %zu records\n", fold_name((enum fold)f), json_array_size(c->records[f]));
    fprintf(table, "left out: %lld questions whose columns are not known\n", (long long)c->left_out);
}

static void counterfactual_release(struct counterfactual *c)
{
    for (int i = 0; i < c->n_tables; i++) {
        for (int k = 0; k < c->tables[i].n_columns; k++)
            free(c->tables[i].columns[k].values);
        free(c->tables[i].columns);
        free(c->tables[i].questions);
    }
    for (int f = 0; f < FOLDS; f++)
        json_decref(c->records[f]);
    free(c->tables);
    free(c->questions);
    free(c->edited_fold);
    free(c->fold);
    header_pool_release(&c->pool);
    synonym_pool_release(&c->listed);
    strings_release(&c->text);
    strings_release(&c->synonyms);
    strings_release(&c->table_keys);
    strings_release(&c->asked);
    strings_release(&c->edited);
}

int counterfactual_make(const struct counterfactual_options *o, FILE *table, struct error *err)
{
    struct counterfactual c = { .options = o, .rng = { .seed = o->seed } };
    int rc = read_sources(&c, err);

    for (int f = 0; f < FOLDS; f++)
        c.records[f] = json_array();
    if (rc == 0) {
        join_tables(&c);
        counterfactual_split(&c);
        synonym_pool_fill(&c);
        counterfactual_pairs(&c);
        rc = write_folds(&c, err);
    }
    if (rc == 0)
        print_counts(&c, table);
    counterfactual_release(&c);
    return rc;
}
