#include "data/clarify/slots.h"

#include "data/clarify/slot_align.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const char *face_name(enum face f)
{
    static const char *const names[] = {
        "output", "column",    "stored-aggregate", "table", "condition", "value", "operator",
        "logic",  "aggregate", "distinct",         "group", "join",      "sort",  "direction",
        "limit",  "set",       "sequence",         "query"
    };
    return names[f];
}

/* One query level: the same SELECT of each statement, NULL where there is none. */
struct level {
    struct slots *slots;
    const struct schema *schema;
    const struct form *const *forms;
    int n;
    const char *prefix;
    int clause; /* of the outermost query that holds it; -1 there itself */
};

static void read_query(const struct level *l);

static bool same_text(const char *a, const char *b)
{
    return a == b || (a && b && strcmp(a, b) == 0);
}

static bool differs(const char *const *values, int n)
{
    for (int i = 1; i < n; i++)
        if (!same_text(values[i], values[0]))
            return true;
    return false;
}

static bool name_taken(const struct slots *s, const char *name)
{
    for (int i = 0; i < s->n; i++)
        if (strcmp(s->list[i].name, name) == 0)
            return true;
    return false;
}

/* Copies values and terms; terms may be NULL.  Slots of one value are no slots. */
static void add_slot(const struct level *l, const char *name, enum face face, int clause, const char *const *values,
                     const struct form_term *const *terms)
{
    struct slots *s = l->slots;
    size_t bytes = (size_t)l->n * sizeof(void *);

    if (!differs(values, l->n) || s->n == SLOTS_MAX)
        return;
    GROW(s->list, s->n, s->cap);
    struct slot *slot = &s->list[s->n];
    const char *full = strings_printf(&s->pool, "%s%s", l->prefix, name);
    for (int k = 2; name_taken(s, full); k++)
        full = strings_printf(&s->pool, "%s%s (%d)", l->prefix, name, k);
    *slot = (struct slot){ .name = full, .face = face, .clause = l->clause < 0 ? clause : l->clause };
    slot->values = xmalloc(bytes + 1);
    slot->terms = xcalloc(1, bytes + 1);
    slot->forms = xmalloc(bytes + 1);
    memcpy(slot->values, values, bytes);
    memcpy(slot->forms, l->forms, bytes);
    if (terms)
        memcpy(slot->terms, terms, bytes);
    s->n++;
}

/* The SELECTs inside the terms of one place: when they differ, each of their places is a slot of its own. */
static bool read_inside(const struct level *l, const struct form_term *const *terms, const char *path, int clause)
{
    const struct form **subs = xcalloc((size_t)l->n + 1, sizeof *subs);
    const struct form *first = NULL;
    bool differ = false;

    for (int i = 0; i < l->n; i++) {
        subs[i] = terms[i] ? terms[i]->sub : NULL;
        first = first ? first : subs[i];
        differ = differ || (subs[i] && strcmp(subs[i]->text, first->text) != 0);
    }
    if (differ) {
        struct level inner = *l;
        inner.forms = subs;
        inner.prefix = strings_printf(&l->slots->pool, "%s%s/", l->prefix, path);
        inner.clause = l->clause < 0 ? clause : l->clause;
        read_query(&inner);
    }
    free(subs);
    return differ;
}

enum part { PART_HEAD, PART_FUNCTION, PART_OP, PART_VALUE };

/* One part of the terms at one place; what is inside a sub-query that has slots of its own does not count here. */
static void add_part(const struct level *l, const char *name, enum face face, int clause, enum part part,
                     const struct form_term *const *terms, bool inside)
{
    const char **values = xcalloc((size_t)l->n + 1, sizeof *values);

    for (int i = 0; i < l->n; i++) {
        const struct form_term *t = terms[i];
        if (!t)
            continue;
        const char *const parts[] = { t->head, t->function, t->op, t->value };
        bool hidden = inside && t->sub && (part == PART_VALUE || (part == PART_HEAD && !t->value[0]));
        values[i] = hidden ? "(query)" : parts[part];
    }
    add_slot(l, name, face, clause, values, terms);
    free(values);
}

static bool any_absent(const struct level *l, const struct form_term *const *terms)
{
    for (int i = 0; i < l->n; i++)
        if (!terms[i] && l->forms[i])
            return true;
    return false;
}

/* Where some have nothing, the term as a whole is the one slot: "none", "this one" or "that one".  False when all have
 * something. */
