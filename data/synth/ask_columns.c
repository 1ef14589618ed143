#include "data/synth/ask_columns.h"

#include "data/base/log.h"
#include "data/base/strings.h"
#include "data/schema/schema.h"
#include "data/synth/element_style.h"
#include "data/synth/natural.h"
#include "data/synth/sql_edit.h"
#include "data/synth/under_specify.h"
#include "kernels/rng.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum ask_query {
    ASK_ALL,     /* the column for every row */
    ASK_LABELS,  /* the same with the name of the row */
    ASK_VALUE,   /* for the row that a value names */
    ASK_MOST,    /* the row with the largest value */
    ASK_LEAST,   /* the row with the smallest value */
    ASK_AVERAGE, /* of a numeric column */
    ASK_DISTINCT,
    ASK_ORDER,
    ASK_GROUP
};

/* The columns that a template fits. */
enum ask_for { ASK_ANY = 0, ASK_SINGULAR = 1, ASK_PLURAL = 2, ASK_NUMBER = 4, ASK_TIME = 8, ASK_NO_NUMBER = 16 };

struct ask_template {
    enum ask_query query;
    const char *text;
    unsigned only; /* bits of enum ask_for */
};

/* The words for the placeholders; plurals are derived from singulars. NULL if there is none. */
struct ask_words {
    const char *x, *s, *k, *v;
};

