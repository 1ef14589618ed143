#include "train/run/run.h"

#include "data/base/json.h"
#include "data/base/log.h"
#include "data/base/stop.h"
#include "data/base/yaml.h"
#include "models/io/checkpoint.h"
#include "train/run/run_request.h"
#include "train/run/run_save.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <unistd.h>

static bool fits_in(const struct extent *a, const struct extent *b)
{
    for (int i = 0; i < EXTENT_SIZES; i++)
        if (a->size[i] > b->size[i])
            return false;
    return true;
}

void measurement_add(struct measurement *m, const struct extent *e, step_fn *fn, void *arg)
{
    for (int i = 0; i < m->n; i++)
        if (fits_in(e, &m->known[i]))
            return;
    GROW(m->known, m->n, m->cap);
    m->known[m->n++] = *e;
    workspace_raise(&m->most, workspace_measure(m->work, fn, arg));
}

static void measurement_release(struct measurement *m)
{
    free(m->known);
    *m = (struct measurement){ 0 };
}

/* ---- memory ---- */

static void measure_batch_partition(struct run *r, struct measurement *m)
{
    struct batch_partition b = run_batch(r);

    if (b.first < b.end)
        r->trainer->measure(r->self, m);
}

/* Covers all batches of all epochs of the current stage. */
static void measure_stage(struct run *r, struct workspace_bytes *most)
{
    struct measurement m = { .work = &r->work };

    for (r->state.epoch = 0; r->state.epoch < r->stages[r->state.stage].epochs; r->state.epoch++)
        for (r->state.batch = 0; r->state.batch < run_batches(r); r->state.batch++)
            measure_batch_partition(r, &m);
    workspace_raise(most, m.most);
    measurement_release(&m);
}

int run_measure(struct run *r, struct workspace_bytes *bytes, struct error *err)
{
    struct run_state keep = r->state;
    int rc = 0;

    *bytes = (struct workspace_bytes){ 0 };
    r->work.ctx.recording = r->work.ctx.training = true;
    for (r->state.stage = 0; rc == 0 && r->state.stage < r->n_stages; r->state.stage++) {
        rc = r->trainer->enter_stage ? r->trainer->enter_stage(r->self, false, err) : 0;
        if (rc == 0)
            measure_stage(r, bytes);
    }
    r->work.ctx.recording = r->work.ctx.training = false;
    r->state = keep;
    return rc;
}

static size_t all_bytes(const struct run *r)
{
    return r->model_bytes + workspace_total(r->step_bytes);
}

static void tell_memory(const struct run *r)
{
    size_t model = r->model_bytes, step = workspace_total(r->step_bytes);

    log_info("memory: %zu MiB of weights, gradients and moments, %zu MiB for a %s, %zu MiB in all, on %s", model >> 20,
             step >> 20, r->trainer->part, (model + step) >> 20, r->device.description);
    if (r->copied_bytes)
        log_info("memory: %zu MiB of these are copies of frozen weights in the layouts that products read",
                 r->copied_bytes >> 20);
}

/* Logs the estimated memory. If a step does not fit, layers keep only their outputs and are recomputed in the
 * backward, which changes no result. If that does not fit either, the run is refused, except for a dry run. */
static int fit_memory(struct run *r, struct error *err)
{
    size_t free = r->device.free_memory;

    if (ranks_sharded(r))
        r->model_bytes += optim_share_bytes(r->params, r->ranks.all.rank, r->ranks.all.size);
    if (run_measure(r, &r->step_bytes, err))
        return -1;
    if (free && r->recompute && all_bytes(r) > free) {
        log_info("memory: %zu MiB for a %s are too many, so layers are computed twice",
                 workspace_total(r->step_bytes) >> 20, r->trainer->part);
        *r->recompute = true;
        if (run_measure(r, &r->step_bytes, err))
            return -1;
    }
    tell_memory(r);
    if (!free || all_bytes(r) <= free || r->set.dry_run)
        return 0;
    return error_set(err, EXIT_CODE_MEMORY, "%zu MiB are needed, %s has %zu MiB free: %s", all_bytes(r) >> 20,
                     r->device.description, free >> 20, r->hint);
}

/* ---- one step ---- */

