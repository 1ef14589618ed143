#include "data/clarify/phrase_expr.h"
#include "data/schema/element_name.h"
#include "data/sql/sql_print.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const char *phrase_column(const struct phrase_context *p, int column)
{
    const struct schema_column *c = &p->schema->columns[column];
    return strings_printf(p->pool, "%s of %s", c->text, p->schema->tables[c->table].text);
}

/* The words of one term, in the scope of its SELECT. */
static struct phrase_words told(const struct phrase_context *p, const struct sql_core *core, const struct sql_expr *e,
                                bool condition, bool boundary)
{
    struct phrase_scope scope = { core, p->scope };
    struct phrase_context in = *p;
    int left = PHRASE_STEPS;

    if (!p->scope || p->scope->core != core)
        in.scope = &scope;
    in.left = p->left ? p->left : &left;
    if (!condition)
        return phrase_expr(&in, e);
    struct phrase_words w = phrase_truth(&in, e, boundary);
    return w.text && (p->exact || strlen(w.text) <= PHRASE_BYTES) ? w : phrase_fragment(p, e);
}

const char *phrase_operand(const struct phrase_context *p, const struct form_term *t)
{
    return told(p, t->core, t->expr, false, false).text;
}

const char *phrase_condition(const struct phrase_context *p, const struct form_term *t, bool boundary)
{
    return told(p, t->core, t->expr, true, boundary).text;
}

