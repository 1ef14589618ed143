#include "data/clarify/attributes.h"

#include "data/clarify/phrase_expr.h"
#include "data/schema/element_name.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    MATCH_MAX = 96,
    VARIANTS = 6
}; /* maximum: remainder for the Hungarian method, larger ones are matched in order; terms of a place that are compared
    */

static const double one_subject = 0.3, alike = 0.5, unlike = 1, without = 0.8;

/* The Hungarian method with potentials: rows are added one by one along the shortest augmenting path. */
struct assignment {
    const double *cost;
    int n;
    double *row, *column, *slack; /* potentials and slack, from index 1 */
    int *row_of, *before;         /* of each column */
    bool *used;
};

static int nearest_column(struct assignment *a, int at)
{
    double least = INFINITY;
    int next = 0;

    for (int j = 1; j <= a->n; j++) {
        if (a->used[j])
            continue;
        double c = a->cost[(a->row_of[at] - 1) * a->n + j - 1] - a->row[a->row_of[at]] - a->column[j];
        if (c < a->slack[j]) {
            a->slack[j] = c;
            a->before[j] = at;
        }
        if (a->slack[j] < least) {
            least = a->slack[j];
            next = j;
        }
    }
    for (int j = 0; j <= a->n; j++) {
        if (a->used[j]) {
            a->row[a->row_of[j]] += least;
            a->column[j] -= least;
        } else {
            a->slack[j] -= least;
        }
    }
    return next;
}

static void enter_row(struct assignment *a, int row)
{
    int at = 0;

    a->row_of[0] = row;
    for (int j = 0; j <= a->n; j++) {
        a->slack[j] = INFINITY;
        a->used[j] = false;
    }
    do {
        a->used[at] = true;
        at = nearest_column(a, at);
    } while (a->row_of[at]);
    for (; at; at = a->before[at])
        a->row_of[at] = a->row_of[a->before[at]];
}

void assign_least_cost(int *column_of, const double *cost, int n)
{
    size_t size = (size_t)n + 1;
    double *numbers = xcalloc(3 * size, sizeof *numbers);
    int *links = xcalloc(2 * size, sizeof *links);
    bool *used = xcalloc(size, sizeof *used);
    struct assignment a = { cost, n, numbers, numbers + size, numbers + 2 * size, links, links + size, used };

    for (int row = 1; row <= n; row++)
        enter_row(&a, row);
    for (int j = 1; j <= n; j++)
        column_of[a.row_of[j] - 1] = j - 1;
    free(numbers);
    free(links);
    free(used);
}

static bool like_columns(const struct schema *s, int a, int b)
{
    struct element_name x, y;

    if (a < 0 || b < 0 || s->columns[a].type != s->columns[b].type)
        return false;
    element_name_read(&x, s->columns[a].text);
    element_name_read(&y, s->columns[b].text);
    struct name_similarity like = element_name_compare(&x, &y);
    return like.words >= 0.5F || like.trigrams >= 0.5F || like.contains > 0;
}

static double term_cost(const struct form_term *a, const struct form_term *b, const struct schema *s)
{
    if (strcmp(a->text, b->text) == 0)
        return 0;
    if (strcmp(a->head, b->head) == 0)
        return one_subject;
    bool condition = a->op[0] && a->value[0];
    if (condition && strcmp(a->op, b->op) == 0 && strcmp(a->value, b->value) == 0)
        return alike;
    return like_columns(s, a->column, b->column) ? alike : unlike;
}

struct aligner {
    struct alignment *a;
    const struct schema *schema;
    int candidate;
    const struct form_list *list;
    int *place_of; /* [list->n]; -1: not matched yet */
    bool *taken;   /* [places] */
};

static double place_cost(const struct aligner *w, const struct form_term *t, int place)
{
    const struct form_term *const *terms = w->a->terms + (size_t)place * (size_t)w->a->n;
    double least = INFINITY;
    int seen = 0;

    for (int i = 0; i < w->candidate && seen < VARIANTS && least > 0; i++) {
        bool again = i && terms[i] && terms[i - 1] && strcmp(terms[i]->text, terms[i - 1]->text) == 0;
        if (!terms[i] || again)
            continue;
        least = fmin(least, term_cost(t, terms[i], w->schema));
        seen++;
    }
    return least;
}

