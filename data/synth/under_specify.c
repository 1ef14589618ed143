#include "data/synth/under_specify.h"

#include "data/base/log.h"
#include "data/base/pairing.h"
#include "data/db/db_path.h"
#include "data/db/result_match.h"
#include "data/db/sqlite_exec.h"
#include "data/synth/element_style.h"
#include "data/synth/natural.h"
#include "data/synth/rivals.h"
#include "data/synth/sql_edit.h"
#include "data/synth/sql_exchange.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* A schema on which only one of an item's columns fits the short question. */
struct under_one {
    const struct schema *s;
    int which;       /* the column that fits */
    int gone;        /* the other column if it was dropped; -1: it stays under another name */
    const char *sql; /* with the column that fits, under its name there */
};

/* Items, other columns that they could mean, and the databases for their statements. */

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

bool under_drop_further(bool *dropped, const struct cut_question *q, const struct schema *s, const bool *touched,
                        const struct rival_pair *r, const struct word_list *left)
{
    int table = s->columns[r->columns[0]].table;
    bool named = names_table(q, s, table);

    for (int c = 0; c < s->n_columns; c++) {
        if (c == r->columns[0] || c == r->columns[1] || !column_has_words(s, c, left) ||
            (named && !is_near(s, touched, c, table)))
            continue;
        struct word_list name;
        name.n = words_read(s->columns[c].text, name.list, NAME_MAX_WORDS);
        bool said = name.n > left->n && question_find(q, name.list, name.n, 0) >= 0;
        if (touched[c] && !said)
            return false;
        if (!touched[c] && s->columns[c].primary)
            return false;
        dropped[c] = !touched[c];
    }
    return true;
}

struct exec_db *under_rows_open(struct under_rows *r, int db)
{
    if (r->of == db + 1)
        return r->db;
    exec_close(r->db);
    r->db = NULL;
    r->of = db + 1;
    char *path = r->c->db ? db_path(r->c->db, r->c->schemas.schemas[db].db_id, NULL) : NULL;
    if (path)
        r->db = exec_open(path, &exec_limits_preview, NULL);
    free(path);
    return r->db;
}

bool under_rows_differ(struct under_rows *r, int db, const char *const *sql)
{
    struct exec_db *e = under_rows_open(r, db);

    if (!e)
        return true;
    struct exec_result a = exec_run(e, sql[0]), b = exec_run(e, sql[1]);
    bool good = a.status == EXEC_OK && b.status == EXEC_OK && (a.n == 0) == (b.n == 0);
    if (good && a.n)
        good = !match_rows(&a, &b, false);
    exec_result_release(&a);
    exec_result_release(&b);
    return good;
}

void under_rows_close(struct under_rows *r)
{
    exec_close(r->db);
    r->db = NULL;
    r->of = 0;
}

void under_items_add(struct under_items *items, const struct under_item *item)
{
    GROW(items->list, items->n, items->cap);
    items->list[items->n++] = *item;
}

void under_items_release(struct under_items *items)
{
    for (int i = 0; i < items->n; i++) {
        free(items->list[i].touched);
        free(items->list[i].dropped);
    }
    free(items->list);
    strings_release(&items->text);
}

/* Schemas on which only one column fits a short question. */

/* Share of schemas that keep the rival and rename the column to the words of the question. */
static const float WHOLE_NAME = 0.5f;

struct column_renaming {
    struct sql_edits edits;
    int column;
    const char *from, *to;
};

/* A callback of struct sql_walker. */
static void rename_column(void *context, struct sql_expr *e, struct sql_core *core)
{
    struct column_renaming *r = context;

    (void)core;
    if (e->kind == SQL_EXPR_COLUMN && e->column == r->column && strcasecmp(e->name.text, r->from) == 0)
        sql_edits_name(&r->edits, e->name.span, r->to);
}

static bool uses(const struct under_item *i, int column)
{
    return i->touched[column] || column == i->columns[0] || column == i->columns[1];
}

