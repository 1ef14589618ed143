#include "tests/support/optim_model.h"

#include "tests/support/support.h"

#include <math.h>
#include <stdlib.h>

void optim_model_open(struct optim_model *m, enum optimizer optimizer)
{
    struct error err;

    *m = (struct optim_model){ 0 };
    test_step_open(&m->step);
    assert_int_equal(device_arena(&m->step.device, &m->data, MODEL_BYTES, &err), 0);
    m->arenas = (struct param_arenas){ .host = &m->step.host, .data = &m->data, .optimizer = optimizer };
}

void optim_model_close(struct optim_model *m)
{
    optim_release(&m->optim, &m->step.device);
    params_release(&m->params);
    device_arena_release(&m->step.device, &m->data);
    test_step_close(&m->step);
}

void optim_numbers(float *out, const json_t *list, int64_t n)
{
    assert_int_equal(json_array_size(list), n);
    for (int64_t i = 0; i < n; i++)
        out[i] = (float)json_number_value(json_array_get(list, (size_t)i));
}

double optim_field(const json_t *o, const char *name)
{
    assert_true(json_is_number(json_object_get(o, name)));
    return json_number_value(json_object_get(o, name));
}

void optim_check(double got, double want, const char *what, size_t step)
{
    if (!(fabs(got - want) <= 2e-6 * (fabs(want) + 1e-3)))
        fail_msg("%s after step %zu is %.9g, expected %.9g", what, step + 1, got, want);
}

float optim_first(struct optim_model *m, const struct tensor *t)
{
    float *x = test_values(&m->step, t), first = x[0];
    free(x);
    return first;
}
