#include "infer/clarify/recall.h"

#include <stdlib.h>
#include <string.h>

/* Reads the choice of an attribute.  Returns false if nothing can be remembered about it. */
static bool read_choice(struct question_choice *choice, struct clarify_case *c, const struct question_view *view)
{
    const struct question_context context = clarify_question_context(c);

    question_choice_read(choice, &context, view, c->question);
    return choice->words[0] != '\0';
}

static struct choice_options options_of(const struct clarify_case *c, const struct question_choice *choice)
{
    return (struct choice_options){ c->schema->db_id, choice->words, choice->meant, choice->n };
}

/* Tells whether no other value of the attribute has this name. */
static bool is_unique(const struct question_choice *choice, int value)
{
    int n = 0;

    for (int i = 0; i < choice->n; i++)
        n += choice->meant[i] && strcmp(choice->meant[i], choice->meant[value]) == 0;
    return n == 1;
}

/* Writes the probability of each value, which sum to 1, to p [n values]. */
static void masses_of(double *p, const struct clarify_case *c, int attribute)
{
    posterior_masses(p, &c->prior, &c->attributes.splits[attribute]);
    for (int k = 0; k < c->attributes.splits[attribute].n_values; k++)
        p[k] /= 1 - c->prior.p_none;
}

static bool same_field(const json_t *a, const json_t *b, const char *field)
{
    return json_equal(json_object_get(a, field), json_object_get(b, field));
}

void recall_append(json_t *list, json_t *item)
{
    json_t *other;
    size_t i;

    json_array_foreach(list, i, other)
    {
        if (same_field(item, other, "words") && same_field(item, other, "meant"))
            return;
    }
    json_array_append(list, item);
}

static void add_recalled(struct clarify_case *c, const struct remembered_choice *found, double p)
{
    json_t *item = remembered_choice_json(found);

    json_object_set_new(item, "probability", clarify_rounded(p));
    recall_append(c->recalled, item);
    json_decref(item);
}

/* Hashes the words and the name that each candidate has. */
static uint64_t hash_of(const struct clarify_case *c, const struct question_choice *choice, const int *value)
{
    uint64_t h = hash_bytes(HASH_START, choice->words, strlen(choice->words));

    for (int i = 0; i < c->prior.n; i++) {
        const char *name = choice->meant[value[i]] ? choice->meant[value[i]] : "";
        h = hash_bytes(h, name, strlen(name) + 1);
    }
    return h;
}

/* Choices that were weighed. */
struct weighed_choices {
    uint64_t *hashes;
    int n, cap;
};

/* Notes a choice.  Returns false if another attribute divides the candidates by it in the same way. */
static bool is_new(struct weighed_choices *w, uint64_t hash)
{
    for (int i = 0; i < w->n; i++)
        if (w->hashes[i] == hash)
            return false;
    GROW(w->hashes, w->n, w->cap);
    w->hashes[w->n++] = hash;
    return true;
}

/* Lists a choice that is sure with the memory and was not before.  Returns false if there is none. */
static bool find_sure(struct clarify_case *c, const struct choice_memory *m, const struct question_choice *choice,
                      const double *was, const double *p)
{
    const struct choice_options options = options_of(c, choice);

    for (int k = 0; k < choice->n; k++) {
        const struct remembered_choice *found = choice_memory_find(m, &options, k);
        if (found && p[k] >= CHOICE_SURE && was[k] < CHOICE_SURE && is_unique(choice, k)) {
            add_recalled(c, found, p[k]);
            return true;
        }
    }
    return false;
}

static bool weigh_attribute(struct clarify_case *c, const struct choice_memory *m, int attribute,
                            struct weighed_choices *w)
{
    const int *value = c->attributes.splits[attribute].value;
    double was[CHOICE_OPTIONS_MAX], p[CHOICE_OPTIONS_MAX];
    struct question_choice choice;
    struct question_view view;

    if (!dialogue_view(&c->dialogue, attribute, &view) || !read_choice(&choice, c, &view) ||
        !is_new(w, hash_of(c, &choice, value)))
        return false;
    const struct choice_options options = options_of(c, &choice);
    masses_of(was, c, attribute);
    memcpy(p, was, sizeof p);
    if (!choice_memory_weigh(p, m, &options) || find_sure(c, m, &choice, was, p))
        return false;
    for (int i = 0; i < c->prior.n; i++)
        c->p[i] *= was[value[i]] > 0 ? p[value[i]] / was[value[i]] : 0;
    return true;
}