/* Returns the statement with the column renamed. NULL if it does not resolve. */
static const char *rename_in(struct natural *n, struct strings *text, const char *sql, const struct schema *s,
                             int column, const char *name)
{
    struct sql_uses uses;
    size_t mark = arena_mark(&n->sql);
    struct sql_query *q = sql_parse(&n->sql, sql, NULL);
    struct column_renaming r = {
        .edits = { .sql = sql }, .column = column, .from = s->columns[column].name, .to = name
    };
    const struct sql_walker walker = { .context = &r, .expr = rename_column };
    const char *renamed = NULL;

    if (q && sql_resolve(&n->sql, q, s, &uses, NULL) == 0) {
        sql_walk(&walker, q->select);
        char *all = sql_edits_all(&r.edits);
        renamed = strings_keep(text, all);
        free(all);
    }
    sql_edits_release(&r.edits);
    arena_reset(&n->sql, mark);
    return renamed;
}

/* Spells the words in the style of another name. */
static const char *spell_like(struct strings *text, const char *words, const char *like)
{
    bool capital = isupper((unsigned char)like[0]), underscore = strchr(like, '_') != NULL;
    bool small = false;

    for (const char *p = like; *p; p++)
        small = small || islower((unsigned char)*p);
    enum element_style style = !small ? STYLE_UPPER : underscore || !capital ? STYLE_SNAKE : STYLE_CAMEL;
    return element_spell(text, words, style);
}

static bool fits_by_name(struct under_one *one, struct natural *n, struct strings *text, const struct under_item *i)
{
    int column = i->columns[one->which];
    const struct schema_column *c = &one->s->columns[column];
    const char *words = words_among(text, c->text, &i->left), *name = spell_like(text, words, c->name);

    if (!words[0] || schema_column_find(one->s, c->table, name) >= 0 ||
        c->table != one->s->columns[i->columns[1 - one->which]].table)
        return false;
    const char *sql = rename_in(n, text, i->sql[one->which], one->s, column, name);
    if (!sql)
        return false;
    *one = (struct under_one){ natural_rename(n, one->s, column, name), one->which, -1, sql };
    bool *flags = xcalloc((size_t)one->s->n_columns, sizeof *flags);
    bool good = natural_touch(n, sql, one->s, flags);
    free(flags);
    return good;
}

/* Draws one of two ways: the other column is dropped, or the fitting one gets the whole name in the question. text
 * keeps the statement. */
static struct under_one under_one_draw(struct natural *n, struct strings *text, const struct under_item *i,
                                       const struct schema *s)
{
    int which = (int)rng_below(&n->rng, 2);

    for (int k = 0; k < 2; k++) /* its key would be dropped too */
        if (s->columns[i->columns[k]].primary)
            which = k;
    struct under_one one = { s, which, i->columns[1 - which], i->sql[which] }, named = one;
    return rng_uniform(&n->rng) < WHOLE_NAME && fits_by_name(&named, n, text, i) ? named : one;
}

/* The examples of shortened questions. */

enum { GROUP_MAX = 40 }; /* maximum of questions of one database */

/* The items of one database, to be paired. */
struct group {
    struct natural *n;
    const struct natural_corpus *c;
    const struct under_item **items;
    int count, cap;
};

/* Returns true if neither question needs a column that is dropped for the other one. */
static bool items_fit(const void *group, int a, int b)
{
    const struct group *g = group;
    const struct under_item *x = g->items[a], *y = g->items[b];

    for (int k = 0; k < 2; k++)
        if (uses(x, y->columns[k]) || uses(y, x->columns[k]))
            return false;
    for (int c = 0; c < x->s->n_columns; c++)
        if ((x->dropped[c] && uses(y, c)) || (y->dropped[c] && uses(x, c)))
            return false;
    return strcmp(x->text, y->text) != 0;
}

static const char *alternative(struct strings *text, const struct schema *s, int column)
{
    return strings_printf(text, "%s.%s", s->tables[s->columns[column].table].name, s->columns[column].name);
}

static enum sia_type kind_of(const struct under_item *i)
{
    return i->s->columns[i->columns[0]].table == i->s->columns[i->columns[1]].table ? SIA_COLUMN : SIA_JOIN;
}

