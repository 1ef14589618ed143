#include "data/clarify/auto_choice.h"

#include "data/base/text_fold.h"
#include "data/clarify/column_fit.h"
#include "data/schema/mention.h"
#include "data/span/value_match.h"
#include "data/synth/sql_edit.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

/*
 * bench/auto.py fitted the weights on 2026-11-27, on 3,493 dialogues.  Four sources have the same total weight.  The
 * first are the published predictions of ChatGPT, LogicalBeam and T5-3B on AmbiQT's types J and P.  The others are
 * DFPL's predictions, AMBROSIA's gold interpretations, and mutated statements of Spider's training questions.  One half
 * of the databases of the first three was used.  time_unmet and unit_unmet are rare, and share the weight of
 * number_ignored.  The log loss, cross-validated by database, is 0.680 nats; with the votes alone it is 0.750.
 */
static const struct {
    const char *name;
    double weight;
    const char *sentence; /* about the group with more of the feature */
} features[AUTO_FEATURES] = {
    [AUTO_VOTE] = { "vote", 1.539, "has %s of the votes" },
    [AUTO_NUMBER_IGNORED] = { "number_ignored", -1.296, "ignores the number %s" },
    [AUTO_QUOTE_IGNORED] = { "quote_ignored", -0.472, "ignores the quoted text %s" },
    [AUTO_VALUE_IGNORED] = { "value_ignored", -0.517, "ignores the value %s" },
    [AUTO_VALUE_ABSENT] = { "value_absent", -1.706, "looks for %s in a column that lacks it" },
    [AUTO_TIME_UNMET] = { "time_unmet", -1.296, "has no condition on a date or year" },
    [AUTO_UNIT_UNMET] = { "unit_unmet", -1.296, "compares %s with a column of another unit" },
    [AUTO_DISTINCT_UNSAID] = { "distinct_unsaid", -0.515, "removes duplicates, which the question does not ask for" },
    [AUTO_AVERAGE_UNSAID] = { "average_unsaid", -0.722, "has an average, which the question does not ask for" },
    [AUTO_NAMED_IGNORED] = { "named_ignored", -0.626, "does not use %s, which the question names" },
    [AUTO_UNNAMED] = { "unnamed", -0.448, "uses %s, which the question does not name" },
    [AUTO_OUTPUT_UNSAID] = { "output_unsaid", -0.334, "shows %s, which the question does not name" },
    [AUTO_EXTRA_OUTPUTS] = { "extra_outputs", -0.460, "shows more columns" },
    [AUTO_FAILS] = { "fails", -1.987, "does not run" },
    [AUTO_JUDGED] = { "judged", 1.099, "is the choice of the language model" }, /* log(3), not fitted */
    [AUTO_REPAIRED] = { "repaired", 1.145, "is a repaired statement" },
};
/* Constant, factor of the logarithm of the number of groups, factor of the largest vote. */
static const double none_weights[3] = { -1.043, -0.568, -1.431 };

/* --- The question --- */

enum { WORD_BYTES = 4 * TEXT_FOLD_CODES };

struct question_text {
    const struct auto_question *q;
    char words[WORD_BYTES + 2]; /* folded, with one blank before, between and after the words */
    struct fit_question fit;
    struct quoted quoted;
    float *mentions; /* [elements][ELEMENT_MENTIONS] */
};

/* Reduces a plural to its singular.  Returns the new number of bytes of the word. */
static int singular(char *word, int n)
{
    if (n > 4 && memcmp(word + n - 3, "ies", 3) == 0)
        word[(n -= 2) - 1] = 'y';
    else if (n > 4 && (memcmp(word + n - 4, "sses", 4) == 0 || memcmp(word + n - 3, "xes", 3) == 0))
        n -= 2;
    else if (n > 3 && word[n - 1] == 's' && word[n - 2] != 's')
        n--;
    return n;
}

/* Folds n bytes of a text into words in the singular, with one blank before, between and after them.  Returns false if
 * the text is too long or not UTF-8. */