static bool add_optional(const struct level *l, const char *name, enum face face, int clause,
                         const struct form_term *const *terms, bool inside)
{
    const char **values = xcalloc((size_t)l->n + 1, sizeof *values);
    bool absent = any_absent(l, terms);

    for (int i = 0; i < l->n && absent; i++) {
        const struct form_term *t = terms[i];
        bool hidden = t && inside && t->sub;
        values[i] =
            hidden ? strings_printf(&l->slots->pool, "%s %s %s (query)", t->function, t->value[0] ? t->head : "", t->op)
            : t    ? t->text
                   : NULL;
    }
    if (absent)
        add_slot(l, name, face, clause, values, terms);
    free(values);
    return absent;
}

static const struct form_term *first_term(const struct level *l, const struct form_term *const *terms)
{
    for (int i = 0; i < l->n; i++)
        if (terms[i])
            return terms[i];
    return NULL;
}

static void align_clause(struct alignment *a, const struct level *l, enum form_clause clause)
{
    const struct form_list **lists = xcalloc((size_t)l->n + 1, sizeof *lists);

    for (int i = 0; i < l->n; i++)
        lists[i] = l->forms[i] ? &l->forms[i]->lists[clause] : NULL;
    align_terms(a, lists, l->n, l->schema);
    free(lists);
}

/* A whole clause as one value. */
typedef const char *whole_fn(struct slots *s, const struct form *form);
static void add_whole(const struct level *l, const char *name, enum face face, int clause, whole_fn *fn)
{
    const char **values = xcalloc((size_t)l->n + 1, sizeof *values);

    for (int i = 0; i < l->n; i++)
        values[i] = l->forms[i] ? fn(l->slots, l->forms[i]) : NULL;
    add_slot(l, name, face, clause, values, NULL);
    free(values);
}

static int compare_texts(const void *a, const void *b)
{
    const char *const *x = a, *const *y = b;
    return strcmp(*x, *y);
}

enum joining { IN_ORDER, SORTED, WITHOUT_QUERIES };

static const char *joined(struct slots *s, const struct form_list *list, enum joining how)
{
    const char **texts = xmalloc((size_t)list->n * sizeof *texts + 1);
    char *text = NULL;
    size_t size;
    FILE *out = open_memstream(&text, &size);

    CHECK(out, "out of memory");
    for (int i = 0; i < list->n; i++)
        texts[i] = how == WITHOUT_QUERIES && list->items[i].sub ? "(query)" : list->items[i].text;
    if (how == SORTED && list->n)
        qsort(texts, (size_t)list->n, sizeof *texts, compare_texts);
    for (int i = 0; i < list->n; i++)
        fprintf(out, "%s%s", i ? ", " : "", texts[i]);
    fclose(out);
    const char *kept = strings_keep(&s->pool, text);
    free(text);
    free(texts);
    return kept;
}

static const char *output_set(struct slots *s, const struct form *form)
{
    return joined(s, &form->lists[FORM_SELECT], SORTED);
}

static const char *output_order(struct slots *s, const struct form *form)
{
    return joined(s, &form->lists[FORM_SELECT], IN_ORDER);
}

static const char *distinct_of(struct slots *s, const struct form *form)
{
    (void)s;
    return form->distinct ? "distinct" : "all";
}

static const char *tables_of(struct slots *s, const struct form *form)
{
    return joined(s, &form->lists[FORM_FROM], WITHOUT_QUERIES);
}

static const char *group_of(struct slots *s, const struct form *form)
{
    return joined(s, &form->lists[FORM_GROUP], IN_ORDER);
}

static const char *where_logic(struct slots *s, const struct form *form)
{
    (void)s;
    return form->any_where ? "any" : "all";
}

static const char *having_logic(struct slots *s, const struct form *form)
{
    (void)s;
    return form->any_having ? "any" : "all";
}

static const char *limit_of(struct slots *s, const struct form *form)
{
    (void)s;
    return form->limit ? form->limit : "";
}

static const char *set_of(struct slots *s, const struct form *form)
{
    static const char *const ops[] = { "", "union", "union all", "except", "intersect" };
    const char *text = "";

    for (const struct form *arm = form->next; arm; arm = arm->next)
        text = strings_printf(&s->pool, "%s%s ", text, ops[arm->op]);
    return text;
}

static bool lengths_differ(const struct level *l, enum form_clause clause)
{
    int n = -1;

    for (int i = 0; i < l->n; i++) {
        if (l->forms[i] && n >= 0 && l->forms[i]->lists[clause].n != n)
            return true;
        if (l->forms[i])
            n = l->forms[i]->lists[clause].n;
    }
    return false;
}