static const struct ask_template templates[] = {
    { ASK_ALL, "What is the {x} of each {s}?", ASK_SINGULAR },
    { ASK_ALL, "Show the {x} of every {s}.", ASK_ANY },
    { ASK_ALL, "List the {xs} of all {ss}.", ASK_ANY },
    { ASK_ALL, "Give me the {x} for each {s}.", ASK_ANY },
    { ASK_ALL, "For every {s}, show the {x}.", ASK_ANY },
    { ASK_ALL, "{xs} of all {ss}", ASK_ANY },
    { ASK_ALL, "What are the {xs} of the {ss}?", ASK_ANY },
    { ASK_ALL, "I need the {x} of each {s}, please.", ASK_ANY },
    { ASK_ALL, "Could you show me the {x} for all {ss}?", ASK_ANY },
    { ASK_ALL, "The {x} of every {s} should be listed.", ASK_ANY },
    { ASK_LABELS, "List the {k} and the {x} of each {s}.", ASK_ANY },
    { ASK_LABELS, "What are the {k} and {x} of all {ss}?", ASK_ANY },
    { ASK_LABELS, "{k} and {x} per {s}", ASK_ANY },
    { ASK_LABELS, "Show each {s} with {k} and {x}.", ASK_ANY },
    { ASK_LABELS, "Return the {x} next to the {k} for every {s}.", ASK_ANY },
    { ASK_LABELS, "I want a table with the {k} and the {x}.", ASK_ANY },
    { ASK_LABELS, "List every {k} with its {x}.", ASK_ANY },
    { ASK_LABELS, "Show {k} and {x} side by side.", ASK_ANY },
    { ASK_LABELS, "What is the {x} for each {k}?", ASK_SINGULAR },
    { ASK_LABELS, "{x} by {k} please", ASK_ANY },
    { ASK_LABELS, "For each {k}, what is the {x}?", ASK_SINGULAR },
    { ASK_VALUE, "What is the {x} of {v}?", ASK_SINGULAR },
    { ASK_VALUE, "What's the {x} for {v}?", ASK_SINGULAR },
    { ASK_VALUE, "What are the {x} for {v}?", ASK_PLURAL },
    { ASK_VALUE, "How many {x} does {v} have?", ASK_PLURAL | ASK_NUMBER },
    { ASK_VALUE, "How many {x} are there for {v}?", ASK_PLURAL | ASK_NUMBER },
    { ASK_VALUE, "Find the {x} where the {k} is {v}.", ASK_ANY },
    { ASK_VALUE, "Show me the {x} of the {s} with {k} {v}.", ASK_ANY },
    { ASK_VALUE, "Can you tell me the {x} for the {k} {v}?", ASK_ANY },
    { ASK_VALUE, "When the {k} is {v}, what is the {x}?", ASK_SINGULAR },
    { ASK_VALUE, "Which {x} does {v} have?", ASK_SINGULAR },
    { ASK_VALUE, "{v}: which {x}?", ASK_ANY },
    { ASK_VALUE, "Look up {v} and give me the {x}.", ASK_ANY },
    { ASK_VALUE, "I'm looking for the {x} of {v}.", ASK_ANY },
    { ASK_MOST, "Which {s} has the highest {x}?", ASK_SINGULAR | ASK_NUMBER },
    { ASK_MOST, "Which {k} has the highest {x}?", ASK_SINGULAR | ASK_NUMBER },
    { ASK_MOST, "Which {k} has the most {x}?", ASK_PLURAL | ASK_NUMBER },
    { ASK_MOST, "Which {s} has the most {x}?", ASK_PLURAL | ASK_NUMBER },
    { ASK_MOST, "Find the {k} of the {s} with the largest {x}.", ASK_SINGULAR | ASK_NUMBER },
    { ASK_MOST, "Which {s} has the latest {x}?", ASK_SINGULAR | ASK_TIME },
    { ASK_MOST, "Show the {k} of the {s} with the most recent {x}.", ASK_SINGULAR | ASK_TIME },
    { ASK_LEAST, "Which {s} has the lowest {x}?", ASK_SINGULAR | ASK_NUMBER },
    { ASK_LEAST, "Which {k} has the lowest {x}?", ASK_SINGULAR | ASK_NUMBER },
    { ASK_LEAST, "Which {k} has the fewest {x}?", ASK_PLURAL | ASK_NUMBER },
    { ASK_LEAST, "What is the {k} of the {s} with the smallest {x}?", ASK_SINGULAR | ASK_NUMBER },
    { ASK_LEAST, "Which {s} has the earliest {x}?", ASK_SINGULAR | ASK_TIME },
    { ASK_AVERAGE, "What is the average {x} of all {ss}?", ASK_SINGULAR | ASK_NUMBER },
    { ASK_AVERAGE, "What is the average number of {x}?", ASK_PLURAL | ASK_NUMBER },
    { ASK_AVERAGE, "Compute the mean {x}.", ASK_SINGULAR | ASK_NUMBER },
    { ASK_AVERAGE, "average {x} over all {ss}", ASK_SINGULAR | ASK_NUMBER },
    { ASK_DISTINCT, "How many different {xs} are there?", ASK_NO_NUMBER },
    { ASK_DISTINCT, "Count the distinct {xs} of the {ss}.", ASK_NO_NUMBER },
    { ASK_ORDER, "List the {k} of each {s}, sorted by {x}.", ASK_ANY },
    { ASK_ORDER, "Show all {ss} by {k}, ordered by {x}.", ASK_ANY },
    { ASK_ORDER, "Sort the {ks} by {x}.", ASK_ANY },
    { ASK_GROUP, "How many {ss} are there for each {x}?", ASK_SINGULAR | ASK_NO_NUMBER },
    { ASK_GROUP, "Count the {ss} per {x}.", ASK_SINGULAR | ASK_NO_NUMBER },
    { ASK_GROUP, "Number of {ss} by {x}", ASK_SINGULAR | ASK_NO_NUMBER },
};

static bool has(const struct ask_template *t, char brace)
{
    for (const char *p = strchr(t->text, '{'); p; p = strchr(p + 1, '{'))
        if (p[1] == brace)
            return true;
    return false;
}

static bool fits_type(unsigned only, enum column_type type)
{
    return !((only & ASK_NUMBER) && type != COLUMN_NUMBER) && !((only & ASK_TIME) && type != COLUMN_TIME) &&
           !((only & ASK_NO_NUMBER) && type == COLUMN_NUMBER);
}

static bool fits(const struct ask_template *t, const struct ask_words *w, enum column_type type, bool plural,
                 bool joined)
{
    bool by_label = t->query == ASK_MOST || t->query == ASK_LEAST || t->query == ASK_ORDER || t->query == ASK_LABELS;

    if ((has(t, 's') && !w->s) || ((has(t, 'k') || by_label) && !w->k) || (has(t, 'v') && !w->v))
        return false;
    if (!fits_type(t->only, type) || (t->only & (plural ? ASK_SINGULAR : ASK_PLURAL)))
        return false;
    return !joined || t->query == ASK_ALL || t->query == ASK_LABELS || t->query == ASK_DISTINCT ||
           t->query == ASK_GROUP;
}

