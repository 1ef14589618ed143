#include "data/synth/linguistic.h"

#include "data/synth/lexicon.h"
#include "data/synth/natural.h"
#include "data/synth/schema_ask.h"

#include <stdlib.h>
#include <string.h>

/* The state of generating one schema's questions. */
struct linguistic_run {
    struct natural *n;
    const struct natural_corpus *corpus;
    const struct schema *s;
    enum data_split split;
    struct asking asking;
    int made[LINGUISTIC_TYPES + 1][2];
};

/* Adds a question unless the schema has enough of this type. second NULL: unambiguous. dropped: columns that its schema
 * lacks. */
static void emit(struct linguistic_run *r, enum linguistic_type type, const char *text, const char *first,
                 const char *second, const bool *dropped)
{
    struct example e = { .question = text, .slice = EXAMPLE_CUSTOM, .type = SIA_TYPES, .linguistic = type };
    int *made = &r->made[type][second != NULL];

    if (*made >= r->n->options->wording * (second ? 2 : 3) / 2 || !natural_claim(r->n, text, r->split))
        return;
    e.db_id = schema_store_get(r->n, r->s, dropped);
    e.source_db = r->s->db_id;
    e.source = r->corpus->name;
    e.reason = second ? "wording" : "wording, clear";
    e.ambiguous = second != NULL;
    e.sql[e.n_sql++] = first;
    if (second)
        e.sql[e.n_sql++] = second;
    natural_add(r->n, r->split, &e);
    ++*made;
}

/* Attachment. */

static const struct {
    const char *ambiguous, *clear[2]; /* %A and %B: tables, %p: the condition */
} attachments[] = {
    { "Show the %A and %B %p.", { "Show all %A, and show the %B %p as well.", "Show the %A %p and the %B %p." } },
    { "List the names of %A and %B %p.",
      { "List the names of %B %p and of all %A.", "List %A %p together with %B %p." } },
    { "Which %A and %B %p are there?",
      { "Which %B %p and which %A are there?", "Which %A or %B are there, both only %p?" } },
    { "%A and %B %p", { "%B %p, then every one of the %A", "%A %p and likewise %B %p" } },
    { "Give me all %A and %B %p", { "Give me all %B %p and also all %A", "Give me everything %p, both %A and %B" } },
    { "How many %A and %B %p do we have?",
      { "How many %B %p do we have, and how many %A in total?", "How many %A %p and how many %B %p do we have?" } },
    { "I am looking for %A and %B %p.",
      { "I am looking for %B %p, and for any of the %A.", "I am looking for %A %p and for %B %p." } },
};

/* A condition on a column, in words and in SQL. */
struct linguistic_condition {
    const char *words, *sql;
};

/* Values for a column with that head. */
static const struct {
    const char *head, *values[3];
} values_of[] = {
    { "city", { "Berlin", "Boston", "Lagos" } },
    { "country", { "France", "Kenya", "Peru" } },
    { "location", { "Madrid", "Osaka", "Oslo" } },
    { "state", { "Texas", "Ohio", "Bavaria" } },
    { "gender", { "female", "male", "F" } },
    { "sex", { "F", "M", "female" } },
    { "status", { "open", "closed", "pending" } },
    { "color", { "red", "blue", "green" } },
    { "nationality", { "French", "Indian", "Dutch" } },
    { "language", { "English", "Spanish", "Hindi" } },
    { "type", { "standard", "private", "special" } },
    { "category", { "A", "premium", "basic" } },
    { "level", { "advanced", "basic", "junior" } },
};

static struct linguistic_condition compare_text(struct asking *a, const char *own, const char *name)
{
    static const char letters[] = "ABCDLMPST";
    const char *value = NULL;

