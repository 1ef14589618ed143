#include "data/clarify/phrase.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { DEPTH_MAX = 2 }; /* sub-queries within sub-queries that are told */

const char *phrase_column(const struct phrase_context *p, int column)
{
    const struct schema_column *c = &p->schema->columns[column];
    return strings_printf(p->pool, "%s of %s", c->text, p->schema->tables[c->table].text);
}

/* The column that the canonical text names at its beginning, "table.column" or "table#2.column"; -1 for none. */
static int named_column(const struct phrase_context *p, const char *text, int length)
{
    int n = (int)strcspn(text, ".#"), table = -1, column = -1;
    const char *dot = n < length ? strchr(text, '.') : NULL;

    if (!dot || dot - text >= length)
        return -1;
    char *name = strndup(text, (size_t)n), *rest = strndup(dot + 1, (size_t)(length - (int)(dot - text) - 1));
    table = schema_table_find(p->schema, name);
    if (table >= 0)
        column = schema_column_find(p->schema, table, rest);
    free(name);
    free(rest);
    return column;
}

/* "first name of player and last name of player": the columns that an expression is made from; "" for none. */
static const char *ingredients(const struct phrase_context *p, const char *text)
{
    static const char stop[] = " ,()+-*/%|&<>=!~'\"";
    struct strings seen = { 0 };
    const char *list = "";

    for (int n; *text; text += n + (text[n] != 0)) {
        n = (int)strcspn(text, stop);
        if (n == 0 && *text == '\'') /* a constant */
            for (n = 1; text[n] && text[n] != '\''; n++)
                ;
        int column = *text == '\'' ? -1 : named_column(p, text, n);
        const char *one = column < 0 ? NULL : phrase_column(p, column);
        if (one && strings_find(&seen, one) < 0)
            list = strings_printf(p->pool, "%s%s%s", list, strings_add(&seen, one) ? " and " : "", one);
    }
    strings_release(&seen);
    return list;
}

static const char *computed(const struct phrase_context *p, const char *text)
{
    const char *from = ingredients(p, text);
    return from[0] ? strings_printf(p->pool, "something worked out from %s", from) : "a fixed value";
}

/* What a sub-query gives. */
static const char *answer_of(const struct phrase_context *p, const struct form *form)
{
    struct phrase_context inner = { p->schema, p->pool, p->depth + 1 };
    const char *text = p->depth < DEPTH_MAX ? phrase_query(&inner, form) + strlen("show ") : NULL;

    if (!text)
        return "the answer to another question";
    return strpbrk(text, ";,") ? strings_printf(p->pool, "(%s)", text) : text;
}

static const char *noun(const struct phrase_context *p, const struct form_term *t)
{
    if (t->column >= 0)
        return phrase_column(p, t->column);
    if (strcmp(t->head, "*") == 0)
        return "rows";
    return t->sub ? answer_of(p, t->sub) : computed(p, t->head);
}

const char *phrase_operand(const struct phrase_context *p, const struct form_term *t)
{
    static const char *const functions[][2] = {
        { "", "%s" },
        { "count", "the number of %s" },
        { "count distinct", "the number of different values of %s" },
        { "sum", "the sum of %s" },
        { "total", "the sum of %s" },
        { "avg", "the average of %s" },
        { "min", "the smallest %s" },
        { "max", "the largest %s" },
    };
    const char *of = noun(p, t);

    for (int i = 1; i < ARRAY_LEN(functions); i++)
        if (strcmp(t->function, functions[i][0]) == 0) {
            int before = (int)(strlen(functions[i][1]) - 2);
            return strings_printf(p->pool, "%.*s%s", before, functions[i][1], of);
        }
    return t->function[0] ? strings_printf(p->pool, "a summary of different values of %s", of) : of;
}

const char *phrase_value(const struct phrase_context *p, const char *value)
{
    size_t n = strlen(value);
    char *text = xstrdup(value);

    if (n >= 2 && value[0] == '\'' && !strstr(value, "', '")) {
        size_t out = 0;
        for (size_t i = 0; i < n; i++) {
            text[out++] = value[i];
            i += i > 0 && i + 2 < n && value[i] == '\'' && value[i + 1] == '\'';
        }
        text[out] = 0;
    }
    const char *kept = strings_keep(p->pool, text);
    free(text);
    return kept;
}