/* Draws a template that fits words and type. joined: the column is of another table, and only ASK_ALL, ASK_LABELS,
 * ASK_DISTINCT and ASK_GROUP fit. */
static const struct ask_template *ask_template_draw(struct rng *rng, const struct ask_words *w, enum column_type type,
                                                    bool joined)
{
    const struct ask_template *found = NULL;
    struct strings text = { 0 };
    bool plural = strcmp(element_singular(&text, w->x), w->x) != 0;
    uint32_t fit = 0;

    strings_release(&text);
    for (int i = 0; i < ARRAY_LEN(templates); i++)
        if (fits(&templates[i], w, type, plural, joined) && rng_below(rng, ++fit) == 0)
            found = &templates[i];
    return found;
}

/* Returns the text for the placeholder at p. *length is the number of characters of its name. */
static const char *word_for(struct strings *text, const char *p, const struct ask_words *w, size_t *length)
{
    *length = strcspn(p, "}") + 1;
    const char *word = p[1] == 'x' ? w->x : p[1] == 's' ? w->s : p[1] == 'k' ? w->k : w->v;
    return *length == 4 ? element_plural(text, element_singular(text, word)) : word;
}

/* Returns the question. text keeps it. casual: without the capital and the final mark. */
static const char *ask_template_write(struct strings *text, const struct ask_template *t, const struct ask_words *w,
                                      bool casual)
{
    char *out = NULL;
    size_t size, length;
    FILE *f = open_memstream(&out, &size);

    CHECK(f, "cannot write to memory");
    for (const char *p = t->text; *p; p += length) {
        length = 1;
        if (*p == '{')
            fputs(word_for(text, p, w, &length), f);
        else
            putc(*p, f);
    }
    CHECK(fclose(f) == 0, "cannot write to memory");
    if (casual && size && strchr(".?", out[size - 1]))
        out[size - 1] = 0;
    if (casual && islower((unsigned char)out[1]))
        out[0] = (char)tolower((unsigned char)out[0]);
    const char *kept = strings_keep(text, out);
    free(out);
    return kept;
}

enum {
    PAIRS_EACH = 8,     /* maximum of pairs of one table */
    QUESTIONS_EACH = 8, /* maximum of questions of one pair; of a table whose rows have no name: */
    QUESTIONS_VAGUE = 2,
    ALONE_EACH = 3, /* maximum of questions of one table about columns without a rival */
    NAME_WORDS = 4, /* longer names do not fit into a question */
    VALUES = 40,    /* candidates for a value of the question */
    VALUE_LETTERS = 28
};

static const float CASUAL = 0.2f;

/* Last words of table names that do not describe the rows. */
static const char *const vague_tables[] = { "results", "records", "list",    "entries", "overview", "attributes",
                                            "details", "data",    "history", "info",    "log",      "master",
                                            "texts",   "weather", "types",   "stats",   "gross",    "qualifying",
                                            "match",   "fix",     "culture", "allstar", "teams" };

/* Names of foreign keys that do not join related rows. */
static const char *const no_keys[] = { "year", "date", "month", "name", "type", "title" };

struct column_asker {
    struct natural *n;
    const struct natural_corpus *c;
    const struct schema *s;
    int db;
    struct under_items *out;
    struct under_rows rows;
};

/* A pair of rivals in a question about rows of `table`. joins: the keys to rivals in other tables. */
struct ask_pair {
    struct rival_pair r;
    int table;
    const struct schema_foreign_key *joins[2];
    int label;    /* the column that names the rows of the table; -1: none */
    int referred; /* the table to which two keys with different roles refer; -1: the rivals are no such keys */
};

static const struct schema_column *column_of(const struct column_asker *a, int column)
{
    return &a->s->columns[column];
}

static bool few_words(const char *text)
{
    struct word_list words;

    word_list_read(&words, text);
    return words.n > 0 && words.n <= NAME_WORDS;
}

static const char *in_lower_case(struct strings *text, const char *name)
{
    char *low = xstrdup(name);

    for (char *p = low; *p; p++)
        *p = (char)tolower((unsigned char)*p);
    const char *kept = strings_keep(text, low);
    free(low);
    return kept;
}

