#include "train/run/ranks.h"

#include "data/base/log.h"
#include "data/base/stop.h"
#include "models/io/checksum.h"
#include "train/run/run.h"
#include "train/run/run_save.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { SAVING_SECONDS = 600, TELLING_SECONDS = 1 }; /* limits: for another rank to save, and to report the error */

static const double PATIENCE =
    0.3; /* seconds from a signal to the end of the step; launchers wait longer before they kill */

static bool alone(const struct run *r)
{
    return r->ranks.all.size < 2;
}

bool ranks_first(const struct run *r)
{
    return r->ranks.all.rank == 0;
}

/* Called while this rank waits for others after a signal. A launcher that has lost a rank leaves the others little
 * time, so rank 0 saves before the step ends. */
static void save_early(void *run)
{
    struct run *r = run;
    struct ranks *x = &r->ranks;

    if (!x->in_step || !stop_requested() || !ranks_first(r) || !r->state.step || ranks_sharded(r))
        return;
    x->asked = x->asked > 0 ? x->asked : now_seconds();
    if (now_seconds() - x->asked > PATIENCE && run_save(r, NULL))
        log_warn("%s: step %lld could not be saved", r->set.out, (long long)r->state.step);
}

int ranks_open(struct run *r, struct error *err)
{
    struct collective *all = &r->ranks.all;

    if (collective_open(all, err))
        return -1;
    if (all->rank > 0)
        log_set_level(LOG_ERROR);
    if (all->size > 1)
        log_info("%d ranks share each batch", all->size);
    r->ranks.statuses = xcalloc((size_t)all->size, sizeof *r->ranks.statuses);
    all->waiting = save_early;
    all->waiting_arg = r;
    return 0;
}

/* A launcher kills all ranks when one exits with an error. Other ranks wait so that rank 0 can report the error. */
static void let_tell(const struct ranks *x)
{
    if (x->told && x->all.rank > 0)
        sleep(TELLING_SECONDS);
}

void ranks_close(struct run *r)
{
    const struct ranks ended = r->ranks;

    collective_close(&r->ranks.all);
    free(r->ranks.statuses);
    free(r->ranks.in);
    free(r->ranks.out);
    r->ranks = (struct ranks){ 0 };
    let_tell(&ended);
}

void ranks_seed(struct run *r)
{
    int32_t rng[4];

    if (ranks_first(r))
        return;
    workspace_rng(&r->work, rng);
    rng[1] ^= (int32_t)(0x9E3779B9u * (uint32_t)r->ranks.all.rank);
    device_upload(&r->device, r->work.ctx.rng, rng);
}

static bool save_instead(struct run *r)
{
    if (!r->state.step)
        return false;
    ranks_seed(r);
    return r->saved_step == r->state.step || run_save_checkpoint(r, NULL) == 0;
}

/* All ranks hold the same state, which rank 0 saves. */
static void end_broken(struct run *r, const struct error *err)
{
    if (!ranks_first(r))
        sleep(SAVING_SECONDS);
    else if (ranks_sharded(r))
        log_error("%s; the optimizer's state is in shards: --resume continues after the newest checkpoint", err->text);
    else if (save_instead(r))
        log_error("%s; step %lld is saved, --resume continues", err->text, (long long)r->state.step);
    else
        log_error("%s; this step is not saved", err->text);
    collective_abort(&r->ranks.all, err->code);
}

/* -1 with the error of the first rank whose status [size] holds one; sets x->told. */
static int check_status(struct ranks *x, const struct rank_status *statuses, struct error *err)
{
    int k = 0;

    while (k < x->all.size && statuses[k].code == EXIT_CODE_OK)
        k++;
    if (k == x->all.size)
        return 0;
    x->told = true;
    error_set(err, statuses[k].code, "%s", statuses[k].text);
    return k == 0 ? -1 : error_prefix(err, "rank %d", k);
}

