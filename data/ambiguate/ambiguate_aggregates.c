/* Part of ambiguate.h: kind P by AmbiQT's generator, in the form of the published validation file: what a query
 * computes also stands in one new table. */
#include "data/ambiguate/ambiguate_impl.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

static const char *const functions[] = { "count", "avg", "sum", "min", "max" };

/* The new table while the query is read. */
struct stored {
    struct strings plain, aggregated; /* columns, in order of mention */
    bool number;                      /* count(*) */
};

/* "avg(x)rest": how many letters the function has, 0 where there is none; x and what stands behind go to the rest. */
static size_t aggregate_of(const char *word, const char **inside, size_t *n_inside, const char **rest)
{
    for (int i = 0; i < ARRAY_LEN(functions); i++) {
        size_t n = strlen(functions[i]);
        const char *close = strncmp(word, functions[i], n) == 0 && word[n] == '(' ? strchr(word + n, ')') : NULL;
        if (!close)
            continue;
        *inside = word + n + 1;
        *n_inside = (size_t)(close - *inside);
        *rest = close + 1;
        return n;
    }
    return 0;
}

/* What the new table has for a word: number, avg_x, or x without alias; NULL where it can have nothing. */
static const char *stored_name(struct ambiguities *out, struct stored *s, const char *word)
{
    const char *inside, *rest;
    size_t n_inside, n = aggregate_of(word, &inside, &n_inside, &rest);

    if (n == 0)
        return ambiqt_without_alias(word);
    if (n_inside == 1 && *inside == '*') {
        s->number = true;
        return *word == 'c' ? strings_printf(&out->text, "number%s", rest) : NULL;
    }
    const char *column = strings_printf(&out->text, "%.*s", (int)n_inside, inside);
    column = strings_keep(&s->aggregated, ambiqt_without_alias(column));
    return strings_printf(&out->text, "%.*s_%s%s", (int)n, word, column, rest);
}

/* One item of the SELECT list under its name in the new table; NULL where kind P does not take it. */
static const char *select_item(struct ambiguities *out, struct stored *s, const char *item)
{
    const char *inside, *rest = "";
    size_t n_inside;

    if (!*item || strchr(item, ' ') || strcmp(item, "*") == 0)
        return NULL;
    bool aggregate = aggregate_of(item, &inside, &n_inside, &rest) > 0;
    if (*rest || (!aggregate && strchr(item, '(')))
        return NULL;
    const char *name = stored_name(out, s, item);
    if (name && !aggregate)
        strings_add(&s->plain, name);
    return name;
}

/* The whole SELECT list; NULL where kind P does not take it. */
static const char *select_list(struct ambiguities *out, struct stored *s, const char *begin, const char *from)
{
    const char *list = "";
    char *text = strndup(begin, (size_t)(from - begin)), *state = NULL;

    CHECK(text, "cannot copy %zu bytes", (size_t)(from - begin));
    for (char *p = strtok_r(text, ",", &state); p && list; p = strtok_r(NULL, ",", &state)) {
        while (isspace((unsigned char)*p))
            p++;
        const char *name = select_item(out, s, p);
        list = name ? strings_printf(&out->text, "%s%s%s", list, *list ? ", " : "", name) : NULL;
    }
    free(text);
    return list && *list ? list : NULL;
}

/* What stands behind WHERE or HAVING, up to the query's end, in terms of the new table; "" where there is neither. */
static const char *condition(struct ambiguities *out, struct stored *s, const char *sql)
{
    const char *where = strstr(sql, " where"), *having = strstr(sql, " having");
    const char *begin = having ? having + strlen(" having") : where ? where + strlen(" where") : NULL;
    char *state = NULL;

    if (!begin)
        return "";
    char *spaced = text_replace(begin, ",", " , ");
    const char **words = xmalloc((strlen(spaced) + 1) * sizeof *words);
    int n = 0;
    bool good = true;
    for (char *p = strtok_r(spaced, " ", &state); p && good; p = strtok_r(NULL, " ", &state)) {
        good = (words[n] = stored_name(out, s, p));
        if (good && words[n] == ambiqt_without_alias(p) && words[n] > p)
            strings_add(&s->plain, words[n]);
        n += good;
    }
    const char *text = good ? strings_printf(&out->text, " where %s", ambiguity_join(out, words, n)) : NULL;
    free(words);
    free(spaced);
    return text;
}