static bool shares_word(const struct word_list *words, const char *text)
{
    struct word_list name;

    word_list_read(&name, text);
    for (int i = 0; i < name.n; i++)
        if (word_list_has(words, name.list[i]))
            return true;
    return false;
}

/* Returns the first text column that is no key and has no word of the rivals. A column called name or title comes
 * first. */
static int find_label(const struct column_asker *a, const struct ask_pair *p)
{
    const struct schema_table *t = &a->s->tables[p->table];
    int label = -1;

    for (int c = t->first_column; c < t->first_column + t->n_columns; c++) {
        const struct schema_column *column = column_of(a, c);
        uint32_t head = head_word(column->text);
        bool named = head == word_hash("name") || head == word_hash("title");
        if (column->type != COLUMN_TEXT || schema_column_is_key(a->s, c) || c == p->r.columns[0] ||
            c == p->r.columns[1] || !few_words(column->text) || !can_be_head(column->text) ||
            strpbrk(column->text, "0123456789#().") || shares_word(&p->r.shared, column->text) ||
            shares_word(&p->r.own[0], column->text) || shares_word(&p->r.own[1], column->text))
            continue;
        if (named)
            return c;
        label = label < 0 ? c : label;
    }
    return label;
}

static bool ends_in_any(const char *name, const char *const *words, int n)
{
    for (int i = 0; i < n; i++)
        if (head_word(name) == word_hash(words[i]))
            return true;
    return false;
}

/* Returns the noun for a row of the table. NULL if the table's name gives none. */
static const char *subject_of(const struct column_asker *a, const struct ask_pair *p)
{
    const char *table = a->s->tables[p->table].text;

    if (!few_words(table) || !can_be_head(table) || strchr(table, '-') ||
        ends_in_any(table, vague_tables, ARRAY_LEN(vague_tables)))
        return NULL;
    const char *subject = element_singular(&a->out->text, in_lower_case(&a->out->text, table));
    return shares_word(&p->r.shared, subject) ? NULL : subject;
}

static bool is_plain_value(const struct cell *v)
{
    if (v->type != CELL_TEXT || v->n < 2 || v->n > VALUE_LETTERS)
        return false;
    for (int i = 0; i < v->n; i++)
        if (!isalnum((unsigned char)v->bytes[i]) && !strchr(" -&.", v->bytes[i]))
            return false;
    return isalnum((unsigned char)v->bytes[0]) && isalnum((unsigned char)v->bytes[v->n - 1]);
}

/* Draws a value of the label from the database. NULL if no value fits into a question. */
static const char *draw_value(struct column_asker *a, const struct ask_pair *p)
{
    struct exec_db *db = p->label < 0 ? NULL : under_rows_open(&a->rows, a->db);
    struct strings *text = &a->out->text;
    const char *value = NULL;
    uint32_t fit = 0;

    if (!db)
        return NULL;
    const char *sql = strings_printf(text, "SELECT %s FROM %s GROUP BY 1 HAVING COUNT(*) = 1 LIMIT %d",
                                     sql_written_name(text, column_of(a, p->label)->name),
                                     sql_written_name(text, a->s->tables[p->table].name), VALUES);
    struct exec_result r = exec_run(db, sql);
    for (int64_t i = 0; r.status == EXEC_OK && i < r.n; i++)
        if (is_plain_value(&r.cells[i]) && rng_below(&a->n->rng, ++fit) == 0)
            value = strings_printf(text, "%.*s", r.cells[i].n, r.cells[i].bytes);
    exec_result_release(&r);
    return value;
}

/* Returns "T" or "T JOIN A ON T.f = A.p". */
static const char *write_from(struct column_asker *a, const struct ask_pair *p, int which)
{
    struct strings *text = &a->out->text;
    const struct schema_foreign_key *k = p->joins[which];
    const char *table = sql_written_name(text, a->s->tables[p->table].name);

    if (!k)
        return table;
    const char *other = sql_written_name(text, a->s->tables[column_of(a, k->to)->table].name);
    return strings_printf(text, "%s JOIN %s ON %s.%s = %s.%s", table, other, table,
                          sql_written_name(text, column_of(a, k->from)->name), other,
                          sql_written_name(text, column_of(a, k->to)->name));
}

