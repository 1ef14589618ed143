#include "data/eval/candidate_list.h"

#include "data/base/log.h"

#include <math.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

static const double rounding = 1e-3; /* tolerance for a sum of probabilities without a warning */

static bool is_given(const json_t *item, const char *field)
{
    const json_t *v = json_object_get(item, field);
    return v && !json_is_null(v);
}

/* The field of the weights: "logprob", "p" or NULL. */
static const char *given_field(const json_t *items)
{
    const char *field = NULL;
    size_t i;
    json_t *item;

    json_array_foreach(items, i, item)
    {
        if (is_given(item, "logprob"))
            return "logprob";
        if (is_given(item, "p"))
            field = "p";
    }
    return field;
}

/* Reads a candidate, a string of SQL or an object. */
static int read_item(struct candidate_list *l, int i, const json_t *item, const char *field, const char *where,
                     struct error *err)
{
    double most = 1e6, least = field && strcmp(field, "p") == 0 ? 0 : -most; /* "p" may be a number of votes */
    char place[300];

    snprintf(place, sizeof place, "%s: candidates[%d]", where, i);
    l->sql[i] = json_is_string(item) ? json_string_value(item) : json_get_string(item, "sql", place, err);
    if (!l->sql[i])
        return -1;
    if (field && !is_given(item, field))
        return error_set(err, EXIT_CODE_DATA, "%s: no \"%s\", which other candidates have: expected it in all or none",
                         place, field);
    return field ? json_get_real(item, field, least, most, &l->raw[i], place, err) : 0;
}

static int read_items(struct candidate_list *l, const json_t *items, const char *field, const char *where,
                      struct error *err)
{
    for (int i = 0; i < l->n; i++)
        if (read_item(l, i, json_array_get(items, (size_t)i), field, where, err))
            return -1;
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
    double sum = 0, share = 1 - l->p_none;

    for (int i = 0; i < l->n; i++)
        sum += l->raw[i];
    if (sum <= 0)
        return error_set(err, EXIT_CODE_DATA, "%s: candidates: every \"p\" is 0, expected one above", where);
    if (!(fabs(sum - share) <= rounding)) {
        log_warn("%s: candidates: \"p\" sum to %g, made to sum to %g", where, sum, share);
        l->weights = WEIGHTS_NORMALISED;
    }
    for (int i = 0; i < l->n; i++) {
        l->p[i] = l->raw[i] * (share / sum);
        l->raw[i] = log(l->raw[i]);
    }
    return 0;
}

/* Gives every candidate the same probability. */
static void share_equally(struct candidate_list *l, const char *where)
{
    static atomic_flag told = ATOMIC_FLAG_INIT; /* log once in a run */

    if (!atomic_flag_test_and_set(&told))
        log_info("%s: candidates without \"p\" or \"logprob\": taken as equally likely, as are such candidates of "
                 "other records",
                 where);
    l->weights = WEIGHTS_EQUAL;
    for (int i = 0; i < l->n; i++) {
        l->p[i] = (1 - l->p_none) / l->n;
        l->raw[i] = -log(l->n);
    }
}

static const json_t *check_count(const json_t *record, const char *where, struct error *err)
{
    const char *failed = json_string_value(json_object_get(record, "error"));
    if (failed && !json_object_get(record, "candidates")) {
        error_set(err, EXIT_CODE_DATA, "%s: no candidates: %s", where, failed);
        return NULL;
    }
    const json_t *items = json_get_array(record, "candidates", where, err);
    size_t size = json_array_size(items);

    if (items && (size < 1 || size > CANDIDATE_LIST_MAX)) {
        error_set(err, EXIT_CODE_DATA, "%s: candidates: expected 1 to %d, got %zu", where, CANDIDATE_LIST_MAX, size);
        return NULL;
    }
    return items;
}

int candidate_list_read(struct candidate_list *l, const json_t *record, const char *where, struct error *err)
{
    const json_t *items = check_count(record, where, err);
    const char *field = given_field(items);

    *l = (struct candidate_list){ 0 };
    if (!items || (json_object_get(record, "none_of_the_above") &&
                   json_get_real(record, "none_of_the_above", 0, 1, &l->p_none, where, err)))
        return -1;
    l->n = (int)json_array_size(items);
    l->sql = xcalloc((size_t)l->n, sizeof *l->sql);
    l->p = xcalloc((size_t)l->n, sizeof *l->p);
    l->raw = xcalloc((size_t)l->n, sizeof *l->raw);
    if (read_items(l, items, field, where, err))
        return -1;
    if (field && strcmp(field, "p") == 0)
        return normalise(l, where, err);
    if (field)
        shares_of_logs(l->p, l->raw, l->n, 1 - l->p_none);
    else
        share_equally(l, where);
    return 0;
}

const char *candidate_weights_name(enum candidate_weights w)
{
    return w == WEIGHTS_EQUAL ? "equal" : w == WEIGHTS_NORMALISED ? "normalised" : NULL;
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