/* Patterns of one kind of wildcard at the ends are words; other ones are shown as they are. */
static const char *pattern(const struct phrase_context *p, const char *value, bool inverse)
{
    size_t n = strlen(value);
    bool head = n > 3 && value[1] == '%', tail = n > 3 && value[n - 2] == '%';
    const char *verb = head && tail ? "contain" : tail ? "start with" : head ? "end with" : "look like";
    int length = (int)(n - 2 - (size_t)head - (size_t)tail);

    if (n < 2 || value[0] != '\'')
        return inverse ? "does not look like a given pattern" : "looks like a given pattern";
    const char *core = strings_printf(p->pool, "%.*s", length, value + 1 + head);
    if (inverse)
        return strings_printf(p->pool, "does not %s '%s'", verb, core);
    int first = (int)strcspn(verb, " ");
    return strings_printf(p->pool, "%.*ss%s '%s'", first, verb, verb + first, core);
}

static const char *right_side(const struct phrase_context *p, const struct form_term *t)
{
    if (t->constant)
        return phrase_value(p, t->value);
    if (t->other >= 0)
        return phrase_column(p, t->other);
    return t->sub ? answer_of(p, t->sub) : computed(p, t->value);
}

static const char *relation(const struct phrase_context *p, const struct form_term *t, const char *op,
                            const char *value, bool boundary)
{
    static const struct {
        const char *op, *before, *behind;
        int included; /* 1 the value counts, 0 it does not, -1 there is no boundary */
    } relations[] = {
        { "=", "is ", "", -1 },          { "!=", "is not ", "", -1 },         { ">", "is more than ", "", 0 },
        { "<", "is less than ", "", 0 }, { ">=", "is ", " or more", 1 },      { "<=", "is ", " or less", 1 },
        { "in", "is one of ", "", -1 },  { "not in", "is none of ", "", -1 },
    };
    bool null = strcmp(t->value, "null") == 0;

    if (strcmp(t->op, "is") == 0 || strcmp(t->op, "is not") == 0) {
        bool other = t->op[2];
        return null ? other ? "is filled in" : "is not filled in"
                    : strings_printf(p->pool, "is %s%s", other ? "not " : "", value);
    }
    if (strstr(t->op, "like") || strstr(t->op, "glob"))
        return pattern(p, t->value, strncmp(t->op, "not ", 4) == 0);
    for (int i = 0; i < ARRAY_LEN(relations); i++)
        if (strcmp(op, relations[i].op) == 0) {
            const char *mark = !boundary || relations[i].included < 0 ? NULL
                               : relations[i].included                ? "included"
                                                                      : "not included";
            const char *text = strings_printf(p->pool, "%s%s%s", relations[i].before, value, relations[i].behind);
            return mark ? strings_printf(p->pool, "%s (%s %s)", text, value, mark) : text;
        }
    return strings_printf(p->pool, "is compared with %s", value);
}

/* The other way round. */
static const char *mirrored(const char *op)
{
    static const char *const pairs[][2] = { { "<", ">" }, { "<=", ">=" }, { ">", "<" }, { ">=", "<=" } };

    for (int i = 0; i < ARRAY_LEN(pairs); i++)
        if (strcmp(op, pairs[i][0]) == 0)
            return pairs[i][1];
    return op;
}

/* What is made of other conditions, or of a sub-query alone. */
static const char *whole_condition(const struct phrase_context *p, const struct form_term *t)
{
    if (strstr(t->op, "exists"))
        return strings_printf(p->pool, "there is %s answer to %s", t->op[0] == 'n' ? "no" : "an",
                              t->sub ? answer_of(p, t->sub) : "another question");
    const char *about = ingredients(p, t->text);
    return strings_printf(p->pool,
                          strcmp(t->op, "or") == 0 ? "one of several conditions%s%s holds"
                                                   : "several conditions%s%s hold together",
                          about[0] ? " on " : "", about);
}

const char *phrase_condition(const struct phrase_context *p, const struct form_term *t, bool boundary)
{
    if (!t->value[0] || strstr(t->op, "exists"))
        return whole_condition(p, t);
    if (t->column < 0 && t->sub && t->other >= 0 && !t->function[0])
        return strings_printf(p->pool, "%s %s", phrase_column(p, t->other),
                              relation(p, t, mirrored(t->op), answer_of(p, t->sub), boundary));
    return strings_printf(p->pool, "%s %s", phrase_operand(p, t), relation(p, t, t->op, right_side(p, t), boundary));
}

