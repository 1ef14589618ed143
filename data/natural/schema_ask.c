#include "data/natural/schema_ask.h"

#include "data/natural/element_style.h"
#include "data/natural/lexicon.h"
#include "data/natural/schema_edit_impl.h"
#include "data/natural/wording.h"
#include "data/rewrite/sql_edit.h"
#include "data/schema/element_name.h"

#include <ctype.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_WORDS = 3, /* of a table or column that a template can name */ NEIGHBOURS = 32 };

/* What one template is filled with. */
struct asking {
    struct schema_asks *out;
    const struct schema *s;
    struct rng rng; /* of the group, so that the same words are asked of every schema */
};

/* A table that a key joins with another one, and the columns of that key. */
struct neighbour {
    int table, own, theirs; /* own: column of the table that was asked about */
};

static const char *keep_printf(struct asking *a, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

static const char *keep_printf(struct asking *a, const char *fmt, ...)
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

static int words_in(const char *text)
{
    int n = 1;

    for (; *text; text++)
        n += *text == ' ';
    return n;
}

static const char *one_of(struct asking *a, int table)
{
    return element_singular(a->out->text, a->s->tables[table].text);
}

static const char *many_of(struct asking *a, int table)
{
    return element_plural(a->out->text, one_of(a, table));
}

static const char *own_words(const struct schema *s, int column)
{
    return element_own_words(s->columns[column].text, s->tables[s->columns[column].table].text);
}

static const char *name_of(struct asking *a, const char *name)
{
    return sql_written_name(a->out->text, name);
}

static const char *column_name(struct asking *a, int column)
{
    return name_of(a, a->s->columns[column].name);
}

static const char *table_name(struct asking *a, int table)
{
    return name_of(a, a->s->tables[table].name);
}

static const char *element(struct asking *a, int column)
{
    return keep_printf(a, "%s.%s", a->s->tables[a->s->columns[column].table].name, a->s->columns[column].name);
}

/* Tables whose names a template can say. */
static bool sayable(const struct schema *s, int table)
{
    static const char *const ends[] = { " of", " in", " to", " by", " on", " info", " history", " data" };
    const char *text = s->tables[table].text, *last = strrchr(text, ' ');

    for (int i = 0; last && i < ARRAY_LEN(ends); i++)
        if (strcmp(last, ends[i]) == 0)
            return false;
    return words_in(text) <= MOST_WORDS && strncmp(text, "ref", 3) != 0 && !strchr(text, '.');
}

static bool is_plain(const struct schema *s, int column)
{
    const char *own = own_words(s, column);

    return !schema_column_is_key(s, column) && words_in(own) <= MOST_WORDS &&
           (lexicon_column(own, ~0U, NULL) || lexicon_last_word(strrchr(own, ' ') ? strrchr(own, ' ') + 1 : own, NULL));
}

/* Tables that exactly one key joins with this one. */
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

/* The column of the table with those own words; -1: none; -2: none, but others with the same last word. */
static int holder(const struct schema *s, int table, const char *own)
{
    const struct schema_table *t = &s->tables[table];
    const char *last = strrchr(own, ' ') ? strrchr(own, ' ') + 1 : own;
    int found = -1;

    for (int c = t->first_column; c < t->first_column + t->n_columns; c++) {
        const char *words = own_words(s, c), *word = strrchr(words, ' ') ? strrchr(words, ' ') + 1 : words;
        if (strcmp(words, own) == 0)
            return c;
        if (strcmp(word, last) == 0 || strncmp(words, last, strlen(last)) == 0)
            found = -2;
    }
    return found;
}

/* The column by which rows are told apart in a result. */
static int label_of(const struct schema *s, int table)
{
    const struct schema_table *t = &s->tables[table];

    for (int c = t->first_column; c < t->first_column + t->n_columns; c++) {
        const char *own = own_words(s, c);
        if (strcmp(own, "name") == 0 || strcmp(own, "title") == 0)
            return c;
    }
    return t->n_columns ? t->first_column : -1;
}

static void add(struct asking *a, struct schema_ask ask)
{
    for (int i = 0; i < a->out->n; i++)
        if (strcmp(a->out->items[i].text, ask.text) == 0)
            return;
    GROW(a->out->items, a->out->n, a->out->cap);
    a->out->items[a->out->n++] = ask;
}

/* Opens a group: from here on the same random numbers come for every schema. */
static const char *open_group(struct asking *a, const char *kind, const char *x, const char *y)
{
    const char *group = keep_printf(a, "%s/%s/%s", kind, x, y);

    a->rng = (struct rng){ .seed = word_hash(kind) * UINT64_C(0x9E3779B97F4A7C15) ^
                                   ((uint64_t)word_hash(x) << 32 | word_hash(y)) };
    return group;
}

/* The pattern with its first letter in upper case, in a style that the group draws. */
static const char *styled(struct asking *a, const char *text)
{
    char *copy = strdup(text);

    CHECK(copy, "no memory for a question");
    copy[0] = (char)toupper((unsigned char)copy[0]);
    const char *kept = wording_restyle(a->out->text, copy, &a->rng);
    free(copy);
    return kept;
}

/* The text of the pattern, in which %c stands for the column's words, %t for the table and %s for the tables. */
static const char *fill(struct asking *a, const char *pattern, const char *column, const char *one, const char *many)
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
    const char *kept = styled(a, text);
    free(text);
    return kept;
}