static bool sets_differ(const struct level *l)
{
    const char *first = NULL;

    for (int i = 0; i < l->n; i++) {
        const char *set = l->forms[i] ? output_set(l->slots, l->forms[i]) : first;
        if (first && !same_text(set, first))
            return true;
        first = set;
    }
    return false;
}

static void read_outputs(const struct level *l)
{
    struct alignment a;

    if (lengths_differ(l, FORM_SELECT))
        add_whole(l, "sel.arity", FACE_OUTPUT, SQL_SELECT, output_set);
    else if (!sets_differ(l))
        add_whole(l, "sel.order", FACE_SEQUENCE, SQL_SELECT, output_order);
    add_whole(l, "sel.distinct", FACE_DISTINCT, SQL_SELECT, distinct_of);
    align_clause(&a, l, FORM_SELECT);
    for (int k = 0; k < a.n_places; k++) {
        const struct form_term *const *terms = a.terms + (size_t)k * (size_t)a.n;
        const char *name = strings_printf(&l->slots->pool, "sel#%d", k + 1);
        bool inside = read_inside(l, terms, name, SQL_SELECT);
        if (add_optional(l, name, FACE_COLUMN, SQL_SELECT, terms, inside))
            continue;
        add_part(l, name, FACE_COLUMN, SQL_SELECT, PART_HEAD, terms, inside);
        name = strings_printf(&l->slots->pool, "%s.agg", name);
        add_part(l, name, FACE_AGGREGATE, SQL_SELECT, PART_FUNCTION, terms, inside);
    }
    alignment_release(&a);
}

/* The k-th SELECT in FROM of each. */
static void read_derived(const struct level *l)
{
    const struct form_term **terms = xcalloc((size_t)l->n + 1, sizeof *terms);
    bool any = true;

    for (int k = 1; any; k++) {
        any = false;
        for (int i = 0; i < l->n; i++) {
            int left = k;
            terms[i] = NULL;
            for (int t = 0; l->forms[i] && t < l->forms[i]->lists[FORM_FROM].n && left; t++)
                if (l->forms[i]->lists[FORM_FROM].items[t].sub && --left == 0)
                    terms[i] = &l->forms[i]->lists[FORM_FROM].items[t];
            any = any || terms[i];
        }
        if (any)
            read_inside(l, terms, strings_printf(&l->slots->pool, "from(%d)", k), SQL_FROM);
    }
    free(terms);
}

static void read_joins(const struct level *l)
{
    struct alignment a;

    align_clause(&a, l, FORM_JOIN);
    for (int k = 0; k < a.n_places; k++) {
        const struct form_term *const *terms = a.terms + (size_t)k * (size_t)a.n;
        const char *name = strings_printf(&l->slots->pool, "join(%s)", first_term(l, terms)->head);
        if (add_optional(l, name, FACE_JOIN, SQL_FROM, terms, false))
            continue;
        add_part(l, name, FACE_JOIN, SQL_FROM, PART_OP, terms, false);
        add_part(l, strings_printf(&l->slots->pool, "%s.on", name), FACE_JOIN, SQL_FROM, PART_VALUE, terms, false);
    }
    alignment_release(&a);
}

static const char *subject_name(const struct level *l, const struct form_term *t)
{
    if (t->column >= 0)
        return l->schema->columns[t->column].name;
    return t->head[0] ? t->head : t->op;
}

/* "Which column is 'x'?": only the column differs. */
static bool columns_differ(const struct level *l, const struct form_term *const *terms)
{
    const struct form_term *first = first_term(l, terms);
    bool differ = false, rest = first->constant;

    for (int i = 0; i < l->n; i++) {
        if (!terms[i])
            continue;
        differ = differ || strcmp(terms[i]->head, first->head) != 0;
        rest = rest && strcmp(terms[i]->op, first->op) == 0 && strcmp(terms[i]->value, first->value) == 0;
    }
    return differ && rest;
}

