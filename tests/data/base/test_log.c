/* The line of a progress bar: total, share, rate and remaining time. */
#include "tests/support/support.h"

#include "data/base/log.h"

#include <stdlib.h>
#include <string.h>

struct step {
    int64_t total, resumed, done;
    double spent; /* seconds */
};

static void show(void *arg)
{
    const struct step *s = arg;
    struct progress p;

    progress_start(&p, "working", "items", s->total);
    p.start -= s->spent;
    if (s->resumed)
        progress_update(&p, s->resumed, 0, NULL);
    p.shown -= 60; /* longer ago than the next line waits for */
    progress_update(&p, s->done, (double)(s->done - s->resumed), "note");
}

static void shows(struct step s, const char *expected)
{
    char *said = test_said(show, &s);

    if (strcmp(said, expected) != 0)
        fail_msg("expected \"%s\", got \"%s\"", expected, said);
    free(said);
}

static void test_lines(void **state)
{
    (void)state;
    shows((struct step){ .total = 400, .done = 100, .spent = 100 },
          "working 100/400 (25 %), 1 items/s, 5:00 left, note\n");
    shows((struct step){ .total = 400, .resumed = 200, .done = 300, .spent = 100 },
          "working 300/400 (75 %), 1 items/s, 1:40 left, note\n");
    shows((struct step){ .total = 7300, .done = 100, .spent = 100 },
          "working 100/7300 (1 %), 1 items/s, 2:00:00 left, note\n");
    shows((struct step){ .done = 100, .spent = 100 }, "working 100, 1 items/s, note\n");
    shows((struct step){ .total = 100, .done = 100, .spent = 100 }, "working 100/100 (100 %), 1 items/s, note\n");
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_lines) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