static const char *draw(struct asking *a, const char *const *list, int n)
{
    return list[rng_below(&a->rng, (uint32_t)n)];
}

/* A column of a neighbour. */

static const char *joined_sql(struct asking *a, int table, const struct neighbour *n, int column)
{
    int label = label_of(a->s, table);

    return keep_printf(a, "SELECT T1.%s, T2.%s FROM %s AS T1 JOIN %s AS T2 ON T1.%s = T2.%s", column_name(a, label),
                       column_name(a, column), table_name(a, table), table_name(a, n->table), column_name(a, n->own),
                       column_name(a, n->theirs));
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
    int columns[NEIGHBOURS], at[NEIGHBOURS], found = 0, itself = holder(a->s, table, own);

    for (int i = 0; i < n; i++) {
        int c = list[i].own < 0 ? -2 : holder(a->s, list[i].table, own);
        if (c == -2)
            return;
        if (c >= 0) {
            columns[found] = c;
            at[found++] = i;
        }
    }
    if (itself == -2 || found == 0 || found > 2)
        return;
    const char *group = open_group(a, "neighbour", a->s->tables[table].text, own);
    const char *pattern = draw(a, neighbour_patterns, ARRAY_LEN(neighbour_patterns));
    struct schema_ask ask = { .group = group, .reason = "column of two neighbours", .kind = SIA_COLUMN };
    ask.text = fill(a, pattern, own, one_of(a, table), many_of(a, table));
    ask.ambiguous = itself < 0 && found == 2;
    if (itself >= 0)
        ask.sql[0] = keep_printf(a, "SELECT %s, %s FROM %s", column_name(a, label_of(a->s, table)),
                                 column_name(a, itself), table_name(a, table));
    for (int i = 0; itself < 0 && i < found; i++) {
        ask.sql[i] = joined_sql(a, table, &list[at[i]], columns[i]);
        ask.alternatives[i] = ask.ambiguous ? element(a, columns[i]) : NULL;
    }
    add(a, ask);
    if (itself >= 0)
        return;
    for (int i = 0; i < found; i++) {
        struct schema_ask named = { .group = group, .reason = ask.reason, .kind = SIA_COLUMN, .named = true };
        const char *words = keep_printf(a, "%s %s", one_of(a, list[at[i]].table), own);
        named.text = fill(a, pattern, words, one_of(a, table), many_of(a, table));
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
        for (int c = t->first_column; sayable(a->s, list[i].table) && c < t->first_column + t->n_columns; c++)
            if (is_plain(a->s, c))
                ask_neighbours(a, table, own_words(a->s, c), list, n);
    }
}

/* The other end of a key. */

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

    return keep_printf(a, "SELECT T1.%s, T2.%s FROM %s AS T1 JOIN %s AS T2 ON T1.%s = T2.%s",
                       column_name(a, label_of(s, t)), column_name(a, label_of(s, p)), table_name(a, t),
                       table_name(a, p), column_name(a, from), column_name(a, to));
}