bool recall_weigh(struct clarify_case *c, const struct choice_memory *m)
{
    struct weighed_choices w = { 0 };
    bool changed = false;

    for (int v = 0; v < c->attributes.n && c->prior.p_none < 1; v++)
        changed |= weigh_attribute(c, m, v, &w);
    free(w.hashes);
    return changed;
}

/* Value that a recalled choice names, or -1. */
static int value_of(const struct question_choice *choice, const json_t *item)
{
    const char *words = json_string_value(json_object_get(item, "words"));
    const char *meant = json_string_value(json_object_get(item, "meant"));

    for (int k = 0; k < choice->n && strcmp(words, choice->words) == 0; k++)
        if (choice->meant[k] && strcmp(choice->meant[k], meant) == 0 && is_unique(choice, k))
            return k;
    return -1;
}

json_t *recall_at(struct clarify_case *c, int attribute, struct question_view *view, int *option)
{
    struct question_choice choice;
    json_t *item;
    size_t i;

    if (!json_array_size(c->recalled) || !dialogue_view(&c->dialogue, attribute, view) ||
        !read_choice(&choice, c, view))
        return NULL;
    json_array_foreach(c->recalled, i, item)
    {
        int value = value_of(&choice, item);
        *option = value < 0 ? -1 : question_view_option(view, value);
        if (*option >= 0)
            return item;
    }
    return NULL;
}

double recall_probability(const json_t *item)
{
    double p = json_number_value(json_object_get(item, "probability"));
    return p > 0 && p < 1 ? p : CHOICE_SURE;
}

void recall_apply(struct clarify_case *c)
{
    json_t *applied = json_array(), *item;
    struct question_view view;
    int option;

    for (int v = 0; v < c->attributes.n; v++)
        if ((item = recall_at(c, v, &view, &option)) &&
            dialogue_recall(&c->dialogue, &view, option, recall_probability(item)))
            recall_append(applied, item);
    json_decref(c->recalled);
    c->recalled = applied;
}

json_t *recall_choice_json(struct clarify_case *c, const struct question_view *view, const struct question *q,
                           int option)
{
    struct question_choice choice;
    bool known = read_choice(&choice, c, view);
    const char *meant = !known                   ? NULL
                        : q->found[option]       ? q->found[option]
                        : option < view->n_shown ? choice.meant[view->shown[option]]
                                                 : NULL;

    if (!meant)
        return NULL;
    json_t *names = json_array();
    for (int k = 0; k < choice.n; k++)
        if (choice.meant[k])
            json_array_append_new(names, json_string(choice.meant[k]));
    if (q->found[option])
        json_array_append_new(names, json_string(meant));
    return json_pack("{s:s, s:s, s:o}", "words", choice.words, "meant", meant, "options", names);
}

/* Learns or unlearns a choice, by `change`. */
static int change_memory(int change(struct choice_memory *m, const struct choice_options *o, int option,
                                    struct error *err),
                         struct choice_memory *m, const struct clarify_case *c, const json_t *choice, struct error *err)
{
    const char *meant = json_string_value(json_object_get(choice, "meant")), *names[CHOICE_OPTIONS_MAX + 1];
    const json_t *list = json_object_get(choice, "options");
    int n = 0, chosen = -1;

    for (size_t i = 0; i < json_array_size(list) && n < ARRAY_LEN(names); i++) {
        names[n] = json_string_value(json_array_get(list, i));
        chosen = strcmp(names[n], meant) == 0 ? n : chosen;
        n++;
    }
    if (chosen < 0)
        return 0;
    const struct choice_options options = { c->schema->db_id, json_string_value(json_object_get(choice, "words")),
                                            names, n };
    return change(m, &options, chosen, err);
}

int recall_learn(struct choice_memory *m, const struct clarify_case *c, const json_t *choice, struct error *err)
{
    return change_memory(choice_memory_learn, m, c, choice, err);
}

int recall_unlearn(struct choice_memory *m, const struct clarify_case *c, const json_t *choice, struct error *err)
{
    return change_memory(choice_memory_unlearn, m, c, choice, err);
}
