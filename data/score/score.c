#include "data/score/score.h"

#include "data/console/visible.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static double mean_of(struct scored s, const void *arg)
{
    double sum = 0;

    (void)arg;
    for (int i = 0; i < s.n; i++)
        sum += s.score[i];
    return s.n ? sum / s.n : NAN;
}

struct score_mean score_mean(const double *value, int n, const int *group, int n_groups)
{
    uint8_t *label = xcalloc((size_t)n + 1, 1);
    struct scored s = { value, label, n };
    struct bootstrap how = { .group = group, .n_groups = n_groups, .rounds = 1000, .level = 0.95, .seed = 1 };
    struct score_mean m = { mean_of(s, NULL), stats_bootstrap(s, mean_of, NULL, &how) };

    free(label);
    return m;
}

json_t *score_interval_json(struct interval i)
{
    return isnan(i.low) ? json_null() : json_pack("[f, f]", i.low, i.high);
}

void score_print_interval(struct interval i, double scale, int width, int digits)
{
    if (isnan(i.low))
        printf("%*s[-]", 2 * width + 1, "");
    else
        printf("[%*.*f, %*.*f]", width, digits, scale * i.low, width, digits, scale * i.high);
}

void score_print_one_database(void)
{
    puts("[-]: no interval can be had of records that are all of one database");
}

void score_print_skipped(const json_t *skipped)
{
    if (json_array_size(skipped))
        printf("skipped %zu:\n", json_array_size(skipped));
    for (size_t i = 0; i < json_array_size(skipped); i++) {
        const json_t *item = json_array_get(skipped, i);
        visible_printf(stdout, "  %s: %s\n", json_string_value(json_object_get(item, "record")),
                       json_string_value(json_object_get(item, "why")));
    }
}

int score_print_json(const json_t *o, struct error *err)
{
    struct out_file out = { 0 };
    if (out_file_open(&out, "-", err))
        return -1;
    if (json_write_line(&out, o, err) == 0 && out_file_commit(&out, err) == 0)
        return 0;
    out_file_abort(&out);
    return -1;
}