const char *phrase_subject(const struct phrase_context *p, const struct form_term *t)
{
    return told(p, t->core, t->expr->left ? t->expr->left : t->expr, false, false).text;
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

const char *phrase_table(const struct phrase_context *p, const char *pair, int which)
{
    const char *comma = strchr(pair, ','), *from = which && comma ? comma + 1 : pair;
    const char *name = strings_printf(p->pool, "%.*s", (int)strcspn(from, ",#"), from);
    int table = schema_table_find(p->schema, name);
    return table >= 0 ? p->schema->tables[table].text : "a list made for this";
}

const char *phrase_records(const struct phrase_context *p, const struct form_term *t)
{
    const struct sql_expr *e = t->expr;
    struct phrase_scope scope = { t->core, p->scope };
    struct phrase_context in = *p;

    in.scope = &scope;
    while (e && e->kind != SQL_EXPR_COLUMN)
        e = e->left ? e->left : e->list;
    const struct sql_source *s = e ? e->source : NULL;
    if (s && s->table >= 0 && !s->cte)
        return phrase_source(&in, s);
    const struct sql_select *made = !s ? NULL : s->cte ? s->cte->select : s->select;
    return made && made->cores->next ? NULL : p->schema->tables[p->schema->columns[t->column].table].text;
}

static const char *quoted(const struct phrase_context *p, struct sql_printer *out)
{
    const char *text = strings_printf(p->pool, "\"%.*s\"", (int)out->n, out->text);
    free(out->text);
    return text;
}

const char *phrase_matching(const struct phrase_context *p, const struct form *form, const struct form_term *t)
{
    struct sql_printer out = { 0 };

    if (strcmp(t->op, "chain") != 0)
        return t->expr ? told(p, t->core, t->expr, true, false).text : "";
    sql_print_sources(&out, form->core->from);
    return quoted(p, &out);
}

const char *phrase_answer(const struct phrase_context *p, const struct sql_select *select)
{
    const struct form *form = form_find(p->store, select);
    struct phrase_context in = *p;

    if (!form || p->depth == PHRASE_DEPTH)
        return NULL;
    in.depth++;
    in.brief = false;
    const char *text = phrase_query(&in, form) + strlen("show ");
    return strpbrk(text, ";,") ? strings_printf(p->pool, "(%s)", text) : text;
}

typedef const char *term_fn(const struct phrase_context *p, const struct form *form, const struct form_term *t);

/* A list of texts.  It omits duplicates, and the end of a long list. */
struct term_list {
    char *text;
    size_t size;
    FILE *out;
    struct strings seen;
    int most, hidden;
};

static void list_start(struct term_list *l, const struct phrase_context *p, int n)
{
    *l = (struct term_list){ .most = n > PHRASE_LISTED && !p->exact ? PHRASE_SHOWN : n };
    l->out = open_memstream(&l->text, &l->size);
    CHECK(l->out, "out of memory");
}

static void list_add(struct term_list *l, const char *between, const char *one)
{
    if (strings_find(&l->seen, one) >= 0)
        return;
    if (l->seen.n < l->most)
        fprintf(l->out, "%s%s", l->seen.n ? between : "", one);
    else
        l->hidden++;
    strings_add(&l->seen, one);
}

static const char *list_end(struct term_list *l, const struct phrase_context *p)
{
    if (l->hidden)
        fprintf(l->out, " and %d more", l->hidden);
    fclose(l->out);
    const char *kept = strings_keep(p->pool, l->text);
    strings_release(&l->seen);
    free(l->text);
    return kept;
}

static const char *list_terms(const struct phrase_context *p, const struct form *form, enum form_clause clause,
                              term_fn *fn, const char *between)
{
    const struct form_list *list = &form->lists[clause];
    struct term_list l;

    list_start(&l, p, list->n);
    for (int i = 0; i < list->n; i++)
        list_add(&l, between, fn(p, form, &list->items[i]));
    return list_end(&l, p);
}

static const char *one_table(const struct phrase_context *p, const struct form *form, const struct form_term *t)
{
    (void)form;
    const char *answer = t->sub ? phrase_answer(p, t->sub->select) : NULL;
    return t->table >= 0 ? p->schema->tables[t->table].text
           : answer      ? strings_printf(p->pool, "a list of %s", answer)
                         : "a list made for this";
}

/* In a list of several items, loosely bound items have parentheses. */
static const char *one_operand(const struct phrase_context *p, const struct form *form, const struct form_term *t)
{
    struct phrase_words w = told(p, form->core, t->expr, false, false);
    return w.level == PHRASE_LOOSE && strpbrk(w.text, ",") ? strings_printf(p->pool, "(%s)", w.text) : w.text;
}

static const char *one_condition(const struct phrase_context *p, const struct form *form, const struct form_term *t)
{
    const char *text = told(p, form->core, t->expr, true, false).text;
    bool logic = t->expr->kind == SQL_EXPR_BINARY && (t->expr->op == SQL_AND || t->expr->op == SQL_OR);
    return logic ? strings_printf(p->pool, "(%s)", text) : text;
}

static const char *one_join(const struct phrase_context *p, const struct form *form, const struct form_term *t)
{
    return phrase_matching(p, form, t);
}

static const char *conditions(const struct phrase_context *p, const struct form *form, enum form_clause clause,
                              bool any)
{
    return list_terms(p, form, clause, one_condition, any ? " or " : " and ");
}

static bool any_aggregated(const struct form *form)
{
    const struct form_list *select = &form->lists[FORM_SELECT];

    for (int i = 0; i < select->n; i++)
        if (phrase_is_aggregated(select->items[i].expr))
            return true;
    return false;
}

const char *phrase_rows(const struct phrase_context *p, const struct sql_select *select)
{
    const struct form *form = form_find(p->store, select);
    struct phrase_scope scope = { select->cores, p->scope };
    struct phrase_context in = *p;

    if (!form || p->depth == PHRASE_DEPTH || form->next || form->limit || form->lists[FORM_GROUP].n ||
        !form->lists[FORM_FROM].n || form->lists[FORM_HAVING].n || any_aggregated(form))
        return NULL;
    in.depth++;
    in.brief = false;
    in.scope = &scope;
    const char *where = form->lists[FORM_WHERE].n ? conditions(&in, form, FORM_WHERE, form->any_where) : "";
    return strings_printf(p->pool, "row of %s%s%s", phrase_tables(&in, form), where[0] ? " where " : "", where);
}

/* Omits "the": "each month", not "each the month". */
static const char *one_group(const struct phrase_context *p, const struct form *form, const struct form_term *t)
{
    const char *text = one_operand(p, form, t);
    return text + (strncmp(text, "the ", 4) == 0 ? 4 : 0);
}

const char *phrase_direction(const struct phrase_context *p, const struct form_term *t)
{
    const char *empty = strstr(t->op, "nulls first")  ? ", empty ones before all"
                        : strstr(t->op, "nulls last") ? ", empty ones behind all"
                                                      : "";
    return strings_printf(p->pool, "the %s first%s", strncmp(t->op, "desc", 4) == 0 ? "largest" : "smallest", empty);
}

/* For a compound, combines the outputs of all its SELECTs. */
static const char *one_order(const struct phrase_context *p, const struct form *form, const struct form_term *t)
{
    int n, left = PHRASE_STEPS;
    struct phrase_context in = *p;

    in.left = p->left ? p->left : &left;
    bool output = form->next && sscanf(t->text, "output %d", &n) == 1;
    return strings_printf(p->pool, "%s, %s", output ? phrase_output(&in, form, n - 1).text : one_operand(p, form, t),
                          phrase_direction(p, t));
}

/* Number of columns of a table that outputs from i on list completely; else 0. */
static int whole_table(const struct phrase_context *p, const struct form_list *list, int i)
{
    int column = list->items[i].function[0] ? -1 : list->items[i].column;
    const struct schema_table *t = column < 0 ? NULL : &p->schema->tables[p->schema->columns[column].table];

    if (!t || column != t->first_column || t->n_columns > list->n - i)
        return 0;
    for (int k = 0; k < t->n_columns; k++)
        if (list->items[i + k].column != column + k || list->items[i + k].function[0])
            return 0;
    return t->n_columns;
}

/* "all 300 columns of t: a, b, c and 297 more" */
static const char *all_columns(const struct phrase_context *p, int first, int n)
{
    const struct schema_column *c = &p->schema->columns[first];
    const char *text = strings_printf(p->pool, "all %d columns of %s:", n, p->schema->tables[c->table].text);
    int shown = n < PHRASE_SHOWN ? n : PHRASE_SHOWN;

    for (int k = 0; k < shown; k++)
        text = strings_printf(p->pool, "%s%s %s", text, k ? "," : "", c[k].text);
    return n > shown ? strings_printf(p->pool, "%s and %d more", text, n - shown) : text;
}

const char *phrase_outputs(const struct phrase_context *p, const struct form *form)
{
    const struct form_list *list = &form->lists[FORM_SELECT];
    bool cut = list->n > PHRASE_LISTED && !p->exact;
    struct term_list l;
    int n = 0, size;

    for (int i = 0; i < list->n; i += size ? size : 1, n++)
        size = cut ? whole_table(p, list, i) : 0;
    list_start(&l, p, n);
    for (int i = 0; i < list->n; i += size ? size : 1) {
        size = cut ? whole_table(p, list, i) : 0;
        const char *one = size ? all_columns(p, list->items[i].column, size) : one_operand(p, form, &list->items[i]);
        list_add(&l, ", ", size && n > 1 ? strings_printf(p->pool, "(%s)", one) : one);
    }
    return list_end(&l, p);
}

const char *phrase_tables(const struct phrase_context *p, const struct form *form)
{
    return list_terms(p, form, FORM_FROM, one_table, " with ");
}

const char *phrase_groups(const struct phrase_context *p, const struct form *form)
{
    return list_terms(p, form, FORM_GROUP, one_group, " and ");
}

const char *phrase_limit(const struct phrase_context *p, const char *limit)
{
    const char *after = strstr(limit, " after "), *behind = after ? after + strlen(" after ") : "";
    int n = (int)(after ? after - limit : (long)strlen(limit));

    if (strspn(limit, "-0123456789") != (size_t)n || behind[strspn(behind, "0123456789")])
        return strings_printf(p->pool, "only the first \"%s\"", limit);
    if (after && limit[0] == '-')
        return strings_printf(p->pool, "all but the first %s", behind);
    if (after)
        return strings_printf(p->pool, "%.*s, leaving out the first %s", n, limit, behind);
    return strcmp(limit, "0") == 0   ? "none at all"
           : strcmp(limit, "1") == 0 ? "only the first one"
                                     : strings_printf(p->pool, "only the first %s", limit);
}

static const char *set_words(enum sql_set_op op)
{
    static const char *const ways[] = { "only the first result", "rows that are in either result, each once",
                                        "all rows of both results, repeats included",
                                        "rows of the first result that are not in the second",
                                        "rows that are in both results" };
    return ways[op];
}

const char *phrase_sets(const struct phrase_context *p, const struct form *form)
{
    const char *text = NULL;

    for (const struct form *arm = form->next; arm; arm = arm->next)
        text = text ? strings_printf(p->pool, "%s; then, with the next result: %s", text, set_words(arm->op))
                    : set_words(arm->op);
    return text ? text : set_words(SQL_FIRST_CORE);
}

/* Lists the clauses that restrict the rows. */
static const char *narrowed(const struct phrase_context *p, const struct form *form)
{
    const struct form_list *from = &form->lists[FORM_FROM];
    const char *text = "";

    for (int i = 0; i < from->n; i++) {
        const struct form *sub = from->items[i].sub;
        bool narrow =
            sub && (sub->lists[FORM_WHERE].n || sub->lists[FORM_GROUP].n || sub->limit || sub->next || sub->distinct);
        const char *answer = narrow ? phrase_answer(p, sub->select) : NULL;
        if (answer)
            text = strings_printf(p->pool, "%s; taken from a list of %s", text, answer);
    }
    return text;
}

/* Tells whether a word that precedes a table's name ends at `at`: "id of song", "the second song". */
static bool leads_to_table(const char *text, const char *at)
{
    static const char *const words[] = { " of ",     " from ",  " with ",   " first ",
                                         " second ", " third ", " fourth ", " fifth " };

    for (int i = 0; i < ARRAY_LEN(words); i++) {
        size_t n = strlen(words[i]);
        if ((size_t)(at - text) >= n && strncmp(at - n, words[i], n) == 0)
            return true;
    }
    return false;
}

/* Tells whether the name at `at` is this table's, and not the start of a longer word or name. */
static bool is_table_at(const struct schema *s, const char *at, const char *table)
{
    size_t n = strlen(table);

    if (element_name_letter(at[n]) || at[n] == '_')
        return false;
    for (int t = 0; t < s->n_tables; t++) {
        const char *other = s->tables[t].text;
        size_t size = strlen(other);
        if (size > n && strncmp(at, other, size) == 0 && !element_name_letter(at[size]))
            return false;
    }
    return true;
}

static bool names_table(const struct schema *s, const char *text, const char *table)
{
    for (const char *at = text; *table && (at = strstr(at, table)); at++)
        if ((leads_to_table(text, at) || strncmp(at + strlen(table), " in question", 12) == 0) &&
            is_table_at(s, at, table))
            return true;
    return false;
}

/* Names the tables that the phrase has not named: "; read from song". */
static const char *unnamed(const struct phrase_context *p, const struct form *form, const char *said)
{
    const struct form_list *from = &form->lists[FORM_FROM];
    const char *text = "";

    for (int i = 0; i < from->n; i++) {
        const char *table = from->items[i].table < 0 ? NULL : p->schema->tables[from->items[i].table].text;
        if (table && !names_table(p->schema, said, table) && !names_table(p->schema, text, table))
            text = strings_printf(p->pool, "%s%s%s", text, text[0] ? " with " : "; read from ", table);
    }
    return text;
}

static const char *narrowing(const struct phrase_context *p, const struct form *form)
{
    const struct form_list *where = &form->lists[FORM_WHERE], *having = &form->lists[FORM_HAVING];
    const char *text = "";

    if (p->exact && form->lists[FORM_JOIN].n)
        text = strings_printf(p->pool, "; matched where %s", list_terms(p, form, FORM_JOIN, one_join, " and "));
    if (where->n)
        text = strings_printf(p->pool, "%s; only where %s", text, conditions(p, form, FORM_WHERE, form->any_where));
    if (form->lists[FORM_GROUP].n)
        text = strings_printf(p->pool, "%s; one row for each %s", text, phrase_groups(p, form));
    if (having->n)
        text = strings_printf(p->pool, "%s; only if %s", text, conditions(p, form, FORM_HAVING, form->any_having));
    return text;
}

static const char *phrase_core(const struct phrase_context *p, const struct form *form)
{
    const char *head = strings_printf(p->pool, "show %s%s%s", phrase_outputs(p, form),
                                      form->distinct ? ", each different row once" : "", narrowed(p, form));
    const char *rest = narrowing(p, form);

    return strings_printf(p->pool, "%s%s%s", head, unnamed(p, form, strings_printf(p->pool, "%s%s", head, rest)), rest);
}

const char *phrase_query(const struct phrase_context *p, const struct form *form)
{
    struct phrase_scope scope = { form->core, p->scope };
    struct phrase_context in = *p;

    in.scope = &scope;
    const char *text = phrase_core(&in, form);
    for (const struct form *arm = form->next; arm; arm = arm->next) {
        scope.core = arm->core;
        text = strings_printf(p->pool, "%s; put together with: %s; keep %s", text, phrase_core(&in, arm),
                              set_words(arm->op));
    }
    scope.core = form->core;
    if (form->lists[FORM_ORDER].n)
        text =
            strings_printf(p->pool, "%s; sorted by %s", text, list_terms(&in, form, FORM_ORDER, one_order, ", then "));
    return form->limit ? strings_printf(p->pool, "%s; %s", text, phrase_limit(p, form->limit)) : text;
}

/* Start of the list item around `at`; for a long item, the start of the word. */
static size_t item_start(const char *text, size_t at)
{
    size_t word = at;

    while (word > 0 && text[word - 1] != ' ')
        word--;
    for (size_t i = word; i > 1 && at - i < 80; i--)
        if (text[i - 1] == ' ' && strchr(",;", text[i - 2]))
            return i;
    return at < 80 ? 0 : word;
}

const char *phrase_difference(const struct phrase_context *p, const char *a, const char *b)
{
    enum { SHOWN = 60 };
    size_t at = 0;

    while (a[at] && a[at] == b[at])
        at++;
    at = item_start(a, at);
    size_t n = strlen(a + at), shown = n < SHOWN ? n : SHOWN + strcspn(a + at + SHOWN, ",;");
    return strings_printf(p->pool, "%s%.*s%s", at ? "... " : "", (int)shown, a + at, shown < n ? " ..." : "");
}

const char *phrase_sql(const struct phrase_context *p, const struct form *form)
{
    struct sql_printer out = { 0 };

    sql_print_select(&out, form->select);
    const char *text = strings_printf(p->pool, "%.*s", (int)out.n, out.text);
    free(out.text);
    return text;
}