    for (int i = 0; i < ARRAY_LEN(values_of); i++)
        if (strcmp(own, values_of[i].head) == 0)
            value = asking_draw(a, values_of[i].values, ARRAY_LEN(values_of[i].values));
    if (!value) {
        char letter = letters[rng_below(&a->rng, sizeof letters - 1)];
        const char *form = rng_below(&a->rng, 2) ? "starts" : "begins";
        return (struct linguistic_condition){ asking_printf(a, "whose %s %s with %c", own, form, letter),
                                              asking_printf(a, "%s LIKE '%c%%'", name, letter) };
    }
    bool place = strcmp(own, "city") == 0 || strcmp(own, "country") == 0 || strcmp(own, "location") == 0;
    const char *words = place ? asking_printf(a, "%s %s", rng_below(&a->rng, 2) ? "from" : "in", value)
                        : rng_below(&a->rng, 2) ? asking_printf(a, "with the %s %s", own, value)
                                                : asking_printf(a, "whose %s is %s", own, value);
    return (struct linguistic_condition){ words, asking_printf(a, "%s = '%s'", name, value) };
}

static struct linguistic_condition draw_condition(struct asking *a, int column)
{
    const char *own = asking_own(a->s, column), *name = asking_column(a, column);
    int number = (int)rng_below(&a->rng, 90) + 10;
    bool more = rng_below(&a->rng, 2) != 0;

    if (a->s->columns[column].type != COLUMN_NUMBER)
        return compare_text(a, own, name);
    const char *words = more ? asking_printf(a, "with a %s above %d", own, number)
                             : asking_printf(a, "whose %s is below %d", own, number);
    if (strcmp(own, "year") == 0) {
        number += 1925;
        words = more ? asking_printf(a, "after %d", number) : asking_printf(a, "from before %d", number);
    }
    if (strcmp(own, "age") == 0)
        words = more ? asking_printf(a, "older than %d", number) : asking_printf(a, "younger than %d", number);
    return (struct linguistic_condition){ words, asking_printf(a, "%s %s %d", name, more ? ">" : "<", number) };
}

/* Fills the pattern with both tables and the condition. */
static const char *attach(struct asking *a, const char *pattern, int first, int second, const char *condition)
{
    const char *text = "";

    for (; *pattern; pattern++) {
        const char *said = pattern[0] != '%'   ? NULL
                           : pattern[1] == 'A' ? asking_many(a, first)
                           : pattern[1] == 'B' ? asking_many(a, second)
                                               : condition;
        text = said ? asking_printf(a, "%s%s", text, said) : asking_printf(a, "%s%c", text, *pattern);
        pattern += said != NULL;
    }
    return asking_fill(a, text, "", "", "");
}

static const char *part_sql(struct asking *a, int table, const char *condition)
{
    return asking_printf(a, "SELECT %s FROM %s%s%s", asking_column(a, asking_label(a->s, table)),
                         asking_table(a, table), condition ? " WHERE " : "", condition ? condition : "");
}

static const char *both_sql(struct asking *a, const char *first, const char *second)
{
    return asking_printf(a, "%s UNION ALL %s", first, second);
}

/* Returns true for columns that can stand in a condition on two tables. */
static bool conditional(const struct schema *s, int column)
{
    static const char *const heads[] = { "age",         "city",     "country", "location", "price",    "year",
                                         "salary",      "capacity", "type",    "status",   "height",   "weight",
                                         "rating",      "cost",     "state",   "gender",   "sex",      "amount",
                                         "nationality", "color",    "length",  "size",     "category", "level",
                                         "duration",    "area",     "budget",  "score",    "quantity", "language",
                                         "name",        "title" };
    const char *own = asking_own(s, column);

    for (int i = 0; i < ARRAY_LEN(heads) && !schema_column_is_key(s, column); i++)
        if (strcmp(own, heads[i]) == 0)
            return true;
    return false;
}

