#include "data/synth/schema_ask.h"

#include "data/base/strings.h"
#include "data/schema/element_name.h"
#include "data/synth/element_style.h"
#include "data/synth/lexicon.h"
#include "data/synth/schema_edit_find.h"
#include "data/synth/sql_edit.h"
#include "kernels/rng.h"

#include <ctype.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

enum { LONGEST = 1024 };

/* Openings of questions with their imperative forms. */
static const char *const commands[][2] = {
    { "What are the ", "List the " },         { "What is the ", "Give me the " },
    { "What are the ", "Show the " },         { "What is the ", "Get the " },
    { "What are all the ", "List all the " }, { "Show ", "I need " },
    { "List ", "We would like to see " },     { "Find ", "Please find " },
    { "Return ", "Please return " },          { "Give ", "Can you give " },
};

/* Phrases before a question that opens with a question word. */
static const char *const requests[] = { "Could you tell me: ", "Quick question: ", "I am wondering, ",
                                        "For the report: ", "Hi, " };

static void chop(char *s)
{
    size_t n = strlen(s);

    while (n && (isspace((unsigned char)s[n - 1]) || strchr(".?!", s[n - 1])))
        s[--n] = 0;
}

static void lower_all(char *s)
{
    bool quoted = false;

    for (; *s; s++) {
        quoted = quoted != (*s == '"' || *s == '\'');
        if (!quoted)
            *s = (char)tolower((unsigned char)*s);
    }
}

/* Replaces the opening of the question. Returns false if it has none of the known openings. */
static bool command(char *out, size_t size, const char *question, struct rng *rng)
{
    int begin = (int)rng_below(rng, ARRAY_LEN(commands));

    for (int k = 0; k < ARRAY_LEN(commands); k++) {
        const char *const *c = commands[(begin + k) % ARRAY_LEN(commands)];
        size_t n = strlen(c[0]);
        if (strncmp(question, c[0], n) != 0)
            continue;
        snprintf(out, size, "%s%s", c[1], question + n);
        chop(out);
        return true;
    }
    return false;
}

/* Removes the opening: "names of all singers". */
static bool fragment(char *out, size_t size, const char *question)
{
    static const char *const openings[] = { "What are the ", "What is the ", "Show the ", "List the ",
                                            "Find the ",     "Return the ",  "Give the " };

    for (int i = 0; i < ARRAY_LEN(openings); i++)
        if (strncmp(question, openings[i], strlen(openings[i])) == 0) {
            snprintf(out, size, "%s", question + strlen(openings[i]));
            chop(out);
            return true;
        }
    return false;
}

const char *wording_restyle(struct strings *text, const char *question, struct rng *rng)
{
    char out[LONGEST];
    uint32_t style = rng_below(rng, 20);

    snprintf(out, sizeof out, "%s", question);
    if (strlen(question) + 64 > sizeof out)
        return strings_keep(text, question);
    if (style == 0 || style == 1)
        lower_all(out);
    if (style == 1 || style == 2)
        chop(out);
    if (style == 3 || style == 4)
        command(out, sizeof out, question, rng);
    if (style == 5 && fragment(out, sizeof out, question))
        lower_all(out);
    if (style == 6)
        snprintf(out, sizeof out, "%s%c%s", requests[rng_below(rng, ARRAY_LEN(requests))],
                 tolower((unsigned char)question[0]), question + 1);
    return strings_keep(text, out);
}

/* Words and names of a schema's elements for templates. */

const char *asking_printf(struct asking *a, const char *fmt, ...)
{
    char *text = NULL;
    va_list list;

    va_start(list, fmt);
    CHECK(vasprintf(&text, fmt, list) >= 0, "cannot format a question");
    va_end(list);
    const char *kept = strings_keep(a->out->text, text);
    free(text);
    return kept;
}

int asking_count(const char *text)
{
    int n = 1;

    for (; *text; text++)
        n += *text == ' ';
    return n;
}

const char *asking_one(struct asking *a, int table)
{
    return element_singular(a->out->text, a->s->tables[table].text);
}

const char *asking_many(struct asking *a, int table)
{
    return element_plural(a->out->text, asking_one(a, table));
}

const char *asking_own(const struct schema *s, int column)
{
    return element_own_words(s->columns[column].text, s->tables[s->columns[column].table].text);
}

static const char *name_of(struct asking *a, const char *name)
{
    return sql_written_name(a->out->text, name);
}

const char *asking_column(struct asking *a, int column)
{
    return name_of(a, a->s->columns[column].name);
}

const char *asking_table(struct asking *a, int table)
{
    return name_of(a, a->s->tables[table].name);
}

/* Returns "table.column" as written in an example. */
static const char *asking_element(struct asking *a, int column)
{
    return asking_printf(a, "%s.%s", a->s->tables[a->s->columns[column].table].name, a->s->columns[column].name);
}