int64_t run_batches(const struct run *r)
{
    return sampler_batches(&r->sampler);
}

int64_t run_stage_steps(const struct run *r)
{
    return run_batches(r) * r->stages[r->state.stage].epochs;
}

struct batch_partition run_batch(struct run *r)
{
    const struct collective *c = &r->ranks.all;
    struct batch_partition b = { 0 };

    b.n = b.end = sampler_batch(&r->sampler, r->state.epoch, r->state.batch, &b.examples);
    if (c->size < 2)
        return b;
    b.first = sampler_cut(&r->sampler, b.examples, b.n, c->rank, c->size);
    b.end = sampler_cut(&r->sampler, b.examples, b.n, c->rank + 1, c->size);
    return b;
}

enum optimizer run_optimizer(const struct run *r, enum optimizer o)
{
    return ranks_sharded(r) ? (enum optimizer)(o | OPTIMIZER_SHARDED) : o;
}

int run_take(struct run *r, const struct param_arenas *a, struct error *err)
{
    r->optim.rank = r->ranks.all.rank;
    r->optim.ranks = ranks_sharded(r) ? r->ranks.all.size : 0;
    r->loss_total = tensor_alloc(a->host, a->data, F32, 1, (int64_t[]){ 1 });
    device_upload(&r->device, r->loss_total, &(float){ 0 });
    return optim_init(&r->optim, &r->device, r->params, err);
}

void run_plan(struct run *r, struct schedule schedule, double decay, double clip)
{
    r->optim.schedule = schedule;
    r->optim.adamw =
        (struct adamw){ .beta1 = 0.9f, .beta2 = 0.999f, .eps = 1e-8f, .decay = (float)decay, .clip = (float)clip };
    r->optim.adafactor = (struct adafactor){
        .decay_rate = 0.8f, .eps = 1e-30f, .threshold = 1, .decay = (float)decay, .clip = (float)clip
    };
}

static void update(struct ctx *c, void *arg)
{
    struct run *r = arg;
    optim_step(c, &r->optim, r->params);
}

/* Gradients and loss of this rank's partition, which may be empty. */
static int step_partition(struct run *r, struct error *err)
{
    struct batch_partition b = run_batch(r);

    r->speed.examples += b.n;
    if (b.first == b.end)
        return 0;
    r->work.ctx.recording = r->work.ctx.training = true;
    int rc = r->trainer->step(r->self, err);
    r->work.ctx.recording = r->work.ctx.training = false;
    return rc;
}

int run_step(struct run *r, struct error *err)
{
    double start = now_seconds();

    if (ranks_step(r, step_partition, err))
        return -1;
    r->loss_steps++;
    if (workspace_step(&r->work, update, r, err) || ranks_gather_weights(r, err))
        return -1;
    log_debug("step %lld: %.2f ms of the host", (long long)r->state.step + 1, 1e3 * (now_seconds() - start));
    return 0;
}

/* ---- the loop ---- */

enum { LOG_EVERY = 10, MAX_METRICS = TRAINER_METRICS + 6 };

static const struct stage *stage_of(const struct run *r)
{
    return &r->stages[r->state.stage];
}

static double mean_loss(struct run *r)
{
    float total;

    device_download(&r->device, &total, r->loss_total);
    double mean = r->loss_steps ? (double)total / (double)r->loss_steps : 0;
    device_upload(&r->device, r->loss_total, &(float){ 0 });
    r->loss_steps = 0;
    return mean;
}

static void show(const struct run *r, struct progress *progress, double loss)
{
    char note[64];
    int64_t done = r->state.epoch * run_batches(r) + r->state.batch;
    int64_t units = r->trainer->unit ? r->state.units : r->state.step;

    snprintf(note, sizeof note, "loss %.4f", loss);
    progress_update(progress, done, (double)(units - r->units_before), note);
}

/* Peak memory of this process in MiB. */
static double peak_memory(void)
{
    struct rusage u;

    return getrusage(RUSAGE_SELF, &u) ? NAN : (double)(u.ru_maxrss >> 10);
}

/* Waits until the device has finished its steps, and adds the time since `start` to that of the steps. */
static void count_time(struct run *r, double start)
{
    float lr;

    device_download(&r->device, &lr, r->optim.lr);
    r->speed.seconds += now_seconds() - start;
}