/* Matches equal terms first, since no other match costs less. */
static void match_equal(struct aligner *w)
{
    for (int t = 0; t < w->list->n; t++)
        for (int k = 0; k < w->a->n_places && w->place_of[t] < 0; k++)
            if (!w->taken[k] && place_cost(w, &w->list->items[t], k) <= 0) {
                w->place_of[t] = k;
                w->taken[k] = true;
            }
}

/* Matches the remaining terms and places.  An index beyond the terms or the places stands for no match. */
static void match_rest(struct aligner *w, const int *terms, int n_terms, const int *places, int n_places)
{
    int n = n_terms + n_places, column_of[MATCH_MAX];
    double *cost = xcalloc((size_t)n * (size_t)n + 1, sizeof *cost);

    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++)
            cost[i * n + j] = i < n_terms && j < n_places   ? place_cost(w, &w->list->items[terms[i]], places[j])
                              : i < n_terms || j < n_places ? without
                                                            : 0;
    assign_least_cost(column_of, cost, n);
    for (int i = 0; i < n_terms; i++)
        if (column_of[i] < n_places)
            w->place_of[terms[i]] = places[column_of[i]];
    free(cost);
}

static void match_different(struct aligner *w)
{
    int *terms = xmalloc((size_t)w->list->n * sizeof *terms + 1), n_terms = 0, n_places = 0;
    int *places = xmalloc((size_t)w->a->n_places * sizeof *places + 1);

    for (int t = 0; t < w->list->n; t++)
        if (w->place_of[t] < 0)
            terms[n_terms++] = t;
    for (int k = 0; k < w->a->n_places; k++)
        if (!w->taken[k])
            places[n_places++] = k;
    if (n_terms + n_places <= MATCH_MAX)
        match_rest(w, terms, n_terms, places, n_places);
    else
        for (int i = 0; i < n_terms && i < n_places; i++)
            w->place_of[terms[i]] = places[i];
    free(terms);
    free(places);
}

static void put_terms(struct aligner *w)
{
    struct alignment *a = w->a;

    for (int t = 0; t < w->list->n; t++) {
        int place = w->place_of[t];
        if (place < 0) {
            if (a->n_places == a->cap) {
                a->cap = a->cap ? 2 * a->cap : 8;
                a->terms = xrealloc(a->terms, (size_t)a->cap * (size_t)a->n * sizeof *a->terms);
            }
            place = a->n_places++;
            memset(a->terms + (size_t)place * (size_t)a->n, 0, (size_t)a->n * sizeof *a->terms);
        }
        a->terms[(size_t)place * (size_t)a->n + (size_t)w->candidate] = &w->list->items[t];
    }
}

void align_terms(struct alignment *a, const struct form_list *const *lists, int n, const struct schema *schema)
{
    *a = (struct alignment){ .n = n };
    for (int i = 0; i < n; i++) {
        if (!lists[i] || lists[i]->n == 0)
            continue;
        struct aligner w = { a, schema, i, lists[i], NULL, NULL };
        w.place_of = xmalloc((size_t)lists[i]->n * sizeof *w.place_of);
        w.taken = xcalloc((size_t)a->n_places + 1, sizeof *w.taken);
        for (int t = 0; t < lists[i]->n; t++)
            w.place_of[t] = -1;
        match_equal(&w);
        match_different(&w);
        put_terms(&w);
        free(w.place_of);
        free(w.taken);
    }
}

void alignment_release(struct alignment *a)
{
    free(a->terms);
    *a = (struct alignment){ 0 };
}

const char *question_type_name(enum question_type f)
{
    static const char *const names[] = {
        "output", "column",    "stored-aggregate", "table", "condition", "value", "operator",
        "logic",  "aggregate", "distinct",         "group", "join",      "sort",  "direction",
        "limit",  "set",       "sequence",         "query"
    };
    return names[f];
}

/* One level of a query: the corresponding SELECT of each statement, or NULL. */
struct level {
    struct slots *slots;
    const struct schema *schema;
    const struct form *const *forms;
    int n;
    const char *prefix;
    int clause; /* clause in the outermost query; -1 for that query itself */
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

/* Adds a slot unless all values are equal.  Copies values and terms; terms may be NULL. */
static void add_slot(const struct level *l, const char *name, enum question_type type, int clause,
                     const char *const *values, const struct form_term *const *terms)
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
    *slot = (struct slot){ .name = full, .type = type, .clause = l->clause < 0 ? clause : l->clause };
    slot->values = xmalloc(bytes + 1);
    slot->terms = xcalloc(1, bytes + 1);
    slot->forms = xmalloc(bytes + 1);
    memcpy(slot->values, values, bytes);
    memcpy(slot->forms, l->forms, bytes);
    if (terms)
        memcpy(slot->terms, terms, bytes);
    s->n++;
}