static bool read_words(char words[WORD_BYTES + 2], const char *text, size_t n)
{
    char folded[WORD_BYTES];
    bool whole = text_fold(folded, sizeof folded, text, n) >= 0;
    int at = 0;

    words[at++] = ' ';
    for (char *p = folded; whole && *p;) {
        int blanks = (int)strspn(p, " "), length = (int)strcspn(p + blanks, " ");
        memcpy(words + at, p + blanks, (size_t)length);
        at += length ? singular(words + at, length) : 0;
        words[at] = ' ';
        at += length > 0;
        p += blanks + length;
    }
    words[at] = 0;
    return whole;
}

static void read_question(struct question_text *a, const struct auto_question *q)
{
    const struct schema *s = q->schema;

    *a = (struct question_text){ .q = q };
    read_words(a->words, q->text, strlen(q->text));
    quoted_read(&a->quoted, q->text);
    fit_question_read(&a->fit, q->text);
    a->mentions = xcalloc((size_t)(s->n_tables + s->n_columns) * ELEMENT_MENTIONS + 1, sizeof *a->mentions);
    mention_elements(s, NULL, q->text, a->mentions);
}

static float mention(const struct question_text *a, int element, enum element_mention kind)
{
    return a->mentions[(size_t)element * ELEMENT_MENTIONS + kind];
}

/* Whether the question has the words of a text, wildcards and punctuation aside. */
static bool question_has(const struct question_text *a, const char *text)
{
    char words[WORD_BYTES + 2];
    return !read_words(words, text, strlen(text)) || strcmp(words, " ") == 0 || strstr(a->words, words);
}

/* --- A statement --- */

enum { LITERALS_MAX = 24 };

struct literal {
    const struct sql_expr *expr; /* valid while the statement is read */
    const char *text;
    bool number;
    int column; /* equated with it; -1: none */
    int beside; /* column in an expression that is compared with it; -1: none */
};

struct read_statement {
    struct strings *words; /* owns the texts */
    bool parsed;
    bool distinct, average;
    bool *uses;  /* [elements] */
    bool *shows; /* [columns] in the outermost SELECT */
    bool *tests; /* [columns] in WHERE and HAVING */
    int outputs;
    struct literal literals[LITERALS_MAX];
    int n_literals;
};

static void note_literal(struct read_statement *s, const struct sql_expr *e)
{
    bool number = e->kind == SQL_EXPR_LITERAL;

    if ((number && !strchr("0123456789.", e->text[0])) || s->n_literals == LITERALS_MAX)
        return;
    s->literals[s->n_literals++] =
        (struct literal){ e, strings_keep(s->words, e->text), number, .column = -1, .beside = -1 };
}

/* The only column of an expression such as avg(price) or strftime('%Y', day); -1: none, or several. */
static int column_in(const struct sql_expr *e)
{
    int found = -1;

    if (!e)
        return -1;
    if (e->kind == SQL_EXPR_COLUMN)
        return e->column;
    if (e->kind == SQL_EXPR_CAST || e->kind == SQL_EXPR_COLLATE || e->kind == SQL_EXPR_UNARY)
        return column_in(e->left);
    if (e->kind != SQL_EXPR_CALL || strcasecmp(e->name.text, "count") == 0)
        return -1;
    for (const struct sql_expr *part = e->list; part; part = part->next) {
        int column = column_in(part);
        if (column >= 0 && found >= 0)
            return -1;
        found = column >= 0 ? column : found;
    }
    return found;
}

/* Notes the column that each literal of a list is compared with. */
static void note_column(struct read_statement *s, const struct sql_expr *side, const struct sql_expr *value,
                        bool equated)
{
    int column = column_in(side);
    bool itself = side && side->kind == SQL_EXPR_COLUMN;

    for (; value && column >= 0; value = value->next)
        for (int i = 0; i < s->n_literals; i++)
            if (s->literals[i].expr == value) {
                s->literals[i].beside = column;
                s->literals[i].column = itself && equated ? column : s->literals[i].column;
            }
}