/* Gathers the status of every rank. -1 with the error of the first rank that ends. */
static int meet(struct run *r, struct rank_status mine, struct error *err)
{
    struct ranks *x = &r->ranks;
    double start = now_seconds();

    if (alone(r))
        return 0;
    mine.stop = stop_requested();
    if (collective_gather(&x->all, x->statuses, &mine, sizeof mine, err))
        return -1;
    x->met += now_seconds() - start;
    for (int i = 0; i < x->all.size; i++)
        x->stop = x->stop ? x->stop : x->statuses[i].stop;
    stop_note(x->stop);
    return check_status(x, x->statuses, err);
}

void ranks_end(struct run *r, int rc, struct error *err)
{
    struct rank_status status = { .code = err->code };

    if (rc >= 0 || alone(r) || !r->ranks.statuses)
        return;
    if (!r->ranks.all.broken && !r->ranks.told) {
        snprintf(status.text, sizeof status.text, "%s", err->text);
        meet(r, status, err);
    }
    ranks_unlink(r); /* abandon operations that wait for a dead rank */
    if (r->ranks.all.broken)
        end_broken(r, err);
    if (!ranks_first(r))
        log_mute();
}

const char *ranks_device(const struct run *r, const char *device, char own[32])
{
    const char *visible = getenv("CUDA_VISIBLE_DEVICES");
    int n = 1;

    if (alone(r) || (strcmp(device, "cuda") && strcmp(device, "auto")))
        return device;
    if (!strcmp(device, "auto") && !device_gpu_expected())
        return "cpu";
    for (const char *at = visible; at && (at = strchr(at, ',')); at++)
        n++;
    snprintf(own, 32, "cuda:%d", visible ? r->ranks.all.local_rank % n : r->ranks.all.local_rank);
    return own;
}

/* The other ranks use the files that rank 0 has prepared. */
int ranks_prepare(struct run *r, struct error *err)
{
    const struct rank_status none = { 0 };

    if (!r->trainer->prepare)
        return 0;
    if (ranks_first(r) && r->trainer->prepare(r->self, err))
        return -1;
    if (meet(r, none, err))
        return -1;
    if (!ranks_first(r) && !r->ranks.stop && r->trainer->prepare(r->self, err))
        return -1;
    return meet(r, none, err);
}

int ranks_validate(struct run *r, int (*validate)(struct run *r, struct validation *v, struct error *err),
                   struct validation *v, struct error *err)
{
    struct rank_status status = { 0 };

    r->state.unvalidated = true; /* in case a rank dies during the validation */
    if (ranks_first(r)) {
        if ((status.rc = validate(r, v, err)) < 0)
            return -1;
        status.n = v->n;
        status.score = v->score;
        status.final = v->final;
    }
    if (alone(r))
        return status.rc;
    if (meet(r, status, err))
        return -1;
    v->n = r->ranks.statuses->n;
    v->score = r->ranks.statuses->score;
    v->final = r->ranks.statuses->final;
    return r->ranks.statuses->rc;
}

int ranks_finish(struct run *r, int (*finish)(struct run *r, struct error *err), struct error *err)
{
    struct rank_status status = { 0 };

    if (ranks_first(r) && (status.rc = finish(r, err)) < 0)
        return -1;
    if (alone(r))
        return status.rc;
    return meet(r, status, err) ? -1 : r->ranks.statuses->rc;
}

static void add_partitions(struct run *r)
{
    const struct ranks *x = &r->ranks;
    float loss, sum = x->statuses[0].loss;

    for (int i = 1; i < x->all.size; i++)
        sum += x->statuses[i].loss;
    device_download(&r->device, &loss, r->loss_total);
    loss += sum;
    device_upload(&r->device, r->loss_total, &loss);
    for (int i = 0; i < x->all.size; i++)
        r->state.units += x->statuses[i].units;
}

/* Stores loss and units of the partition in the status, and restores run_state to the previous step. */
static int compute_partition(struct run *r, int (*part)(struct run *r, struct error *err), struct rank_status *status,
                             struct error *err)
{
    int64_t units = r->state.units;
    float loss;

    device_download(&r->device, &loss, r->loss_total);
    device_upload(&r->device, r->loss_total, &status->loss);
    int rc = part(r, err);
    device_download(&r->device, &status->loss, r->loss_total);
    device_upload(&r->device, r->loss_total, &loss);
    status->units = r->state.units - units;
    r->state.units = units;
    return rc;
}

