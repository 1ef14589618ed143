/* Measures the time of the first clarifying question for each record of a file of candidates, without databases.  The
 * time runs from the record in memory to the chosen attribute and its wording. */
#include "infer/clarify/clarify.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { ARENA_BYTES = 64 << 20, ROUNDS = 5 };

struct times {
    double *list;
    int n, cap;
};

/* Processor time of this process, which other processes hardly affect. */
static double processor_seconds(void)
{
    struct timespec t;
    CHECK(clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t) == 0, "no clock of the process");
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static int compare(const void *a, const void *b)
{
    const double *x = a, *y = b;
    return (*x > *y) - (*x < *y);
}

static void add(struct times *t, double seconds)
{
    GROW(t->list, t->n, t->cap);
    t->list[t->n++] = seconds;
}

static void print(const char *what, struct times *t)
{
    qsort(t->list, (size_t)t->n, sizeof *t->list, compare);
    printf("%-40s median %7.3f ms, 95 %% within %7.3f, slowest %7.3f\n", what, 1e3 * t->list[t->n / 2],
           1e3 * t->list[t->n * 95 / 100], 1e3 * t->list[t->n - 1]);
    free(t->list);
}

struct bench {
    struct schema_catalog schemas;
    struct arena scratch;
    struct clarify_settings settings;
    struct clarify_case at_hand;
    struct times chosen, worded;
    int64_t candidates, attributes;
};

static int run(struct bench *b, const json_t *record, const char *where, struct error *err)
{
    const struct schema *s = schema_catalog_of(&b->schemas, record, where, err);
    struct question_view view;

    if (!s)
        return -1;
    double start = processor_seconds();
    if (clarify_case_read(&b->at_hand, record, s, &b->settings, &b->scratch, where, err))
        return -1;
    enum stop_reason why = dialogue_next(&b->at_hand.dialogue, &view);
    add(&b->chosen, processor_seconds() - start);
    start = processor_seconds();
    if (why == STOP_NOT)
        json_decref(clarify_question_json(&b->at_hand, &view));
    add(&b->worded, processor_seconds() - start);
    b->candidates += b->at_hand.prior.n;
    b->attributes += b->at_hand.attributes.n;
    return 0;
}

static int run_all(struct bench *b, const char *path, struct error *err)
{
    struct json_reader *in = json_reader_open(path, err);
    json_t *record;
    int rc = in ? 0 : -1;

    while (rc == 0 && json_reader_next(in, &record, err) > 0) {
        for (int i = 0; i < ROUNDS && rc == 0; i++) {
            rc = run(b, record, json_reader_where(in), err);
            clarify_case_release(&b->at_hand);
        }
        json_decref(record);
    }
    if (in)
        json_reader_close(in);
    return rc;
}

int main(int argc, char **argv)
{
    struct bench *b = xcalloc(1, sizeof *b);
    struct error err = { 0 };

    if (argc != 3) {
        fprintf(stderr, "usage: bench_clarify CANDIDATES.jsonl TABLES.json\n");
        return EXIT_CODE_USAGE;
    }
    b->settings = (struct clarify_settings){ .rules = dialogue_rules_default, .noise = 0.05 };
    b->settings.rules.fallback = true;
    if (arena_init(&b->scratch, ARENA_BYTES, &err) || schema_catalog_open(&b->schemas, argv[2], NULL, &err) ||
        run_all(b, argv[1], &err)) {
        fprintf(stderr, "bench_clarify: %s\n", err.text);
        return (int)err.code;
    }
    CHECK(b->chosen.n, "%s holds no record", argv[1]);
    printf("%d records, %.1f candidates and %.1f variables each\n", b->chosen.n / ROUNDS,
           (double)b->candidates / b->chosen.n, (double)b->attributes / b->chosen.n);
    print("candidates to the chosen question", &b->chosen);
    print("its wording", &b->worded);
    schema_catalog_close(&b->schemas);
    arena_release(&b->scratch);
    free(b);
    return 0;
}
