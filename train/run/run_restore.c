/* Part of run.h: what a run that goes on must find in its folder beside the checkpoint. */
#include "data/util/log.h"
#include "data/util/out_file.h"
#include "data/util/whole_file.h"
#include "models/checkpoint/checkpoint.h"
#include "train/run/run_impl.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define METRICS "metrics.jsonl"

static const int64_t metrics_max_bytes = INT64_C(1) << 32;

/* Whether it is this run's, and of the step that the checkpoint tells or of one that the run will come to again. */
static int check_best_meta(const struct run *r, const json_t *meta, const char *path, struct error *err)
{
    json_int_t step = json_integer_value(json_object_get(meta, "step"));

    if (run_check_meta(r, meta, path, err))
        return -1;
    if (step >= r->saved_best)
        return 0;
    return error_set(err, EXIT_CODE_CHECKPOINT, "%s: expected the weights of step %lld, got those of step %lld", path,
                     (long long)r->saved_best, (long long)step);
}

static int tell_way_out(const struct run *r, struct error *err)
{
    const struct error fault = *err;

    return error_set(err, fault.code, "%s; put %s/best back as the run left it, or begin anew with another --out",
                     fault.text, r->set.out);
}

int run_check_best(const struct run *r, struct error *err)
{
    char path[4096];
    struct hdf5_reader file;
    int rc = -1;

    if (!r->saved_best)
        return 0;
    run_best_path(r, path, "/" CHECKPOINT_FILE);
    if (checkpoint_open(&file, path, err) == 0) {
        json_t *meta = checkpoint_meta(&file, err);
        rc = meta ? check_best_meta(r, meta, path, err) : -1;
        json_decref(meta);
        hdf5_close(&file);
    }
    return rc ? tell_way_out(r, err) : 0;
}

/* A file that is not there has no bytes, and *text stays NULL. */
static int read_lines(const char *dir, char path[4096], char **text, size_t *n, struct error *err)
{
    snprintf(path, 4096, "%s/" METRICS, dir);
    *text = NULL;
    *n = 0;
    if (access(path, F_OK) != 0)
        return 0;
    *text = whole_file_read(path, metrics_max_bytes, n, err);
    return *text ? 0 : -1;
}

static int write_lines(const char *dir, const char *text, size_t n, struct error *err)
{
    char path[4096];
    struct out_file out = { 0 };

    snprintf(path, sizeof path, "%s/" METRICS, dir);
    int rc = out_file_open(&out, path, err);
    if (rc == 0 && fwrite(text, 1, n, out.f) != n)
        rc = error_set(err, EXIT_CODE_FAILURE, "%s: cannot be written", path);
    if (rc == 0)
        rc = out_file_commit(&out, err);
    out_file_abort(&out);
    return rc;
}

int run_keep_metrics(const struct run *r, const char *dir, struct error *err)
{
    char path[4096], *text;
    size_t n;

    if (read_lines(r->set.out, path, &text, &n, err))
        return -1;
    int rc = text ? write_lines(dir, text, n, err) : 0;
    free(text);
    return rc;
}

int run_restore_metrics(const struct run *r, const char *dir, struct error *err)
{
    char path[4096], kept_path[4096], *own, *kept = NULL;
    size_t n, n_kept = 0;
    int rc = read_lines(r->set.out, path, &own, &n, err) || read_lines(dir, kept_path, &kept, &n_kept, err) ? -1 : 0;

    if (rc == 0 && kept && (n < n_kept || memcmp(own, kept, n_kept) != 0)) {
        log_warn("%s: not what the run wrote up to step %lld, restored from %s", path, (long long)r->state.step,
                 kept_path);
        rc = write_lines(r->set.out, kept, n_kept, err);
    }
    if (rc == 0 && !kept && !own)
        log_warn("%s: not found: the curves begin after step %lld", path, (long long)r->state.step);
    free(own);
    free(kept);
    return rc;
}