/* Reads the SELECTs inside the terms of a place.  Returns whether they differ; their places are then slots. */
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

/* Adds a slot for one part of the terms at a place.  A sub-query with slots of its own is ignored. */
static void add_part(const struct level *l, const char *name, enum question_type type, int clause, enum part part,
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
    add_slot(l, name, type, clause, values, terms);
    free(values);
}

static bool any_absent(const struct level *l, const struct form_term *const *terms)
{
    for (int i = 0; i < l->n; i++)
        if (!terms[i] && l->forms[i])
            return true;
    return false;
}

/* Adds the whole term as a slot if some statements have no term at the place.  Returns whether it did. */
static bool add_optional(const struct level *l, const char *name, enum question_type type, int clause,
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
        add_slot(l, name, type, clause, values, terms);
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

/* Adds a slot whose values are whole clauses. */
typedef const char *whole_fn(struct slots *s, const struct form *form);

static void add_whole(const struct level *l, const char *name, enum question_type type, int clause, whole_fn *fn)
{
    const char **values = xcalloc((size_t)l->n + 1, sizeof *values);

    for (int i = 0; i < l->n; i++)
        values[i] = l->forms[i] ? fn(l->slots, l->forms[i]) : NULL;
    add_slot(l, name, type, clause, values, NULL);
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
        add_whole(l, "sel.arity", QUESTION_OUTPUT, SQL_SELECT, output_set);
    else if (!sets_differ(l))
        add_whole(l, "sel.order", QUESTION_SEQUENCE, SQL_SELECT, output_order);
    add_whole(l, "sel.distinct", QUESTION_DISTINCT, SQL_SELECT, distinct_of);
    align_clause(&a, l, FORM_SELECT);
    for (int k = 0; k < a.n_places; k++) {
        const struct form_term *const *terms = a.terms + (size_t)k * (size_t)a.n;
        const char *name = strings_printf(&l->slots->pool, "sel#%d", k + 1);
        bool inside = read_inside(l, terms, name, SQL_SELECT);
        if (add_optional(l, name, QUESTION_COLUMN, SQL_SELECT, terms, inside))
            continue;
        add_part(l, name, QUESTION_COLUMN, SQL_SELECT, PART_HEAD, terms, inside);
        name = strings_printf(&l->slots->pool, "%s.agg", name);
        add_part(l, name, QUESTION_AGGREGATE, SQL_SELECT, PART_FUNCTION, terms, inside);
    }
    alignment_release(&a);
}

/* Reads the k-th SELECT in FROM of each statement. */
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
        if (add_optional(l, name, QUESTION_JOIN, SQL_FROM, terms, false))
            continue;
        add_part(l, name, QUESTION_JOIN, SQL_FROM, PART_OP, terms, false);
        add_part(l, strings_printf(&l->slots->pool, "%s.on", name), QUESTION_JOIN, SQL_FROM, PART_VALUE, terms, false);
    }
    alignment_release(&a);
}

static const char *subject_name(const struct level *l, const struct form_term *t)
{
    if (t->column >= 0)
        return l->schema->columns[t->column].name;
    return t->head[0] ? t->head : t->op;
}

/* Tells whether the conditions differ only in their column. */
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

    if (add_optional(l, name, QUESTION_CONDITION, clause, terms, inside))
        return;
    add_part(l, subject, QUESTION_COLUMN, clause, PART_HEAD, terms, inside);
    add_part(l, strings_printf(pool, "%s.agg", name), QUESTION_AGGREGATE, clause, PART_FUNCTION, terms, inside);
    add_part(l, strings_printf(pool, "%s.op", name), QUESTION_OPERATOR, clause, PART_OP, terms, inside);
    add_part(l, strings_printf(pool, "%s.val", name), QUESTION_VALUE, clause, PART_VALUE, terms, inside);
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
        if (add_optional(l, name, QUESTION_SORT, SQL_ORDER, terms, false))
            continue;
        add_part(l, strings_printf(pool, "%s.expr", name), QUESTION_SORT, SQL_ORDER, PART_HEAD, terms, false);
        add_part(l, strings_printf(pool, "%s.agg", name), QUESTION_SORT, SQL_ORDER, PART_FUNCTION, terms, false);
        add_part(l, strings_printf(pool, "%s.dir", name), QUESTION_DIRECTION, SQL_ORDER, PART_OP, terms, false);
    }
    free(terms);
}