static bool is_comparison(enum sql_op op)
{
    return op == SQL_EQUAL || op == SQL_NOT_EQUAL || op == SQL_LIKE || op == SQL_GLOB ||
           (op >= SQL_LESS && op <= SQL_GREATER_EQUAL);
}

/* Part of sql_walker. */
static void note_expr(void *context, struct sql_expr *e, struct sql_core *core)
{
    struct read_statement *s = context;

    (void)core;
    if (e->kind == SQL_EXPR_CALL) {
        s->distinct = s->distinct || e->distinct;
        s->average = s->average || strcasecmp(e->name.text, "avg") == 0;
    } else if (e->kind == SQL_EXPR_STRING || e->kind == SQL_EXPR_LITERAL) {
        note_literal(s, e);
    } else if (e->kind == SQL_EXPR_BINARY && is_comparison(e->op)) {
        note_column(s, e->left, e->right, e->op == SQL_EQUAL);
        note_column(s, e->right, e->left, e->op == SQL_EQUAL);
    } else if (e->kind == SQL_EXPR_BETWEEN) {
        note_column(s, e->left, e->right, false);
        note_column(s, e->left, e->third, false);
    } else if (e->kind == SQL_EXPR_IN) {
        note_column(s, e->left, e->list, true);
    }
}

/* Part of sql_walker. */
static void note_core(void *context, struct sql_core *core, struct sql_select *select)
{
    struct read_statement *s = context;

    (void)select;
    s->distinct = s->distinct || core->distinct;
}

static void note_uses(struct read_statement *s, const struct sql_uses *uses, const struct schema *schema)
{
    for (int i = 0; i < uses->n; i++) {
        const struct sql_use *u = &uses->list[i];
        bool shown = u->clause == SQL_SELECT && u->depth == 0 && u->column >= 0;
        if (shown)
            s->shows[u->column] = true;
        if ((u->clause == SQL_WHERE || u->clause == SQL_HAVING) && u->column >= 0)
            s->tests[u->column] = true;
        if (u->column < 0)
            s->uses[u->table] = true;
        else if (shown || !schema_column_is_key(schema, u->column))
            s->uses[schema->n_tables + u->column] = true;
    }
}

/* flags: [elements + 2 columns], all false. */
static void read_statement(struct read_statement *s, const struct auto_question *q, const char *sql, bool *flags,
                           struct strings *words)
{
    const struct sql_walker walker = { .context = s, .expr = note_expr, .core = note_core };
    const struct schema *schema = q->schema;
    size_t mark = arena_mark(q->scratch);
    struct sql_uses uses;
    struct error why;

    *s = (struct read_statement){ .words = words, .uses = flags };
    s->shows = flags + schema->n_tables + schema->n_columns;
    s->tests = s->shows + schema->n_columns;
    struct sql_query *query = sql_parse(q->scratch, sql, &why);
    if (query && sql_resolve(q->scratch, query, schema, &uses, &why) == 0) {
        s->parsed = true;
        sql_walk(&walker, query->select);
        note_uses(s, &uses, schema);
        for (const struct sql_result *r = query->select->cores->results; r; r = r->next)
            s->outputs += r->n_outputs > 0 ? r->n_outputs : 1;
    }
    arena_reset(q->scratch, mark);
}

/* --- The features --- */

enum { READ_MAX = 64, LOOKUPS_MAX = 64 }; /* maximum: statements that are read, values looked up in the database */

struct making {
    struct auto_choice *c;
    const struct auto_group *groups;
    struct question_text asked;
    struct read_statement *list; /* [n_read] */
    int n_read;
    bool *common;            /* [elements] used by every statement, or by none */
    int fewest;              /* outputs of a statement */
    struct strings lookups;  /* values that were looked up */
    bool found[LOOKUPS_MAX]; /* [lookups.n] */
    struct column_fit fit;
};