bool asking_can_say(const struct schema *s, int table)
{
    static const char *const ends[] = { " of", " in", " to", " by", " on", " info", " history", " data" };
    const char *text = s->tables[table].text, *last = strrchr(text, ' ');

    for (int i = 0; last && i < ARRAY_LEN(ends); i++)
        if (strcmp(last, ends[i]) == 0)
            return false;
    return asking_count(text) <= ASKING_WORDS && strncmp(text, "ref", 3) != 0 && strncmp(text, "sqlite", 6) != 0 &&
           !strchr(text, '.');
}

int asking_holder(const struct schema *s, int table, const char *own)
{
    const struct schema_table *t = &s->tables[table];
    const char *last = strrchr(own, ' ') ? strrchr(own, ' ') + 1 : own;
    int found = -1;

    for (int c = t->first_column; c < t->first_column + t->n_columns; c++) {
        const char *words = asking_own(s, c), *word = strrchr(words, ' ') ? strrchr(words, ' ') + 1 : words;
        if (strcmp(words, own) == 0)
            return c;
        if (strcmp(word, last) == 0 || strncmp(words, last, strlen(last)) == 0)
            found = -2;
    }
    return found;
}

int asking_label(const struct schema *s, int table)
{
    const struct schema_table *t = &s->tables[table];

    for (int c = t->first_column; c < t->first_column + t->n_columns; c++) {
        const char *own = asking_own(s, c);
        if (strcmp(own, "name") == 0 || strcmp(own, "title") == 0)
            return c;
    }
    return t->n_columns ? t->first_column : -1;
}

const char *asking_open(struct asking *a, const char *kind, const char *x, const char *y)
{
    const char *group = asking_printf(a, "%s/%s/%s", kind, x, y);

    a->rng = (struct rng){ .seed = word_hash(kind) * UINT64_C(0x9E3779B97F4A7C15) ^
                                   ((uint64_t)word_hash(x) << 32 | word_hash(y)) };
    return group;
}

/* Returns the pattern in a style of the group, with its first letter in upper case. */
static const char *styled(struct asking *a, const char *text)
{
    char *copy = strdup(text);

    CHECK(copy, "no memory for a question");
    copy[0] = (char)toupper((unsigned char)copy[0]);
    const char *kept = wording_restyle(a->out->text, copy, &a->rng);
    free(copy);
    return kept;
}

/* Corrects articles: "a area" becomes "an area". Frees the text and returns one that the caller frees. */
static char *with_articles(char *text)
{
    char *out = xmalloc(2 * strlen(text) + 1);
    size_t n = 0;

    for (const char *p = text; *p; p++) {
        out[n++] = *p;
        if (*p == 'a' && p > text && p[-1] == ' ' && p[1] == ' ' && p[2] && strchr("aeioAEIO", p[2]))
            out[n++] = 'n';
    }
    out[n] = 0;
    free(text);
    return out;
}

const char *asking_fill(struct asking *a, const char *pattern, const char *column, const char *one, const char *many)
{
    char *text = NULL;
    size_t size;
    FILE *f = open_memstream(&text, &size);

    CHECK(f, "cannot write to memory");
    for (; *pattern; pattern++)
        if (*pattern == '%' && pattern[1]) {
            pattern++;
            fputs(*pattern == 'c' ? column : *pattern == 't' ? one : many, f);
        } else {
            putc(*pattern, f);
        }
    CHECK(fclose(f) == 0, "cannot write to memory");
    text = with_articles(text);
    const char *kept = styled(a, text);
    free(text);
    return kept;
}

const char *asking_draw(struct asking *a, const char *const *list, int n)
{
    return list[rng_below(&a->rng, (uint32_t)n)];
}

enum { NEIGHBOURS = 32 };

/* A table that a key joins with another one, with the columns of that key. */
struct neighbour {
    int table, own, theirs; /* own: column of the table that the question is about */
};

static bool is_plain(const struct schema *s, int column)
{
    const char *own = asking_own(s, column);

    return !schema_column_is_key(s, column) && asking_count(own) <= ASKING_WORDS &&
           (lexicon_column(own, ~0U, NULL) || lexicon_last_word(strrchr(own, ' ') ? strrchr(own, ' ') + 1 : own, NULL));
}

/* Lists the tables that exactly one key joins with this one. */
static int neighbours(const struct schema *s, int table, struct neighbour *out)
{
    int n = 0;

    for (int i = 0; i < s->n_foreign_keys; i++) {
        const struct schema_foreign_key *k = &s->foreign_keys[i];
        bool from = s->columns[k->from].table == table, to = s->columns[k->to].table == table;
        struct neighbour x = { s->columns[from ? k->to : k->from].table, from ? k->from : k->to,
                               from ? k->to : k->from };
        int seen = -1;
        if (from == to)
            continue;
        for (int j = 0; j < n; j++)
            if (out[j].table == x.table)
                seen = j;
        if (seen >= 0)
            out[seen].own = -1;
        else if (n < NEIGHBOURS)
            out[n++] = x;
    }
    return n;
}

