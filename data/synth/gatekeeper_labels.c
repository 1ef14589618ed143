#include "data/synth/gatekeeper_labels.h"

#include "data/base/strings.h"
#include "data/corpora/ambiqt_text.h"
#include "data/corpora/spider.h"
#include "data/schema/schema_build.h"
#include "kernels/rng.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Returns the table of the last "X as alias", or NULL. */
static const char *aliased(const struct ambiqt_words *w, const char *alias)
{
    const char *table = NULL;
    for (int i = 1; i + 1 < w->n; i++)
        if (strcmp(w->items[i], "as") == 0 && strcmp(w->items[i + 1], alias) == 0)
            table = w->items[i - 1];
    return table;
}

/* Adds one item: "count(distinct t1.name)" gives "name". The inside of the parentheses counts, its last word, behind
 * the last dot. */
static void add_item(struct strings *columns, char *item)
{
    char *open = strchr(item, '('), *close = open ? strchr(open, ')') : NULL;

    if (open)
        item = open + 1;
    if (close)
        *close = 0;
    for (size_t n = strlen(item); n && item[n - 1] == ' ';)
        item[--n] = 0;
    char *space = strrchr(item, ' '), *dot = strrchr(space ? space : item, '.');
    strings_add(columns, dot ? dot + 1 : space ? space + 1 : item);
}

/* Lists the names of the SELECT list. It ends at the first "from", even inside a name. */
static void list_names(struct strings *columns, const char *sql)
{
    const char *select = strstr(sql, "select"), *from = select ? strstr(select, "from") : NULL;
    char *save = NULL, *list = from ? strndup(select + 6, (size_t)(from - select) - 6) : xstrdup("");

    for (char *item = strtok_r(list, ",", &save); item; item = strtok_r(NULL, ",", &save))
        add_item(columns, item);
    free(list);
}

int gatekeeper_columns(const char *normalized, struct strings *text, struct gatekeeper_column *out, int max)
{
    struct strings names = { 0 };
    struct ambiqt_words w;
    int n = 0;

    list_names(&names, normalized);
    ambiqt_words_split(&w, normalized);
    int from = ambiqt_words_find(&w, "from");
    for (int i = 0; i < from && from + 1 < w.n && n < max; i++) {
        bool prefixed = strlen(w.items[i]) > 2 && w.items[i][2] == '.';
        const char *column = prefixed ? w.items[i] + 3 : w.items[i], *table = w.items[from + 1];
        char alias[3] = { w.items[i][0], prefixed ? w.items[i][1] : 0, 0 };
        if (prefixed)
            table = aliased(&w, alias);
        if (!table || strcmp(column, "*") == 0 || strings_find(&names, column) < 0)
            continue;
        out[n] = (struct gatekeeper_column){ strings_keep(text, table), strings_keep(text, column) };
        bool seen = false;
        for (int k = 0; k < n; k++)
            seen |= out[k].table == out[n].table && out[k].column == out[n].column;
        n += !seen;
    }
    ambiqt_words_release(&w);
    strings_release(&names);
    return n;
}

enum { MAX_COLUMNS = 256 }; /* of one SELECT list */

static int read_named(const char *dir, const char *name, int (*read)(void *to, const char *path, struct error *err),
                      void *to, struct error *err)
{
    char *path = NULL;
    CHECK(asprintf(&path, "%s/%s", dir, name) >= 0, "cannot format a path in %s", dir);
    int rc = read(to, path, err);
    free(path);
    return rc;
}

static int read_corpus(void *to, const char *path, struct error *err)
{
    return spider_read(to, path, err);
}

static int read_synonyms(void *to, const char *path, struct error *err)
{
    return synonyms_read(to, path, err);
}

static int read_schemas(void *to, const char *path, struct error *err)
{
    return schema_set_open(to, path, err);
}

/* Adds one record for each column of the SELECT list that has synonyms. */
static void add_question(struct example_list *l, const struct spider_question *q, const struct synonyms *s)
{
    struct gatekeeper_column columns[MAX_COLUMNS];
    char *sql = ambiqt_normalize(q->query);
    int n = gatekeeper_columns(sql, &l->text, columns, MAX_COLUMNS);
    struct example e = { .db_id = q->db_id, .source_db = q->db_id, .question = q->question };

    e.id = "";
    e.sql[e.n_sql++] = sql;
    e.slice = EXAMPLE_SKADBORG_MORTENSEN;
    e.type = SIA_COLUMN;
    for (int i = 0; i < n; i++)
        if (synonyms_find(s, q->db_id, columns[i].table, columns[i].column))
            example_list_add(l, &e);
    free(sql);
}

