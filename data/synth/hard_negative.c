#include "data/synth/hard_negative.h"

#include "data/synth/natural.h"
#include "data/synth/rivals.h"

#include <stdlib.h>
#include <string.h>

/* The property that distinguishes a column from its namesakes. Later values are harder to recognise. */
enum clarity { UNCLEAR, NO_NAMESAKE, BY_TABLE, BY_NAME, BY_WORD };
static const char *const clarity_names[] = { "", "plain", "table named", "whole name", "named" };

/* A question with the elements that its statement uses. */
struct clear_question {
    const struct schema *s;
    struct cut_question words;
    bool *touched; /* [n_columns] */
    bool *tables;  /* [n_tables] the tables of touched columns */
};

static bool says_any(const struct clear_question *a, const struct word_list *words, const struct word_list *but)
{
    for (int i = 0; i < words->n; i++)
        if (!word_list_has(but, words->list[i]) && question_says(&a->words, words->list[i]))
            return true;
    return false;
}

static bool says_table(const struct clear_question *a, int table)
{
    struct word_list name, none = { .n = 0 };

    word_list_read(&name, a->s->tables[table].text);
    return says_any(a, &name, &none);
}

static bool says_whole(const struct clear_question *a, const char *text)
{
    struct word_list name;

    name.n = words_read(text, name.list, NAME_MAX_WORDS);
    return question_find(&a->words, name.list, name.n, 0) >= 0;
}

/* Returns how the question distinguishes column c from its namesake e. */
static enum clarity compare(const struct clear_question *a, int c, int e)
{
    const struct schema_column *x = &a->s->columns[c], *y = &a->s->columns[e];
    struct word_list own, others;

    word_list_read(&own, x->text);
    word_list_read(&others, y->text);
    bool says_own = says_any(a, &own, &others), says_other = says_any(a, &others, &own);
    if (says_own)
        return says_other ? UNCLEAR : BY_WORD;
    if (says_other)
        return UNCLEAR;
    if (x->table != y->table)
        return says_table(a, x->table) && !says_table(a, y->table) && !a->tables[y->table] ? BY_TABLE : UNCLEAR;
    return says_whole(a, x->text) && own.n < others.n ? BY_NAME : UNCLEAR;
}

static bool within_reach(const struct clear_question *a, int table)
{
    for (int t = 0; t < a->s->n_tables; t++)
        if (a->tables[t] && (t == table || tables_joined(a->s, t, table)))
            return true;
    return false;
}

/* Returns UNCLEAR if one comparison is unclear, else the hardest one. */
static enum clarity judge_column(const struct clear_question *a, int c)
{
    uint32_t head = head_word(a->s->columns[c].text);
    enum clarity hardest = NO_NAMESAKE;

    for (int e = 0; e < a->s->n_columns; e++) {
        if (e == c || a->touched[e] || head_word(a->s->columns[e].text) != head ||
            !within_reach(a, a->s->columns[e].table))
            continue;
        enum clarity k = compare(a, c, e);
        if (k == UNCLEAR)
            return UNCLEAR;
        hardest = k > hardest ? k : hardest;
    }
    return hardest;
}

static enum clarity judge(const struct clear_question *a)
{
    enum clarity hardest = NO_NAMESAKE;

    for (int c = 0; c < a->s->n_columns; c++) {
        if (!a->touched[c] || schema_column_is_key(a->s, c))
            continue;
        enum clarity k = judge_column(a, c);
        if (k == UNCLEAR)
            return UNCLEAR;
        hardest = k > hardest ? k : hardest;
    }
    return hardest;
}

static enum clarity judge_question(struct natural *n, const struct schema *s, const struct spider_question *q,
                                   bool *touched)
{
    struct clear_question a = { .s = s, .touched = touched };
    enum clarity k = UNCLEAR;

    if (!question_words_read(&a.words, q->question) || !natural_touch(n, q->query, s, touched))
        return UNCLEAR;
    a.tables = xcalloc((size_t)s->n_tables, sizeof *a.tables);
    for (int c = 0; c < s->n_columns; c++)
        if (touched[c])
            a.tables[s->columns[c].table] = true;
    k = judge(&a);
    free(a.tables);
    return k;
}

static void add_question(struct natural *n, const struct natural_corpus *c, const struct spider_question *q,
                         const struct schema *s, const bool *touched, enum clarity k)
{
    enum data_split split = c->split[s - c->schemas.schemas];
    const struct example e = { .db_id = schema_store_any(n, s, touched),
                               .source_db = s->db_id,
                               .question = q->question,
                               .sql = { q->query },
                               .n_sql = 1,
                               .slice = EXAMPLE_HARD_NEGATIVE,
                               .type = SIA_COLUMN,
                               .source = c->name,
                               .reason = clarity_names[k] };

    natural_add(n, split, &e);
}

static int count_ambiguous(const struct natural *n, const char *source)
{
    int count = 0;

    for (int f = 0; f < SPLITS; f++)
        for (int i = 0; i < n->out->splits[f].n; i++) {
            const struct example *e = &n->out->splits[f].items[i];
            count += e->ambiguous && strcmp(e->source, source) == 0;
        }
    return count;
}

/* Takes questions in random order. At most half of them have no namesake. */
int hard_negative_make(struct natural *n, const struct natural_corpus *c, struct error *err)
{
    int *order = xmalloc(((size_t)c->questions.n + 1) * sizeof *order);
    int wanted = (int)(n->options->clear * count_ambiguous(n, c->name)), plain = 0, taken = 0;

    (void)err;
    for (int i = 0; i < c->questions.n; i++)
        order[i] = i;
    rng_shuffle(&n->rng, order, c->questions.n, sizeof *order);
    for (int i = 0; i < c->questions.n && taken < wanted; i++) {
        const struct spider_question *q = &c->questions.items[order[i]];
        const struct schema *s = schema_find(&c->schemas, q->db_id);
        bool *touched = xcalloc((size_t)s->n_columns + 1, sizeof *touched);
        enum clarity k = judge_question(n, s, q, touched);
        bool wants = k > NO_NAMESAKE || (k == NO_NAMESAKE && plain < wanted / 2);
        if (wants && strings_find(&n->questions, q->question) < 0 &&
            natural_claim(n, q->question, c->split[s - c->schemas.schemas])) {
            add_question(n, c, q, s, touched, k);
            plain += k == NO_NAMESAKE;
            taken++;
        }
        free(touched);
    }
    free(order);
    return 0;
}