static void add(struct asking *a, struct schema_ask ask)
{
    for (int i = 0; i < a->out->n; i++)
        if (strcmp(a->out->items[i].text, ask.text) == 0)
            return;
    GROW(a->out->items, a->out->n, a->out->cap);
    a->out->items[a->out->n++] = ask;
}

/* Selects a column of a neighbour. */

static const char *joined_sql(struct asking *a, int table, const struct neighbour *n, int column)
{
    int label = asking_label(a->s, table);

    return asking_printf(a, "SELECT T1.%s, T2.%s FROM %s AS T1 JOIN %s AS T2 ON T1.%s = T2.%s", asking_column(a, label),
                         asking_column(a, column), asking_table(a, table), asking_table(a, n->table),
                         asking_column(a, n->own), asking_column(a, n->theirs));
}

static const char *const neighbour_patterns[] = {
    "show the %c for each %t.",
    "for every %t, give the %c.",
    "what is the %c for each %t?",
    "I need the %c for all %s",
    "please list the %c next to each %t.",
    "%s with %c",
    "which %c goes with each %t?",
    "can you show me %s together with the %c?",
    "give me every %t and the %c",
};

static void ask_neighbours(struct asking *a, int table, const char *own, const struct neighbour *list, int n)
{
    int columns[NEIGHBOURS], at[NEIGHBOURS], found = 0, itself = asking_holder(a->s, table, own);

    for (int i = 0; i < n; i++) {
        int c = list[i].own < 0 ? -2 : asking_holder(a->s, list[i].table, own);
        if (c == -2)
            return;
        if (c >= 0) {
            columns[found] = c;
            at[found++] = i;
        }
    }
    if (itself == -2 || found == 0 || found > 2)
        return;
    const char *group = asking_open(a, "neighbour", a->s->tables[table].text, own);
    const char *pattern = asking_draw(a, neighbour_patterns, ARRAY_LEN(neighbour_patterns));
    struct schema_ask ask = { .group = group, .reason = "column of two neighbours", .type = SIA_COLUMN };
    ask.text = asking_fill(a, pattern, own, asking_one(a, table), asking_many(a, table));
    ask.ambiguous = itself < 0 && found == 2;
    if (itself >= 0)
        ask.sql[0] = asking_printf(a, "SELECT %s, %s FROM %s", asking_column(a, asking_label(a->s, table)),
                                   asking_column(a, itself), asking_table(a, table));
    for (int i = 0; itself < 0 && i < found; i++) {
        ask.sql[i] = joined_sql(a, table, &list[at[i]], columns[i]);
        ask.alternatives[i] = ask.ambiguous ? asking_element(a, columns[i]) : NULL;
    }
    add(a, ask);
    if (itself >= 0)
        return;
    for (int i = 0; i < found; i++) {
        struct schema_ask named = { .group = group, .reason = ask.reason, .type = SIA_COLUMN, .named = true };
        const char *words = asking_printf(a, "%s %s", asking_one(a, list[at[i]].table), own);
        named.text = asking_fill(a, pattern, words, asking_one(a, table), asking_many(a, table));
        named.sql[0] = joined_sql(a, table, &list[at[i]], columns[i]);
        add(a, named);
    }
}

static void ask_about_neighbours(struct asking *a, int table)
{
    struct neighbour list[NEIGHBOURS];
    int n = neighbours(a->s, table, list);

    for (int i = 0; i < n; i++) {
        const struct schema_table *t = &a->s->tables[list[i].table];
        for (int c = t->first_column; asking_can_say(a->s, list[i].table) && c < t->first_column + t->n_columns; c++)
            if (is_plain(a->s, c))
                ask_neighbours(a, table, asking_own(a->s, c), list, n);
    }
}

/* Questions for the other end of a key. */

static const char *const role_patterns[] = {
    "show the %c of each %t.",      "who is the %c of each %t?",   "list all %s with the name of their %c.",
    "for each %t, which %c is it?", "give me the %c for every %t", "%s and their %c",
};

static const char *const thing_patterns[] = {
    "show the %c of each %t.", "list all %s with the name of their %c.", "give me the %c for every %t",
    "%s and their %c",         "which %c belongs to which %t?",
};

static const char *role_sql(struct asking *a, int from, int to)
{
    const struct schema *s = a->s;
    int t = s->columns[from].table, p = s->columns[to].table;

    return asking_printf(a, "SELECT T1.%s, T2.%s FROM %s AS T1 JOIN %s AS T2 ON T1.%s = T2.%s",
                         asking_column(a, asking_label(s, t)), asking_column(a, asking_label(s, p)), asking_table(a, t),
                         asking_table(a, p), asking_column(a, from), asking_column(a, to));
}

/* Returns the words of a key's role: "manager" of "manager id". NULL if they only repeat the referred table. */
static const char *role_words(struct asking *a, int from, int to)
{
    static const char *const endings[] = { " id", " code", " no", " number", " key" };
    const char *words = asking_own(a->s, from), *target = asking_one(a, a->s->columns[to].table);
    size_t n = strlen(words);

    for (int i = 0; i < ARRAY_LEN(endings); i++) {
        size_t m = strlen(endings[i]);
        if (n > m && strcmp(words + n - m, endings[i]) == 0)
            words = asking_printf(a, "%.*s", (int)(n - m), words);
    }
    n = strlen(words);
    if (strcmp(words, target) == 0 || strcmp(words, "id") == 0 ||
        (n > 3 && (strcmp(words + n - 3, " by") == 0 || strcmp(words + n - 3, " to") == 0)))
        return NULL;
    return words;
}