/* Reads all clauses of a SELECT. */
static void read_level(const struct level *l)
{
    read_outputs(l);
    add_whole(l, "from", QUESTION_TABLE, SQL_FROM, tables_of);
    read_derived(l);
    read_joins(l);
    read_conditions(l, FORM_WHERE, "where", SQL_WHERE);
    add_whole(l, "where.logic", QUESTION_LOGIC, SQL_WHERE, where_logic);
    add_whole(l, "group", QUESTION_GROUP, SQL_GROUP, group_of);
    read_conditions(l, FORM_HAVING, "having", SQL_HAVING);
    add_whole(l, "having.logic", QUESTION_LOGIC, SQL_HAVING, having_logic);
    read_order(l);
    add_whole(l, "limit", QUESTION_LIMIT, SQL_LIMIT, limit_of);
}

/* Reads the SELECTs after the first set operation, one after the other. */
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
    add_whole(l, "setop", QUESTION_SET, SQL_CLAUSES, set_of);
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

static const double telling = 0.5; /* bits of information that an attribute should have */

/* Seconds to read a question, an option, an option of a pair, and a whole statement. */
static const double seconds = 4, per_option = 1.5, per_pair = 3, per_query = 6;

struct attribute_builder {
    struct attributes *v;
    const struct slots *slots;
    const struct posterior *prior;
    double noise;
    int n; /* candidates */
    int cap;
};

static int *values_at(const struct attribute_builder *b, int i)
{
    return b->v->values + (size_t)i * (size_t)b->n;
}

static void make_room(struct attribute_builder *b)
{
    struct attributes *v = b->v;

    if (v->n < b->cap)
        return;
    b->cap = b->cap ? 2 * b->cap : 16;
    v->list = xrealloc(v->list, (size_t)b->cap * sizeof *v->list);
    v->splits = xrealloc(v->splits, (size_t)b->cap * sizeof *v->splits);
    v->values = xrealloc(v->values, (size_t)b->cap * (size_t)b->n * sizeof *v->values);
}

/* Numbers the values of a slot by first appearance.  Returns how many there are. */
static int number_values(int *value, const struct slot *s, int n)
{
    struct strings seen = { 0 };

    for (int i = 0; i < n; i++)
        value[i] = strings_add(&seen, s->values[i] ? s->values[i] : "\1"); /* absent; no SQL has this text */
    int parts = seen.n;
    strings_release(&seen);
    return parts;
}

static int same_partition(const struct attribute_builder *b, const int *value)
{
    for (int i = 0; i < b->v->n; i++)
        if (memcmp(values_at(b, i), value, (size_t)b->n * sizeof *value) == 0)
            return i;
    return -1;
}

/* Columns of the same name differ in their table.  Plain columns beside aggregates make a stored aggregate. */
static enum question_type natural_type(const struct attribute_builder *b, const struct slot *s)
{
    const struct schema_column *columns = b->slots->schema->columns;
    const struct form_term *first = s->terms[0];
    bool one_name = first && first->column >= 0, plain = false, aggregate = false, other = false;

    for (int i = 0; i < b->n; i++) {
        const struct form_term *t = s->terms[i];
        if (!t)
            return s->type;
        one_name = one_name && t->column >= 0 && strcmp(columns[t->column].text, columns[first->column].text) == 0;
        bool aggregated = t->function[0] || (s->type == QUESTION_COLUMN && phrase_is_aggregated(t->expr));
        plain = plain || (t->column >= 0 && !aggregated);
        aggregate = aggregate || aggregated;
        other = other || (t->column < 0 && !aggregated);
    }
    if (s->type == QUESTION_COLUMN && s->clause == SQL_SELECT && plain && aggregate && !other)
        return QUESTION_STORED;
    return s->type == QUESTION_COLUMN && one_name ? QUESTION_TABLE : s->type;
}

static void add_attribute(struct attribute_builder *b, const struct slot *s)
{
    struct attributes *v = b->v;
    enum question_type type = natural_type(b, s);

    make_room(b);
    int *value = values_at(b, v->n), parts = number_values(value, s, b->n);
    int twin = same_partition(b, value);
    if (twin >= 0) {
        if (type < v->list[twin].type)
            v->list[twin] = (struct attribute){ s->name, type, s->clause, s, NULL };
        return;
    }
    v->list[v->n] = (struct attribute){ s->name, type, s->clause, s, NULL };
    v->splits[v->n] = (struct split){ NULL, parts, b->noise, seconds + per_option * parts, 0 };
    v->n++;
}