static void ask_attachment(struct linguistic_run *r, int first, int second, int column, int other)
{
    struct asking *a = &r->asking;
    bool *dropped = xcalloc((size_t)r->s->n_columns + 1, sizeof *dropped);

    asking_open(a, linguistic_type_name(LINGUISTIC_ATTACHMENT),
                asking_printf(a, "%s/%s", r->s->db_id, r->s->tables[first].text),
                asking_printf(a, "%s/%d", r->s->tables[second].text, column));
    int number = (int)rng_below(&a->rng, ARRAY_LEN(attachments));
    struct linguistic_condition c = draw_condition(a, column);
    const char *name = other >= 0 ? asking_column(a, other) : "", *own = asking_column(a, column);
    const char *whole = part_sql(a, first, NULL), *bound = part_sql(a, second, c.sql);
    const char *text = attach(a, attachments[number].ambiguous, first, second, c.words);
    const char *last_only = both_sql(a, whole, bound);

    if (other < 0) {
        emit(r, LINGUISTIC_ATTACHMENT, text, last_only, NULL, dropped);
    } else {
        const char *condition = asking_printf(a, "%s%s", name, c.sql + strlen(own));
        const char *all = both_sql(a, part_sql(a, first, condition), bound);
        emit(r, LINGUISTIC_ATTACHMENT, text, last_only, all, dropped);
        int which = (int)rng_below(&a->rng, 2);
        emit(r, LINGUISTIC_ATTACHMENT, attach(a, attachments[number].clear[which], first, second, c.words),
             which ? all : last_only, NULL, dropped);
        dropped[other] = true;
        if (other != asking_label(r->s, first)) /* the statement shows the label */
            emit(r, LINGUISTIC_ATTACHMENT, text, last_only, NULL, dropped);
    }
    free(dropped);
}

static bool is_name(const char *own)
{
    return strcmp(own, "name") == 0 || strcmp(own, "title") == 0;
}

static bool can_attach(const struct schema *s, int first, int second, int other)
{
    return first != second && other != -2 && asking_can_say(s, first) && asking_can_say(s, second) &&
           asking_count(s->tables[first].text) <= 2 && asking_count(s->tables[second].text) <= 2 &&
           s->tables[first].n_columns >= 3 && (other < 0 || !schema_column_is_key(s, other));
}

/* Conditions on names come last, since any two tables have names. */
static void ask_attachments(struct linguistic_run *r)
{
    const struct schema *s = r->s;

    for (int i = 0; i < 2 * s->n_columns; i++) {
        int c = i % s->n_columns, second = s->columns[c].table;
        if (!conditional(s, c) || is_name(asking_own(s, c)) != (i >= s->n_columns))
            continue;
        for (int first = 0; first < s->n_tables; first++) {
            int other = asking_holder(s, first, asking_own(s, c));
            if (can_attach(s, first, second, other) && (other >= 0 || rng_below(&r->n->rng, 6) == 0))
                ask_attachment(r, first, second, c, other);
        }
    }
}

/* Scope. */

enum { PAIR_COLUMNS = 6 /* maximum of a table of pairs */ };

static const struct {
    const char *ambiguous, *clear[2]; /* clear: one answer for each, then one for all */
} scopes[] = {
    { "Which %s does every %t have?",
      { "For each %t separately, which %s does it have?", "Which %s do all of the %c have in common?" } },
    { "What %s do all %c have?",
      { "What %s does each single %t have? One list per %t.", "What %s are shared by all %c?" } },
    { "Show the %s of every %t.", { "Show a row for each pair of %t and its %s.", "Show the %s that no %t lacks." } },
    { "%s for all %c", { "%s, grouped by %t", "%s that belong to all %c at once" } },
    { "List the %s that all the %c have.",
      { "List the %s of the %c one %t after the other.", "List only those %s that every single one of the %c has." } },
    { "Which %s go with every %t?",
      { "Which %s go with which %t?", "Is there any of the %s that goes with all %c alike? Which?" } },
};

/* A table of pairs with its two keys. */
struct pairing {
    const struct schema_foreign_key *a, *b;
};

