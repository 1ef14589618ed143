#include "data/score/dfpl_stored.h"

#include <math.h>
#include <string.h>

static bool number_is(const json_t *o, const char *field, double value)
{
    const json_t *v = json_object_get(o, field);
    if (!v)
        return true; /* not told */
    double stored = json_is_boolean(v) ? json_is_true(v) : json_number_value(v);
    return (json_is_boolean(v) || json_is_number(v)) && fabs(stored - value) <= 1e-12;
}

/* The queries that failed, in any order. */
static bool errors_are(const json_t *o, const struct trial *t, int failed)
{
    const json_t *list = json_object_get(o, "execution_errors"), *item;
    size_t i;

    if (!list)
        return true;
    json_array_foreach(list, i, item)
    {
        const char *sql = json_string_value(json_object_get(item, "query"));
        int q = sql ? trial_find(t, sql) : -1;
        if (q < 0 || t->queries[q].result.status == EXEC_OK)
            return false;
    }
    return (int)json_array_size(list) == failed;
}

/* What could not be scored is stored as nothing at all. */
static bool same_metrics(const json_t *o, const struct trial *t, const struct trial_score *s)
{
    if (json_object_size(o) == 0)
        return t->why != NULL;
    return !t->why && number_is(o, "recall", s->recall) && number_is(o, "precision", s->precision) &&
           number_is(o, "f1_score", s->f1) && number_is(o, "one_found", s->one_found) &&
           number_is(o, "all_found", s->all_found) && number_is(o, "num_queries", s->queries) &&
           number_is(o, "num_unique_queries", s->unique) && errors_are(o, t, s->failed);
}

static struct trial_score compare_one(struct dfpl_stored *s, const json_t *o, const struct trial *t,
                                      struct trial_text sql)
{
    struct trial_score score = trial_score_covered(t, sql);
    if (json_is_object(o)) {
        s->metrics++;
        s->differ += !same_metrics(o, t, &score);
    }
    return score;
}

void dfpl_stored_compare(struct dfpl_stored *s, const struct dfpl_example *e, const struct trial *t)
{
    int matched = 0;

    compare_one(s, e->stored, t, trial_texts_part(&e->sql, 0, e->sql.n));
    for (int i = 0; i < e->n_readings; i++) {
        const struct dfpl_reading *r = &e->readings[i];
        matched += compare_one(s, r->stored, t, trial_texts_part(&e->sql, r->first, r->n)).one_found;
    }
    if (e->stored_groups >= 0) {
        s->groups++;
        s->groups_differ += e->stored_groups != (t->why ? 0 : dfpl_groups(t));
    }
    if (e->stored_matched >= 0) {
        s->matched++;
        s->matched_differ += e->stored_matched != matched;
    }
}