static double bits(const struct attribute_builder *b, int i)
{
    double mass[POSTERIOR_MAX];
    struct split s = b->v->splits[i];

    s.value = values_at(b, i);
    posterior_masses(mass, b->prior, &s);
    double sum = 1 - b->prior->p_none;
    for (int k = 0; k < s.n_values; k++)
        mass[k] /= sum;
    return entropy_of(mass, s.n_values);
}

/* Adds a pair if it has enough information and is new. */
static void add_pair(struct attribute_builder *b, int x, int y)
{
    struct attributes *v = b->v;
    int parts = 0, *first = xmalloc((size_t)b->n * sizeof *first);

    make_room(b);
    int *value = values_at(b, v->n);
    const int *left = values_at(b, x), *right = values_at(b, y);
    for (int i = 0; i < b->n; i++) {
        int k = 0;
        while (k < parts && (left[first[k]] != left[i] || right[first[k]] != right[i]))
            k++;
        if (k == parts)
            first[parts++] = i;
        value[i] = k;
    }
    free(first);
    v->splits[v->n] = (struct split){ NULL, parts, b->noise, seconds + per_pair * parts, 0 };
    if (same_partition(b, value) >= 0 || bits(b, v->n) < telling)
        return;
    const char *name = strings_printf(&v->pool, "%s + %s", v->list[x].name, v->list[y].name);
    v->list[v->n] = (struct attribute){ name, v->list[x].type, v->list[x].clause, v->list[x].slot, v->list[y].slot };
    v->n++;
}

static void add_pairs(struct attribute_builder *b)
{
    int n = b->v->n;

    for (int i = 0; i < n; i++)
        if (bits(b, i) >= telling)
            return;
    for (int i = 0; i < n; i++)
        for (int j = i + 1; j < n && b->v->n < SLOTS_MAX; j++)
            if (b->v->list[i].clause == b->v->list[j].clause)
                add_pair(b, i, j);
}

static void add_query(struct attribute_builder *b)
{
    struct attributes *v = b->v;

    make_room(b);
    for (int i = 0; i < b->n; i++)
        values_at(b, v->n)[i] = i;
    v->list[v->n] = (struct attribute){ "query", QUESTION_QUERY, SQL_CLAUSES, NULL, NULL };
    v->splits[v->n] = (struct split){ NULL, b->n, b->noise, seconds + per_query * (b->n < 5 ? b->n : 5), 0 };
    v->n++;
}

struct placed_attribute {
    struct attribute attribute;
    struct split split;
};

static int compare_places(const void *a, const void *b)
{
    const struct placed_attribute *x = a, *y = b;
    bool last_x = x->attribute.type == QUESTION_QUERY, last_y = y->attribute.type == QUESTION_QUERY;

    if (last_x != last_y)
        return last_x ? 1 : -1;
    if (x->attribute.clause != y->attribute.clause)
        return x->attribute.clause < y->attribute.clause ? -1 : 1;
    return strcmp(x->attribute.name, y->attribute.name);
}

/* Sorts by clause, then by name. */
static void sort_attributes(struct attribute_builder *b)
{
    struct attributes *v = b->v;
    struct placed_attribute *places = xmalloc((size_t)v->n * sizeof *places);

    for (int i = 0; i < v->n; i++) {
        places[i] = (struct placed_attribute){ v->list[i], v->splits[i] };
        places[i].split.value = values_at(b, i);
    }
    qsort(places, (size_t)v->n, sizeof *places, compare_places);
    for (int i = 0; i < v->n; i++) {
        v->list[i] = places[i].attribute;
        v->splits[i] = places[i].split;
    }
    free(places);
}

void attributes_build(struct attributes *v, const struct slots *slots, const struct posterior *prior, double noise)
{
    struct attribute_builder b = { .v = v, .slots = slots, .prior = prior, .noise = noise, .n = prior->n };

    *v = (struct attributes){ 0 };
    for (int i = 0; i < slots->n; i++)
        add_attribute(&b, &slots->list[i]);
    add_pairs(&b);
    add_query(&b);
    sort_attributes(&b);
}

void attributes_release(struct attributes *v)
{
    free(v->list);
    free(v->splits);
    free(v->values);
    strings_release(&v->pool);
    *v = (struct attributes){ 0 };
}