static void ask_scope(struct linguistic_run *r, const struct pairing *p)
{
    struct asking *a = &r->asking;
    const struct schema *s = r->s;
    int each = s->columns[p->a->to].table, thing = s->columns[p->b->to].table, pairs = s->columns[p->a->from].table;
    bool *dropped = xcalloc((size_t)s->n_columns + 1, sizeof *dropped);

    asking_open(a, linguistic_type_name(LINGUISTIC_SCOPE), asking_printf(a, "%s/%s", s->db_id, s->tables[each].text),
                s->tables[thing].text);
    int number = (int)rng_below(&a->rng, ARRAY_LEN(scopes)), which = (int)rng_below(&a->rng, 2);
    const char *joined =
        asking_printf(a, "%s AS T1 JOIN %s AS T2 ON T1.%s = T2.%s", asking_table(a, thing), asking_table(a, pairs),
                      asking_column(a, p->b->to), asking_column(a, p->b->from));
    const char *one =
        asking_printf(a, "SELECT T3.%s, T1.%s FROM %s JOIN %s AS T3 ON T2.%s = T3.%s",
                      asking_column(a, asking_label(s, each)), asking_column(a, asking_label(s, thing)), joined,
                      asking_table(a, each), asking_column(a, p->a->from), asking_column(a, p->a->to));
    const char *all =
        asking_printf(a, "SELECT T1.%s FROM %s GROUP BY T1.%s HAVING count(DISTINCT T2.%s) = (SELECT count(*) FROM %s)",
                      asking_column(a, asking_label(s, thing)), joined, asking_column(a, p->b->to),
                      asking_column(a, p->a->from), asking_table(a, each));
    emit(r, LINGUISTIC_SCOPE,
         asking_fill(a, scopes[number].ambiguous, asking_many(a, each), asking_one(a, each), asking_many(a, thing)),
         one, all, dropped);
    emit(r, LINGUISTIC_SCOPE,
         asking_fill(a, scopes[number].clear[which], asking_many(a, each), asking_one(a, each), asking_many(a, thing)),
         which ? all : one, NULL, dropped);
    free(dropped);
}

/* A key with one partner for each row allows only one answer for each row. */
static void ask_owned(struct linguistic_run *r, const struct schema_foreign_key *k)
{
    struct asking *a = &r->asking;
    const struct schema *s = r->s;
    int each = s->columns[k->to].table, thing = s->columns[k->from].table;
    bool *dropped = xcalloc((size_t)s->n_columns + 1, sizeof *dropped);

    asking_open(a, "owned", asking_printf(a, "%s/%s", s->db_id, s->tables[each].text), s->tables[thing].text);
    int number = (int)rng_below(&a->rng, ARRAY_LEN(scopes));
    const char *one = asking_printf(a, "SELECT T1.%s, T2.%s FROM %s AS T1 JOIN %s AS T2 ON T1.%s = T2.%s",
                                    asking_column(a, asking_label(s, each)), asking_column(a, asking_label(s, thing)),
                                    asking_table(a, each), asking_table(a, thing), asking_column(a, k->to),
                                    asking_column(a, k->from));
    emit(r, LINGUISTIC_SCOPE,
         asking_fill(a, rng_below(&a->rng, 2) ? scopes[number].clear[0] : scopes[number].ambiguous,
                     asking_many(a, each), asking_one(a, each), asking_many(a, thing)),
         one, NULL, dropped);
    free(dropped);
}

static bool sayable_pair(const struct schema *s, int a, int b)
{
    return a != b && asking_can_say(s, a) && asking_can_say(s, b);
}

static void ask_scopes(struct linguistic_run *r)
{
    const struct schema *s = r->s;

    for (int i = 0; i < s->n_foreign_keys; i++) {
        const struct schema_foreign_key *k = &s->foreign_keys[i];
        int table = s->columns[k->from].table, each = s->columns[k->to].table, keys = 0;
        for (int j = 0; j < s->n_foreign_keys; j++)
            keys += s->columns[s->foreign_keys[j].from].table == table;
        for (int j = 0; j < s->n_foreign_keys && keys == 2 && s->tables[table].n_columns <= PAIR_COLUMNS; j++) {
            struct pairing p = { k, &s->foreign_keys[j] };
            if (s->columns[p.b->from].table == table && sayable_pair(s, each, s->columns[p.b->to].table))
                ask_scope(r, &p);
        }
        if (keys == 1 && sayable_pair(s, table, each))
            ask_owned(r, k);
    }
}

/* Vagueness. */