/* Writes a line with the metrics, the time of the run and its memory. */
static int write_metrics(struct run *r, const struct metric *list, int n, struct error *err)
{
    struct metric all[MAX_METRICS];

    if (!ranks_first(r))
        return 0;
    memcpy(all, list, (size_t)n * sizeof *list);
    all[n++] = (struct metric){ "seconds", round(1e3 * (r->speed.before + now_seconds() - r->speed.opened)) / 1e3 };
    all[n++] = (struct metric){ "memory_mib", peak_memory() };
    all[n++] = (struct metric){ "device_memory_mib", (double)(all_bytes(r) >> 20) };
    return metrics_log_write(&r->metrics, r->state.step, stage_of(r)->phase, all, n, err);
}

static int log_step(struct run *r, struct progress *progress, struct error *err)
{
    float lr;
    double start = now_seconds(), loss = mean_loss(r);
    struct metric list[3 + TRAINER_METRICS] = { { "loss", loss } };

    count_time(r, start);
    device_download(&r->device, &lr, r->optim.lr);
    list[1] = (struct metric){ "learning_rate", (double)lr };
    int n = 2 + (r->trainer->metrics ? r->trainer->metrics(r->self, list + 2) : 0);
    double speed = (double)r->speed.examples / fmax(r->speed.seconds, 1e-9);
    list[n++] = (struct metric){ "examples_per_second", round(100 * speed) / 100 };
    r->speed.examples = 0;
    r->speed.seconds = 0;
    if (!isfinite(loss))
        return error_set(err, EXIT_CODE_FAILURE, "step %lld: the loss is %g; a lower learning rate may help",
                         (long long)r->state.step, loss);
    show(r, progress, loss);
    return write_metrics(r, list, n, err);
}

static int note_score(struct run *r, const struct validation *v, struct error *err)
{
    float score = (float)v->score; /* as the checkpoint stores it */

    if ((double)score <= r->state.best) {
        r->state.worse++;
        return 0;
    }
    r->state.best = (double)score;
    r->state.best_step = r->state.step;
    r->state.worse = 0;
    if (!v->final)
        return 0;
    r->saved_best = r->state.step;
    return ranks_first(r) ? run_save_best(r, err) : 0;
}

/* The line is written before the other ranks know the result. If this rank then dies, the resumed run cuts the line. */
static int validate_and_tell(struct run *r, struct validation *v, struct error *err)
{
    int rc = r->trainer->validate(r->self, v, err);

    return rc || !v->n ? rc : write_metrics(r, v->list, v->n, err);
}

/* 1 when a signal came before the score was known. */
static int validate(struct run *r, struct error *err)
{
    struct validation v = { 0 };
    int rc = r->trainer->validate ? ranks_validate(r, validate_and_tell, &v, err) : 0;

    r->state.unvalidated = rc > 0;
    if (rc || !v.n)
        return rc;
    log_info("step %lld: validation %s", (long long)r->state.step, v.text);
    return note_score(r, &v, err);
}

static bool stage_over(const struct run *r)
{
    return r->state.epoch == stage_of(r)->epochs || (r->set.patience && r->state.worse >= r->set.patience);
}

/* A run of one stage keeps its state after the end. */
static bool is_over(const struct run *r)
{
    return r->state.stage == r->n_stages || (!r->trainer->enter_stage && stage_over(r));
}

/* After the last stage the state stays, so that the run can be resumed with more epochs. */
static int next_stage(struct run *r, struct error *err)
{
    if (!r->trainer->enter_stage)
        return 0;
    if (++r->state.stage == r->n_stages)
        return 0;
    workspace_forget(&r->work);
    r->state = (struct run_state){
        .stage = r->state.stage, .step = r->state.step, .units = r->state.units, .best = r->trainer->lowest
    };
    if (r->trainer->enter_stage(r->self, true, err))
        return -1;
    ranks_seed(r);
    return 0;
}

/* True after a signal to any rank. */
static bool is_stopping(const struct run *r)
{
    return r->ranks.all.size > 1 ? r->ranks.stop != 0 : stop_requested() != 0;
}