static void read_condition(const struct level *l, const char *clause_name, int clause,
                           const struct form_term *const *terms)
{
    struct strings *pool = &l->slots->pool;
    const struct form_term *first = first_term(l, terms);
    const char *name = strings_printf(pool, "%s[%s]", clause_name, subject_name(l, first));
    bool inside = read_inside(l, terms, name, clause);
    const char *subject =
        columns_differ(l, terms) ? strings_printf(pool, "%s-col[%s,%s]", clause_name, first->op, first->value) : name;

    if (add_optional(l, name, FACE_CONDITION, clause, terms, inside))
        return;
    add_part(l, subject, FACE_COLUMN, clause, PART_HEAD, terms, inside);
    add_part(l, strings_printf(pool, "%s.agg", name), FACE_AGGREGATE, clause, PART_FUNCTION, terms, inside);
    add_part(l, strings_printf(pool, "%s.op", name), FACE_OPERATOR, clause, PART_OP, terms, inside);
    add_part(l, strings_printf(pool, "%s.val", name), FACE_VALUE, clause, PART_VALUE, terms, inside);
}

static void read_conditions(const struct level *l, enum form_clause which, const char *clause_name, int clause)
{
    struct alignment a;

    align_clause(&a, l, which);
    for (int k = 0; k < a.n_places; k++)
        read_condition(l, clause_name, clause, a.terms + (size_t)k * (size_t)a.n);
    alignment_release(&a);
}

static void read_order(const struct level *l)
{
    const struct form_term **terms = xcalloc((size_t)l->n + 1, sizeof *terms);
    struct strings *pool = &l->slots->pool;
    bool any = true;

    for (int k = 0; any; k++) {
        any = false;
        for (int i = 0; i < l->n; i++) {
            const struct form_list *list = l->forms[i] ? &l->forms[i]->lists[FORM_ORDER] : NULL;
            terms[i] = list && k < list->n ? &list->items[k] : NULL;
            any = any || terms[i];
        }
        if (!any)
            break;
        const char *name = strings_printf(pool, "order#%d", k + 1);
        if (add_optional(l, name, FACE_SORT, SQL_ORDER, terms, false))
            continue;
        add_part(l, strings_printf(pool, "%s.expr", name), FACE_SORT, SQL_ORDER, PART_HEAD, terms, false);
        add_part(l, strings_printf(pool, "%s.agg", name), FACE_SORT, SQL_ORDER, PART_FUNCTION, terms, false);
        add_part(l, strings_printf(pool, "%s.dir", name), FACE_DIRECTION, SQL_ORDER, PART_OP, terms, false);
    }
    free(terms);
}

/* Everything of one SELECT. */
static void read_level(const struct level *l)
{
    read_outputs(l);
    add_whole(l, "from", FACE_TABLE, SQL_FROM, tables_of);
    read_derived(l);
    read_joins(l);
    read_conditions(l, FORM_WHERE, "where", SQL_WHERE);
    add_whole(l, "where.logic", FACE_LOGIC, SQL_WHERE, where_logic);
    add_whole(l, "group", FACE_GROUP, SQL_GROUP, group_of);
    read_conditions(l, FORM_HAVING, "having", SQL_HAVING);
    add_whole(l, "having.logic", FACE_LOGIC, SQL_HAVING, having_logic);
    read_order(l);
    add_whole(l, "limit", FACE_LIMIT, SQL_LIMIT, limit_of);
}

/* The SELECTs behind the first set operation, one after the other. */
static void read_arms(const struct level *l)
{
    const struct form **arms = xcalloc((size_t)l->n + 1, sizeof *arms);
    bool any = true;

    memcpy(arms, l->forms, (size_t)l->n * sizeof *arms);
    for (int k = 2; any; k++) {
        any = false;
        for (int i = 0; i < l->n; i++) {
            arms[i] = arms[i] ? arms[i]->next : NULL;
            any = any || arms[i];
        }
        struct level arm = *l;
        arm.forms = arms;
        arm.prefix = strings_printf(&l->slots->pool, "%sarm%d/", l->prefix, k);
        arm.clause = l->clause < 0 ? SQL_CLAUSES : l->clause;
        if (any)
            read_level(&arm);
    }
    free(arms);
}

static void read_query(const struct level *l)
{
    read_level(l);
    add_whole(l, "setop", FACE_SET, SQL_CLAUSES, set_of);
    read_arms(l);
}

void slots_extract(struct slots *s, const struct form *const *forms, int n, const struct schema *schema)
{
    *s = (struct slots){ .n_candidates = n, .schema = schema };
    read_query(&(struct level){ s, schema, forms, n, "", -1 });
}

void slots_release(struct slots *s)
{
    for (int i = 0; i < s->n; i++) {
        free(s->list[i].values);
        free(s->list[i].terms);
        free(s->list[i].forms);
    }
    free(s->list);
    strings_release(&s->pool);
    *s = (struct slots){ 0 };
}
