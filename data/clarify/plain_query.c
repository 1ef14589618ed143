#include "data/clarify/plain_query.h"

#include "data/span/spoken.h"
#include "data/sql/sql_print.h"

#include <stdlib.h>
#include <string.h>

enum { ITEMS_MAX = 16, NAME_WORDS = 6 };

/* Words that name a column, or a chosen element. */
struct plain_item {
    int first, last; /* words */
    int chosen;      /* element, or -1: found by name */
};

/* A question that is read from left to right. */
struct plain_question {
    const struct schema *s;
    const char *text;
    const struct element_choices *choices;
    struct spoken words;
    int at;    /* next word */
    int comma; /* word before which a comma was read, or -1 */
    struct plain_item items[ITEMS_MAX];
    int n;
    int table; /* table that the question names, or -1 */
    bool counts;
};

/* Stems of words. */
static const char *const openings[] = { "show",  "list", "give", "display", "find", "get", "return", "print", "tell",
                                        "fetch", "see",  "me",   "us",      "what", "is",  "are",    "can",   "could",
                                        "you",   "i",    "want", "need",    "like", "to",  "would",  "know",  NULL };
static const char *const articles[] = { "the", "a", "an", "all", "each", "every", "their", "its", "it", "our", NULL };
static const char *const links[] = { "of", "for", "from", "in", NULL };
static const char *const endings[] = { "are", "there", "is", "do", "we", "have", "exist", "please", NULL };

static bool is_in(const char *const *list, const char *stem)
{
    for (; *list; list++)
        if (strcmp(*list, stem) == 0)
            return true;
    return false;
}

static const struct spoken_word *next_word(const struct plain_question *q)
{
    return q->at < q->words.n ? &q->words.words[q->at] : NULL;
}

/* Whether only such characters stand before word i, which may be the end. */
static bool has_gap(const struct plain_question *q, int i, const char *allowed)
{
    const char *from = q->text + (i ? q->words.words[i - 1].to : 0);
    size_t n = i < q->words.n ? (size_t)(q->text + q->words.words[i].from - from) : strlen(from);

    return strspn(from, i == q->comma ? ", " : allowed) >= n;
}

static bool skip(struct plain_question *q, const char *const *list)
{
    const struct spoken_word *w = next_word(q);
    bool skips = w && is_in(list, w->stem) && has_gap(q, q->at, " ");

    q->at += skips;
    return skips;
}

static bool skip_word(struct plain_question *q, const char *stem)
{
    const char *const list[] = { stem, NULL };
    return skip(q, list);
}

/* Whether words first to last are the name, without regard to fillers between them. */
static bool is_name(const struct plain_question *q, int first, int last, const char *text)
{
    const struct spoken_word *words = q->words.words;
    struct spoken name;
    int i = first, k = 0;

    spoken_read(&name, text);
    if (words[first].filler || words[last].filler)
        return false;
    for (;; i++, k++) {
        while (i <= last && words[i].filler)
            i++;
        while (k < name.n && name.words[k].filler)
            k++;
        if (i > last || k == name.n)
            return i > last && k == name.n;
        if (strcmp(words[i].stem, name.words[k].stem) != 0)
            return false;
    }
}

/* Number of columns of a table that words name; the first one in *column. */
static int columns_named(const struct plain_question *q, int table, const struct plain_item *item, int *column)
{
    const struct schema_table *t = &q->s->tables[table];
    int n = 0;

    for (int c = t->first_column; c < t->first_column + t->n_columns; c++)
        if (is_name(q, item->first, item->last, q->s->columns[c].text) && n++ == 0)
            *column = c;
    return n;
}

static int tables_named(const struct plain_question *q, int first, int last, int *table)
{
    int n = 0;

    for (int t = 0; t < q->s->n_tables; t++)
        if (is_name(q, first, last, q->s->tables[t].text) && n++ == 0)
            *table = t;
    return n;
}

static bool names_column(const struct plain_question *q, const struct plain_item *item)
{
    int column;

    for (int t = 0; t < q->s->n_tables; t++)
        if (columns_named(q, t, item, &column))
            return true;
    return false;
}

/* The choice whose words begin here and end with a word, as *last; or NULL. */
static const struct element_choice *choice_here(const struct plain_question *q, int *last)
{
    for (int i = 0; i < q->choices->n; i++) {
        const struct element_choice *c = &q->choices->list[i];
        for (int k = q->at; k < q->words.n && c->start == q->words.words[q->at].start; k++)
            if (q->words.words[k].end == c->end) {
                *last = k;
                return c;
            }
    }
    return NULL;
}

/* Whether blanks alone separate the words. */
static bool is_run(const struct plain_question *q, int first, int last)
{
    for (int i = first + 1; i <= last; i++)
        if (!has_gap(q, i, " "))
            return false;
    return true;
}

/* Reads the words of a choice or the longest column name. */
static bool read_item(struct plain_question *q)
{
    struct plain_item item = { .first = q->at, .last = q->at + NAME_WORDS, .chosen = -1 };
    const struct element_choice *c = next_word(q) ? choice_here(q, &item.last) : NULL;
    bool found = c != NULL;

    if (!has_gap(q, q->at, " ") || q->n == ITEMS_MAX)
        return false;
    while (!found && --item.last >= q->at)
        found = item.last < q->words.n && is_run(q, q->at, item.last) && names_column(q, &item);
    item.chosen = c ? c->chosen : -1;
    q->items[q->n++] = item;
    q->at = item.last + 1;
    return found;
}