const char *phrase_table(const struct phrase_context *p, const char *pair, int which)
{
    const char *comma = strchr(pair, ','), *from = which && comma ? comma + 1 : pair;
    const char *name = strings_printf(p->pool, "%.*s", (int)strcspn(from, ",#"), from);
    int table = schema_table_find(p->schema, name);
    return table >= 0 ? p->schema->tables[table].text : "a list made for this";
}

typedef const char *term_fn(const struct phrase_context *p, const struct form_term *t);

/* Terms parted by `between`; texts that come again are left out. */
static const char *list_terms(const struct phrase_context *p, const struct form_list *list, term_fn *fn,
                              const char *between)
{
    struct strings seen = { 0 };
    char *text = NULL;
    size_t size;
    FILE *out = open_memstream(&text, &size);

    CHECK(out, "out of memory");
    for (int i = 0; i < list->n; i++) {
        const char *one = fn(p, &list->items[i]);
        if (strings_find(&seen, one) >= 0)
            continue;
        fprintf(out, "%s%s", seen.n ? between : "", one);
        strings_add(&seen, one);
    }
    fclose(out);
    const char *kept = strings_keep(p->pool, text);
    strings_release(&seen);
    free(text);
    return kept;
}

static const char *one_table(const struct phrase_context *p, const struct form_term *t)
{
    return t->table >= 0 ? p->schema->tables[t->table].text
           : t->sub      ? strings_printf(p->pool, "a list of %s", answer_of(p, t->sub))
                         : "a list made for this";
}

static const char *one_condition(const struct phrase_context *p, const struct form_term *t)
{
    return phrase_condition(p, t, false);
}

static const char *one_order(const struct phrase_context *p, const struct form_term *t)
{
    return strings_printf(p->pool, "%s, the %s first", phrase_operand(p, t),
                          strncmp(t->op, "desc", 4) == 0 ? "largest" : "smallest");
}

const char *phrase_outputs(const struct phrase_context *p, const struct form *form)
{
    return list_terms(p, &form->lists[FORM_SELECT], phrase_operand, ", ");
}

const char *phrase_tables(const struct phrase_context *p, const struct form *form)
{
    return list_terms(p, &form->lists[FORM_FROM], one_table, " with ");
}

const char *phrase_groups(const struct phrase_context *p, const struct form *form)
{
    return list_terms(p, &form->lists[FORM_GROUP], phrase_operand, " and ");
}

const char *phrase_limit(const struct phrase_context *p, const char *limit)
{
    const char *after = strstr(limit, " after ");
    int n = (int)(after ? after - limit : (long)strlen(limit));

    if (after)
        return strings_printf(p->pool, "%.*s, leaving out the first %s", n, limit, after + strlen(" after "));
    return strcmp(limit, "1") == 0 ? "only the first one" : strings_printf(p->pool, "only the first %s", limit);
}

const char *phrase_set(enum sql_set_op op)
{
    static const char *const ways[] = { "only the first result", "rows that are in either result, each once",
                                        "all rows of both results, repeats included",
                                        "rows of the first result that are not in the second",
                                        "rows that are in both results" };
    return ways[op];
}

static const char *phrase_core(const struct phrase_context *p, const struct form *form)
{
    const struct form_list *where = &form->lists[FORM_WHERE], *having = &form->lists[FORM_HAVING];
    const char *text = strings_printf(p->pool, "show %s%s", phrase_outputs(p, form),
                                      form->distinct ? ", each different row once" : "");

    if (where->n)
        text = strings_printf(p->pool, "%s; only where %s", text,
                              list_terms(p, where, one_condition, form->any_where ? " or " : " and "));
    if (form->lists[FORM_GROUP].n)
        text = strings_printf(p->pool, "%s; one row for each %s", text, phrase_groups(p, form));
    if (having->n)
        text = strings_printf(p->pool, "%s; only if %s", text,
                              list_terms(p, having, one_condition, form->any_having ? " or " : " and "));
    if (form->lists[FORM_ORDER].n)
        text = strings_printf(p->pool, "%s; sorted by %s", text,
                              list_terms(p, &form->lists[FORM_ORDER], one_order, ", then "));
    return form->limit ? strings_printf(p->pool, "%s; %s", text, phrase_limit(p, form->limit)) : text;
}

const char *phrase_query(const struct phrase_context *p, const struct form *form)
{
    const char *text = phrase_core(p, form);

    for (const struct form *arm = form->next; arm; arm = arm->next)
        text = strings_printf(p->pool, "%s; put together with: %s; keep %s", text, phrase_core(p, arm),
                              phrase_set(arm->op));
    return text;
}
