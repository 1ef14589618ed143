#include "data/clarify/slot_align.h"

#include "data/schema/element_name.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MATCH_MAX = 96, VARIANTS = 6 }; /* larger remainders are matched in order; terms of a place that are looked at */
static const double one_subject = 0.3, alike = 0.5, unlike = 1, without = 0.8;

/* The Hungarian method with potentials: rows enter one by one along the shortest augmenting path. */
struct assignment {
    const double *cost;
    int n;
    double *row, *column, *slack; /* potentials, and what each column lacks; all count from 1 */
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
    int *place_of; /* [list->n], -1 when not known yet */
    bool *taken;   /* by place */
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

/* No match costs less than an equal one, so those come first. */
static void match_equal(struct aligner *w)
{
    for (int t = 0; t < w->list->n; t++)
        for (int k = 0; k < w->a->n_places && w->place_of[t] < 0; k++)
            if (!w->taken[k] && place_cost(w, &w->list->items[t], k) <= 0) {
                w->place_of[t] = k;
                w->taken[k] = true;
            }
}

/* The terms and places left over; a term beyond the terms, or a place beyond the places, stands for "without". */
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