static const char *written_column(struct column_asker *a, int column)
{
    struct strings *text = &a->out->text;
    const struct schema_column *c = column_of(a, column);

    return strings_printf(text, "%s.%s", sql_written_name(text, a->s->tables[c->table].name),
                          sql_written_name(text, c->name));
}

static const char *write_sql(struct column_asker *a, const struct ask_pair *p, enum ask_query query, const char *value,
                             int which)
{
    struct strings *t = &a->out->text;
    const char *x = written_column(a, p->r.columns[which]), *from = write_from(a, p, which);
    const char *k = p->label < 0 ? x : written_column(a, p->label);

    switch (query) {
    case ASK_ALL:
        return strings_printf(t, "SELECT %s FROM %s", x, from);
    case ASK_LABELS:
        return strings_printf(t, "SELECT %s, %s FROM %s", k, x, from);
    case ASK_VALUE:
        return strings_printf(t, "SELECT %s FROM %s WHERE %s = '%s'", x, from, k, value);
    case ASK_MOST:
        return strings_printf(t, "SELECT %s FROM %s ORDER BY %s DESC LIMIT 1", k, from, x);
    case ASK_LEAST:
        return strings_printf(t, "SELECT %s FROM %s ORDER BY %s LIMIT 1", k, from, x);
    case ASK_AVERAGE:
        return strings_printf(t, "SELECT AVG(%s) FROM %s", x, from);
    case ASK_DISTINCT:
        return strings_printf(t, "SELECT COUNT(DISTINCT %s) FROM %s", x, from);
    case ASK_ORDER:
        return strings_printf(t, "SELECT %s FROM %s ORDER BY %s", k, from, x);
    default:
        return strings_printf(t, "SELECT %s, COUNT(*) FROM %s GROUP BY %s", x, from, x);
    }
}

/* Returns the words for the column in the short question. */
static const char *short_name(struct column_asker *a, const struct ask_pair *p)
{
    struct strings *text = &a->out->text;

    if (p->referred >= 0)
        return element_singular(text, in_lower_case(text, a->s->tables[p->referred].text));
    return words_among(text, column_of(a, p->r.columns[0])->text, &p->r.shared);
}

/* Returns the words for the column in the full question: with the table's name for another table, with its role for a
 * key. */
static const char *full_name(struct column_asker *a, const struct ask_pair *p, const char *left)
{
    struct strings *text = &a->out->text;
    const char *own = in_lower_case(text, column_of(a, p->r.columns[0])->text);

    if (p->referred >= 0) {
        const char *role = words_among(text, own, &p->r.own[0]);
        return shares_word(&p->r.shared, role) ? role : strings_printf(text, "%s %s", role, left);
    }
    if (!p->r.apart)
        return own;
    return strings_printf(text, "%s %s", element_singular(text, in_lower_case(text, p->r.owners[0])), left);
}

/* Reads two keys of one table to another one as rivals. Each needs words of its own besides those of the other table
 * and "id". */
static bool read_roles(struct rival_pair *r, const struct column_asker *a, int x, int y, int referred)
{
    static const char *const no_roles[] = { "id", "code", "key", "no", "number", "ref", "fk" };
    struct word_list names[2];

    *r = (struct rival_pair){ .columns = { x, y } };
    word_list_read(&r->shared, a->s->tables[referred].text);
    r->head = head_word(a->s->tables[referred].text);
    for (int k = 0; k < 2; k++) {
        r->owners[k] = column_of(a, r->columns[k])->text;
        word_list_read(&names[k], r->owners[k]);
    }
    for (int k = 0; k < 2; k++)
        for (int i = 0; i < names[k].n; i++) {
            uint32_t word = names[k].list[i];
            bool is_id = false;
            for (int j = 0; j < ARRAY_LEN(no_roles); j++)
                is_id = is_id || word == word_hash(no_roles[j]);
            if (!is_id && !word_list_has(&names[1 - k], word) && !word_list_has(&r->shared, word))
                word_list_add(&r->own[k], word);
        }
    return r->own[0].n > 0 && r->own[1].n > 0 && !strpbrk(r->owners[0], "0123456789") &&
           !strpbrk(r->owners[1], "0123456789") && can_be_head(a->s->tables[referred].text);
}