static void ask_role(struct asking *a, int table, int target)
{
    const struct schema *s = a->s;
    int from[3], to[3], n = 0;

    for (int i = 0; i < s->n_foreign_keys && n < 3; i++) {
        const struct schema_foreign_key *k = &s->foreign_keys[i];
        if (s->columns[k->from].table == table && s->columns[k->to].table == target) {
            from[n] = k->from;
            to[n++] = k->to;
        }
    }
    if (n == 0 || n > 2 || table == target)
        return;
    const char *group = asking_open(a, "role", s->tables[table].text, s->tables[target].text);
    bool person = (noun_classes(s->tables[target].text) & NOUN_PERSON) != 0;
    const char *pattern = person ? asking_draw(a, role_patterns, ARRAY_LEN(role_patterns))
                                 : asking_draw(a, thing_patterns, ARRAY_LEN(thing_patterns));
    struct schema_ask ask = { .group = group, .reason = "two roles", .type = SIA_COLUMN, .ambiguous = n == 2 };
    ask.text = asking_fill(a, pattern, asking_one(a, target), asking_one(a, table), asking_many(a, table));
    for (int i = 0; i < n; i++) {
        ask.sql[i] = role_sql(a, from[i], to[i]);
        ask.alternatives[i] = n == 2 ? asking_element(a, from[i]) : NULL;
    }
    add(a, ask);
    for (int i = 0; i < n; i++) {
        const char *role = role_words(a, from[i], to[i]);
        struct schema_ask named = { .group = group, .reason = ask.reason, .type = SIA_COLUMN, .named = true };
        if (!role)
            continue;
        named.text = asking_fill(a, pattern, role, asking_one(a, table), asking_many(a, table));
        named.sql[0] = ask.sql[i];
        add(a, named);
    }
}

/* Questions for sums and counts that may be stored. */

/* How often the same thing is asked for, each time in other words or about another person. */
enum { COUNT_TURNS = 2, SUM_TURNS = 4, PERSON_TURNS = 4 };

/* The rows that a question asks for: all of them, the one with the largest value, or those above a bound. */
enum ask_rows { ROWS_ALL, ROWS_TOP, ROWS_ABOVE };

struct stored_pattern {
    enum ask_rows rows;
    const char *text;
};

static const struct stored_pattern sum_patterns[] = {
    { ROWS_ALL, "what is the total %c of each %t?" },
    { ROWS_ALL, "show the total %c for every %t." },
    { ROWS_ALL, "total %c by %t" },
    { ROWS_ALL, "how much is the total %c per %t?" },
    { ROWS_ALL, "list each %t with its total %c." },
    { ROWS_ALL, "%c in total, %t by %t" },
    { ROWS_ALL, "what %c does each %t come to?" },
    { ROWS_ALL, "how much %c does every %t have altogether" },
    { ROWS_ALL, "all %s and their overall %c" },
    { ROWS_TOP, "which %t has the most %c in total?" },
    { ROWS_TOP, "%t with the highest total %c" },
    { ROWS_ABOVE, "%s whose total %c is over 100" },
    { ROWS_ABOVE, "which %s come to more than 100 in total %c?" },
};

static const struct stored_pattern count_patterns[] = {
    { ROWS_ALL, "how many %c does each %t have?" },
    { ROWS_ALL, "show the number of %c for every %t." },
    { ROWS_ALL, "number of %c per %t" },
    { ROWS_ALL, "list each %t with its number of %c." },
    { ROWS_ALL, "for each %t, count the %c." },
    { ROWS_ALL, "how many %c has every %t got" },
    { ROWS_ALL, "%s and how many %c they have" },
    { ROWS_TOP, "which %t has the most %c?" },
    { ROWS_TOP, "%t with the largest number of %c" },
    { ROWS_ABOVE, "which %s have more than 3 %c?" },
    { ROWS_ABOVE, "%s with over 3 %c" },
};

/* Questions about all rows or the largest one, which no stored value answers. */
static const char *const all_patterns[] = {
    "how many %c are there altogether?", "how many %c do we have?", "count all %c.",
    "what is the overall number of %c?", "please count the %c.",
};

static const char *const extreme_patterns[] = {
    "what is the highest %c of each %t?",
    "show the lowest %c for every %t.",
    "average %c by %t",
    "give me the maximum %c per %t",
};

/* Returns the column that stores the aggregate: its name has the words and "total", "count" or the like. -1 if there is
 * none. */