/* Computes the partition, gathers the status of all ranks, and sums the gradients. */
static int sum_partitions(struct run *r, int (*part)(struct run *r, struct error *err), struct rank_status *status,
                          struct error *err)
{
    int rc = compute_partition(r, part, status, err);

    r->ranks.in_step = true;
    return rc || meet(r, *status, err) || ranks_sum(r, err) ? -1 : 0;
}

/* Until the sums are complete, run_state is that of the previous step, so that it can be saved. */
int ranks_step(struct run *r, int (*part)(struct run *r, struct error *err), struct error *err)
{
    struct ranks *x = &r->ranks;
    struct rank_status status = { 0 };
    double summed = x->summed;

    if (alone(r))
        return part(r, err);
    int rc = sum_partitions(r, part, &status, err);
    x->in_step = false;
    if (rc)
        return -1;
    add_partitions(r);
    x->steps++;
    log_debug("step %lld: sums of gradients took %.2f ms", (long long)r->state.step + 1, 1e3 * (x->summed - summed));
    return 0;
}

bool ranks_tell(const struct run *r, char text[RANKS_TEXT])
{
    const struct ranks *x = &r->ranks;
    double steps = x->steps ? (double)x->steps : 1;

    snprintf(text, RANKS_TEXT,
             "%d ranks: %.2f s spent on sums of gradients%s, %.2f ms a step; %.2f ms a step on weights; "
             "%.1f MiB sent by each, %.1f s in status all-gathers",
             x->all.size, x->summed, x->links ? " on the devices" : "", 1e3 * x->summed / steps,
             1e3 * x->gathered / steps, (double)x->bytes / (1 << 20), x->met);
    return !alone(r);
}

/* ---- links between devices ---- */

enum { OPENING_SECONDS = 120, OPENING_MAX = 86400, OPENING_POLL_US = 1000 };

/* Sets *failed to the error of the first rank that failed, or to NULL. -1 when the all-gather failed. */
static int meet_links(struct run *r, int rc, const struct error *why, const char **failed, struct error *err)
{
    struct rank_status status = { .rc = rc };

    if (rc)
        snprintf(status.text, sizeof status.text, "%s", why->text);
    if (meet(r, status, err))
        return -1;
    *failed = NULL;
    for (int i = 0; i < r->ranks.all.size && !*failed; i++)
        *failed = r->ranks.statuses[i].rc ? r->ranks.statuses[i].text : NULL;
    return 0;
}

/* Time limit for opening links, from the environment. */
static int opening_seconds(int *seconds, struct error *err)
{
    static const char name[] = "AMBIT_NCCL_TIMEOUT";
    const char *text = getenv(name);
    char *end;

    if (!text)
        return 0;
    long n = strtol(text, &end, 10);
    if (*text < '0' || *text > '9' || *end || n < 1 || n > OPENING_MAX)
        return error_set(err, EXIT_CODE_USAGE, "%s: expected seconds from 1 to %d, got '%.40s'", name, OPENING_MAX,
                         text);
    *seconds = (int)n;
    return 0;
}

/* Returns 0 once the links are open, or -1 with *why filled. */
static int wait_until_open(struct run *r, const struct links *links, int seconds, struct error *why)
{
    double end = now_seconds() + seconds;
    int rc;

    while ((rc = links->opened(&r->device, why)) > 0) {
        collective_wait_note(&r->ranks.all);
        if (now_seconds() > end)
            return error_set(why, EXIT_CODE_DEVICE, "NCCL did not connect all ranks within %d seconds", seconds);
        usleep(OPENING_POLL_US);
    }
    return rc;
}

/* Uses the connection id that rank 0 has made. */
static int open_by_name(struct run *r, const struct links *links, const char *name, int seconds, const char **failed,
                        struct error *err)
{
    struct ranks *x = &r->ranks;
    struct error why;
    char *names = xmalloc((size_t)x->all.size * LINKS_NAME);
    int rc = collective_gather(&x->all, names, name, LINKS_NAME, err);

    if (rc == 0) {
        int closed = links->open(&r->device, names, x->all.rank, x->all.size, &why);
        if (!closed)
            closed = wait_until_open(r, links, seconds, &why);
        rc = meet_links(r, closed, &why, failed, err);
    }
    free(names);
    return rc;
}