static void add(struct making *m, int g, enum auto_feature f, double x, double most, const char *detail)
{
    double *at = &m->c->x[g][f];

    *at = fmin(most, *at + x);
    if (!m->c->detail[g][f] && detail)
        m->c->detail[g][f] = strings_keep(&m->c->words, detail);
}

static bool carries_number(const struct read_statement *s, const struct question_text *a, const struct said_number *n)
{
    char text[64];

    snprintf(text, sizeof text, "%.*s", n->to - n->from < 60 ? n->to - n->from : 60, a->q->text + n->from);
    for (int i = 0; i < s->n_literals; i++) {
        double value = strtod(s->literals[i].text, NULL);
        if (value == n->value.real || (n->percent && value * 100 == n->value.real) ||
            (!s->literals[i].number && strstr(s->literals[i].text, text)))
            return true;
    }
    return false;
}

static bool carries_text(const struct read_statement *s, const char *text, size_t n)
{
    char words[WORD_BYTES + 2], other[WORD_BYTES + 2];

    if (!read_words(words, text, n) || strcmp(words, " ") == 0)
        return true;
    for (int i = 0; i < s->n_literals; i++)
        if (read_words(other, s->literals[i].text, strlen(s->literals[i].text)) && strstr(other, words))
            return true;
    return false;
}

static void add_ignored(struct making *m, int g)
{
    const struct read_statement *s = &m->list[g];
    const struct question_text *a = &m->asked;
    struct strings *words = &m->c->words;

    for (int i = 0; i < a->fit.n; i++)
        if (!a->fit.numbers[i].ordinal && !carries_number(s, a, &a->fit.numbers[i]))
            add(m, g, AUTO_NUMBER_IGNORED, 1, 2,
                strings_printf(words, "%.*s", a->fit.numbers[i].to - a->fit.numbers[i].from,
                               a->q->text + a->fit.numbers[i].from));
    for (int i = 0; i < a->quoted.n; i++) {
        int from = a->quoted.items[i].from, n = a->quoted.items[i].to - from;
        if (!carries_text(s, a->q->text + from, (size_t)n))
            add(m, g, AUTO_QUOTE_IGNORED, 1, 2, strings_printf(words, "\"%.*s\"", n, a->q->text + from));
    }
}

/* Whether a text was not seen before, case and punctuation aside. */
static bool is_new(struct strings *seen, const char *text)
{
    char words[WORD_BYTES + 2];
    int before = seen->n;

    return read_words(words, text, strlen(text)) && strings_add(seen, words) == before;
}

/* Values that the statements of other groups take from the question. */
static void add_values_ignored(struct making *m, int g)
{
    struct strings seen = { 0 };

    for (int k = 0; k < m->n_read; k++)
        for (int i = 0; k != g && i < m->list[k].n_literals; i++) {
            const struct literal *l = &m->list[k].literals[i];
            if (l->number || !question_has(&m->asked, l->text) || carries_text(&m->list[g], l->text, strlen(l->text)) ||
                !is_new(&seen, l->text))
                continue;
            add(m, g, AUTO_VALUE_IGNORED, 1, 2, strings_printf(&m->c->words, "\"%s\"", l->text));
        }
    strings_release(&seen);
}

/* Whether a column has a value; true if that cannot be found out. */
static bool look_up(const struct auto_question *q, int column, const struct literal *l)
{
    const struct schema *s = q->schema;
    struct strings pool = { 0 };
    const char *sql = strings_printf(&pool, "SELECT 1 FROM %s WHERE %s = %s LIMIT 1",
                                     sql_written_name(&pool, s->tables[s->columns[column].table].name),
                                     sql_written_name(&pool, s->columns[column].name),
                                     l->number ? l->text : sql_written_string(&pool, l->text));
    struct exec_result r = exec_run(q->db, sql);
    bool has = r.status != EXEC_OK || r.n > 0;

    exec_result_release(&r);
    strings_release(&pool);
    return has;
}