static int stored_in(const struct schema *s, int table, const char *words, const char *many, bool sum)
{
    const struct schema_table *t = &s->tables[table];

    for (int c = t->first_column; c < t->first_column + t->n_columns; c++) {
        const char *name = s->columns[c].text;
        bool says = edit_mentions(name, words, NULL) > 0 || edit_mentions(name, many, NULL) > 0;
        bool aggregate =
            sum ? strstr(name, "total") || strstr(name, "sum ") || strstr(name, "overall") || strstr(name, "to date")
                : strstr(name, "count") || strstr(name, "num ") || strstr(name, "number of") || strstr(name, "no of");
        if (says && aggregate && !schema_column_is_key(s, c))
            return c;
    }
    return -1;
}

/* Returns the end of a statement that selects these rows; clause is WHERE or HAVING. */
static const char *rows_sql(struct asking *a, const struct stored_pattern *p, const char *clause, const char *value)
{
    const char *than = strstr(p->text, "100") ? "100" : "3";

    if (p->rows == ROWS_TOP)
        return asking_printf(a, " ORDER BY %s DESC LIMIT 1", value);
    return p->rows == ROWS_ABOVE ? asking_printf(a, " %s %s > %s", clause, value, than) : "";
}

static const char *grouped_sql(struct asking *a, int from, int to, const char *aggregate,
                               const struct stored_pattern *p)
{
    const struct schema *s = a->s;
    int child = s->columns[from].table, parent = s->columns[to].table;

    return asking_printf(a, "SELECT T1.%s, %s FROM %s AS T1 JOIN %s AS T2 ON T1.%s = T2.%s GROUP BY T1.%s%s",
                         asking_column(a, asking_label(s, parent)), aggregate, asking_table(a, parent),
                         asking_table(a, child), asking_column(a, to), asking_column(a, from), asking_column(a, to),
                         rows_sql(a, p, "HAVING", aggregate));
}

static const char *stored_sql(struct asking *a, int parent, int column, const struct stored_pattern *p)
{
    const char *name = asking_column(a, column);

    return asking_printf(a, "SELECT %s, %s FROM %s%s", asking_column(a, asking_label(a->s, parent)), name,
                         asking_table(a, parent), rows_sql(a, p, "WHERE", name));
}

/* Returns the aggregate of a pattern. Grouped statements show it beside each row. */
static const char *extreme_of(const char *pattern)
{
    return strstr(pattern, "lowest") ? "min" : strstr(pattern, "average") ? "avg" : "max";
}

/* Returns the column that identifies the rows joined by the key: the table's own key if it has one column. */
static int row_column(const struct schema *s, const struct schema_foreign_key *k)
{
    const struct schema_table *t = &s->tables[s->columns[k->from].table];
    int key = k->from, n = 0;

    for (int c = t->first_column; c < t->first_column + t->n_columns; c++)
        if (s->columns[c].primary && n++ == 0)
            key = c;
    return n == 1 ? key : k->from;
}

/* column: the summand; -1 counts rows. Turns differ in their words. */
static void ask_stored(struct asking *a, const struct schema_foreign_key *k, int column, int turn)
{
    const struct schema *s = a->s;
    int child = s->columns[k->from].table, parent = s->columns[k->to].table;
    const char *own = column < 0 ? asking_one(a, child) : asking_own(s, column),
               *many = column < 0 ? asking_many(a, child) : own;
    const char *group =
        asking_open(a, asking_printf(a, "%s %d", column < 0 ? "count" : "sum", turn), s->tables[parent].text, own);
    const struct stored_pattern *pattern = column < 0 ? &count_patterns[rng_below(&a->rng, ARRAY_LEN(count_patterns))]
                                                      : &sum_patterns[rng_below(&a->rng, ARRAY_LEN(sum_patterns))];
    int stored = stored_in(s, parent, own, many, column >= 0);
    struct schema_ask ask = { .group = group, .reason = "stored aggregate", .type = SIA_AGGREGATE };
    struct schema_ask other = ask;

    ask.ambiguous = stored >= 0;
    ask.text = asking_fill(a, pattern->text, many, asking_one(a, parent), asking_many(a, parent));
    ask.sql[0] = grouped_sql(
        a, k->from, k->to, column < 0 ? "count(*)" : asking_printf(a, "sum(T2.%s)", asking_column(a, column)), pattern);
    if (stored >= 0) {
        ask.sql[1] = stored_sql(a, parent, stored, pattern);
        ask.alternatives[0] = asking_element(a, column < 0 ? row_column(s, k) : column);
        ask.alternatives[1] = asking_element(a, stored);
    }
    add(a, ask);
    other.named = true;
    const char *clear = column < 0 ? asking_draw(a, all_patterns, ARRAY_LEN(all_patterns))
                                   : asking_draw(a, extreme_patterns, ARRAY_LEN(extreme_patterns));
    other.text = asking_fill(a, clear, many, asking_one(a, parent), "");
    if (column < 0)
        other.sql[0] = asking_printf(a, "SELECT count(*) FROM %s", asking_table(a, child));
    else
        other.sql[0] =
            grouped_sql(a, k->from, k->to, asking_printf(a, "%s(T2.%s)", extreme_of(clear), asking_column(a, column)),
                        &sum_patterns[0]);
    add(a, other);
}