/* one: the only column that fits; NULL: both fit, and the question is ambiguous */
static void emit(const struct group *g, const struct under_item *i, const char *db_id, const struct under_one *one)
{
    enum data_split split = g->c->split[i->db];
    struct example e = { .db_id = db_id,
                         .source_db = g->c->schemas.schemas[i->db].db_id,
                         .question = i->text,
                         .sql = { one ? one->sql : i->sql[0], one ? NULL : i->sql[1] },
                         .n_sql = one ? 1 : 2,
                         .slice = EXAMPLE_CONTRAST,
                         .type = kind_of(i),
                         .ambiguous = !one,
                         .source = g->c->name,
                         .reason = one && one->gone < 0 ? "whole name" : i->reason };

    for (int k = 0; k < 2 && !one; k++)
        e.alternatives[k] = alternative(&g->n->out->splits[split].text, i->s, i->columns[k]);
    natural_add(g->n, split, &e);
}

/* Emits the question that names its column. */
static void emit_named(const struct group *g, const struct under_item *i, const char *db_id)
{
    enum data_split split = g->c->split[i->db];
    const struct example e = { .db_id = db_id,
                               .source_db = g->c->schemas.schemas[i->db].db_id,
                               .question = i->full,
                               .sql = { i->full_sql },
                               .n_sql = 1,
                               .slice = EXAMPLE_HARD_NEGATIVE,
                               .type = kind_of(i),
                               .source = g->c->name,
                               .reason = i->full_reason };

    if (natural_claim(g->n, i->full, split))
        natural_add(g->n, split, &e);
}

/* Returns the schema of `one` without the columns that x and y drop and without its missing column. */
static const char *schema_for(const struct group *g, const struct under_item *x, const struct under_item *y,
                              const struct under_one *one)
{
    bool *dropped = xcalloc((size_t)one->s->n_columns, sizeof *dropped);

    for (int c = 0; c < one->s->n_columns; c++)
        dropped[c] = x->dropped[c] || y->dropped[c] || c == one->gone;
    const char *db_id = schema_store_get(g->n, one->s, dropped);
    free(dropped);
    return db_id;
}

/* Emits both short questions on both schemas, and both full questions. */
static void emit_pair(const struct group *g, const struct under_item *x, const struct under_item *y)
{
    struct strings *text = &g->n->out->splits[g->c->split[x->db]].text;
    struct under_one one_x = under_one_draw(g->n, text, x, x->s), one_y = under_one_draw(g->n, text, y, x->s);
    const char *both_x = schema_for(g, x, y, &one_y), *both_y = schema_for(g, x, y, &one_x);

    emit(g, x, both_x, NULL);
    emit(g, x, both_y, &one_x);
    emit(g, y, both_y, NULL);
    emit(g, y, both_x, &one_y);
    emit_named(g, x, both_x);
    emit_named(g, y, both_y);
}

/* Pairs the items of one database and marks the paired ones. */
static void emit_group(struct group *g, bool *paired)
{
    struct pair *pairs = xmalloc(((size_t)g->count / 2 + 1) * sizeof *pairs);
    int n = pairing_match(pairs, g->count, items_fit, g, &g->n->rng);

    for (int i = 0; i < n; i++) {
        emit_pair(g, g->items[pairs[i].a], g->items[pairs[i].b]);
        paired[pairs[i].a] = paired[pairs[i].b] = true;
    }
    free(pairs);
}

/* Returns true if no column of the other schema fits the short question, so that its label stays. */
static bool is_foreign(const struct under_item *i, const struct schema *s)
{
    for (int c = 0; c < s->n_columns; c++)
        if (column_has_words(s, c, &i->left))
            return false;
    return true;
}

/* Returns true for items of different databases in one split that share no table name. */
static bool foreign_items_fit(const void *group, int a, int b)
{
    const struct group *g = group;
    const struct under_item *x = g->items[a], *y = g->items[b];

    if (x->db == y->db || g->c->split[x->db] != g->c->split[y->db] || !is_foreign(x, y->s) || !is_foreign(y, x->s))
        return false;
    for (int t = 0; t < x->s->n_tables; t++)
        if (schema_table_find(y->s, x->s->tables[t].name) >= 0)
            return false;
    return strcmp(x->text, y->text) != 0;
}

/* Returns the item on a union of schemas, where its own columns begin at `first`. */
static struct under_item move(const struct under_item *of, const struct schema *s, int first)
{
    struct under_item i = *of;
    size_t own = (size_t)of->s->n_columns, all = (size_t)s->n_columns;

