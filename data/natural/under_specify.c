#include "data/natural/under_specify_impl.h"

#include "data/exec/db_path.h"
#include "data/exec/result_match.h"
#include "data/exec/sqlite_exec.h"
#include "data/natural/rivals.h"
#include "data/rewrite/sql_exchange.h"
#include "data/util/log.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

enum { STEM = 5 }; /* letters that "departs" and "departure" have in common */

/* Why a question is not shortened. */
enum loss { LOSS_NONE, LOSS_WORDS, LOSS_HINT, LOSS_RIVALS, LOSS_SQL, LOSS_ROWS, LOSSES };
static const char *const loss_names[LOSSES] = { "shortened",      "not named by its modifier", "a hint remains",
                                                "further rivals", "no second statement",       "equal rows" };

/* What is looked at while the items of one corpus are found. */
struct under_search {
    struct natural *n;
    const struct natural_corpus *c;
    struct under_items *out;
    struct exec_db *db; /* of the database that is looked at, or NULL */
    int db_of;
    int losses[LOSSES];
};

/* Marks the words of column `of` that go.  A mention ends in the head word, and all words before it that belong to the
 * name are part of it. */
static bool cut_mentions(struct cut_question *q, const struct rivals *r)
{
    bool cut = false;

    for (int i = 0; i < q->n; i++) {
        int begin = i, own = 0;
        if (q->list[i].hash != r->head)
            continue;
        while (
            begin > 0 && question_joined(q, begin - 1, begin) &&
            (word_list_has(&r->shared, q->list[begin - 1].hash) || word_list_has(&r->own[0], q->list[begin - 1].hash)))
            begin--;
        for (int k = begin; k < i; k++)
            own += word_list_has(&r->own[0], q->list[k].hash);
        for (int k = begin; k <= i && own; k++) {
            q->list[k].taken = true;
            q->list[k].out = word_list_has(&r->own[0], q->list[k].hash);
            cut = true;
        }
    }
    return cut;
}

/* Words that name another column that the statement uses are no hint. */
static void take_others(struct cut_question *q, const struct schema *s, const bool *touched, const struct rivals *r)
{
    for (int c = 0; c < s->n_columns; c++) {
        struct word_list name;
        if (!touched[c] || c == r->columns[0])
            continue;
        name.n = words_read(s->columns[c].text, name.list, NAME_MAX_WORDS);
        for (int at = -1; name.n > 1 && (at = question_find(q, name.list, name.n, at + 1)) >= 0;)
            for (int k = 0; k < name.n; k++)
                q->list[at + k].taken = true;
    }
}

/* Letters that a word of the question and a word of a name begin with alike. */
static bool same_stem(const char *a, int n, const char *b, int m)
{
    int k = 0;

    while (k < n && k < m && tolower((unsigned char)a[k]) == tolower((unsigned char)b[k]))
        k++;
    int shorter = n < m ? n : m;
    return shorter >= 4 && k >= (shorter < STEM ? shorter : STEM);
}

/* Whether the word is, or is derived from, a word that only one of the names has. */
static bool is_hint(const struct cut_question *q, int i, const struct rivals *r, const char *name, int which)
{
    for (const char *p = name; *p;) {
        int n = 0;
        while (element_name_letter(p[n]))
            n++;
        uint32_t hash = 0;
        char *word = strndup(p, (size_t)n);
        if (n)
            words_read(word, &hash, 1);
        free(word);
        if (n && word_list_has(&r->own[which], hash) &&
            (hash == q->list[i].hash || same_stem(q->text + q->list[i].begin, q->list[i].end - q->list[i].begin, p, n)))
            return true;
        p += n ? n : 1;
    }
    return false;
}

static bool has_hint(const struct cut_question *q, const struct schema *s, const struct rivals *r)
{
    for (int i = 0; i < q->n; i++)
        for (int which = 0; which < 2; which++)
            if (!q->list[i].taken && !q->list[i].out && is_hint(q, i, r, s->columns[r->columns[which]].text, which))
                return true;
    return false;
}

static bool names_table(const struct cut_question *q, const struct schema *s, int table)
{
    struct word_list name;

    word_list_read(&name, s->tables[table].text);
    for (int i = 0; i < name.n; i++)
        if (question_says(q, name.list[i]))
            return true;
    return false;
}

static bool is_near(const struct schema *s, const bool *touched, int column, int table)
{
    int t = s->columns[column].table;

    if (t == table || tables_joined(s, t, table))
        return true;
    for (int c = s->tables[t].first_column; c < s->tables[t].first_column + s->tables[t].n_columns; c++)
        if (touched[c])
            return true;
    return false;
}

/* Marks the other columns that the short question may mean.  False where one of them cannot go. */
static bool drop_further(bool *dropped, const struct cut_question *q, const struct schema *s, const bool *touched,
                         const struct rivals *r)
{
    int table = s->columns[r->columns[0]].table;
    bool named = names_table(q, s, table);

    for (int c = 0; c < s->n_columns; c++) {
        if (c == r->columns[0] || c == r->columns[1] || !column_has_words(s, c, &r->shared) ||
            (named && !is_near(s, touched, c, table)))
            continue;
        struct word_list name;
        word_list_read(&name, s->columns[c].text);
        bool said = name.n > r->shared.n && question_find(q, name.list, name.n, 0) >= 0;
        if (touched[c] && !said)
            return false;
        if (!touched[c] && s->columns[c].primary)
            return false;
        dropped[c] = !touched[c];
    }
    return true;
}

