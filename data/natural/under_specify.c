#include "data/natural/under_specify_impl.h"

#include "data/rewrite/sql_exchange.h"
#include "data/util/log.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

enum { STEM = 5 }; /* letters that "departs" and "departure" have in common */

/* Why a question is not shortened. */
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
    int losses[2][LOSSES]; /* of rivals in one table, in two */
};

/* First word of the mention that ends in the head word i: all words before i that belong to the name are part of it. */
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

/* Whether the sentence may end in word i: nothing but a sign or "and" follows. */
static bool may_end(const struct cut_question *q, int i)
{
    static const char *const joins[] = { "and", "or" };

    return i == q->n - 1 || strchr(".,?!;", q->text[q->list[i].end]) || is_word(q, i + 1, joins, ARRAY_LEN(joins));
}

/* "of each product" behind the head word i: how many words of that go; 0 where the table is not named so. */
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

/* Marks the words of the column's own that go, in each mention that has some; `left` gets the words that stay.  False
 * where there is no such mention. */
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

/* The statement with the rival in the place of the column; NULL where it cannot be said. */
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

/* Of another table: what else the statement says of either table would tell which one is meant. */
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

/* A table that the statement uses, or one that a key joins with such a table. */
static bool within_reach(const struct schema *s, const bool *touched, int table)
{
    for (int c = 0; c < s->n_columns; c++)
        if (touched[c] && (s->columns[c].table == table || tables_joined(s, s->columns[c].table, table)))
            return true;
    return false;
}

/* The rival, of the same table or of another (apart), that has most words in common with a column; of equal ones any.
 * False where there is none. */
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