/* Connects the devices of all ranks. -1 if a rank ends. If links cannot be opened, x->links stays NULL and a warning is
 * logged. */
static int open_links(struct run *r, struct error *err)
{
    const struct links *links = links_of(&r->device);
    char name[LINKS_NAME] = { 0 };
    const char *failed;
    struct error why;
    int seconds = OPENING_SECONDS;

    if (r->ranks.all.size < 2 || !links)
        return 0;
    if (opening_seconds(&seconds, err))
        return -1;
    if (meet_links(r, links->name(&r->device, name, &why), &why, &failed, err))
        return -1;
    if (!failed && open_by_name(r, links, name, seconds, &failed, err))
        return -1;
    if (!failed) {
        r->ranks.links = links;
        return 0;
    }
    log_warn("gradients go through the host: %s", failed);
    links->close(&r->device);
    return 0;
}

void ranks_unlink(struct run *r)
{
    struct ranks *x = &r->ranks;

    if (x->links)
        x->links->close(&r->device);
    if (x->memory.base) {
        device_arena_release(&r->device, &x->memory);
        x->in = x->out = NULL;
    }
    x->links = NULL;
}

/* ---- agreement of settings, data and weights ---- */

enum { FORM = JSON_ENCODE_ANY | JSON_REAL_PRECISION(9) };

/* Everything that must agree, with the most informative fields first. */
static char *describe(const struct run *r)
{
    json_t *o = json_pack("{s:s, s:b, s:b, s:b, s:s, s:o}", "out", r->set.out, "resume", r->set.resume, "dry_run",
                          r->set.dry_run, "shard-optimizer", r->set.shard_optimizer, "device", r->device.driver->name,
                          "checkpoint", run_make_meta(r));
    char *text = json_dumps(o, JSON_COMPACT);

    json_decref(o);
    CHECK(text, "settings that are no JSON");
    return text;
}

static int refuse(const char *name, const json_t *own, const json_t *first, const char *data, struct error *err)
{
    char *got = json_dumps(own, FORM), *expected = json_dumps(first, FORM);

    if (strcmp(name, "data_hash") == 0)
        error_set(err, EXIT_CODE_USAGE, "%s: expected the data that rank 0 has, got others", data);
    else
        error_set(err, EXIT_CODE_USAGE, "%s: expected %.200s as rank 0 has, got %.200s", name,
                  expected ? expected : "none", got ? got : "none");
    free(got);
    free(expected);
    return -1;
}

/* -1 with an error that names the first field, or setting, that differs. */
static int compare(json_t *own, const json_t *first, const char *data, struct error *err)
{
    const char *name;
    json_t *value;

    /* clang-format off */
    json_object_foreach(own, name, value) {
        const json_t *other = json_object_get(first, name);
        if (json_is_object(value) && json_is_object(other) && compare(value, other, data, err))
            return -1;
        if (!json_equal(value, other))
            return refuse(name, value, other, data, err);
    }
    /* clang-format on */
    return 0;
}

/* Compares this rank's text with the first of [size, max length]. */
static int compare_texts(const char *own, const char *first, const char *data, struct error *err)
{
    json_t *a = json_loads(own, 0, NULL), *b = json_loads(first, 0, NULL);
    int rc = compare(a, b, data, err);

    if (rc == 0 && strcmp(own, first))
        rc = error_set(err, EXIT_CODE_USAGE, "expected the command of rank 0, got another");
    json_decref(a);
    json_decref(b);
    return rc;
}

static int gather_texts(struct run *r, const char *own, struct error *err)
{
    struct ranks *x = &r->ranks;
    struct rank_status status = { .units = (int64_t)strlen(own) + 1 };
    int64_t most = 0;

    if (meet(r, status, err))
        return -1;
    for (int i = 0; i < x->all.size; i++)
        most = x->statuses[i].units > most ? x->statuses[i].units : most;
    char *mine = xcalloc(1, (size_t)most), *all = xmalloc((size_t)most * (size_t)x->all.size);
    memcpy(mine, own, strlen(own));
    int rc = collective_gather(&x->all, all, mine, (size_t)most, err);
    if (rc == 0)
        rc = compare_texts(own, all, r->set.data, err);
    free(mine);
    free(all);
    return rc;
}