static bool taken(const char *sql)
{
    const char *select = strstr(sql, "select ");
    return select == sql && !strstr(select + 1, "select ") && !strstr(sql, "distinct ") && strstr(sql, " from ") &&
           !(strstr(sql, " where ") && strstr(sql, " having "));
}

/* Every table that is mentioned, in that order. */
static bool set_tables(struct ambiguity *a, const struct ambiguate_question *q)
{
    for (int i = 0; i < q->words.n; i++) {
        int t = ambiguity_table(q->schema, q->words.items[i]), k = 0;
        if (t < 0)
            continue;
        while (k < a->n_tables && a->tables[k] != q->schema->tables[t].name)
            k++;
        if (k == AMBIGUITY_MAX_TABLES)
            return false;
        a->tables[k] = q->schema->tables[t].name;
        a->n_tables += k == a->n_tables;
    }
    return a->n_tables > 0;
}

/* Names of the new table's columns: of all aggregates but count. */
static bool set_columns(struct ambiguities *out, struct ambiguity *a, const struct stored *s)
{
    static const char *const stored_functions[] = { "sum", "avg", "min", "max" };
    struct ambiqt_record *r = &a->record;
    int plain = s->plain.n + s->number;

    if (plain + s->aggregated.n > AMBIGUITY_MAX_STORED || plain + 4 * s->aggregated.n > AMBIQT_MAX_COLUMNS)
        return false;
    for (int i = 0; i < s->plain.n; i++)
        a->stored[a->n_stored++] = strings_keep(&out->text, s->plain.items[i]);
    if (s->number)
        a->stored[a->n_stored++] = "number";
    memcpy(r->new_columns, a->stored, (size_t)plain * sizeof *a->stored);
    r->n_new_columns = plain;
    for (int i = 0; i < s->aggregated.n; i++) {
        const char *column = a->stored[a->n_stored++] = strings_keep(&out->text, s->aggregated.items[i]);
        for (int k = 0; k < ARRAY_LEN(stored_functions); k++)
            r->new_columns[r->n_new_columns++] = strings_printf(&out->text, "%s_%s", stored_functions[k], column);
    }
    a->n_plain = s->plain.n;
    a->number = s->number;
    return true;
}

/* Tables, then aggregated columns, joined by underscores. */
static const char *table_name(struct ambiguities *out, const struct ambiguity *a)
{
    const char *name = a->tables[0];
    for (int i = 1; i < a->n_tables; i++)
        name = strings_printf(&out->text, "%s_%s", name, a->tables[i]);
    for (int i = a->n_plain + a->number; i < a->n_stored; i++)
        name = strings_printf(&out->text, "%s_%s", name, a->stored[i]);
    return strings_keep(&out->text, name);
}

static void add_record(struct ambiguities *out, const struct ambiguate_question *q, const struct stored *s,
                       const char *list, const char *where)
{
    struct ambiguity *a = ambiguity_add(out, q, SIA_AGGREGATE);
    struct ambiqt_record *r = &a->record;

    if (!set_tables(a, q) || !set_columns(out, a, s)) {
        out->n--;
        return;
    }
    for (int i = 0; i < a->n_tables; i++)
        a->tables[i] = strings_keep(&out->text, a->tables[i]);
    r->new_table = table_name(out, a);
    r->table = a->tables[0];
    r->key = ambiguity_key(q->schema, ambiguity_table(q->schema, r->table));
    r->key = r->key ? strings_keep(&out->text, r->key) : NULL;
    r->column = a->stored[a->n_plain + a->number];
    r->readings[1] = strings_printf(&out->text, "select %s from %s%s", list, r->new_table, where);
}

void ambiguate_aggregates(struct ambiguities *out, const struct ambiguate_question *q)
{
    struct stored s = { 0 };

    if (!taken(q->sql))
        return;
    const char *list = select_list(out, &s, q->sql + strlen("select "), strstr(q->sql, " from "));
    const char *where = list ? condition(out, &s, q->sql) : NULL;
    if (where && s.aggregated.n > 0)
        add_record(out, q, &s, list, where);
    strings_release(&s.plain);
    strings_release(&s.aggregated);
}
