#include "data/util/work_limit.h"

#include "data/util/log.h"

#include <math.h>

static _Thread_local struct work_limit *innermost;

void work_limit_begin(struct work_limit *l)
{
    l->deadline = now_seconds() + l->seconds;
    l->around = innermost;
    innermost = l;
}

void work_limit_end(struct work_limit *l)
{
    CHECK(innermost == l, "a limit of work ends while an inner one lasts");
    innermost = l->around;
}

double work_limit_left(void)
{
    double deadline = INFINITY;

    for (const struct work_limit *l = innermost; l; l = l->around)
        deadline = fmin(deadline, l->deadline);
    return innermost ? fmax(0, deadline - now_seconds()) : INFINITY;
}

bool work_limit_abandoned(void)
{
    for (const struct work_limit *l = innermost; l; l = l->around)
        if (l->abandoned && l->abandoned(l->user))
            return true;
    return false;
}

bool work_limit_ended(void)
{
    return work_limit_left() <= 0 || work_limit_abandoned();
}