    i.s = s;
    i.touched = xcalloc(all, sizeof *i.touched);
    i.dropped = xcalloc(all, sizeof *i.dropped);
    memcpy(i.touched + first, of->touched, own * sizeof *i.touched);
    memcpy(i.dropped + first, of->dropped, own * sizeof *i.dropped);
    for (int k = 0; k < 2; k++)
        i.columns[k] += first;
    return i;
}

static void emit_foreign(const struct group *g, const struct under_item *x, const struct under_item *y)
{
    const struct schema *s = natural_join(g->n, x->s, y->s);
    struct under_item a = move(x, s, 0), b = move(y, s, x->s->n_columns);

    emit_pair(g, &a, &b);
    free(a.touched);
    free(a.dropped);
    free(b.touched);
    free(b.dropped);
}

/* Returns a fitting question of another database, or NULL. */
static const struct under_item *find_foreign(const struct group *all, int alone)
{
    const struct under_item *found = NULL;
    uint32_t fit = 0;

    for (int i = 0; i < all->count; i++)
        if (foreign_items_fit(all, alone, i) && rng_below(&all->n->rng, ++fit) == 0)
            found = all->items[i];
    return found;
}

/* Pairs the remaining items with questions of other databases. Those may have examples already. */
static void emit_alone(const struct group *all, const bool *paired)
{
    int left = 0;

    for (int i = 0; i < all->count; i++) {
        const struct under_item *partner = paired[i] ? NULL : find_foreign(all, i);
        if (partner)
            emit_foreign(all, all->items[i], partner);
        left += !paired[i] && !partner;
    }
    log_info("%s: shortened %d questions, %d of them without a partner", all->c->name, all->count, left);
}

/* Appends at most GROUP_MAX questions of one database. */
static void take_items(struct group *all, const struct under_items *items, int db)
{
    int first = all->count;

    for (int i = 0; i < items->n; i++)
        if (items->list[i].db == db && natural_claim(all->n, items->list[i].text, all->c->split[db])) {
            GROW(all->items, all->count, all->cap);
            all->items[all->count++] = &items->list[i];
        }
    int n = all->count - first;
    rng_shuffle(&all->n->rng, all->items + first, n, sizeof *all->items);
    all->count = first + (n < GROUP_MAX ? n : GROUP_MAX);
}

void under_specify_cross(struct natural *n, const struct natural_corpus *c, const struct under_items *items)
{
    struct group all = { .n = n, .c = c };
    bool *paired = xcalloc((size_t)items->n + 1, sizeof *paired);

    for (int db = 0; db < c->schemas.n; db++) {
        int first = all.count;
        take_items(&all, items, db);
        struct group own = { .n = n, .c = c, .items = all.items + first, .count = all.count - first };
        if (own.count)
            emit_group(&own, paired + first);
    }
    emit_alone(&all, paired);
    free(paired);
    free(all.items);
}

enum { STEM = 5 }; /* number of first characters that "departs" and "departure" share */

/* The reason for not shortening a question. */
enum loss { LOSS_NONE, LOSS_WORDS, LOSS_HINT, LOSS_CONTEXT, LOSS_RIVALS, LOSS_SQL, LOSS_ROWS, LOSSES };

static const char *const loss_names[LOSSES] = { "shortened",      "not named by its modifier",
                                                "a hint remains", "context tells",
                                                "further rivals", "no second statement",
                                                "equal rows" };

/* The state of the search for the items of one corpus. */
struct under_search {
    struct natural *n;
    const struct natural_corpus *c;
    struct under_items *out;
    struct under_rows rows;
    int losses[2][LOSSES]; /* for rivals in one table, in two tables */
};

/* Returns the first word of the mention that ends in the head word i: preceding words of the name belong to it. */
static int mention_begin(const struct cut_question *q, const struct rival_pair *r, int i)
{
    int begin = i;

    while (begin > 0 && question_joined(q, begin - 1, begin) &&
           (word_list_has(&r->shared, q->list[begin - 1].hash) || word_list_has(&r->own[0], q->list[begin - 1].hash)))
        begin--;
    return begin;
}

static bool is_word(const struct cut_question *q, int i, const char *const *words, int n)
{
    for (int k = 0; k < n && i < q->n; k++)
        if (q->list[i].hash == word_hash(words[k]))
            return true;
    return false;
}

