#include "data/clarify/variables.h"

#include "data/clarify/phrase_impl.h"

#include <stdlib.h>
#include <string.h>

static const double telling = 0.5; /* bits that a variable should tell */
/* Seconds: to read the question, to read an option, an option of two things, a whole statement. */
static const double seconds = 4, per_option = 1.5, per_pair = 3, per_query = 6;

struct variable_builder {
    struct variables *v;
    const struct slots *slots;
    const struct belief *prior;
    double noise;
    int n; /* candidates */
    int cap;
};

static int *values_at(const struct variable_builder *b, int i)
{
    return b->v->values + (size_t)i * (size_t)b->n;
}

static void make_room(struct variable_builder *b)
{
    struct variables *v = b->v;

    if (v->n < b->cap)
        return;
    b->cap = b->cap ? 2 * b->cap : 16;
    v->list = xrealloc(v->list, (size_t)b->cap * sizeof *v->list);
    v->splits = xrealloc(v->splits, (size_t)b->cap * sizeof *v->splits);
    v->values = xrealloc(v->values, (size_t)b->cap * (size_t)b->n * sizeof *v->values);
}

/* The partition of a slot, numbered by first appearance; how many parts. */
static int number_values(int *value, const struct slot *s, int n)
{
    struct strings seen = { 0 };

    for (int i = 0; i < n; i++)
        value[i] = strings_add(&seen, s->values[i] ? s->values[i] : "\1"); /* which no SQL has: absent */
    int parts = seen.n;
    strings_release(&seen);
    return parts;
}

static int same_partition(const struct variable_builder *b, const int *value)
{
    for (int i = 0; i < b->v->n; i++)
        if (memcmp(values_at(b, i), value, (size_t)b->n * sizeof *value) == 0)
            return i;
    return -1;
}

/* Columns of one name are told apart by their tables; columns here and aggregates there, and nothing else, are a
 * stored aggregate. */
static enum face natural_face(const struct variable_builder *b, const struct slot *s)
{
    const struct schema_column *columns = b->slots->schema->columns;
    const struct form_term *first = s->terms[0];
    bool one_name = first && first->column >= 0, plain = false, aggregate = false, other = false;

    for (int i = 0; i < b->n; i++) {
        const struct form_term *t = s->terms[i];
        if (!t)
            return s->face;
        one_name = one_name && t->column >= 0 && strcmp(columns[t->column].text, columns[first->column].text) == 0;
        bool aggregated = t->function[0] || (s->face == FACE_COLUMN && phrase_is_aggregated(t->expr));
        plain = plain || (t->column >= 0 && !aggregated);
        aggregate = aggregate || aggregated;
        other = other || (t->column < 0 && !aggregated);
    }
    if (s->face == FACE_COLUMN && s->clause == SQL_SELECT && plain && aggregate && !other)
        return FACE_STORED;
    return s->face == FACE_COLUMN && one_name ? FACE_TABLE : s->face;
}

static void add_slot(struct variable_builder *b, const struct slot *s)
{
    struct variables *v = b->v;
    enum face face = natural_face(b, s);

    make_room(b);
    int *value = values_at(b, v->n), parts = number_values(value, s, b->n);
    int twin = same_partition(b, value);
    if (twin >= 0) {
        if (face < v->list[twin].face)
            v->list[twin] = (struct variable){ s->name, face, s->clause, s, NULL };
        return;
    }
    v->list[v->n] = (struct variable){ s->name, face, s->clause, s, NULL };
    v->splits[v->n] = (struct split){ NULL, parts, b->noise, seconds + per_option * parts, 0 };
    v->n++;
}

static double bits(const struct variable_builder *b, int i)
{
    double mass[BELIEF_MAX];
    struct split s = b->v->splits[i];

    s.value = values_at(b, i);
    belief_masses(mass, b->prior, &s);
    double sum = 1 - b->prior->reserve;
    for (int k = 0; k < s.n_values; k++)
        mass[k] /= sum;
    return entropy_of(mass, s.n_values);
}

/* The joint of two, when it tells enough and is not there yet. */
static void add_pair(struct variable_builder *b, int x, int y)
{
    struct variables *v = b->v;
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
    v->list[v->n] = (struct variable){ name, v->list[x].face, v->list[x].clause, v->list[x].slot, v->list[y].slot };
    v->n++;
}

static void add_pairs(struct variable_builder *b)
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

static void add_query(struct variable_builder *b)
{
    struct variables *v = b->v;

    make_room(b);
    for (int i = 0; i < b->n; i++)
        values_at(b, v->n)[i] = i;
    v->list[v->n] = (struct variable){ "query", FACE_QUERY, SQL_CLAUSES, NULL, NULL };
    v->splits[v->n] = (struct split){ NULL, b->n, b->noise, seconds + per_query * (b->n < 5 ? b->n : 5), 0 };
    v->n++;
}

struct placed_variable {
    struct variable variable;
    struct split split;
};

static int compare_places(const void *a, const void *b)
{
    const struct placed_variable *x = a, *y = b;
    bool last_x = x->variable.face == FACE_QUERY, last_y = y->variable.face == FACE_QUERY;

    if (last_x != last_y)
        return last_x ? 1 : -1;
    if (x->variable.clause != y->variable.clause)
        return x->variable.clause < y->variable.clause ? -1 : 1;
    return strcmp(x->variable.name, y->variable.name);
}

/* By clause, then by name. */
static void sort_variables(struct variable_builder *b)
{
    struct variables *v = b->v;
    struct placed_variable *places = xmalloc((size_t)v->n * sizeof *places);

    for (int i = 0; i < v->n; i++) {
        places[i] = (struct placed_variable){ v->list[i], v->splits[i] };
        places[i].split.value = values_at(b, i);
    }
    qsort(places, (size_t)v->n, sizeof *places, compare_places);
    for (int i = 0; i < v->n; i++) {
        v->list[i] = places[i].variable;
        v->splits[i] = places[i].split;
    }
    free(places);
}

void variables_build(struct variables *v, const struct slots *slots, const struct belief *prior, double noise)
{
    struct variable_builder b = { .v = v, .slots = slots, .prior = prior, .noise = noise, .n = prior->n };

    *v = (struct variables){ 0 };
    for (int i = 0; i < slots->n; i++)
        add_slot(&b, &slots->list[i]);
    add_pairs(&b);
    add_query(&b);
    sort_variables(&b);
}

void variables_release(struct variables *v)
{
    free(v->list);
    free(v->splits);
    free(v->values);
    strings_release(&v->pool);
    *v = (struct variables){ 0 };
}