/* Labels a question as ambiguous if it has two or more records. */
static struct gatekeeper_counts label(struct example_list *l)
{
    struct strings questions = { 0 };
    int *count = xcalloc((size_t)l->n, sizeof *count);
    struct gatekeeper_counts counts = { .records = l->n };

    for (int i = 0; i < l->n; i++)
        count[strings_add(&questions, l->items[i].question)]++;
    for (int i = 0; i < l->n; i++) {
        l->items[i].ambiguous = count[strings_find(&questions, l->items[i].question)] >= 2;
        counts.ambiguous += l->items[i].ambiguous;
    }
    free(count);
    strings_release(&questions);
    return counts;
}

static int make_records(struct example_list *l, struct gatekeeper_counts *counts, const char *spider, const char *file,
                        const struct synonyms *s, struct error *err)
{
    struct spider_corpus corpus;
    int rc = read_named(spider, file, read_corpus, &corpus, err);

    for (int i = 0; i < corpus.n && rc == 0; i++)
        add_question(l, &corpus.items[i], s);
    *counts = label(l);
    spider_release(&corpus);
    return rc;
}

/* Lists the databases that share no question with another one, shuffled. They can form a split of their own. */
static int lone_databases(struct example_list *l, const char ***out, int *n_all, struct rng *rng)
{
    struct strings dbs = { 0 }, questions = { 0 };
    int *db_of = xcalloc((size_t)l->n, sizeof *db_of), n = 0;
    bool *shared = xcalloc((size_t)l->n, sizeof *shared);

    for (int i = 0; i < l->n; i++) {
        int before = questions.n, db = strings_add(&dbs, l->items[i].db_id);
        int at = strings_add(&questions, l->items[i].question);
        if (at == before)
            db_of[at] = db;
        else if (db_of[at] != db)
            shared[db] = shared[db_of[at]] = true;
    }
    *out = xcalloc((size_t)dbs.n, sizeof **out);
    for (int i = 0; i < dbs.n; i++)
        if (!shared[i]) {
            int j = (int)rng_below(rng, (uint32_t)n + 1);
            (*out)[n] = (*out)[j];
            (*out)[j] = strings_keep(&l->text, dbs.items[i]);
            n++;
        }
    *n_all = dbs.n;
    free(db_of);
    free(shared);
    strings_release(&dbs);
    strings_release(&questions);
    return n;
}

/* Moves a share of the databases from train to valid. */
static void hold_out(struct dataset *d, const struct contrast_options *o)
{
    struct example_list *train = &d->splits[SPLIT_TRAIN];
    struct rng rng = { .seed = o->seed };
    const char **lone = NULL;
    int n_all = 0, kept = 0, n = lone_databases(train, &lone, &n_all, &rng);
    int held = (int)ceil(n_all * o->valid_share);
    struct strings names = { 0 };

    for (int i = 0; i < n && i < held; i++)
        strings_add(&names, lone[i]);
    for (int i = 0; i < train->n; i++)
        if (strings_find(&names, train->items[i].db_id) >= 0)
            example_list_add(&d->splits[SPLIT_VALID], &train->items[i]);
        else
            train->items[kept++] = train->items[i];
    train->n = kept;
    strings_release(&names);
    free(lone);
}

static int check_schemas(struct dataset *d, struct error *err)
{
    for (int f = 0; f < SPLITS; f++)
        for (int i = 0; i < d->splits[f].n; i++) {
            struct example *e = &d->splits[f].items[i];
            if (!schema_find(&d->schemas, e->db_id))
                return error_set(err, EXIT_CODE_DATA, "field \"db_id\": expected a database of tables.json, got \"%s\"",
                                 e->db_id);
            e->id = strings_printf(&d->splits[f].text, "%s-%06d", split_name((enum data_split)f), i + 1);
        }
    return 0;
}

int gatekeeper_labels_build(struct dataset *out, struct gatekeeper_counts counts[2], const struct contrast_options *o,
                            const char *ambiqt, const char *spider, struct error *err)
{
    struct synonyms synonyms;

    *out = (struct dataset){ 0 };
    int rc = read_named(ambiqt, "two_col_synonyms.json", read_synonyms, &synonyms, err);
    if (rc == 0)
        rc = read_named(spider, "tables.json", read_schemas, &out->schemas, err);
    if (rc == 0)
        rc = make_records(&out->splits[SPLIT_TRAIN], &counts[0], spider, "train_spider.json", &synonyms, err);
    if (rc == 0)
        rc = make_records(&out->splits[SPLIT_TEST], &counts[1], spider, "dev.json", &synonyms, err);
    if (rc == 0) {
        hold_out(out, o);
        rc = check_schemas(out, err);
    }
    synonyms_release(&synonyms);
    return rc;
}