/* A rank that differs reports it in the final status all-gather. */
int ranks_agree(struct run *r, struct error *err)
{
    if (r->ranks.all.size < 2)
        return 0;
    char *own = describe(r);
    int rc = gather_texts(r, own, err);
    free(own);
    return rc ? -1 : meet(r, (struct rank_status){ 0 }, err);
}

/* Of weights only: optimizer states come from the same file, or are zero. */
static uint64_t weights_hash(struct run *r)
{
    struct checksum sum;
    float *values = params_buffer(r->params);

    checksum_init(&sum);
    for (int i = 0; i < r->params->n; i++) {
        const struct param *p = &r->params->list[i];
        param_download(p, &r->device, values);
        checksum_update(&sum, values, (size_t)tensor_size(p->t) * sizeof *values);
    }
    free(values);
    return checksum_final(&sum);
}

int ranks_agree_weights(struct run *r, struct error *err)
{
    const struct ranks *x = &r->ranks;

    if (x->all.size < 2)
        return 0;
    struct rank_status status = { .units = (int64_t)weights_hash(r), .n = (int)r->state.step };
    if (meet(r, status, err))
        return -1;
    if (x->statuses->n != status.n)
        return error_set(err, EXIT_CODE_USAGE, "%s: expected a run after step %d as rank 0 has, got step %d",
                         r->set.out, x->statuses->n, status.n);
    if (x->statuses->units != status.units)
        return error_set(err, EXIT_CODE_CHECKPOINT, "expected the weights that rank 0 starts with, got others");
    return meet(r, (struct rank_status){ 0 }, err);
}

/* ---- buckets ---- */

/* A bucket is an eighth of all gradients, within two bounds. Smaller buckets would cost more for latency than for
 * bytes; larger ones would waste memory. */
enum { PARTS = 8, LEAST = 1 << 15 };

static int64_t size_for(int64_t total)
{
    int64_t part = (total + PARTS - 1) / PARTS;
    return part < LEAST ? LEAST : part > BUCKET_MAX ? BUCKET_MAX : part;
}

static int64_t numbers_of(const struct params *p, int param)
{
    const struct tensor *t = p->list[param].t;
    return t->needs_grad ? tensor_size(t) : 0;
}

/* Cuts the gradients of the parameters that need gradients now. */
static struct buckets buckets_of(const struct params *p)
{
    struct buckets b = { .params = p };

    for (int i = 0; i < p->n; i++)
        b.total += numbers_of(p, i);
    b.size = size_for(b.total);
    b.n = (int)((b.total + b.size - 1) / b.size);
    return b;
}

static int64_t buckets_numbers(const struct buckets *b, int bucket)
{
    int64_t left = b->total - bucket * b->size;
    return left < b->size ? left : b->size;
}

/* Visits the next n floats. */
static void buckets_walk(const struct buckets *b, struct bucket_place *place, float *numbers, int64_t n,
                         bucket_copy_fn *copy, void *arg)
{
    for (int64_t done = 0; done < n && place->done < b->params->n; place->done++, place->at = 0) {
        int64_t left = numbers_of(b->params, place->done) - place->at, some = left < n - done ? left : n - done;
        if (some > 0)
            copy(arg, &b->params->list[place->done], place->at, numbers + done, some);
        done += some;
        place->at += some;
        if (some < left)
            return;
    }
}

/* ---- sums of gradients ---- */

enum { POLL_US = 20, STRETCH = 1 << 12 };

static void *gradient_of(const struct param *p, int64_t at)
{
    return (float *)p->t->grad->data + at;
}

static void download_gradient(void *run, const struct param *p, int64_t at, float *bucket, int64_t n)
{
    struct run *r = run;
    r->device.driver->download(&r->device, bucket, gradient_of(p, at), (size_t)n * sizeof *bucket);
}

static void upload_gradient(void *run, const struct param *p, int64_t at, float *bucket, int64_t n)
{
    struct run *r = run;
    r->device.driver->upload(&r->device, gradient_of(p, at), bucket, (size_t)n * sizeof *bucket);
}