/* Drops the other keys to the same table. Returns false if the question could mean another column of the table. */
static bool drop_roles(bool *dropped, const struct column_asker *a, const struct ask_pair *p)
{
    const struct schema_table *t = &a->s->tables[p->table];

    for (int c = t->first_column; c < t->first_column + t->n_columns; c++)
        if (c != p->r.columns[0] && c != p->r.columns[1] && column_has_words(a->s, c, &p->r.shared)) {
            if (column_of(a, c)->primary)
                return false;
            dropped[c] = true;
        }
    for (int k = 0; k < a->s->n_foreign_keys; k++) {
        int from = a->s->foreign_keys[k].from, to = column_of(a, a->s->foreign_keys[k].to)->table;
        if (column_of(a, from)->table == p->table && to == p->referred && from != p->r.columns[0] &&
            from != p->r.columns[1])
            dropped[from] = true;
    }
    return true;
}

/* Draws which of the two rivals the question names. */
static struct ask_pair draw_order(struct column_asker *a, const struct ask_pair *p)
{
    struct ask_pair q = *p;

    if (rng_below(&a->n->rng, 2) && p->referred >= 0)
        read_roles(&q.r, a, p->r.columns[1], p->r.columns[0], p->referred);
    else if (p->referred < 0 && rng_below(&a->n->rng, 2)) {
        rivals_read(&q.r, a->s, p->r.columns[1], p->r.columns[0]);
        q.joins[0] = p->joins[1];
        q.joins[1] = p->joins[0];
    }
    return q;
}

static bool finish_item(struct column_asker *a, struct under_item *item, const struct ask_pair *p)
{
    struct cut_question q;
    size_t columns = (size_t)a->s->n_columns;
    bool *touched = xcalloc(columns, sizeof *touched), *dropped = xcalloc(columns, sizeof *dropped);
    bool *other = xcalloc(columns, sizeof *other);

    bool good = question_words_read(&q, item->text) && natural_touch(a->n, item->sql[0], a->s, touched) &&
                natural_touch(a->n, item->sql[1], a->s, other) &&
                (p->referred >= 0 ? drop_roles(dropped, a, p)
                                  : under_drop_further(dropped, &q, a->s, touched, &p->r, &item->left)) &&
                under_rows_differ(&a->rows, a->db, item->sql);
    for (size_t c = 0; c < columns && p->r.apart; c++)
        touched[c] = touched[c] || (other[c] && (int)c != p->r.columns[1]);
    item->touched = touched;
    item->dropped = dropped;
    free(other);
    return good;
}

/* Writes the full question: it names the column by its own words or by its table. */
static void write_full(struct column_asker *a, struct under_item *item, const struct ask_pair *p,
                       const struct ask_template *t, struct ask_words w, bool casual)
{
    struct ask_pair owner = { .r = p->r, .table = column_of(a, p->r.columns[0])->table, .label = -1, .referred = -1 };
    const char *subject = p->r.apart && t->query != ASK_LABELS ? subject_of(a, &owner) : NULL;
    bool by_table = subject && w.s && rng_below(&a->n->rng, 2);

    if (by_table)
        w.s = subject;
    else
        w.x = full_name(a, p, w.x);
    item->full = ask_template_write(&a->out->text, t, &w, casual);
    item->full_sql = write_sql(a, by_table ? &owner : p, t->query, w.v, 0);
    item->full_reason = by_table ? "table named" : "named";
}

static void ask(struct column_asker *a, const struct ask_pair *pair)
{
    struct ask_pair p = draw_order(a, pair);
    struct strings *text = &a->out->text;
    const struct schema_column *column = column_of(a, p.r.columns[0]);
    struct ask_words w = { .x = short_name(a, &p), .s = subject_of(a, &p), .v = draw_value(a, &p) };

    if (!w.x[0] || !few_words(column->text))
        return;
    w.k = p.label < 0 ? NULL : in_lower_case(text, column_of(a, p.label)->text);
    const struct ask_template *t =
        ask_template_draw(&a->n->rng, &w, p.referred < 0 ? column->type : COLUMN_TEXT, p.r.apart);
    if (!t)
        return;
    bool casual = rng_uniform(&a->n->rng) < CASUAL;
    struct under_item item = { .s = a->s,
                               .db = a->db,
                               .columns = { p.r.columns[0], p.r.columns[1] },
                               .left = p.r.shared,
                               .reason = p.referred < 0 ? "template" : "two keys" };
    item.text = ask_template_write(text, t, &w, casual);
    write_full(a, &item, &p, t, w, casual);
    for (int k = 0; k < 2; k++)
        item.sql[k] = write_sql(a, &p, t->query, w.v, k);
    if (finish_item(a, &item, &p))
        under_items_add(a->out, &item);
    else {
        free(item.touched);
        free(item.dropped);
    }
}