bool asking_can_add(const struct schema *s, int column)
{
    static const char *const sums[] = { "price",   "amount",   "cost",       "quantity",  "hours",    "fee",
                                        "sales",   "points",   "weight",     "duration",  "distance", "revenue",
                                        "credits", "votes",    "salary",     "budget",    "value",    "bytes",
                                        "tax",     "discount", "attendance", "enrollment" };
    const char *own = asking_own(s, column), *space = strrchr(own, ' ');

    if (s->columns[column].type != COLUMN_NUMBER || schema_column_is_key(s, column) ||
        asking_count(own) > ASKING_WORDS || strstr(own, "total"))
        return false;
    for (int i = 0; i < ARRAY_LEN(sums); i++)
        if (strcmp(space ? space + 1 : own, sums[i]) == 0)
            return true;
    return false;
}

static void ask_about_key(struct asking *a, const struct schema_foreign_key *k)
{
    const struct schema *s = a->s;
    int child = s->columns[k->from].table, parent = s->columns[k->to].table, keys = 0;

    for (int i = 0; i < s->n_foreign_keys; i++)
        keys += s->columns[s->foreign_keys[i].from].table == child && s->columns[s->foreign_keys[i].to].table == parent;
    if (child == parent || !asking_can_say(s, child) || !asking_can_say(s, parent))
        return;
    ask_role(a, child, parent);
    if (keys > 1)
        return;
    for (int turn = 0; turn < COUNT_TURNS; turn++)
        ask_stored(a, k, -1, turn);
    for (int c = s->tables[child].first_column; c < s->tables[child].first_column + s->tables[child].n_columns; c++)
        for (int turn = 0; turn < SUM_TURNS && asking_can_add(s, c); turn++)
            ask_stored(a, k, c, turn);
}

/* Questions about a person in one of two tables. */

static const char *const first_names[] = { "Anna",   "Boris", "Carla", "David", "Elif", "Farid", "Grace",
                                           "Henrik", "Ines",  "Jonas", "Kate",  "Luis", "Mary",  "Nadia",
                                           "Omar",   "Paula", "Raj",   "Sara",  "Tom",  "Yuki" };

static const char *const last_names[] = { "Smith",  "Lopez",  "Khan",   "Meyer",  "Silva", "Novak",  "Brown", "Rossi",
                                          "Jensen", "Tanaka", "Dubois", "Okafor", "Kim",   "Larsen", "Costa", "Weber" };

static const char *const person_patterns[] = {
    "what is the %c of %t?",
    "give me the %c of %t",
    "look up the %c for %t.",
    "%c of %t",
    "do we have the %c of %t?",
    "I need %t's %c",
    "%t's %c?",
    "%c for %t",
    "which %c does %t have?",
    "whats %t's %c",
};

static const char *const person_columns[] = { "email",        "phone",         "address",    "city",    "country",
                                              "phone number", "email address", "birth date", "gender",  "age",
                                              "mobile",       "nationality",   "salary",     "hometown" };

/* Returns the condition that selects the person's row; first: NULL if only the last name is known. NULL if the table
 * has no names. */
static const char *person_condition(struct asking *a, int table, const char *first, const char *last)
{
    int name = asking_holder(a->s, table, "name"), one = asking_holder(a->s, table, "first name"),
        two = asking_holder(a->s, table, "last name");

    if (!first && two >= 0)
        return asking_printf(a, "%s = '%s'", asking_column(a, two), last);
    if (!first)
        return name >= 0 ? asking_printf(a, "%s LIKE '%% %s'", asking_column(a, name), last) : NULL;
    if (one >= 0 && two >= 0)
        return asking_printf(a, "%s = '%s' AND %s = '%s'", asking_column(a, one), first, asking_column(a, two), last);
    return name >= 0 ? asking_printf(a, "%s = '%s %s'", asking_column(a, name), first, last) : NULL;
}

static void ask_person(struct asking *a, const char *own, int turn)
{
    const struct schema *s = a->s;
    const char *group = asking_open(a, asking_printf(a, "person %d", turn), own, s->tables[0].text);
    const char *first = asking_draw(a, first_names, ARRAY_LEN(first_names)),
               *last = asking_draw(a, last_names, ARRAY_LEN(last_names));
    first = rng_below(&a->rng, 3) ? first : NULL;
    const char *who = first ? asking_printf(a, "%s %s", first, last) : last,
               *pattern = asking_draw(a, person_patterns, ARRAY_LEN(person_patterns));
    struct schema_ask ask = { .group = group, .reason = "person of two tables", .type = SIA_COLUMN }, named[2];
    int n = 0;

    for (int t = 0; t < s->n_tables; t++) {
        int c = asking_holder(s, t, own);
        const char *where = noun_classes(s->tables[t].text) & NOUN_PERSON ? person_condition(a, t, first, last) : NULL;
        if (!where || c == -1)
            continue;
        if (c == -2 || n == 2 || !asking_can_say(s, t))
            return;
        named[n] = (struct schema_ask){ .group = group, .reason = ask.reason, .type = SIA_COLUMN, .named = true };
        named[n].sql[0] = ask.sql[n] =
            asking_printf(a, "SELECT %s FROM %s WHERE %s", asking_column(a, c), asking_table(a, t), where);
        named[n].text = asking_fill(a, pattern, own, asking_printf(a, "the %s %s", asking_one(a, t), who), "");
        ask.alternatives[n++] = asking_element(a, c);
    }
    if (n == 0)
        return;
    ask.text = asking_fill(a, pattern, own, who, "");
    ask.ambiguous = n == 2;
    if (n == 1)
        ask.alternatives[0] = NULL;
    add(a, ask);
    for (int i = 0; i < n; i++)
        add(a, named[i]);
}