static bool column_has(struct making *m, const struct literal *l)
{
    const char *key = strings_printf(&m->c->words, "%d %d %s", l->column, l->number, l->text);
    int k = strings_find(&m->lookups, key);

    if (k >= 0 || m->lookups.n == LOOKUPS_MAX)
        return k < 0 || m->found[k];
    return m->found[strings_add(&m->lookups, key)] = look_up(m->asked.q, l->column, l);
}

static void add_absent(struct making *m, int g)
{
    const struct read_statement *s = &m->list[g];

    for (int i = 0; i < s->n_literals && m->asked.q->db; i++) {
        const struct literal *l = &s->literals[i];
        if (l->column >= 0 && !column_has(m, l))
            add(m, g, AUTO_VALUE_ABSENT, 1, 2, strings_printf(&m->c->words, l->number ? "%s" : "\"%s\"", l->text));
    }
}

/* Whether a condition of the statement tests a column of dates or years. */
static bool tests_time(struct making *m, const struct read_statement *s)
{
    for (int c = 0; c < m->fit.schema->n_columns; c++)
        if (s->tests[c] && column_fit_times(&m->fit, c))
            return true;
    return false;
}

/* The literal of a number of the question that is compared with a column, or NULL. */
static const struct literal *literal_of(const struct read_statement *s, const struct said_number *n)
{
    for (int i = 0; i < s->n_literals; i++)
        if (s->literals[i].beside >= 0 && strtod(s->literals[i].text, NULL) == n->value.real)
            return &s->literals[i];
    return NULL;
}

/* Whether the number is compared with a column of its unit. */
static bool measures(struct making *m, const struct read_statement *s, int number)
{
    const struct literal *l = literal_of(s, &m->asked.fit.numbers[number]);
    return l && column_fit_measures(&m->fit, l->beside, m->asked.fit.units[number]);
}

/* Notes the statements without a condition on times, or on columns of a unit, if another one has it. */
static void add_unmet(struct making *m)
{
    const struct fit_question *fit = &m->asked.fit;
    bool met = false;

    for (int g = 0; g < m->n_read && fit->time; g++)
        met = met || tests_time(m, &m->list[g]);
    for (int g = 0; g < m->n_read && met; g++)
        if (m->list[g].parsed && !tests_time(m, &m->list[g]))
            add(m, g, AUTO_TIME_UNMET, 1, 1, NULL);
    for (int i = 0; i < fit->n; i++) {
        met = false;
        for (int g = 0; g < m->n_read && fit->units[i]; g++)
            met = met || measures(m, &m->list[g], i);
        for (int g = 0; g < m->n_read && met; g++) {
            const struct literal *l = literal_of(&m->list[g], &fit->numbers[i]);
            if (l && !column_fit_measures(&m->fit, l->beside, fit->units[i]))
                add(m, g, AUTO_UNIT_UNMET, 1, 2, l->text);
        }
    }
}

/* Whether the question has one of n words or phrases. */
static bool says_one_of(const struct question_text *a, const char *const *words, int n)
{
    for (int i = 0; i < n; i++)
        if (question_has(a, words[i]))
            return true;
    return false;
}

static void add_unsaid(struct making *m, int g)
{
    static const char *const distinct[] = { "different", "distinct", "unique" }, *const average[] = { "average",
                                                                                                      "mean" };
    const struct read_statement *s = &m->list[g];

    if (s->distinct && !says_one_of(&m->asked, distinct, ARRAY_LEN(distinct)))
        add(m, g, AUTO_DISTINCT_UNSAID, 1, 1, NULL);
    if (s->average && !says_one_of(&m->asked, average, ARRAY_LEN(average)))
        add(m, g, AUTO_AVERAGE_UNSAID, 1, 1, NULL);
}

static const char *element_name(struct making *m, int element)
{
    const struct schema *s = m->asked.q->schema;

    if (element < s->n_tables)
        return s->tables[element].text;
    const struct schema_column *column = &s->columns[element - s->n_tables];
    return strings_printf(&m->c->words, "%s of %s", column->text, s->tables[column->table].text);
}