/* Reads the words of a choice or the longest table name. */
static bool read_table(struct plain_question *q)
{
    int last = q->at + NAME_WORDS, n = 0;
    const struct element_choice *c = next_word(q) ? choice_here(q, &last) : NULL;

    if (!has_gap(q, q->at, " "))
        return false;
    while (!c && n == 0 && --last >= q->at)
        n = last < q->words.n && is_run(q, q->at, last) ? tables_named(q, q->at, last, &q->table) : 0;
    if (c)
        q->table = c->chosen < q->s->n_tables ? c->chosen : -1;
    q->at = last + 1;
    return c ? q->table >= 0 : n == 1;
}

static void skip_articles(struct plain_question *q)
{
    while (skip(q, articles))
        continue;
}

/* "the name, the email and the city" */
static bool read_items(struct plain_question *q)
{
    bool more = true;

    while (more) {
        skip_articles(q);
        if (!read_item(q))
            return false;
        more = next_word(q) && !has_gap(q, q->at, " ") && has_gap(q, q->at, ", ");
        q->comma = more ? q->at : -1;
        more |= skip_word(q, "and");
    }
    return true;
}

/* "of all customers", which may be left out */
static bool read_link(struct plain_question *q)
{
    if (!skip(q, links))
        return true;
    skip_articles(q);
    return read_table(q);
}

static bool at_end(struct plain_question *q)
{
    while (skip(q, endings))
        continue;
    return q->at == q->words.n && has_gap(q, q->at, " .?!");
}

/* The column of an item in the table, or -1 if none or several fit. */
static int column_of(const struct plain_question *q, int table, const struct plain_item *item)
{
    int column = item->chosen - q->s->n_tables;

    if (item->chosen < 0)
        return columns_named(q, table, item, &column) == 1 ? column : -1;
    return column >= 0 && q->s->columns[column].table == table ? column : -1;
}

static bool has_items(const struct plain_question *q, int table)
{
    for (int i = 0; i < q->n; i++)
        if (column_of(q, table, &q->items[i]) < 0)
            return false;
    return true;
}

/* Finds the table: the one that the question names, or else that of a chosen column. */
static bool find_table(struct plain_question *q)
{
    for (int i = 0; i < q->n && q->table < 0; i++)
        if (q->items[i].chosen >= q->s->n_tables)
            q->table = schema_table_of(q->s, q->items[i].chosen);
    return q->table >= 0 && has_items(q, q->table);
}

/* The forms of a plain question. */

static bool read_columns(struct plain_question *q)
{
    return read_items(q) && read_link(q) && at_end(q) && find_table(q);
}

/* "how many customers" */
static bool read_count(struct plain_question *q)
{
    q->counts = skip_word(q, "how") && skip_word(q, "many");
    return q->counts && read_table(q) && at_end(q);
}

/* "all customers", unless a column is called so too */
static bool read_rows(struct plain_question *q)
{
    int last;

    skip_articles(q);
    struct plain_item item = { .first = q->at, .chosen = -1 };
    bool chosen = next_word(q) && choice_here(q, &last);
    if (!read_table(q))
        return false;
    item.last = q->at - 1;
    return (chosen || !names_column(q, &item)) && at_end(q);
}

typedef bool form_reader(struct plain_question *q);

/* Reads the question behind its opening in one form. */
static bool read_form(struct plain_question *q, form_reader *form)
{
    q->at = q->n = 0;
    q->table = q->comma = -1;
    q->counts = false;
    while (skip(q, openings))
        continue;
    return form(q);
}

/* Reads the question in the only form that it has. */
static bool read_plain(struct plain_question *q)
{
    static form_reader *const forms[] = { read_columns, read_count, read_rows };
    form_reader *only = NULL;
    int n = 0;

    spoken_read(&q->words, q->text);
    for (int i = 0; i < ARRAY_LEN(forms); i++)
        if (read_form(q, forms[i])) {
            only = forms[i];
            n++;
        }
    return n == 1 && read_form(q, only);
}

static char *statement_of(const struct plain_question *q)
{
    struct sql_printer p = { 0 };

    sql_put(&p, "SELECT ");
    if (q->counts)
        sql_put(&p, "count(*)");
    else if (!q->n)
        sql_put(&p, "*");
    for (int i = 0; i < q->n; i++) {
        sql_put(&p, i ? ", " : "");
        sql_put_name(&p, q->s->columns[column_of(q, q->table, &q->items[i])].name);
    }
    sql_put(&p, " FROM ");
    sql_put_name(&p, q->s->tables[q->table].name);
    p.text = xrealloc(p.text, p.n + 1);
    p.text[p.n] = '\0';
    return p.text;
}

char *plain_query(const struct schema *s, const char *question, const struct element_choices *c)
{
    struct plain_question *q = xcalloc(1, sizeof *q);
    bool plain = true;

    *q = (struct plain_question){ .s = s, .text = question, .choices = c };
    for (int i = 0; i < c->n; i++)
        plain = plain && c->list[i].chosen >= 0 && !c->list[i].is_value && c->list[i].end > c->list[i].start;
    char *sql = plain && read_plain(q) ? statement_of(q) : NULL;
    free(q);
    return sql;
}