/* Questions that contain no word of the column: how heavy, how much, who. */

static const struct {
    const char *words; /* last words of columns that answer, separated by bars */
    unsigned classes;  /* classes of the tables that it fits */
    const char *patterns[3];
} plain_words[] = {
    { "|price|cost|fee|fare|",
      ~0U,
      { "how much does each %t cost?", "how expensive is every %t?", "what do we pay for each %t?" } },
    { "|weight|", ~0U, { "how heavy is each %t?", "what does every %t weigh?", "sort the %s from light to heavy." } },
    { "|height|elevation|",
      ~0U,
      { "how tall is each %t?", "how high is every %t?", "sort the %s from tall to small." } },
    { "|length|",
      NOUN_PLACE | NOUN_TRANSPORT | NOUN_GOODS,
      { "how long is each %t?", "sort the %s from short to long.", "length of each %t in total" } },
    { "|duration|hours|",
      NOUN_EVENT | NOUN_WORK | NOUN_TRANSPORT | NOUN_PROJECT,
      { "how long does each %t take?", "how long is each %t?", "which %s last longest?" } },
    { "|speed|", ~0U, { "how fast is each %t?", "sort the %s from slow to fast.", "how quick are the %s?" } },
    { "|distance|", ~0U, { "how far is it for each %t?", "how far does each %t go?", "which %s go farthest?" } },
    { "|size|area|", ~0U, { "how big is each %t?", "how large are the %s?", "sort the %s from small to big." } },
    { "|capacity|",
      NOUN_PLACE | NOUN_TRANSPORT | NOUN_COMPANY,
      { "how many people fit into each %t?", "how much can each %t hold?", "which %s hold most people?" } },
    { "|population|",
      NOUN_PLACE,
      { "how many people live in each %t?", "how many inhabitants does every %t have?",
        "which %s have most inhabitants?" } },
    { "|salary|wage|income|",
      NOUN_PERSON,
      { "how much does each %t earn?", "what does every %t make?", "which %s earn most?" } },
    { "|rating|stars|score|",
      NOUN_WORK | NOUN_GOODS | NOUN_COMPANY | NOUN_PLACE,
      { "how good is each %t?", "which %s are best liked?", "how well do people like each %t?" } },
    { "|quantity|stock|",
      NOUN_GOODS,
      { "how much of each %t is there?", "how many pieces of each %t do we have?", "which %s are we short of?" } },
    { "|phone|telephone|mobile|",
      NOUN_PERSON | NOUN_COMPANY,
      { "how can I call each %t?", "which number do I dial for each %t?", "numbers to call the %s" } },
    { "|email|",
      NOUN_PERSON | NOUN_COMPANY,
      { "where can I write a mail to each %t?", "how do I mail each %t?", "mail contacts of the %s" } },
    { "|city|",
      NOUN_PERSON | NOUN_COMPANY | NOUN_TRADE,
      { "which town goes with each %t?", "in which town is each %t?", "list the %s and their towns." } },
    { "|date|",
      NOUN_TRADE | NOUN_EVENT | NOUN_TRANSPORT | NOUN_WORK,
      { "when was each %t?", "what day was each %t?", "list the %s with the day." } },
    { "|date|", NOUN_PROJECT, { "when is each %t?", "sort the %s by day.", "list the %s with the day." } },
    { "|budget|",
      ~0U,
      { "how much money is there for each %t?", "how much may each %t spend?", "which %s have most money?" } },
    { "|revenue|sales|",
      NOUN_COMPANY | NOUN_WORK | NOUN_GOODS,
      { "how much does each %t bring in?", "how much did every %t sell?", "which %s sell best?" } },
};

/* Lists the columns of the table whose last word is among the words. Returns their number. */
static int columns_of_words(const struct schema *s, int table, const char *words, int out[3])
{
    const struct schema_table *t = &s->tables[table];
    int n = 0;

    for (int c = t->first_column; c < t->first_column + t->n_columns && n < 3; c++) {
        const char *text = s->columns[c].text, *space = strrchr(text, ' ');
        char last[64];
        snprintf(last, sizeof last, "|%.50s|", space ? space + 1 : text);
        if (strstr(words, last) && !schema_column_is_key(s, c))
            out[n++] = c;
    }
    return n;
}