static const struct {
    const char *words;       /* last words of the column, separated by bars */
    const char *vague[3];    /* the words of the question for rows */
    const char *clear[3][2]; /* unambiguous forms with a number, and the end of their statement; %n is the column */
    bool up;                 /* the words mean small values */
} degrees[] = {
    { "|date|",
      { "recent %s", "newly added %s", "old %s" },
      { { "%s since 2021-01-01", "WHERE %n >= '2021-01-01'" },
        { "the three %s with the latest %c", "ORDER BY %n DESC LIMIT 3" },
        { "%s before 2019-06-30", "WHERE %n < '2019-06-30'" } },
      false },
    { "|year|",
      { "recent %s", "fairly new %s", "old %s" },
      { { "%s from 2018 on", "WHERE %n >= 2018" },
        { "the five newest %s", "ORDER BY %n DESC LIMIT 5" },
        { "%s before 1990", "WHERE %n < 1990" } },
      false },
    { "|price|cost|fee|fare|",
      { "expensive %s", "affordable %s", "overpriced %s" },
      { { "%s that cost more than 100", "WHERE %n > 100" },
        { "%s for less than 20", "WHERE %n < 20" },
        { "the cheapest of the %s", "ORDER BY %n LIMIT 1" } },
      false },
    { "|population|capacity|size|area|",
      { "large %s", "rather small %s", "big %s" },
      { { "%s with a %c above 5000", "WHERE %n > 5000" },
        { "the largest of the %s", "ORDER BY %n DESC LIMIT 1" },
        { "%s with a %c of at most 300", "WHERE %n <= 300" } },
      false },
    { "|height|elevation|",
      { "tall %s", "low %s", "very high %s" },
      { { "%s with a %c above 180", "WHERE %n > 180" },
        { "the tallest of the %s", "ORDER BY %n DESC LIMIT 1" },
        { "%s with a %c under 90", "WHERE %n < 90" } },
      false },
    { "|weight|",
      { "heavy %s", "light %s", "overweight %s" },
      { { "%s with a %c over 80", "WHERE %n > 80" },
        { "the heaviest of the %s", "ORDER BY %n DESC LIMIT 1" },
        { "%s with a %c below 10", "WHERE %n < 10" } },
      false },
    { "|age|",
      { "young %s", "older %s", "elderly %s" },
      { { "%s under 25", "WHERE %n < 25" },
        { "%s of at least 60", "WHERE %n >= 60" },
        { "the oldest of the %s", "ORDER BY %n DESC LIMIT 1" } },
      true },
    { "|salary|income|",
      { "well paid %s", "low paid %s", "highly paid %s" },
      { { "%s who earn more than 50000", "WHERE %n > 50000" },
        { "the best paid of the %s", "ORDER BY %n DESC LIMIT 1" },
        { "%s with a %c below 20000", "WHERE %n < 20000" } },
      false },
    { "|rating|stars|score|",
      { "good %s", "popular %s", "badly rated %s" },
      { { "%s with a %c of 4 or more", "WHERE %n >= 4" },
        { "the best rated of the %s", "ORDER BY %n DESC LIMIT 1" },
        { "%s with a %c under 2", "WHERE %n < 2" } },
      false },
    { "|distance|length|duration|hours|",
      { "long %s", "short %s", "lengthy %s" },
      { { "%s with a %c above 120", "WHERE %n > 120" },
        { "the longest of the %s", "ORDER BY %n DESC LIMIT 1" },
        { "%s with a %c up to 30", "WHERE %n <= 30" } },
      false },
    { "|speed|horsepower|",
      { "fast %s", "slow %s", "powerful %s" },
      { { "%s with a %c above 200", "WHERE %n > 200" },
        { "the fastest of the %s", "ORDER BY %n DESC LIMIT 1" },
        { "%s with a %c under 50", "WHERE %n < 50" } },
      false },
    { "|quantity|stock|",
      { "plentiful %s", "scarce %s", "bulk %s" },
      { { "%s with a %c below 5", "WHERE %n < 5" },
        { "%s with a %c of more than 100", "WHERE %n > 100" },
        { "the %s with the lowest %c", "ORDER BY %n LIMIT 1" } },
      true },
    { "|amount|total|budget|revenue|sales|profits|profit|",
      { "big %s", "significant %s", "minor %s" },
      { { "%s with a %c above 1000", "WHERE %n > 1000" },
        { "the %s with the highest %c", "ORDER BY %n DESC LIMIT 1" },
        { "%s with a %c under 50", "WHERE %n < 50" } },
      false },
    { "|attendance|votes|",
      { "well attended %s", "crowded %s", "unpopular %s" },
      { { "%s with more than 1000 people", "WHERE %n > 1000" },
        { "the %s with the highest %c", "ORDER BY %n DESC LIMIT 1" },
        { "%s with fewer than 50 people", "WHERE %n < 50" } },
      false },
};
static const char *const openings[] = {
    "Show the %.", "List all %.",        "Which are the %?",        "How many % are there?",
    "Give me %",   "I need a list of %", "Are there any %? Which?", "Find % for me."
};