int run_save(struct run *r, struct error *err)
{
    if (r->saved_step == r->state.step)
        return 0;
    r->saved_step = r->state.step;
    if (!ranks_first(r))
        return ranks_serve_states(r, err);
    int rc = run_save_checkpoint(r, err);
    ranks_end_states(r);
    return rc;
}

/* Does what is due after a step: validation, last log line, next stage, checkpoint. 1 when a signal interrupted it. */
static int after_step(struct run *r, struct progress *progress, struct error *err)
{
    const struct run_settings *set = &r->set;
    bool valid = set->eval_every ? r->state.step % set->eval_every == 0 : r->state.batch == 0;
    bool last = r->state.epoch == stage_of(r)->epochs;
    bool due = set->save_every && r->state.step % set->save_every == 0;

    if (valid || last || due)
        count_time(r, now_seconds());
    int rc = valid || last ? validate(r, err) : 0;

    if (rc)
        return rc;
    if (stage_over(r) && r->state.stage == r->n_stages - 1 && r->loss_steps && log_step(r, progress, err))
        return -1;
    if (stage_over(r) && next_stage(r, err))
        return -1;
    return valid || last || due ? run_save(r, err) : 0;
}

static void advance(struct run *r)
{
    r->state.step++;
    if (++r->state.batch == run_batches(r)) {
        r->state.batch = 0;
        r->state.epoch++;
    }
}

/* Repeats a validation that a signal interrupted, after a resume. */
static int catch_up(struct run *r, struct progress *progress, struct error *err)
{
    if (!r->state.unvalidated || is_stopping(r))
        return 0;
    r->saved_step = -1;
    return after_step(r, progress, err);
}

static int take_step(struct run *r, struct progress *progress, struct error *err)
{
    double start = now_seconds();

    if (run_step(r, err))
        return -1;
    r->speed.seconds += now_seconds() - start;
    advance(r);
    if (r->state.step % LOG_EVERY == 0 && log_step(r, progress, err))
        return -1;
    return after_step(r, progress, err);
}

/* Trains until the stage ends or a signal comes. */
static int train_stage(struct run *r, struct error *err)
{
    int stage = r->state.stage;
    struct progress progress;

    if (ranks_prepare(r, err))
        return -1;
    r->units_before = r->trainer->unit ? r->state.units : r->state.step;
    progress_start(&progress, stage_of(r)->title, r->trainer->unit ? r->trainer->unit : "steps", run_stage_steps(r));
    int rc = catch_up(r, &progress, err);
    while (rc == 0 && r->state.stage == stage && !is_over(r) && !is_stopping(r))
        rc = take_step(r, &progress, err);
    progress_end(&progress);
    return rc;
}

static int train_stages(struct run *r, struct error *err)
{
    int rc = 0;

    while (rc == 0 && !is_stopping(r) && !(is_over(r) && !r->state.unvalidated))
        rc = train_stage(r, err);
    return rc;
}

/* ---- the output folder ---- */

static bool holds(const char *dir, const char *name)
{
    char path[4096];
    int n = snprintf(path, sizeof path, "%s/%s", dir, name);

    return n > 0 && n < (int)sizeof path && access(path, F_OK) == 0;
}

/* A file named config.yaml need not belong to a run. */
static bool is_config(const struct run_settings *s)
{
    char path[4096];
    struct texts texts = { 0 };
    void *settings = xmalloc(s->size);

    snprintf(path, sizeof path, "%s/" RUN_CONFIG, s->out);
    memcpy(settings, s->request, s->size);
    int rc = yaml_read(path, s->table, settings, NULL, &texts, NULL);
    free(settings);
    texts_release(&texts);
    return rc == 0;
}

/* Files of a run that ended before its first checkpoint. */
static bool of_a_run(const struct run_settings *s, const char *name)
{
    static const char *const names[] = { "metrics.jsonl", "start.jsonl", "states", "best" };
    static const char *const starts[] = { "events.", "checkpoint-", "config.yaml.", "metrics.jsonl.", "start.jsonl." };

    for (int i = 0; i < ARRAY_LEN(names); i++)
        if (strcmp(name, names[i]) == 0)
            return true;
    for (int i = 0; i < ARRAY_LEN(starts); i++)
        if (strncmp(name, starts[i], strlen(starts[i])) == 0)
            return true;
    return strcmp(name, RUN_CONFIG) == 0 && is_config(s);
}