/* The words of a key's role: "manager" of "manager id"; NULL where they say no more than the table that it leads to. */
static const char *role_words(struct asking *a, int from, int to)
{
    static const char *const endings[] = { " id", " code", " no", " number", " key" };
    const char *words = own_words(a->s, from), *target = one_of(a, a->s->columns[to].table);
    size_t n = strlen(words);

    for (int i = 0; i < ARRAY_LEN(endings); i++) {
        size_t m = strlen(endings[i]);
        if (n > m && strcmp(words + n - m, endings[i]) == 0)
            words = keep_printf(a, "%.*s", (int)(n - m), words);
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
    const char *group = open_group(a, "role", s->tables[table].text, s->tables[target].text);
    bool person = (noun_classes(s->tables[target].text) & NOUN_PERSON) != 0;
    const char *pattern =
        person ? draw(a, role_patterns, ARRAY_LEN(role_patterns)) : draw(a, thing_patterns, ARRAY_LEN(thing_patterns));
    struct schema_ask ask = { .group = group, .reason = "two roles", .kind = SIA_COLUMN, .ambiguous = n == 2 };
    ask.text = fill(a, pattern, one_of(a, target), one_of(a, table), many_of(a, table));
    for (int i = 0; i < n; i++) {
        ask.sql[i] = role_sql(a, from[i], to[i]);
        ask.alternatives[i] = n == 2 ? element(a, from[i]) : NULL;
    }
    add(a, ask);
    for (int i = 0; i < n; i++) {
        const char *role = role_words(a, from[i], to[i]);
        struct schema_ask named = { .group = group, .reason = ask.reason, .kind = SIA_COLUMN, .named = true };
        if (!role)
            continue;
        named.text = fill(a, pattern, role, one_of(a, table), many_of(a, table));
        named.sql[0] = ask.sql[i];
        add(a, named);
    }
}

/* Sums and counts that may be stored. */

static const char *const sum_patterns[] = {
    "what is the total %c of each %t?", "show the total %c for every %t.", "total %c by %t",
    "how much is the total %c per %t?", "list each %t with its total %c.",
};
static const char *const count_patterns[] = {
    "how many %c does each %t have?",      "show the number of %c for every %t.", "number of %c per %t",
    "list each %t with its number of %c.", "for each %t, count the %c.",
};

/* Asked of all rows, or for the greatest of them: nothing that is stored says it. */
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

/* The stored aggregate in the table: words that stand in its name beside "total", "count" or the like; -1: none. */
static int stored_in(const struct schema *s, int table, const char *words, const char *many, bool sum)
{
    const struct schema_table *t = &s->tables[table];

    for (int c = t->first_column; c < t->first_column + t->n_columns; c++) {
        const char *name = s->columns[c].text;
        bool says = edit_mentions(name, words, NULL) > 0 || edit_mentions(name, many, NULL) > 0;
        bool aggregate =
            sum ? strstr(name, "total") != NULL
                : strstr(name, "count") || strstr(name, "num ") || strstr(name, "number of") || strstr(name, "no of");
        if (says && aggregate && !schema_column_is_key(s, c))
            return c;
    }
    return -1;
}

static const char *grouped_sql(struct asking *a, int from, int to, const char *aggregate)
{
    const struct schema *s = a->s;
    int child = s->columns[from].table, parent = s->columns[to].table;

    return keep_printf(a, "SELECT T1.%s, %s FROM %s AS T1 JOIN %s AS T2 ON T1.%s = T2.%s GROUP BY T1.%s",
                       column_name(a, label_of(s, parent)), aggregate, table_name(a, parent), table_name(a, child),
                       column_name(a, to), column_name(a, from), column_name(a, to));
}

static const char *stored_sql(struct asking *a, int parent, int column)
{
    return keep_printf(a, "SELECT %s, %s FROM %s", column_name(a, label_of(a->s, parent)), column_name(a, column),
                       table_name(a, parent));
}

/* The aggregate that a pattern asks for; grouped statements show it beside each row. */
static const char *extreme_of(const char *pattern)
{
    return strstr(pattern, "lowest") ? "min" : strstr(pattern, "average") ? "avg" : "max";
}

/* The column that stands for the rows which the key joins: the table's own key where it has one column. */
static int row_column(const struct schema *s, const struct schema_foreign_key *k)
{
    const struct schema_table *t = &s->tables[s->columns[k->from].table];
    int key = k->from, n = 0;

    for (int c = t->first_column; c < t->first_column + t->n_columns; c++)
        if (s->columns[c].primary && n++ == 0)
            key = c;
    return n == 1 ? key : k->from;
}

/* column: what is added up; -1: rows are counted. */
static void ask_stored(struct asking *a, const struct schema_foreign_key *k, int column)
{
    const struct schema *s = a->s;
    int child = s->columns[k->from].table, parent = s->columns[k->to].table;
    const char *own = column < 0 ? one_of(a, child) : own_words(s, column),
               *many = column < 0 ? many_of(a, child) : own;
    const char *group = open_group(a, column < 0 ? "count" : "sum", s->tables[parent].text, own);
    const char *pattern = column < 0 ? draw(a, count_patterns, ARRAY_LEN(count_patterns))
                                     : draw(a, sum_patterns, ARRAY_LEN(sum_patterns));
    int stored = stored_in(s, parent, own, many, column >= 0);
    struct schema_ask ask = { .group = group, .reason = "stored aggregate", .kind = SIA_AGGREGATE };
    struct schema_ask other = ask;

    ask.ambiguous = stored >= 0;
    ask.text = fill(a, pattern, many, one_of(a, parent), many_of(a, parent));
    ask.sql[0] =
        grouped_sql(a, k->from, k->to, column < 0 ? "count(*)" : keep_printf(a, "sum(T2.%s)", column_name(a, column)));
    if (stored >= 0) {
        ask.sql[1] = stored_sql(a, parent, stored);
        ask.alternatives[0] = element(a, column < 0 ? row_column(s, k) : column);
        ask.alternatives[1] = element(a, stored);
    }
    add(a, ask);
    other.named = true;
    const char *clear = column < 0 ? draw(a, all_patterns, ARRAY_LEN(all_patterns))
                                   : draw(a, extreme_patterns, ARRAY_LEN(extreme_patterns));
    other.text = fill(a, clear, many, one_of(a, parent), "");
    if (column < 0)
        other.sql[0] = keep_printf(a, "SELECT count(*) FROM %s", table_name(a, child));
    else
        other.sql[0] =
            grouped_sql(a, k->from, k->to, keep_printf(a, "%s(T2.%s)", extreme_of(clear), column_name(a, column)));
    add(a, other);
}

static bool can_be_added(const struct schema *s, int column)
{
    static const char *const sums[] = { "price",   "amount",   "cost",       "quantity",  "hours",    "fee",
                                        "sales",   "points",   "weight",     "duration",  "distance", "revenue",
                                        "credits", "votes",    "salary",     "budget",    "value",    "bytes",
                                        "tax",     "discount", "attendance", "enrollment" };
    const char *own = own_words(s, column);

    if (s->columns[column].type != COLUMN_NUMBER || schema_column_is_key(s, column))
        return false;
    for (int i = 0; i < ARRAY_LEN(sums); i++)
        if (strcmp(own, sums[i]) == 0)
            return true;
    return false;
}

static void ask_about_key(struct asking *a, const struct schema_foreign_key *k)
{
    const struct schema *s = a->s;
    int child = s->columns[k->from].table, parent = s->columns[k->to].table, keys = 0;

    for (int i = 0; i < s->n_foreign_keys; i++)
        keys += s->columns[s->foreign_keys[i].from].table == child && s->columns[s->foreign_keys[i].to].table == parent;
    if (child == parent || !sayable(s, child) || !sayable(s, parent))
        return;
    ask_role(a, child, parent);
    if (keys > 1)
        return;
    ask_stored(a, k, -1);
    for (int c = s->tables[child].first_column; c < s->tables[child].first_column + s->tables[child].n_columns; c++)
        if (can_be_added(s, c))
            ask_stored(a, k, c);
}

/* A person who may stand in two tables. */

static const char *const first_names[] = { "Anna",   "Boris", "Carla", "David", "Elif", "Farid", "Grace",
                                           "Henrik", "Ines",  "Jonas", "Kate",  "Luis", "Mary",  "Nadia",
                                           "Omar",   "Paula", "Raj",   "Sara",  "Tom",  "Yuki" };
static const char *const last_names[] = { "Smith",  "Lopez",  "Khan",   "Meyer",  "Silva", "Novak",  "Brown", "Rossi",
                                          "Jensen", "Tanaka", "Dubois", "Okafor", "Kim",   "Larsen", "Costa", "Weber" };
static const char *const person_patterns[] = {
    "what is the %c of %t?",    "give me the %c of %t", "look up the %c for %t.", "%c of %t",
    "do we have the %c of %t?", "I need %t's %c",
};
static const char *const person_columns[] = { "email",        "phone",         "address",    "city",   "country",
                                              "phone number", "email address", "birth date", "gender", "age" };

/* The condition that a row is the person's; NULL where the table has no names. */
static const char *person_condition(struct asking *a, int table, const char *first, const char *last)
{
    int name = holder(a->s, table, "name"), one = holder(a->s, table, "first name"),
        two = holder(a->s, table, "last name");

    if (one >= 0 && two >= 0)
        return keep_printf(a, "%s = '%s' AND %s = '%s'", column_name(a, one), first, column_name(a, two), last);
    return name >= 0 ? keep_printf(a, "%s = '%s %s'", column_name(a, name), first, last) : NULL;
}

static void ask_person(struct asking *a, const char *own)
{
    const struct schema *s = a->s;
    const char *group = open_group(a, "person", own, s->tables[0].text);
    const char *first = draw(a, first_names, ARRAY_LEN(first_names)),
               *last = draw(a, last_names, ARRAY_LEN(last_names));
    const char *who = keep_printf(a, "%s %s", first, last),
               *pattern = draw(a, person_patterns, ARRAY_LEN(person_patterns));
    struct schema_ask ask = { .group = group, .reason = "person of two tables", .kind = SIA_COLUMN }, named[2];
    int n = 0;

    for (int t = 0; t < s->n_tables; t++) {
        int c = holder(s, t, own);
        const char *where = noun_classes(s->tables[t].text) & NOUN_PERSON ? person_condition(a, t, first, last) : NULL;
        if (!where || c == -1)
            continue;
        if (c == -2 || n == 2 || !sayable(s, t))
            return;
        named[n] = (struct schema_ask){ .group = group, .reason = ask.reason, .kind = SIA_COLUMN, .named = true };
        named[n].sql[0] = ask.sql[n] =
            keep_printf(a, "SELECT %s FROM %s WHERE %s", column_name(a, c), table_name(a, t), where);
        named[n].text = fill(a, pattern, own, keep_printf(a, "the %s %s", one_of(a, t), who), "");
        ask.alternatives[n++] = element(a, c);
    }
    if (n == 0)
        return;
    ask.text = fill(a, pattern, own, who, "");
    ask.ambiguous = n == 2;
    if (n == 1)
        ask.alternatives[0] = NULL;
    add(a, ask);
    for (int i = 0; i < n; i++)
        add(a, named[i]);
}

/* A list of what two tables have. */

static const char *const list_patterns[] = {
    "list all different %s.",       "how many different %s are there?",
    "which %c is the most common?", "show me all the %s we have",
    "what %s do we have?",          "count the distinct %s.",
};

static const char *list_sql(struct asking *a, const char *pattern, int column)
{
    const char *c = column_name(a, column), *t = table_name(a, a->s->columns[column].table);

    if (strstr(pattern, "how many") || strstr(pattern, "count"))
        return keep_printf(a, "SELECT count(DISTINCT %s) FROM %s", c, t);
    if (strstr(pattern, "most common"))
        return keep_printf(a, "SELECT %s FROM %s GROUP BY %s ORDER BY count(*) DESC LIMIT 1", c, t, c);
    return keep_printf(a, "SELECT DISTINCT %s FROM %s", c, t);
}

static void ask_list(struct asking *a, int column)
{
    const struct schema *s = a->s;
    static const char *const vague[] = { "code",  "label",       "number",  "details",
                                         "notes", "description", "comment", "source" };
    const char *own = own_words(s, column);
    int found[2], n = 0;

    for (int i = 0; i < ARRAY_LEN(vague); i++)
        if (strcmp(own, vague[i]) == 0)
            return;
    for (int t = 0; t < s->n_tables; t++) {
        int c = holder(s, t, own);
        if (c == -2 || (c >= 0 && (n == 2 || schema_column_is_key(s, c) || !sayable(s, t))))
            return;
        if (c >= 0)
            found[n++] = c;
    }
    const char *group = open_group(a, "list", own, s->tables[0].text);
    const char *pattern = draw(a, list_patterns, ARRAY_LEN(list_patterns)), *many = element_plural(a->out->text, own);
    struct schema_ask ask = {
        .group = group, .reason = "column of two tables", .kind = SIA_COLUMN, .ambiguous = n == 2
    };
    ask.text = fill(a, pattern, own, "", many);
    for (int i = 0; i < n; i++) {
        ask.sql[i] = list_sql(a, pattern, found[i]);
        ask.alternatives[i] = n == 2 ? element(a, found[i]) : NULL;
    }
    add(a, ask);
    for (int i = 0; i < n; i++) {
        struct schema_ask named = { .group = group, .reason = ask.reason, .kind = SIA_COLUMN, .named = true };
        const char *table = one_of(a, s->columns[found[i]].table);
        named.text = fill(a, pattern, keep_printf(a, "%s %s", table, own), "", keep_printf(a, "%s %s", table, many));
        named.sql[0] = ask.sql[i];
        add(a, named);
    }
}

void schema_asks_find(struct schema_asks *out, const struct schema *s)
{
    struct asking a = { .out = out, .s = s };

    for (int t = 0; t < s->n_tables; t++)
        if (sayable(s, t))
            ask_about_neighbours(&a, t);
    for (int i = 0; i < s->n_foreign_keys; i++)
        ask_about_key(&a, &s->foreign_keys[i]);
    for (int i = 0; i < ARRAY_LEN(person_columns); i++)
        ask_person(&a, person_columns[i]);
    for (int c = 0; c < s->n_columns; c++)
        if (is_plain(s, c))
            ask_list(&a, c);
}
