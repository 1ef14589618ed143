#include "data/clarify/candidate_list.h"

#include "data/clarify/belief.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const double rounding = 1e-3; /* how far written probabilities may be from a sum of 1 */

static int read_number(const json_t *item, const char *field, double *out, const char *where, struct error *err)
{
    bool p = strcmp(field, "p") == 0;
    return json_get_real(item, field, p ? 0 : -1e6, p ? 1 : 1e6, out, where, err);
}

/* All have the same of the two fields. */
static int read_items(struct candidate_list *l, const json_t *items, const char *field, const char *where,
                      struct error *err)
{
    size_t i;
    json_t *item;

    json_array_foreach(items, i, item)
    {
        char place[300];
        snprintf(place, sizeof place, "%s: candidates[%zu]", where, i);
        l->sql[i] = json_get_string(item, "sql", place, err);
        if (!l->sql[i] || read_number(item, field, &l->raw[i], place, err))
            return -1;
    }
    return 0;
}

void shares_of_logs(double *p, const double *logs, int n, double share)
{
    double most = -HUGE_VAL, sum = 0;

    for (int i = 0; i < n; i++)
        most = fmax(most, logs[i]);
    for (int i = 0; i < n; i++)
        sum += p[i] = exp(logs[i] - most);
    for (int i = 0; i < n; i++)
        p[i] *= share / sum;
}

static int normalise(struct candidate_list *l, const char *where, struct error *err)
{
    double sum = 0, share = 1 - l->reserve;

    for (int i = 0; i < l->n; i++)
        sum += l->raw[i];
    if (sum <= 0)
        return error_set(err, EXIT_CODE_DATA, "%s: candidates: every \"p\" is 0, expected one above", where);
    if (!(fabs(sum - share) <= rounding))
        return error_set(err, EXIT_CODE_DATA, "%s: candidates: expected \"p\" that sum to %g, got %g", where, share,
                         sum);
    for (int i = 0; i < l->n; i++) {
        l->p[i] = l->raw[i] * (share / sum);
        l->raw[i] = log(l->raw[i]);
    }
    return 0;
}

static const json_t *check_count(const json_t *record, const char *where, struct error *err)
{
    const json_t *items = json_get_array(record, "candidates", where, err);
    size_t size = json_array_size(items);

    if (items && (size < 1 || size > BELIEF_MAX)) {
        error_set(err, EXIT_CODE_DATA, "%s: candidates: expected 1 to %d, got %zu", where, BELIEF_MAX, size);
        return NULL;
    }
    return items;
}

int candidate_list_read(struct candidate_list *l, const json_t *record, const char *where, struct error *err)
{
    const json_t *items = check_count(record, where, err);
    bool logprob = json_object_get(json_array_get(items, 0), "logprob");

    *l = (struct candidate_list){ 0 };
    if (!items ||
        (json_object_get(record, "reserve") && json_get_real(record, "reserve", 0, 1, &l->reserve, where, err)))
        return -1;
    l->n = (int)json_array_size(items);
    l->sql = xcalloc((size_t)l->n, sizeof *l->sql);
    l->p = xcalloc((size_t)l->n, sizeof *l->p);
    l->raw = xcalloc((size_t)l->n, sizeof *l->raw);
    if (read_items(l, items, logprob ? "logprob" : "p", where, err))
        return -1;
    if (!logprob)
        return normalise(l, where, err);
    shares_of_logs(l->p, l->raw, l->n, 1 - l->reserve);
    return 0;
}

void candidate_list_release(struct candidate_list *l)
{
    free(l->sql);
    free(l->p);
    free(l->raw);
    *l = (struct candidate_list){ 0 };
}

bool candidate_is_marked(const json_t *record, int i, size_t gold)
{
    const json_t *marks = json_object_get(json_array_get(json_object_get(record, "candidates"), (size_t)i), "gold");
    size_t k;
    json_t *mark;

    json_array_foreach(marks, k, mark)
    {
        if (json_is_integer(mark) && json_integer_value(mark) == (json_int_t)gold)
            return true;
    }
    return false;
}