/* The database of the question; NULL where there is none. */
static struct exec_db *open_db(struct under_search *x, int db)
{
    if (x->db_of == db)
        return x->db;
    exec_close(x->db);
    x->db = NULL;
    x->db_of = db;
    char *path = x->c->db ? db_path(x->c->db, x->c->schemas.schemas[db].db_id, NULL) : NULL;
    if (path)
        x->db = exec_open(path, &exec_limits_preview, NULL);
    free(path);
    return x->db;
}

/* Whether both statements run and give different rows.  Without rows nothing is known against it. */
static bool rows_differ(struct under_search *x, int db, const char *const *sql)
{
    struct exec_db *e = open_db(x, db);

    if (!e)
        return true;
    struct exec_result a = exec_run(e, sql[0]), b = exec_run(e, sql[1]);
    bool good = a.status == EXEC_OK && b.status == EXEC_OK && (a.n == 0 || b.n > 0) && (b.n == 0 || a.n > 0);
    if (good && a.n)
        good = !match_rows(&a, &b, false);
    exec_result_release(&a);
    exec_result_release(&b);
    return good;
}

static enum loss make_item(struct under_search *x, int question, int db, const bool *touched, const struct rivals *r)
{
    const struct schema *s = &x->c->schemas.schemas[db];
    const struct spider_question *source = &x->c->questions.items[question];
    struct cut_question q;
    size_t columns = (size_t)s->n_columns;

    if (!question_words_read(&q, source->question) || !cut_mentions(&q, r))
        return LOSS_WORDS;
    take_others(&q, s, touched, r);
    if (has_hint(&q, s, r))
        return LOSS_HINT;
    struct under_item item = { .db = db, .question = question, .columns = { r->columns[0], r->columns[1] } };
    bool *dropped = xcalloc(columns, sizeof *dropped);
    if (!drop_further(dropped, &q, s, touched, r)) {
        free(dropped);
        return LOSS_RIVALS;
    }
    size_t mark = arena_mark(&x->n->sql);
    const char *other =
        sql_exchange(&x->n->sql, source->query, s, s->n_tables + r->columns[0], s->n_tables + r->columns[1], NULL);
    item.sql[0] = source->query;
    item.sql[1] = other ? strings_keep(&x->out->text, other) : NULL;
    arena_reset(&x->n->sql, mark);
    enum loss loss = !other ? LOSS_SQL : rows_differ(x, db, item.sql) ? LOSS_NONE : LOSS_ROWS;
    if (loss) {
        free(dropped);
        return loss;
    }
    char *text = question_without(&q);
    item.text = strings_keep(&x->out->text, text);
    free(text);
    item.dropped = dropped;
    item.touched = xcalloc(columns, sizeof *item.touched);
    memcpy(item.touched, touched, columns * sizeof *touched);
    GROW(x->out->list, x->out->n, x->out->cap);
    x->out->list[x->out->n++] = item;
    return LOSS_NONE;
}

/* The rival that has most words in common with a column; of equal ones any.  False where there is none. */
static bool find_rival(struct rivals *best, struct under_search *x, const struct schema *s, const bool *touched,
                       int column)
{
    const struct schema_table *t = &s->tables[s->columns[column].table];
    uint32_t equal = 0;

    best->shared.n = 0;
    for (int d = t->first_column; d < t->first_column + t->n_columns; d++) {
        struct rivals r;
        if (touched[d] || !rivals_read(&r, s, column, d) || r.shared.n < best->shared.n)
            continue;
        equal = r.shared.n > best->shared.n ? 1 : equal + 1;
        if (rng_below(&x->n->rng, equal) == 0)
            *best = r;
    }
    return best->shared.n > 0;
}

static void search_question(struct under_search *x, int question)
{
    const struct spider_question *source = &x->c->questions.items[question];
    const struct schema *s = schema_find(&x->c->schemas, source->db_id);
    bool *touched = xcalloc((size_t)s->n_columns + 1, sizeof *touched), done = false;

    if (natural_touch(x->n, source->query, s, touched))
        for (int c = 0; c < s->n_columns && !done; c++) {
            struct rivals r;
            if (!touched[c] || !find_rival(&r, x, s, touched, c))
                continue;
            enum loss loss = make_item(x, question, (int)(s - x->c->schemas.schemas), touched, &r);
            x->losses[loss]++;
            done = loss == LOSS_NONE;
        }
    free(touched);
}

int under_specify_make(struct natural *n, const struct natural_corpus *c, struct error *err)
{
    struct under_items items = { 0 };
    struct under_search x = { .n = n, .c = c, .out = &items, .db_of = -1 };

    (void)err;
    for (int i = 0; i < c->questions.n; i++)
        search_question(&x, i);
    for (int l = 0; l < LOSSES; l++)
        if (x.losses[l])
            log_info("%s: columns with a rival, %s: %d", c->name, loss_names[l], x.losses[l]);
    under_specify_cross(n, c, &items);
    for (int i = 0; i < items.n; i++) {
        free(items.list[i].touched);
        free(items.list[i].dropped);
    }
    exec_close(x.db);
    free(items.list);
    strings_release(&items.text);
    return 0;
}
