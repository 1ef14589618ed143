#include "kernels/kernels.h"

void cpu_set_site(struct ctx *c, struct tensor *rng, const struct tensor *site)
{
    (void)c;
    ((int32_t *)rng->data)[3] = *(const int32_t *)site->data;
}