static const char *shown_sql(struct asking *a, int table, int column, bool sorted)
{
    return asking_printf(a, "SELECT %s, %s FROM %s%s%s", asking_column(a, asking_label(a->s, table)),
                         asking_column(a, column), asking_table(a, table), sorted ? " ORDER BY " : "",
                         sorted ? asking_column(a, column) : "");
}

static void ask_in_plain_words(struct asking *a, int table, int number)
{
    int columns[3], n = columns_of_words(a->s, table, plain_words[number].words, columns);
    char key[16];

    if (n < 1 || n > 2 || !(noun_classes(a->s->tables[table].text) & plain_words[number].classes))
        return;
    snprintf(key, sizeof key, "plain%d", number);
    const char *group = asking_open(a, key, a->s->tables[table].text, "");
    const char *pattern = asking_draw(a, plain_words[number].patterns, ARRAY_LEN(plain_words[number].patterns));
    struct schema_ask ask = {
        .group = group, .reason = "two columns, other words", .type = SIA_COLUMN, .ambiguous = n == 2
    };
    ask.text = asking_fill(a, pattern, "", asking_one(a, table), asking_many(a, table));
    for (int i = 0; i < n; i++) {
        ask.sql[i] = shown_sql(a, table, columns[i], strstr(pattern, "sort") || strstr(pattern, "which"));
        ask.alternatives[i] = n == 2 ? asking_element(a, columns[i]) : NULL;
    }
    add(a, ask);
}

/* Questions that list a column of two tables. */

static const char *const list_patterns[] = {
    "list all different %s.",       "how many different %s are there?",
    "which %c is the most common?", "show me all the %s we have",
    "what %s do we have?",          "count the distinct %s.",
};

static const char *list_sql(struct asking *a, const char *pattern, int column)
{
    const char *c = asking_column(a, column), *t = asking_table(a, a->s->columns[column].table);

    if (strstr(pattern, "how many") || strstr(pattern, "count"))
        return asking_printf(a, "SELECT count(DISTINCT %s) FROM %s", c, t);
    if (strstr(pattern, "most common"))
        return asking_printf(a, "SELECT %s FROM %s GROUP BY %s ORDER BY count(*) DESC LIMIT 1", c, t, c);
    return asking_printf(a, "SELECT DISTINCT %s FROM %s", c, t);
}

static void ask_list(struct asking *a, int column)
{
    const struct schema *s = a->s;
    static const char *const vague[] = { "code",  "label",       "number",  "details",
                                         "notes", "description", "comment", "source" };
    const char *own = asking_own(s, column);
    int found[2], n = 0;

    for (int i = 0; i < ARRAY_LEN(vague); i++)
        if (strcmp(own, vague[i]) == 0)
            return;
    for (int t = 0; t < s->n_tables; t++) {
        int c = asking_holder(s, t, own);
        if (c == -2 || (c >= 0 && (n == 2 || schema_column_is_key(s, c) || !asking_can_say(s, t))))
            return;
        if (c >= 0)
            found[n++] = c;
    }
    const char *group = asking_open(a, "list", own, s->tables[0].text);
    const char *pattern = asking_draw(a, list_patterns, ARRAY_LEN(list_patterns)),
               *many = element_plural(a->out->text, own);
    struct schema_ask ask = {
        .group = group, .reason = "column of two tables", .type = SIA_COLUMN, .ambiguous = n == 2
    };
    ask.text = asking_fill(a, pattern, own, "", many);
    for (int i = 0; i < n; i++) {
        ask.sql[i] = list_sql(a, pattern, found[i]);
        ask.alternatives[i] = n == 2 ? asking_element(a, found[i]) : NULL;
    }
    add(a, ask);
    for (int i = 0; i < n; i++) {
        struct schema_ask named = { .group = group, .reason = ask.reason, .type = SIA_COLUMN, .named = true };
        const char *table = asking_one(a, s->columns[found[i]].table);
        named.text =
            asking_fill(a, pattern, asking_printf(a, "%s %s", table, own), "", asking_printf(a, "%s %s", table, many));
        named.sql[0] = ask.sql[i];
        add(a, named);
    }
}

void schema_asks_find(struct schema_asks *out, const struct schema *s)
{
    struct asking a = { .out = out, .s = s };

    for (int t = 0; t < s->n_tables; t++) {
        if (!asking_can_say(s, t))
            continue;
        ask_about_neighbours(&a, t);
        for (int i = 0; i < ARRAY_LEN(plain_words); i++)
            ask_in_plain_words(&a, t, i);
    }
    for (int i = 0; i < s->n_foreign_keys; i++)
        ask_about_key(&a, &s->foreign_keys[i]);
    for (int i = 0; i < ARRAY_LEN(person_columns) * PERSON_TURNS; i++)
        ask_person(&a, person_columns[i / PERSON_TURNS], i % PERSON_TURNS);
    for (int c = 0; c < s->n_columns; c++)
        if (is_plain(s, c))
            ask_list(&a, c);
}