/* -1 with an error that names an entry which no run has made. */
static int check_entries(const struct run_settings *s, struct error *err)
{
    DIR *dir = opendir(s->out);
    int rc = 0;

    for (struct dirent *e; dir && rc == 0 && (e = readdir(dir));)
        if (strcmp(e->d_name, ".") && strcmp(e->d_name, "..") && !of_a_run(s, e->d_name))
            rc = error_set(err, EXIT_CODE_USAGE,
                           "%s: holds something else (%.200s); expected a new or an empty folder, or --force", s->out,
                           e->d_name);
    if (dir)
        closedir(dir);
    return rc;
}

/* A folder with a run or a model requires --resume. A folder with other files requires --force. -1 with
 * EXIT_CODE_USAGE. */
static int check_out(const struct run_settings *s, struct error *err)
{
    char *newest = NULL;

    if (s->dry_run || checkpoint_newest(s->out, &newest, NULL))
        return 0;
    bool run = newest || holds(s->out, CHECKPOINT_FILE);
    free(newest);
    if (run && !s->resume)
        return error_set(err, EXIT_CODE_USAGE,
                         "%s: holds a run already; --resume goes on with it, another --out starts anew", s->out);
    return run || s->force ? 0 : check_entries(s, err);
}

enum { LOCK_POLL_US = 100000 };

/*
 * Locks the folder until run_close, so that two processes never train into it at once: a command may be started again
 * while the first process still runs. The second one waits, and then sees what the first one has written. A file
 * system without locks is used without.
 */