/* y (+)= x, n floats on the device */
static void put(struct run *r, float *y, float *x, int64_t n, bool add)
{
    struct tensor to = { .dtype = F32, .ndim = 1, .shape = { n }, .data = y }, from = to;

    from.data = x;
    r->device.driver->kernels->accumulate(&r->work.ctx, (struct destination){ &to, add }, &from);
}

static void fetch_gradient(void *run, const struct param *p, int64_t at, float *bucket, int64_t n)
{
    put(run, bucket, gradient_of(p, at), n, false);
}

static void store_gradient(void *run, const struct param *p, int64_t at, float *bucket, int64_t n)
{
    put(run, gradient_of(p, at), bucket, n, false);
}

/* out [slice] = in [0] + in [1] + ..., with in [size, slice]. */
static void add_in_order(float *out, const float *in, int size, int64_t slice)
{
#pragma omp parallel for
    for (int64_t at = 0; at < slice; at += STRETCH) {
        int64_t end = slice - at < STRETCH ? slice : at + STRETCH;
        memcpy(out + at, in + at, (size_t)(end - at) * sizeof *out);
        for (int k = 1; k < size; k++)
            for (int64_t i = at; i < end; i++)
                out[i] += in[k * slice + i];
    }
}

static int sum_on_host(struct ranks *x, int64_t n, int64_t slice, struct error *err)
{
    struct collective *all = &x->all;
    size_t bytes = (size_t)slice * sizeof(float);

    memset(x->out + n, 0, (size_t)(slice * all->size - n) * sizeof(float));
    if (collective_exchange(all, x->in, x->out, bytes, err))
        return -1;
    add_in_order(x->out, x->in, all->size, slice);
    return collective_gather(all, x->in, x->out, bytes, err);
}

/* Queues the same sum on the device, one addition after the other. Floats after the first n are leftovers of earlier
 * buckets and are ignored. */
static int sum_on_devices(struct run *r, int64_t slice, struct error *err)
{
    struct ranks *x = &r->ranks;
    size_t bytes = (size_t)slice * sizeof(float);

    if (x->links->exchange(&r->device, x->in, x->out, bytes, err))
        return -1;
    for (int k = 0; k < x->all.size; k++)
        put(r, x->out, x->in + k * slice, slice, k > 0);
    return x->links->gather(&r->device, x->in, x->out, bytes, err);
}

/* Sums the next bucket: reduce-scatter, then all-gather. Each rank sums one slice of the bucket, and all ranks
 * receive all slices. */
static int sum_bucket(struct run *r, int bucket, struct error *err)
{
    struct ranks *x = &r->ranks;
    int64_t n = buckets_numbers(&x->buckets, bucket), size = x->all.size, slice = (n + size - 1) / size;

    buckets_walk(&x->buckets, &x->from, x->out, n, x->links ? fetch_gradient : download_gradient, r);
    if (x->links ? sum_on_devices(r, slice, err) : sum_on_host(x, n, slice, err))
        return -1;
    buckets_walk(&x->buckets, &x->to, x->in, n, x->links ? store_gradient : upload_gradient, r);
    x->bytes += 2 * (size - 1) * slice * (int64_t)sizeof(float);
    return 0;
}

/* Waits until linked devices have finished all queued work. */
static int wait_links(struct run *r, struct error *err)
{
    struct ranks *x = &r->ranks;
    int rc = 0;

    while (x->links && (rc = x->links->poll(&r->device, err)) > 0) {
        collective_wait_note(&x->all);
        usleep(POLL_US);
    }
    x->all.broken = x->all.broken || rc;
    return rc;
}

static size_t bucket_bytes(const struct ranks *x)
{
    return (size_t)(BUCKET_MAX + x->all.size) * sizeof(float);
}

int ranks_link(struct run *r, struct error *err)
{
    struct ranks *x = &r->ranks;

    if (open_links(r, err))
        return -1;
    if (!x->links)
        return 0;
    if (device_arena(&r->device, &x->memory, 2 * bucket_bytes(x) + ARENA_ALIGN, err))
        return -1;
    x->in = arena_alloc(&x->memory, bucket_bytes(x));
    x->out = arena_alloc(&x->memory, bucket_bytes(x));
    return 0;
}

