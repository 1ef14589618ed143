/* Part of annotate.h: the filter as published. */
#include "data/exec/result_match.h"
#include "data/score/annotate_impl.h"

#include <stdlib.h>
#include <string.h>

/* The words and signs of the authors' list that hold no other of it. */
static const char *const keywords[] = {
    " != ",   " < ",        " <= ",     " = ",     " > ",    " >= ",    " | ",    "*",        "----",
    "ADD",    "ALTER",      "ANALYZE",  "AND",     "AS",     "BETWEEN", "CALL",   "CHECK",    "COMMIT",
    "CREATE", "DEALLOCATE", "DECLARE",  "DEFAULT", "DELETE", "DROP",    "END",    "EXCEPT",   "EXEC",
    "FROM",   "GLOB",       "GROUP BY", "IN",      "LIKE",   "LIMIT",   "MODIFY", "NOT",      "NULL",
    "ON",     "OR",         "PREPARE",  "PRIMARY", "REGEX",  "REMOVE",  "RENAME", "ROLLBACK", "SELECT",
    "SET",    "TRUNCATE",   "UNIQUE",   "UPDATE",  "VACUUM", "WHERE",   "WITH",   "```sql",
};

bool annotate_has_keyword(const char *text)
{
    for (int i = 0; i < ARRAY_LEN(keywords); i++)
        if (strstr(text, keywords[i]))
            return true;
    return false;
}

int64_t annotate_length(const char *text)
{
    int64_t n = 0;
    for (; *text; text++)
        n += ((unsigned char)*text & 0xc0) != 0x80; /* bytes that begin a character */
    return n;
}

/* The bytes of a blank as Python's str.strip knows them at s, or 0. */
static int blank_at(const char *s)
{
    static const char *const wide[] = { "\xc2\x85",     "\xc2\xa0",     "\xe1\x9a\x80", "\xe2\x80\xa8",
                                        "\xe2\x80\xa9", "\xe2\x80\xaf", "\xe2\x81\x9f", "\xe3\x80\x80" };
    unsigned char c = (unsigned char)*s;
    if ((c >= '\t' && c <= '\r') || (c >= 0x1c && c <= ' '))
        return 1;
    for (int i = 0; i < ARRAY_LEN(wide); i++)
        if (strncmp(s, wide[i], strlen(wide[i])) == 0)
            return (int)strlen(wide[i]);
    bool spaces = strncmp(s, "\xe2\x80", 2) == 0 && (unsigned char)s[2] >= 0x80 && (unsigned char)s[2] <= 0x8a;
    return spaces ? 3 : 0; /* U+2000 to U+200A */
}

/* str.strip; the caller frees. */
static char *strip(const char *text)
{
    int n;
    while ((n = blank_at(text)))
        text += n;
    const char *end = text;
    for (const char *s = text; *s; s += n ? n : 1) {
        n = blank_at(s);
        if (!n)
            end = s + 1;
    }
    return strndup(text, (size_t)(end - text));
}

static const char *judge_text(const char *reading, int64_t question_length)
{
    char *text = strip(reading);
    const char *dropped = NULL;
    if (annotate_has_keyword(text))
        dropped = "it holds a capital word or a sign of SQL";
    else if (2 * annotate_length(text) < question_length)
        dropped = "it is shorter than half the question";
    free(text);
    return dropped;
}

/* Readings whose SQL has one result. */
struct reading_group {
    int query; /* the first, whose result the others are compared with */
    bool empty;
    int *readings;
    int n, cap;
};

struct reading_groups {
    struct reading_group *items;
    int n, cap;
};

static void join(struct reading_group *g, int reading)
{
    GROW(g->readings, g->n, g->cap);
    g->readings[g->n++] = reading;
}

static struct reading_group *find_group(const struct reading_groups *all, const struct trial *t, int query)
{
    const struct exec_result *r = &t->queries[query].result;
    for (int i = 0; i < all->n; i++) {
        struct reading_group *g = &all->items[i];
        if (g->empty ? r->n == 0 : r->n && match_cells(r, &t->queries[g->query].result))
            return g;
    }
    return NULL;
}

