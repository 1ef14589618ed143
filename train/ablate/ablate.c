#include "train/ablate/ablate.h"

#include "data/util/log.h"
#include "data/util/out_file.h"
#include "train/ablate/ablate_table.h"
#include "train/gate/gate_estimate.h"
#include "train/gate/gate_trainer.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

enum { PATH_BYTES = 4096, SECONDS_OF_HOUR = 3600 };

struct ablation {
    const struct ablate_request *q;
    struct ablate_plan plan;
    struct texts texts;
    bool *too_long; /* of each row */
    char states[PATH_BYTES];
};

static bool is_there(const char *folder, const char *name)
{
    char path[PATH_BYTES];
    struct stat st;

    return snprintf(path, sizeof path, "%s/%s", folder, name) < (int)sizeof path && stat(path, &st) == 0;
}

/* The folder of a run; row NULL: the linker's.  The caller frees. */
static char *folder_of(const struct ablation *a, const struct ablate_row *row, int64_t seed)
{
    char path[PATH_BYTES];

    snprintf(path, sizeof path, "%s/%s/seed-%lld", a->q->out, row ? row->name : "linker", (long long)seed);
    return xstrdup(path);
}

static bool is_linked(const struct ablation *a, const struct gate_request *q)
{
    return a->plan.linker && q->settings.encode == ENCODE_ELEMENT && q->settings.embedder == EMBEDDER_LINKER;
}

/* What is told beforehand. */
struct forecast {
    double seconds;  /* of all rows and seeds */
    bool encoded[2]; /* states of the linker's encoder, or of one as it came, are counted */
    int left_out;
};

/* A linked row without what the linker's run is estimated for.  Rows that read what an earlier one has read, do not. */
static int estimate_row(struct ablation *a, const struct ablate_row *row, struct forecast *f, double *seconds,
                        struct error *err)
{
    struct gate_seconds parts;
    struct gate_request q;

    if (ablate_plan_request(&a->plan, row, &q, &a->texts, err))
        return -1;
    bool linked = row && is_linked(a, &q);
    bool own = q.settings.relevance_word || q.settings.element_text == GATE_TEXT_THESIS; /* texts of its own */
    bool shared =
        row && !own && q.settings.encode == ENCODE_ELEMENT && (linked || q.settings.embedder == EMBEDDER_STOCK);
    if (linked) { /* texts of as many tokens, near enough */
        q.settings.embedder = EMBEDDER_STOCK;
        q.settings.element_text = GATE_TEXT_QUALIFIED;
        q.settings.relevance_word = false;
    }
    q.out = a->q->out;
    q.device = a->q->device;
    q.seed = a->plan.seeds[0];
    if (gate_estimate(&q, &parts, err))
        return error_prefix(err, "%s", row ? row->name : "linker");
    int readings = linked && own ? 2 : 1; /* for relevance, then for states */
    *seconds = parts.steps + (shared && f->encoded[linked] ? 0 : readings * parts.encoding);
    f->encoded[linked] |= shared;
    return 0;
}

static int tell_row(struct ablation *a, const struct ablate_row *row, struct forecast *f, bool *too_long,
                    struct error *err)
{
    double seconds;

    if (estimate_row(a, row, f, &seconds, err))
        return -1;
    *too_long = seconds > a->plan.hours * SECONDS_OF_HOUR;
    f->seconds += *too_long ? 0 : seconds * a->plan.n_seeds;
    f->left_out += *too_long;
    log_info("%s: about %.2f hours a seed%s", row ? row->name : "linker", seconds / SECONDS_OF_HOUR,
             *too_long ? ", longer than the plan allows: left out" : "");
    return 0;
}

/* Before anything is trained. */
static int tell_times(struct ablation *a, int *left_out, struct error *err)
{
    struct forecast f = { 0 };
    bool linker = false;

    if (a->plan.linker && tell_row(a, NULL, &f, &linker, err))
        return -1;
    if (linker)
        return error_set(err, EXIT_CODE_USAGE, "%s: linker: takes longer than hours: %g allows", a->plan.path,
                         a->plan.hours);
    for (int i = 0; i < a->plan.n_rows; i++)
        if (tell_row(a, &a->plan.rows[i], &f, &a->too_long[i], err))
            return -1;
    *left_out = f.left_out;
    log_info("in all about %.2f hours on this machine, less what is there already", f.seconds / SECONDS_OF_HOUR);
    return 0;
}

static int train_row(struct ablation *a, const struct ablate_row *row, int64_t seed, struct error *err)
{
    struct gate_request q;
    char *out = folder_of(a, row, seed), *linker = folder_of(a, NULL, seed);
    int rc = 0;

    if (is_there(out, row ? "test.json" : "ambit.h5"))
        goto done;
    if ((rc = ablate_plan_request(&a->plan, row, &q, &a->texts, err)))
        goto done;
    if (row && is_linked(a, &q)) {
        q.linker = linker;
        q.encoder = NULL;
    }
    q.out = out;
    q.device = a->q->device;
    q.seed = seed;
    q.resume = true;
    q.states = q.settings.encode == ENCODE_ELEMENT ? a->states : NULL;
    log_info("%s, seed %lld", row ? row->name : "linker", (long long)seed);
    rc = make_dirs(out, err) ? -1 : gate_train(&q, err);
    if (rc < 0)
        error_prefix(err, "%s, seed %lld", row ? row->name : "linker", (long long)seed);
done:
    free(out);
    free(linker);
    return rc;
}

static int train_all(struct ablation *a, struct error *err)
{
    int rc = 0;

    for (int s = 0; rc == 0 && s < a->plan.n_seeds; s++) {
        if (a->plan.linker)
            rc = train_row(a, NULL, a->plan.seeds[s], err);
        for (int i = 0; rc == 0 && i < a->plan.n_rows; i++)
            if (!a->too_long[i])
                rc = train_row(a, &a->plan.rows[i], a->plan.seeds[s], err);
    }
    return rc;
}

/* What finished runs reached; of the others the table has nothing. */
static int write_table(struct ablation *a, struct error *err)
{
    struct ablate_table t;
    int rc = 0;

    ablate_table_init(&t, &a->plan);
    for (int i = 0; rc == 0 && i < a->plan.n_rows; i++)
        for (int s = 0; rc == 0 && s < a->plan.n_seeds; s++) {
            char *out = folder_of(a, &a->plan.rows[i], a->plan.seeds[s]);
            if (is_there(out, "test.json"))
                rc = ablate_table_add(&t, i, out, err);
            free(out);
        }
    if (rc == 0 && (rc = ablate_table_write(&t, a->q->out, err)) == 0)
        ablate_table_print(&t);
    ablate_table_release(&t);
    return rc;
}

int ablate(const struct ablate_request *q, int *left_out, struct error *err)
{
    struct ablation a = { .q = q };
    int rc = ablate_plan_read(&a.plan, q->plan, err);

    *left_out = 0;
    a.too_long = xcalloc((size_t)a.plan.n_rows + 1, sizeof *a.too_long);
    snprintf(a.states, sizeof a.states, "%s/states", q->out);
    if (rc == 0)
        rc = tell_times(&a, left_out, err);
    if (rc == 0 && !q->dry_run)
        rc = make_dirs(q->out, err) ? -1 : train_all(&a, err);
    if (rc >= 0 && !q->dry_run && write_table(&a, err))
        rc = -1;
    free(a.too_long);
    texts_release(&a.texts);
    ablate_plan_release(&a.plan);
    return rc;
}