/* Resets all state that a step's sums start from. */
static void set_buckets(struct run *r)
{
    struct ranks *x = &r->ranks;

    x->buckets = buckets_of(r->params);
    x->from = x->to = (struct bucket_place){ 0 };
    if (x->in)
        return;
    x->in = xmalloc(bucket_bytes(x));
    x->out = xmalloc(bucket_bytes(x));
}

int ranks_sum(struct run *r, struct error *err)
{
    struct ranks *x = &r->ranks;
    double start = now_seconds();

    set_buckets(r);
    for (int i = 0; i < x->buckets.n; i++)
        if (sum_bucket(r, i, err))
            return -1;
    int rc = wait_links(r, err);
    x->summed += now_seconds() - start;
    return rc;
}

/* ---- sharded optimizer ---- */

bool ranks_sharded(const struct run *r)
{
    return r->set.shard_optimizer && r->ranks.all.size > 1;
}

/* A position among the weights that a rank updates. */
struct shard_place {
    int param;
    int64_t at; /* offset from the start of its shard of the parameter */
};

/* Copies between elements [at, at + n) of a parameter and n floats. */
typedef void weights_fn(struct run *r, struct param *p, int64_t at, float *numbers, int64_t n);

static struct update_share shard_of(const struct run *r, int param, int rank)
{
    const struct update_share none = { 0, 0 };

    return r->params->list[param].t->needs_grad ? optim_share(&r->optim, r->params, param, rank) : none;
}

static float *weights_of(const struct param *p, int64_t at)
{
    return (float *)(p->master ? p->master : p->t)->data + at;
}

static void download_weights(struct run *r, struct param *p, int64_t at, float *numbers, int64_t n)
{
    r->device.driver->download(&r->device, numbers, weights_of(p, at), (size_t)n * sizeof *numbers);
}

static void upload_weights(struct run *r, struct param *p, int64_t at, float *numbers, int64_t n)
{
    param_upload_part(p, &r->device, numbers, at, n);
}

static void convert(struct run *r, void *y, enum dtype type, const float *x, int64_t n)
{
    struct tensor to = { .dtype = type, .ndim = 1, .shape = { n }, .data = y };
    struct tensor from = { .dtype = F32, .ndim = 1, .shape = { n }, .data = (void *)(uintptr_t)x };

    r->device.driver->kernels->cast(&r->work.ctx, &to, &from);
}

static void fetch_weights(struct run *r, struct param *p, int64_t at, float *numbers, int64_t n)
{
    convert(r, numbers, F32, weights_of(p, at), n);
}

static void store_weights(struct run *r, struct param *p, int64_t at, float *numbers, int64_t n)
{
    convert(r, weights_of(p, at), F32, numbers, n);
    if (p->master)
        convert(r, (uint16_t *)p->t->data + at, BF16, numbers, n);
}

/* Visits at most the next n weights that a rank updates. Returns their number. */
static int64_t walk_shard(struct run *r, int rank, struct shard_place *place, float *numbers, int64_t n,
                          weights_fn *copy)
{
    int64_t done = 0;

    for (; place->param < r->params->n && done < n; place->param++, place->at = 0) {
        struct update_share s = shard_of(r, place->param, rank);
        int64_t left = s.end - s.first - place->at, some = left < n - done ? left : n - done;
        if (some > 0)
            copy(r, &r->params->list[place->param], s.first + place->at, numbers + done, some);
        done += some;
        place->at += some;
        if (some < left)
            break;
    }
    return done;
}

static int64_t shard_size(const struct run *r, int rank)
{
    int64_t n = 0;

    for (int i = 0; i < r->params->n; i++) {
        struct update_share s = shard_of(r, i, rank);
        n += s.end - s.first;
    }
    return n;
}

static int64_t max_shard_size(const struct run *r)
{
    int64_t most = 0;

    for (int k = 0; k < r->ranks.all.size; k++)
        most = shard_size(r, k) > most ? shard_size(r, k) : most;
    return most;
}