/* Returns true if the sentence may end in word i: a punctuation mark or "and" follows. */
static bool may_end(const struct cut_question *q, int i)
{
    static const char *const joins[] = { "and", "or" };

    return i == q->n - 1 || strchr(".,?!;", q->text[q->list[i].end]) || is_word(q, i + 1, joins, ARRAY_LEN(joins));
}

/* Returns the number of words of "of each product" behind the head word i. 0 if they do not name the table. */
static int table_behind(const struct cut_question *q, const struct rival_pair *r, int i)
{
    static const char *const of[] = { "of", "for" };
    static const char *const articles[] = { "the", "each", "all", "every", "any", "a", "an", "these", "those" };
    int k = i + 1;

    if (!is_word(q, k, of, ARRAY_LEN(of)) || !question_joined(q, i, k))
        return 0;
    for (k++; is_word(q, k, articles, ARRAY_LEN(articles)); k++)
        ;
    int first = k;
    while (k < q->n && word_list_has(&r->own[0], q->list[k].hash))
        k++;
    if (k == first || q->list[k - 1].hash != head_word(r->owners[0]) || !question_joined(q, i, k - 1) ||
        !may_end(q, k - 1))
        return 0;
    return k - 1 - i;
}

/* Marks the column's own words for removal in each mention. `left` gets the remaining words of the name. Returns false
 * without such a mention. */
static bool cut_mentions(struct cut_question *q, const struct rival_pair *r, struct word_list *left)
{
    bool cut = false;

    left->n = 0;
    for (int i = 0; i < q->n; i++) {
        int begin = q->list[i].hash == r->head ? mention_begin(q, r, i) : i, own = 0;
        for (int k = begin; k < i; k++)
            own += word_list_has(&r->own[0], q->list[k].hash);
        for (int k = begin; k <= i && own; k++) {
            uint32_t word = q->list[k].hash;
            q->list[k].out = word_list_has(&r->own[0], word);
            if (!q->list[k].out)
                word_list_add(left, word);
            cut = true;
        }
        int behind = q->list[i].hash == r->head && r->apart ? table_behind(q, r, i) : 0;
        for (int k = i + 1; k <= i + behind; k++)
            q->list[k].out = cut = true;
        for (int k = begin; k <= i && behind && !own; k++)
            word_list_add(left, q->list[k].hash);
    }
    return cut;
}

/* Compares the first characters of a word of the question and a word of a name. */
static bool same_stem(const char *a, int n, const char *b, int m)
{
    int k = 0;

    while (k < n && k < m && tolower((unsigned char)a[k]) == tolower((unsigned char)b[k]))
        k++;
    int shorter = n < m ? n : m;
    return shorter >= 4 && k >= (shorter < STEM ? shorter : STEM);
}

/* Returns true if the word is, or is derived from, a word of only one of the names. */
static bool is_hint(const struct cut_question *q, int i, const struct rival_pair *r, const char *name, int which)
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

static bool has_hint(const struct cut_question *q, const struct rival_pair *r)
{
    for (int i = 0; i < q->n; i++)
        for (int which = 0; which < 2; which++)
            if (!q->list[i].out && is_hint(q, i, r, r->owners[which], which))
                return true;
    return false;
}

/* Returns the statement with the rival in place of the column. NULL if that is not possible. */
static const char *exchange(struct under_search *x, const char *sql, const struct schema *s, const struct rival_pair *r)
{
    size_t mark = arena_mark(&x->n->sql);
    const char *other =
        sql_exchange(&x->n->sql, sql, s, s->n_tables + r->columns[0], s->n_tables + r->columns[1], NULL);

    other = other ? strings_keep(&x->out->text, other) : NULL;
    arena_reset(&x->n->sql, mark);
    return other;
}

static void keep_item(struct under_search *x, struct under_item *item, const struct cut_question *q,
                      const bool *touched, int columns)
{
    char *text = question_without(q);

    item->text = strings_keep(&x->out->text, text);
    free(text);
    item->touched = xcalloc((size_t)columns, sizeof *item->touched);
    memcpy(item->touched, touched, (size_t)columns * sizeof *touched);
    under_items_add(x->out, item);
}