static void add_names(struct making *m, int g)
{
    const struct read_statement *s = &m->list[g];
    const struct schema *schema = m->asked.q->schema;
    int shown = 0, unsaid = 0;

    for (int e = 0; e < schema->n_tables + schema->n_columns; e++) {
        double all = mention(&m->asked, e, ELEMENT_ALL), any = mention(&m->asked, e, ELEMENT_ANY);
        if (e >= schema->n_tables && s->shows[e - schema->n_tables]) {
            shown++;
            unsaid += any <= 0;
            if (any <= 0)
                add(m, g, AUTO_OUTPUT_UNSAID, 0, 1, element_name(m, e));
        }
        if (m->common[e])
            continue;
        if (!s->uses[e] && all >= 1)
            add(m, g, AUTO_NAMED_IGNORED, 1, 3, element_name(m, e));
        if (s->uses[e] && any <= 0)
            add(m, g, AUTO_UNNAMED, 1, 3, element_name(m, e));
    }
    add(m, g, AUTO_OUTPUT_UNSAID, shown ? (double)unsaid / shown : 0, 1, NULL);
    add(m, g, AUTO_EXTRA_OUTPUTS, s->outputs - m->fewest, 3, NULL);
}

static void add_votes(struct making *m, int g)
{
    const struct exec_result *r = m->groups[g].result;
    double vote = m->groups[g].vote;

    m->c->x[g][AUTO_VOTE] = log(fmax(vote, 1e-6));
    m->c->detail[g][AUTO_VOTE] = strings_printf(&m->c->words, "%.0f %%", 100 * vote);
    add(m, g, AUTO_FAILS, r && r->status != EXEC_OK, 1, NULL);
    add(m, g, AUTO_REPAIRED, m->groups[g].repaired, 1, NULL);
}

/* Finds the elements that distinguish no statement, and the smallest number of outputs. */
static void compare_statements(struct making *m)
{
    const struct schema *s = m->asked.q->schema;
    int elements = s->n_tables + s->n_columns, parsed = 0;

    for (int g = 0; g < m->n_read; g++) {
        parsed += m->list[g].parsed;
        if (m->list[g].parsed && (!m->fewest || m->list[g].outputs < m->fewest))
            m->fewest = m->list[g].outputs;
    }
    for (int e = 0; e < elements; e++) {
        int used = 0;
        for (int g = 0; g < m->n_read; g++)
            used += m->list[g].uses[e];
        m->common[e] = used == 0 || used == parsed;
    }
}

static void make_features(struct making *m)
{
    compare_statements(m);
    add_unmet(m);
    for (int g = 0; g < m->c->n; g++) {
        add_votes(m, g);
        if (g >= m->n_read || !m->list[g].parsed)
            continue;
        add_ignored(m, g);
        add_values_ignored(m, g);
        add_absent(m, g);
        add_unsaid(m, g);
        add_names(m, g);
    }
}

/* --- The choice --- */

static double score_of(const struct auto_choice *c, int g)
{
    double sum = 0;

    for (int f = 0; f < AUTO_FEATURES; f++)
        sum += features[f].weight * c->x[g][f];
    return sum;
}

static void choose(struct auto_choice *c)
{
    double most_voted = -INFINITY, none, highest, sum;

    for (int g = 0; g < c->n; g++) {
        c->p[g] = score_of(c, g);
        most_voted = fmax(most_voted, c->x[g][AUTO_VOTE]);
    }
    none = none_weights[0] + none_weights[1] * log(c->n) + none_weights[2] * exp(most_voted) +
           (c->judged_none ? features[AUTO_JUDGED].weight : 0);
    highest = none;
    for (int g = 0; g < c->n; g++)
        highest = fmax(highest, c->p[g]);
    sum = c->p_none = exp(none - highest);
    for (int g = 0; g < c->n; g++)
        sum += c->p[g] = exp(c->p[g] - highest);
    c->p_none /= sum;
    c->best = 0;
    c->second = -1;
    for (int g = 0; g < c->n; g++)
        c->p[g] /= sum;
    for (int g = 1; g < c->n; g++)
        c->best = c->p[g] > c->p[c->best] ? g : c->best;
    for (int g = 0; g < c->n; g++)
        if (g != c->best && (c->second < 0 || c->p[g] > c->p[c->second]))
            c->second = g;
}