static const char *opened(struct asking *a, const char *opening, const char *rows)
{
    size_t n = strcspn(opening, "%");

    return asking_printf(a, "%.*s%s%s", (int)n, opening, rows, opening + n + (opening[n] == '%'));
}

/* Fills the pattern with the column's name for %n. */
static const char *named(struct asking *a, const char *pattern, const char *name)
{
    size_t n = (size_t)(strstr(pattern, "%n") - pattern);

    return asking_printf(a, "%.*s%s%s", (int)n, pattern, name, pattern + n + 2);
}

static void ask_vague(struct linguistic_run *r, int column, int degree)
{
    struct asking *a = &r->asking;
    const struct schema *s = r->s;
    int table = s->columns[column].table;
    const char *name = asking_column(a, column), *own = asking_own(s, column), *many = asking_many(a, table);
    bool *dropped = xcalloc((size_t)s->n_columns + 1, sizeof *dropped);

    asking_open(a, linguistic_type_name(LINGUISTIC_VAGUE), asking_printf(a, "%s/%s", s->db_id, s->tables[table].text),
                s->columns[column].text);
    const char *opening = asking_draw(a, openings, ARRAY_LEN(openings)), *base = part_sql(a, table, NULL);
    int which = (int)rng_below(&a->rng, 3);
    const char *const *clear = degrees[degree].clear[which];
    const char *top = asking_printf(a, "%s ORDER BY %s%s LIMIT 10", base, name, degrees[degree].up ? "" : " DESC");
    const char *average = asking_printf(a, "%s WHERE %s %s (SELECT avg(%s) FROM %s)", base, name,
                                        degrees[degree].up ? "<" : ">", name, asking_table(a, table));
    emit(r, LINGUISTIC_VAGUE, asking_fill(a, opened(a, opening, degrees[degree].vague[which]), own, "", many), top,
         average, dropped);
    if (strncmp(clear[0], "the ", 4) == 0)
        opening = "Show %.";
    emit(r, LINGUISTIC_VAGUE, asking_fill(a, opened(a, opening, clear[0]), own, "", many),
         asking_printf(a, "%s %s", base, named(a, clear[1], name)), NULL, dropped);
    free(dropped);
}

static void ask_all_vague(struct linguistic_run *r)
{
    const struct schema *s = r->s;

    for (int c = 0; c < s->n_columns; c++) {
        const char *own = asking_own(s, c), *space = strrchr(own, ' ');
        const char *table = s->tables[s->columns[c].table].text;
        if (strstr(table, space ? space + 1 : own) || (space && s->columns[c].type != COLUMN_TIME))
            continue;
        const char *last = asking_printf(&r->asking, "|%s|", space ? space + 1 : own);
        for (int i = 0; i < ARRAY_LEN(degrees); i++)
            if (strstr(degrees[i].words, last) && asking_can_say(s, s->columns[c].table) && !schema_column_is_key(s, c))
                ask_vague(r, c, i);
    }
}

/* The generators of the linguistic types in the order of the registry. */
static void (*const generators[LINGUISTIC_TYPES])(struct linguistic_run *) = {
    [LINGUISTIC_ATTACHMENT - 1] = ask_attachments,
    [LINGUISTIC_SCOPE - 1] = ask_scopes,
    [LINGUISTIC_VAGUE - 1] = ask_all_vague,
};

int linguistic_make(struct natural *n, const struct natural_corpus *c, struct error *err)
{
    (void)err;
    for (int i = 0; i < c->schemas.n && n->options->wording; i++) {
        const struct schema *s = &c->schemas.schemas[i];
        if (!s->n_foreign_keys)
            continue;
        struct schema_asks asks = { .text = &n->out->splits[c->split[i]].text };
        struct linguistic_run r = { .n = n, .corpus = c, .s = s, .split = c->split[i] };
        r.asking = (struct asking){ .out = &asks, .s = r.s };
        for (int k = 0; k < ARRAY_LEN(generators); k++)
            generators[k](&r);
    }
    return 0;
}