/* Rivals of different tables: returns true if the statement uses another column of either table, which would reveal the
 * meant one. */
static bool context_tells(const struct schema *s, const bool *touched, const struct rival_pair *r)
{
    for (int c = 0; c < s->n_columns && r->apart; c++) {
        int t = s->columns[c].table;
        bool theirs = t == s->columns[r->columns[0]].table || t == s->columns[r->columns[1]].table;
        if (touched[c] && theirs && c != r->columns[0] && !schema_column_is_key(s, c))
            return true;
    }
    return false;
}

static enum loss make_item(struct under_search *x, int question, int db, const bool *touched,
                           const struct rival_pair *r)
{
    const struct schema *s = &x->c->schemas.schemas[db];
    const struct spider_question *source = &x->c->questions.items[question];
    struct under_item item = { .s = s, .db = db, .columns = { r->columns[0], r->columns[1] } };
    struct cut_question q;

    if (!question_words_read(&q, source->question) || !cut_mentions(&q, r, &item.left))
        return LOSS_WORDS;
    if (has_hint(&q, r))
        return LOSS_HINT;
    if (context_tells(s, touched, r))
        return LOSS_CONTEXT;
    enum loss loss = LOSS_NONE;
    item.dropped = xcalloc((size_t)s->n_columns, sizeof *item.dropped);
    item.sql[0] = source->query;
    item.full = source->question;
    item.full_sql = source->query;
    item.reason = "under-specified";
    item.full_reason = "named";
    if (!under_drop_further(item.dropped, &q, s, touched, r, &item.left))
        loss = LOSS_RIVALS;
    else if (!(item.sql[1] = exchange(x, source->query, s, r)))
        loss = LOSS_SQL;
    else if (!under_rows_differ(&x->rows, db, item.sql))
        loss = LOSS_ROWS;
    else
        keep_item(x, &item, &q, touched, s->n_columns);
    if (loss)
        free(item.dropped);
    return loss;
}

/* Returns true for a table of the statement, or one that a key joins with it. */
static bool within_reach(const struct schema *s, const bool *touched, int table)
{
    for (int c = 0; c < s->n_columns; c++)
        if (touched[c] && (s->columns[c].table == table || tables_joined(s, s->columns[c].table, table)))
            return true;
    return false;
}

/* Finds the rival (in the same table, or apart in another one) that shares the most words with a column. It draws among
 * equal ones. Returns false if there is none. */
static bool find_rival(struct rival_pair *best, struct under_search *x, const struct schema *s, const bool *touched,
                       int column, bool apart)
{
    uint32_t equal = 0;

    best->shared.n = 0;
    for (int d = 0; d < s->n_columns; d++) {
        struct rival_pair r;
        if (touched[d] || (s->columns[d].table != s->columns[column].table) != apart ||
            !rivals_read(&r, s, column, d) || r.shared.n < best->shared.n ||
            !within_reach(s, touched, s->columns[d].table))
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
        for (int i = 0; i < 2 * s->n_columns && !done; i++) {
            int c = i % s->n_columns;
            struct rival_pair r;
            if (!touched[c] || !find_rival(&r, x, s, touched, c, i >= s->n_columns))
                continue;
            enum loss loss = make_item(x, question, (int)(s - x->c->schemas.schemas), touched, &r);
            x->losses[r.apart][loss]++;
            done = loss == LOSS_NONE;
        }
    free(touched);
}

static void log_losses(const struct under_search *x)
{
    for (int apart = 0; apart < 2; apart++)
        for (int l = 0; l < LOSSES; l++)
            if (x->losses[apart][l])
                log_info("%s: columns with a rival in %s, %s: %d", x->c->name, apart ? "another table" : "their table",
                         loss_names[l], x->losses[apart][l]);
}

int under_specify_make(struct natural *n, const struct natural_corpus *c, struct error *err)
{
    struct under_items items = { 0 };
    struct under_search x = { .n = n, .c = c, .out = &items, .rows = { .c = c } };

    (void)err;
    for (int i = 0; i < c->questions.n; i++)
        search_question(&x, i);
    log_losses(&x);
    under_specify_cross(n, c, &items);
    under_rows_close(&x.rows);
    under_items_release(&items);
    return 0;
}