void auto_choice_make(struct auto_choice *c, const struct auto_question *q, const struct auto_group *groups, int n)
{
    struct making m = { .c = c, .groups = groups, .n_read = n < READ_MAX ? n : READ_MAX };
    size_t elements = (size_t)(q->schema->n_tables + q->schema->n_columns),
           flags = elements + 2 * (size_t)q->schema->n_columns;
    bool *memory = xcalloc((size_t)m.n_read * flags + elements + 1, 1);

    CHECK(n > 0, "%d groups", n);
    *c = (struct auto_choice){ .n = n };
    c->x = xcalloc((size_t)n, sizeof *c->x);
    c->detail = xcalloc((size_t)n, sizeof *c->detail);
    c->p = xcalloc((size_t)n, sizeof *c->p);
    m.list = xcalloc((size_t)m.n_read, sizeof *m.list);
    m.common = memory + (size_t)m.n_read * flags;
    read_question(&m.asked, q);
    column_fit_open(&m.fit, q->schema, q->db);
    for (int g = 0; g < m.n_read; g++)
        read_statement(&m.list[g], q, groups[g].sql, memory + (size_t)g * flags, &c->words);
    make_features(&m);
    choose(c);
    column_fit_close(&m.fit);
    strings_release(&m.lookups);
    free(m.asked.mentions);
    free(m.list);
    free(memory);
}

void auto_choice_judge(struct auto_choice *c, int group)
{
    if (group < 0)
        c->judged_none = true;
    else
        c->x[group][AUTO_JUDGED] = 1;
    choose(c);
}

void auto_choice_release(struct auto_choice *c)
{
    free(c->x);
    free(c->detail);
    free(c->p);
    strings_release(&c->words);
    *c = (struct auto_choice){ 0 };
}

/* The sentence of a feature about the group that it is evidence for or against. */
static const char *phrase(struct auto_choice *c, enum auto_feature f)
{
    int about = c->x[c->best][f] > c->x[c->second][f] ? c->best : c->second;
    const char *text = features[f].sentence, *detail = c->detail[about][f], *mark = strstr(text, "%s");
    const char *subject = about == c->best ? "it" : "the next one";

    if (!mark)
        return strings_printf(&c->words, "%s %s", subject, text);
    return strings_printf(&c->words, "%s %.*s%s%s", subject, (int)(mark - text), text, detail ? detail : "a part",
                          mark + 2);
}

const char *auto_choice_why(struct auto_choice *c)
{
    double gain[AUTO_FEATURES];
    int first = 0, next = 0;

    if (c->second < 0)
        return strings_keep(&c->words, "All candidates return the same rows.");
    for (int f = 0; f < AUTO_FEATURES; f++) {
        gain[f] = features[f].weight * (c->x[c->best][f] - c->x[c->second][f]);
        first = gain[f] > gain[first] ? f : first;
    }
    next = first == 0 ? 1 : 0;
    for (int f = 0; f < AUTO_FEATURES; f++)
        next = f != first && gain[f] > gain[next] ? f : next;
    if (gain[first] <= 0)
        return strings_keep(&c->words, "The two most probable statements have the same evidence.");
    const char *reason = phrase(c, (enum auto_feature)first);
    if (gain[next] < 0.1)
        return strings_printf(&c->words, "This statement is preferred because %s.", reason);
    return strings_printf(&c->words, "This statement is preferred because %s, and %s.", reason,
                          phrase(c, (enum auto_feature)next));
}

json_t *auto_choice_features(const struct auto_choice *c, int group)
{
    json_t *o = json_object();

    for (int f = 0; f < AUTO_FEATURES; f++)
        if (c->x[group][f] != 0)
            json_object_set_new(o, features[f].name, json_real(round(c->x[group][f] * 1e6) / 1e6));
    return o;
}