struct pair_list {
    struct ask_pair *list;
    int n, cap;
};

static void add_pair(struct pair_list *l, const struct column_asker *a, struct ask_pair p)
{
    p.label = find_label(a, &p);
    GROW(l->list, l->n, l->cap);
    l->list[l->n++] = p;
}

static void pairs_of_table(struct pair_list *l, const struct column_asker *a, int table)
{
    const struct schema_table *t = &a->s->tables[table];

    for (int x = t->first_column; x < t->first_column + t->n_columns; x++)
        for (int y = x + 1; y < t->first_column + t->n_columns; y++) {
            struct ask_pair p = { .table = table, .referred = -1 };
            if (rivals_read(&p.r, a->s, x, y))
                add_pair(l, a, p);
        }
}

static bool table_has_words(const struct column_asker *a, int table, const struct word_list *words)
{
    const struct schema_table *t = &a->s->tables[table];

    for (int c = t->first_column; c < t->first_column + t->n_columns; c++)
        if (column_has_words(a->s, c, words))
            return true;
    return false;
}

/* Adds pairs of columns in two tables to which keys of a third table lead. The third table must not have such a column.
 */
static void pairs_by_keys(struct pair_list *l, const struct column_asker *a, const struct schema_foreign_key *f,
                          const struct schema_foreign_key *g)
{
    int table = column_of(a, f->from)->table;
    const struct schema_table *t = &a->s->tables[column_of(a, f->to)->table],
                              *u = &a->s->tables[column_of(a, g->to)->table];

    if (ends_in_any(column_of(a, f->to)->text, no_keys, ARRAY_LEN(no_keys)) ||
        ends_in_any(column_of(a, g->to)->text, no_keys, ARRAY_LEN(no_keys)))
        return;
    if (t == u || table == column_of(a, f->to)->table || table == column_of(a, g->to)->table)
        return;
    for (int x = t->first_column; x < t->first_column + t->n_columns; x++)
        for (int y = u->first_column; y < u->first_column + u->n_columns; y++) {
            struct ask_pair p = { .table = table, .joins = { f, g }, .referred = -1 };
            if (rivals_read(&p.r, a->s, x, y) && !table_has_words(a, table, &p.r.shared))
                add_pair(l, a, p);
        }
}

/* Two keys to one column. Parts of a composite key lead to different columns. */
static void pairs_of_roles(struct pair_list *l, const struct column_asker *a, const struct schema_foreign_key *f,
                           const struct schema_foreign_key *g)
{
    int table = column_of(a, f->from)->table, referred = column_of(a, f->to)->table;
    struct ask_pair p = { .table = table, .referred = referred };

    if (f->from != g->from && f->to == g->to && referred != table && !column_of(a, f->from)->primary &&
        !column_of(a, g->from)->primary && read_roles(&p.r, a, f->from, g->from, referred))
        add_pair(l, a, p);
}

/* Returns true if no other column within reach has the head word. A neighbour must have another word of the name: "net
 * weight" beside "net price". */
static bool stands_alone(struct rival_pair *r, const struct column_asker *a, int column)
{
    const struct schema_column *c = column_of(a, column);
    struct word_list name;
    bool like = false;

    word_list_read(&name, c->text);
    *r = (struct rival_pair){ .columns = { column, column }, .head = head_word(c->text) };
    word_list_add(&r->shared, r->head);
    for (int i = 0; i < name.n; i++)
        if (name.list[i] != r->head)
            word_list_add(&r->own[0], name.list[i]);
    if (name.n < 2 || !few_words(c->text) || !can_be_head(c->text) || strpbrk(c->text, "0123456789") ||
        schema_column_is_key(a->s, column))
        return false;
    for (int e = 0; e < a->s->n_columns; e++) {
        int t = column_of(a, e)->table;
        if (e == column || (t != c->table && !tables_joined(a->s, t, c->table)))
            continue;
        if (column_has_words(a->s, e, &r->shared))
            return false;
        like = like || (t == c->table && shares_word(&r->own[0], column_of(a, e)->text));
    }
    return like;
}