/* A group without rows keeps only the newest of its readings. */
static void add_query(struct reading_groups *all, const struct trial *t, int query, int reading)
{
    struct reading_group *g = find_group(all, t, query);
    if (!g) {
        GROW(all->items, all->n, all->cap);
        g = &all->items[all->n++];
        *g = (struct reading_group){ .query = query, .empty = t->queries[query].result.n == 0 };
    }
    if (g->empty)
        g->n = 0;
    join(g, reading);
}

/* The last of the readings still there that has the query, or -1. */
static int owner(const struct annotation *a, const char *sql)
{
    for (int i = a->n_readings - 1; i >= 0; i--)
        for (int k = 0; k < a->readings[i].n && !a->readings[i].dropped; k++)
            if (strcmp(a->sql.sql[a->readings[i].first + k], sql) == 0)
                return i;
    return -1;
}

/* Queries in the order in which the readings that are left say them first. */
static void group_queries(struct reading_groups *all, const struct annotation *a, const struct trial *t)
{
    uint8_t *seen = xcalloc((size_t)t->n_queries + 1, 1);
    for (int i = 0; i < a->n_readings; i++)
        for (int k = 0; k < a->readings[i].n && !a->readings[i].dropped; k++) {
            int q = trial_find(t, a->sql.sql[a->readings[i].first + k]);
            if (!seen[q] && t->queries[q].result.status == EXEC_OK)
                add_query(all, t, q, owner(a, t->queries[q].sql));
            seen[q] = 1;
        }
    free(seen);
}

static void choose(struct annotation *a, const struct trial *t, struct python_random *random)
{
    struct reading_groups all = { 0 };

    group_queries(&all, a, t);
    for (int i = 0; i < all.n; i++) {
        const struct reading_group *g = &all.items[i];
        annotate_keep(a, g->readings[python_random_choice(random, (uint32_t)g->n)]);
        free(g->readings);
    }
    free(all.items);
}

static bool is_existing(const struct annotation *a, int reading)
{
    for (int i = 0; i < a->n_existing; i++)
        if (a->existing[i] == reading)
            return true;
    return false;
}

/* The first gold of the record with that text, or -1. */
static int find_gold(const struct annotation *a, const char *sql)
{
    for (int g = 0; g < a->n_golds; g++)
        if (strcmp(a->golds[g].sql, sql) == 0)
            return g;
    return -1;
}

/* A SQL covers the first gold that it matches, and no other. */
static void cover(struct annotation *a, const struct trial *t, int reading)
{
    const struct annotate_reading *r = &a->readings[reading];
    for (int i = 0; i < r->n; i++) {
        int q = trial_find(t, a->sql.sql[r->first + i]), g = 0;
        while (g < t->n_golds && !t->hits[q * t->n_golds + g])
            g++;
        int gold = g < t->n_golds ? find_gold(a, t->golds[g].sql) : -1;
        if (gold >= 0 && a->golds[gold].covered_by < 0)
            a->golds[gold].covered_by = reading;
    }
}

void annotate_filter(struct annotation *a, const struct trial *t, struct python_random *random)
{
    char *question = strip(a->question);
    int64_t length = annotate_length(question);

    for (int i = 0; i < a->n_readings; i++)
        a->readings[i].dropped = judge_text(a->readings[i].text, length);
    choose(a, t, random);
    for (int i = 0; i < a->n_readings; i++)
        if (!a->readings[i].dropped && !is_existing(a, i))
            a->readings[i].dropped = "no SQL of it was chosen";
    free(question);
}

int annotate_published(struct annotation *a, struct exec_db *db, struct python_random *random, struct error *err)
{
    struct trial t;
    int rc = 0;

    annotate_trial(&t, a, TRIAL_PUBLISHED, db);
    annotate_filter(a, &t, random);
    for (int i = 0; i < a->n_existing && !t.why; i++)
        cover(a, &t, a->existing[i]);
    if (t.why)
        rc = error_set(err, EXIT_CODE_DATA, "%s", t.why);
    trial_release(&t);
    return rc;
}