static int lock_folder(struct run *r, struct error *err)
{
    bool waited = false;

    if (!ranks_first(r) || (r->lock = open(r->set.out, O_RDONLY | O_DIRECTORY | O_CLOEXEC)) < 0) {
        r->lock = 0;
        return 0;
    }
    while (flock(r->lock, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK) {
        if (!waited)
            log_info("%s: another process trains into this folder; waiting until it ends", r->set.out);
        waited = true;
        if (stop_requested())
            return error_set(err, EXIT_CODE_USAGE, "%s: stopped before another process had left the folder",
                             r->set.out);
        usleep(LOCK_POLL_US);
    }
    return waited ? check_out(&r->set, err) : 0;
}

/* Quotes a word for a shell. */
static void show_word(char *out, size_t size, const char *word)
{
    size_t n = 0;
    bool plain = word[strspn(word, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_./+:=@%-")] == 0;

    if (plain) {
        snprintf(out, size, "%s", word);
        return;
    }
    out[n++] = '\'';
    for (; *word && n + 6 < size; word++)
        n += (size_t)snprintf(out + n, size - n, *word == '\'' ? "'\\''" : "%c", *word);
    snprintf(out + n, size - n, "'");
}

/* Prints the command that resumes the run. */
static void tell_resume(const struct run *r)
{
    char out[4200];

    show_word(out, sizeof out, r->set.out);
    log_info("stopped after step %lld; to go on: ambit-train %s --resume --out %s", (long long)r->state.step,
             r->trainer->kind, out);
}

/* ---- the run ---- */

enum { HOST_BYTES = 256 << 20 };

int run_open(struct run *r, struct error *err)
{
    char own[32];

    r->state = (struct run_state){ .best = r->trainer->lowest };
    r->saved_step = -1;
    if (device_open(&r->device, ranks_device(r, r->set.device, own), err) ||
        workspace_init(&r->work, &r->device, HOST_BYTES, err))
        return -1;
    r->work.eager = r->set.no_graph;
    if (r->trainer->open(r->self, err) || fit_memory(r, err))
        return -1;
    if (r->set.dry_run)
        return 0;
    if (r->trainer->start && r->trainer->start(r->self, err))
        return -1;
    return workspace_reserve(&r->work, r->step_bytes, err);
}

void run_close(struct run *r)
{
    metrics_log_close(&r->metrics);
    if (r->lock)
        close(r->lock);
    sampler_release(&r->sampler);
    r->trainer->close(r->self);
    if (r->work.device)
        workspace_release(&r->work);
    if (!r->device.driver)
        return;
    ranks_unlink(r);
    optim_release(&r->optim, &r->device);
    device_close(&r->device);
}

static int write_config(const struct run_settings *s, struct error *err)
{
    char path[4096];

    snprintf(path, sizeof path, "%s/" RUN_CONFIG, s->out);
    return yaml_write(path, s->table, s->request, err);
}

/* The settings that change the result, and the seed, for TensorBoard. */
static int write_settings(struct run *r, struct error *err)
{
    json_t *meta = run_make_meta(r), *settings = json_object_get(meta, "settings");

    json_object_set(settings, "seed", json_object_get(meta, "seed"));
    int rc = metrics_log_settings(&r->metrics, settings, err);
    json_decref(meta);
    return rc;
}

int run_log_test(struct run *r, const json_t *metrics, struct error *err)
{
    return ranks_first(r) ? metrics_log_test(&r->metrics, r->state.step, metrics, err) : 0;
}

static int open_files(struct run *r, struct error *err)
{
    if (!ranks_first(r))
        return 0;
    if (write_config(&r->set, err) ||
        metrics_log_open(&r->metrics, r->set.out, r->state.step, r->state.unvalidated, err))
        return -1;
    r->speed.before = r->metrics.seconds;
    r->speed.opened = now_seconds();
    return write_settings(r, err);
}

/* More epochs have no effect on a run that ended by patience. */
static void tell_patience(const struct run *r)
{
    int last = r->n_stages - 1;

    if (is_over(r) && last >= 0 && r->state.epoch < r->stages[last].epochs)
        log_info("no more steps: %lld validations without a better one have ended the run", (long long)r->set.patience);
}

/* Restores the checkpoint when resuming. Changes no file until the folder is known to belong to this run. */
static int begin(struct run *r, struct error *err)
{
    const struct run_settings *s = &r->set;
    int found = 0;

    if (make_dirs(s->out, err) || lock_folder(r, err))
        return -1;
    found = s->resume ? run_load_checkpoint(r, err) : 0;
    if (found < 0 || open_files(r, err))
        return -1;
    if (found) {
        log_info("going on after step %lld", (long long)r->state.step);
        r->saved_step = r->state.step;
        tell_patience(r);
    } else if (ranks_first(r)) {
        run_forget_best(r);
    }
    if (r->trainer->enter_stage && r->state.stage < r->n_stages && r->trainer->enter_stage(r->self, !found, err))
        return -1;
    ranks_seed(r);
    return 0;
}

static void tell_steps(const struct run *r)
{
    char text[STEP_COUNTS], shared[RANKS_TEXT];

    if (workspace_tell(&r->work, text))
        log_info("%s", text);
    if (ranks_tell(r, shared))
        log_info("%s", shared);
}

static int finish(struct run *r, struct error *err)
{
    int rc = run_load_best(r, err);

    workspace_forget(&r->work); /* the trainer may pack its weights */
    if (rc == 0)
        rc = r->trainer->finish(r->self, err);
    if (rc == 0)
        rc = run_save_result(r, err);
    if (rc == 0)
        rc = metrics_log_end(&r->metrics, err);
    tell_steps(r);
    if (rc == 0)
        log_info("%s: the model is finished", r->set.out);
    return rc;
}

static int work(struct run *r, struct error *err)
{
    if (ranks_agree(r, err) || ranks_link(r, err) || begin(r, err) || ranks_agree_weights(r, err))
        return -1;
    int rc = train_stages(r, err);
    if (rc == 0 && !is_stopping(r))
        return ranks_finish(r, finish, err);
    if (rc < 0)
        return -1;
    return r->state.step && run_save(r, err) ? -1 : 1;
}

/* -1 as check_out. Rank 0 checks before any rank writes. */
static int check_folder(const struct run *r, struct error *err)
{
    return ranks_first(r) ? check_out(&r->set, err) : 0;
}

int run_train(struct run *r, struct error *err)
{
    stop_install();
    int rc = ranks_open(r, err) || check_folder(r, err) || run_open(r, err) ? -1 : 0;
    if (rc == 0)
        rc = r->set.dry_run ? ranks_agree(r, err) : work(r, err);
    if (rc > 0)
        tell_resume(r);
    ranks_end(r, rc, err);
    run_close(r);
    ranks_close(r);
    return rc;
}