/* Gathers the next n weights of every rank. A rank whose shard has ended sends stale floats, which are ignored. */
static int gather_slice(struct run *r, struct shard_place *places, int64_t n, struct error *err)
{
    struct ranks *x = &r->ranks;
    size_t bytes = (size_t)n * sizeof(float);

    walk_shard(r, x->all.rank, &places[x->all.rank], x->out, n, x->links ? fetch_weights : download_weights);
    if (x->links ? x->links->gather(&r->device, x->in, x->out, bytes, err)
                 : collective_gather(&x->all, x->in, x->out, bytes, err))
        return -1;
    for (int k = 0; k < x->all.size; k++)
        if (k != x->all.rank)
            walk_shard(r, k, &places[k], x->in + k * n, n, x->links ? store_weights : upload_weights);
    x->bytes += (x->all.size - 1) * (int64_t)bytes;
    return 0;
}

int ranks_gather_weights(struct run *r, struct error *err)
{
    struct ranks *x = &r->ranks;
    int64_t slice = BUCKET_MAX / x->all.size;
    double start = now_seconds();

    if (!ranks_sharded(r))
        return 0;
    struct shard_place *places = xcalloc((size_t)x->all.size, sizeof *places);
    int rc = 0;
    for (int64_t left = max_shard_size(r); left > 0 && rc == 0; left -= slice)
        rc = gather_slice(r, places, left < slice ? left : slice, err);
    free(places);
    if (rc == 0)
        rc = wait_links(r, err);
    x->gathered += now_seconds() - start;
    return rc;
}

/* A request of rank 0 for a state; param -1 ends the service. */
struct state_request {
    int32_t param, k;
};

static int ask_for(struct run *r, int rank, int param, int k, float *out, size_t bytes, struct error *err)
{
    const struct state_request request = { param, k };
    struct collective *all = &r->ranks.all;

    return collective_send(all, rank, &request, sizeof request, err) || collective_receive(all, rank, out, bytes, err)
               ? -1
               : 0;
}

/* An Adafactor state is not sharded: one rank holds all of it. */
static size_t bytes_of(const struct param *p, int k, struct update_share s)
{
    int64_t shape[TENSOR_MAX_DIMS], n = p->optimizer == OPTIMIZER_ADAFACTOR ? 1 : s.end - s.first;
    int ndim = param_state_shape(p, k, shape);

    for (int d = 0; d < ndim && p->optimizer == OPTIMIZER_ADAFACTOR; d++)
        n *= shape[d];
    return (size_t)n * sizeof(float);
}

int ranks_whole_state(void *run, const struct param *p, int k, float *out, struct error *err)
{
    struct run *r = run;
    int param = (int)(p - r->params->list), rc = 0;

    for (int rank = 0; rank < r->ranks.all.size && rc == 0; rank++) {
        struct update_share s = optim_share(&r->optim, r->params, param, rank);
        if (s.first == s.end)
            continue;
        float *to = out + (p->optimizer == OPTIMIZER_ADAFACTOR ? 0 : s.first);
        if (rank == r->ranks.all.rank)
            device_download(&r->device, to, p->state[k]);
        else
            rc = ask_for(r, rank, param, k, to, bytes_of(p, k, s), err);
    }
    return rc;
}

static int serve(struct run *r, const struct state_request *q, float *buffer, struct error *err)
{
    const struct tensor *state = r->params->list[q->param].state[q->k];

    device_download(&r->device, buffer, state);
    return collective_send(&r->ranks.all, 0, buffer, tensor_bytes(state), err);
}

int ranks_serve_states(struct run *r, struct error *err)
{
    struct state_request q;

    if (!ranks_sharded(r))
        return 0;
    float *buffer = params_buffer(r->params);
    int rc;
    do {
        rc = collective_receive(&r->ranks.all, 0, &q, sizeof q, err);
    } while (rc == 0 && q.param >= 0 && (rc = serve(r, &q, buffer, err)) == 0);
    free(buffer);
    return rc;
}

/* Call it even if saving failed. A dead rank is noticed at the next exchange. */
void ranks_end_states(struct run *r)
{
    const struct state_request none = { -1, 0 };

    for (int rank = 1; rank < r->ranks.all.size && ranks_sharded(r); rank++)
        if (collective_send(&r->ranks.all, rank, &none, sizeof none, NULL))
            return;
}