/* Asks a question without the modifier although the column has no rival. */
static void ask_alone(struct column_asker *a, const struct ask_pair *p)
{
    struct strings *text = &a->out->text;
    const struct schema_column *c = column_of(a, p->r.columns[0]);
    struct ask_words w = { .x = short_name(a, p), .s = subject_of(a, p), .v = draw_value(a, p) };

    w.k = p->label < 0 ? NULL : in_lower_case(text, column_of(a, p->label)->text);
    const struct ask_template *t = w.s ? ask_template_draw(&a->n->rng, &w, c->type, false) : NULL;
    if (!t)
        return;
    bool *touched = xcalloc((size_t)a->s->n_columns, sizeof *touched);
    enum data_split split = a->c->split[a->db];
    struct example e = { .source_db = a->s->db_id,
                         .question = ask_template_write(text, t, &w, rng_uniform(&a->n->rng) < CASUAL),
                         .sql = { write_sql(a, p, t->query, w.v, 0) },
                         .n_sql = 1,
                         .slice = EXAMPLE_HARD_NEGATIVE,
                         .type = SIA_COLUMN,
                         .source = a->c->name,
                         .reason = "only one" };
    if (natural_touch(a->n, e.sql[0], a->s, touched) && natural_claim(a->n, e.question, split)) {
        e.db_id = schema_store_any(a->n, a->s, touched);
        natural_add(a->n, split, &e);
    }
    free(touched);
}

static void ask_all_alone(struct column_asker *a, int table)
{
    const struct schema_table *t = &a->s->tables[table];
    struct pair_list l = { 0 };

    for (int c = t->first_column; c < t->first_column + t->n_columns; c++) {
        struct ask_pair p = { .table = table, .referred = -1 };
        if (stands_alone(&p.r, a, c))
            add_pair(&l, a, p);
    }
    rng_shuffle(&a->n->rng, l.list, l.n, sizeof *l.list);
    for (int i = 0; i < l.n && i < ALONE_EACH; i++)
        ask_alone(a, &l.list[i]);
    free(l.list);
}

static void ask_table(struct column_asker *a, int table)
{
    struct pair_list l = { 0 };

    pairs_of_table(&l, a, table);
    for (int f = 0; f < a->s->n_foreign_keys; f++)
        for (int g = f + 1; g < a->s->n_foreign_keys; g++)
            if (column_of(a, a->s->foreign_keys[f].from)->table == table &&
                column_of(a, a->s->foreign_keys[g].from)->table == table) {
                pairs_by_keys(&l, a, &a->s->foreign_keys[f], &a->s->foreign_keys[g]);
                pairs_of_roles(&l, a, &a->s->foreign_keys[f], &a->s->foreign_keys[g]);
            }
    rng_shuffle(&a->n->rng, l.list, l.n, sizeof *l.list);
    for (int i = 0; i < l.n && i < PAIRS_EACH; i++)
        for (int k = 0; k < (subject_of(a, &l.list[i]) ? QUESTIONS_EACH : QUESTIONS_VAGUE); k++)
            ask(a, &l.list[i]);
    free(l.list);
}

int ask_columns_make(struct natural *n, const struct natural_corpus *c, struct error *err)
{
    struct under_items items = { 0 };
    struct column_asker a = { .n = n, .c = c, .out = &items, .rows = { .c = c } };

    (void)err;
    for (a.db = 0; a.db < c->schemas.n; a.db++) {
        a.s = &c->schemas.schemas[a.db];
        for (int t = 0; t < a.s->n_tables && c->asked[a.db]; t++)
            ask_table(&a, t);
    }
    under_specify_cross(n, c, &items);
    for (a.db = 0; a.db < c->schemas.n; a.db++) { /* on the schema variants of the other questions */
        a.s = &c->schemas.schemas[a.db];
        for (int t = 0; t < a.s->n_tables && c->asked[a.db]; t++)
            ask_all_alone(&a, t);
    }
    under_rows_close(&a.rows);
    under_items_release(&items);
    return 0;
}
