#include "models/io/checkpoint.h"

#include "data/base/json.h"
#include "models/io/durable.h"
#include "models/io/mismatch.h"
#include "models/io/model_folder.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Folders of checkpoints. */

static char *step_path(const char *out, int64_t step, const char *ending)
{
    size_t n = strlen(out) + strlen(ending) + 40;
    char *path = xmalloc(n);
    snprintf(path, n, "%s/checkpoint-%" PRId64 "%s", out, step, ending);
    return path;
}

static int remove_one(const char *path, const struct stat *st, int type, struct FTW *where)
{
    (void)st, (void)type, (void)where;
    return remove(path);
}

/* Removes a folder and its contents. A missing folder is no error. */
static int remove_tree(const char *path, struct error *err)
{
    if (nftw(path, remove_one, 16, FTW_DEPTH | FTW_PHYS) != 0 && errno != ENOENT)
        return error_set(err, EXIT_CODE_FAILURE, "%s: cannot remove: %s", path, strerror(errno));
    return 0;
}

static int sync_one(const char *path, const struct stat *st, int type, struct FTW *where)
{
    (void)st, (void)where;
    int flags = type == FTW_DP ? O_RDONLY | O_DIRECTORY : O_RDONLY, fd = open(path, flags | O_CLOEXEC);
    int rc = fd < 0 || (fsync(fd) != 0 && errno != EINVAL) ? -1 : 0;
    if (fd >= 0)
        close(fd);
    return rc;
}

/* Returns the step of a name "checkpoint-N" + ending, or -1. */
static int64_t step_of(const char *name, const char *ending)
{
    char again[64];
    int64_t step = -1;

    if (sscanf(name, "checkpoint-%18" SCNd64, &step) != 1 || step < 0)
        return -1;
    snprintf(again, sizeof again, "checkpoint-%" PRId64 "%s", step, ending);
    return strcmp(name, again) ? -1 : step;
}

struct step_list {
    int64_t *v;
    int n, cap;
};

static int descending(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x < y) - (x > y);
}

/* Lists the steps in a folder, newest first. A missing folder has none. */
static int list_steps(const char *out, const char *ending, struct step_list *s, struct error *err)
{
    DIR *d = opendir(out);

    *s = (struct step_list){ 0 };
    if (!d && errno == ENOENT)
        return 0;
    if (!d)
        return error_set(err, EXIT_CODE_FAILURE, "%s: %s", out, strerror(errno));
    for (struct dirent *e; (e = readdir(d)) != NULL;)
        if (step_of(e->d_name, ending) >= 0) {
            GROW(s->v, s->n, s->cap);
            s->v[s->n++] = step_of(e->d_name, ending);
        }
    closedir(d);
    if (s->n)
        qsort(s->v, (size_t)s->n, sizeof *s->v, descending);
    return 0;
}

char *checkpoint_dir_begin(const char *out, int64_t step, struct error *err)
{
    char *tmp = step_path(out, step, ".tmp");

    if (make_dirs(out, err) == 0 && remove_tree(tmp, err) == 0 && make_dirs(tmp, err) == 0)
        return tmp;
    free(tmp);
    return NULL;
}

/* Renames a checkpoint to .tmp before it is removed, so that an interrupted removal never leaves a partial checkpoint
 * under its final name. */
static int drop(const char *out, int64_t step, struct error *err)
{
    char *path = step_path(out, step, ""), *tmp = step_path(out, step, ".tmp");
    int rc = remove_tree(tmp, err);

    if (rc == 0 && rename(path, tmp) != 0)
        rc = error_set(err, EXIT_CODE_FAILURE, "%s: %s", tmp, strerror(errno));
    if (rc == 0)
        rc = remove_tree(tmp, err);
    free(path);
    free(tmp);
    return rc;
}

/* Renames the temporary folder to its final name. If that exists, the two are exchanged atomically and the old one is
 * removed. */
static int publish(const char *tmp, const char *path, struct error *err)
{
    unsigned flags = access(path, F_OK) == 0 ? RENAME_EXCHANGE : 0;

    if (renameat2(AT_FDCWD, tmp, AT_FDCWD, path, flags) != 0)
        return error_set(err, EXIT_CODE_FAILURE, "%s: cannot rename: %s", path, strerror(errno));
    return durable_sync_parent(path, err) || (flags == RENAME_EXCHANGE && remove_tree(tmp, err)) ? -1 : 0;
}

int checkpoint_dir_commit(const char *out, int64_t step, int keep, struct error *err)
{
    char *path = step_path(out, step, ""), *tmp = step_path(out, step, ".tmp");
    struct step_list s = { 0 };
    int rc = -1;

    CHECK(keep >= 1, "keep %d checkpoints", keep);
    if (nftw(tmp, sync_one, 16, FTW_DEPTH | FTW_PHYS) != 0) {
        error_set(err, EXIT_CODE_FAILURE, "%s: cannot sync: %s", tmp, strerror(errno));
        goto out;
    }
    if (publish(tmp, path, err) || list_steps(out, "", &s, err))
        goto out;
    rc = 0;
    for (int i = 0, kept = 1; i < s.n && rc == 0; i++)
        if (s.v[i] != step && ++kept > keep)
            rc = drop(out, s.v[i], err);
out:
    free(s.v);
    free(path);
    free(tmp);
    return rc;
}

int checkpoint_newest(const char *out, char **path, struct error *err)
{
    struct step_list s;

    *path = NULL;
    if (list_steps(out, "", &s, err))
        return -1;
    if (s.n)
        *path = step_path(out, s.v[0], "");
    free(s.v);
    return 0;
}

int checkpoint_latest(const char *out, char **path, struct error *err)
{
    struct step_list s;
    int rc = list_steps(out, ".tmp", &s, err);

    for (int i = 0; i < s.n && rc == 0; i++) {
        char *tmp = step_path(out, s.v[i], ".tmp");
        rc = remove_tree(tmp, err);
        free(tmp);
    }
    free(s.v);
    *path = NULL;
    return rc ? -1 : checkpoint_newest(out, path, err);
}

enum { MAX_META = 64 << 20 };

static const char meta_name[] = "meta";

/* Returns the header of a tensor in the file; its name is written to `name`. */
static struct hdf5_tensor header(char name[HDF5_MAX_NAME], const char *group, const char *own, enum hdf5_type type,
                                 int ndim, const int64_t *shape)
{
    struct hdf5_tensor t = { .name = name, .type = type, .ndim = ndim };
    int n = snprintf(name, HDF5_MAX_NAME, "%s%s", group, own);

    CHECK(n < HDF5_MAX_NAME && !strchr(own, '/') && ndim <= HDF5_MAX_DIMS, "tensor name %s", own);
    for (int d = 0; d < ndim; d++)
        t.shape[d] = shape[d];
    return t;
}

static struct hdf5_tensor extra_header(char name[HDF5_MAX_NAME], const struct checkpoint_extra *e)
{
    return header(name, "state/", e->tensor.name, e->tensor.type, e->tensor.ndim, e->tensor.shape);
}

/* ---- saving ---- */

static struct hdf5_tensor state_header(char name[HDF5_MAX_NAME], const struct param *p, int k)
{
    int64_t shape[TENSOR_MAX_DIMS];
    int ndim = param_state_shape(p, k, shape);

    return header(name, param_state_group(p, k), p->name, HDF5_F32, ndim, shape);
}

static int save_states(struct hdf5_writer *w, const struct checkpoint *c, const struct param *p, float *buffer,
                       struct error *err)
{
    char name[HDF5_MAX_NAME];

    for (int k = 0; k < PARAM_STATES; k++) {
        if (!p->state[k])
            continue;
        struct hdf5_tensor t = state_header(name, p, k);
        if (!c->whole)
            device_download(c->device, buffer, p->state[k]);
        else if (c->whole(c->whole_arg, p, k, buffer, err))
            return -1;
        if (hdf5_put(w, &t, buffer, err))
            return -1;
    }
    return 0;
}

static int save_params(struct hdf5_writer *w, const struct checkpoint *c, struct error *err)
{
    float *buffer = params_buffer(c->params);
    int rc = 0;

    for (int i = 0; i < c->params->n && rc == 0; i++) {
        const struct param *p = &c->params->list[i];
        param_download(p, c->device, buffer);
        rc = weights_put(w, p, buffer, c->weights, err);
        if (rc == 0)
            rc = save_states(w, c, p, buffer, err);
    }
    free(buffer);
    return rc;
}

static int save_extras(struct hdf5_writer *w, const struct checkpoint *c, struct error *err)
{
    char name[HDF5_MAX_NAME];

    for (int i = 0; i < c->n_extra; i++) {
        struct hdf5_tensor t = extra_header(name, &c->extra[i]);
        if (hdf5_put(w, &t, c->extra[i].data, err))
            return -1;
    }
    return 0;
}

int checkpoint_put_meta(struct hdf5_writer *w, const json_t *meta, struct error *err)
{
    char *text = json_dumps(meta, JSON_INDENT(1) | JSON_REAL_PRECISION(17));

    CHECK(text, "meta is not a JSON value");
    struct hdf5_tensor t = { .name = meta_name, .type = HDF5_U8, .ndim = 1, .shape = { (int64_t)strlen(text) } };
    int rc = hdf5_put(w, &t, text, err);
    free(text);
    return rc;
}

int checkpoint_save(const char *dir, const struct checkpoint *c, struct error *err)
{
    char *path = path_in(dir, CHECKPOINT_FILE);
    struct hdf5_writer *w = hdf5_create(path, err);
    int rc = !w || checkpoint_put_meta(w, c->meta, err) || save_params(w, c, err) || save_extras(w, c, err) ? -1 : 0;

    rc = hdf5_finish(w, rc, err);
    free(path);
    return rc;
}

/* ---- loading ---- */

int checkpoint_open(struct hdf5_reader *r, const char *path, struct error *err)
{
    struct stat st;
    char *file = NULL, *newest = NULL;
    int rc = -1;

    *r = (struct hdf5_reader){ .fd = -1 };
    if (stat(path, &st) != 0) {
        error_set(err, EXIT_CODE_CHECKPOINT, "%s: %s", path, strerror(errno));
        return model_folder_explain(path, CHECKPOINT_FILE, err);
    }
    if (!S_ISDIR(st.st_mode))
        return hdf5_open(r, path, err);
    file = path_in(path, CHECKPOINT_FILE);
    if (stat(file, &st) != 0) {
        if (checkpoint_newest(path, &newest, err))
            goto out;
        if (!newest) {
            error_set(err, EXIT_CODE_CHECKPOINT, "%s: expected " CHECKPOINT_FILE " or a checkpoint-N folder", path);
            model_folder_explain(path, CHECKPOINT_FILE, err);
            goto out;
        }
        free(file);
        file = path_in(newest, CHECKPOINT_FILE);
    }
    rc = hdf5_open(r, file, err);
out:
    free(newest);
    free(file);
    return rc;
}

json_t *checkpoint_meta(const struct hdf5_reader *r, struct error *err)
{
    const struct hdf5_tensor *t = hdf5_find(r, meta_name);
    json_error_t e;
    json_t *meta = NULL;

    if (!t || t->type != HDF5_U8 || t->ndim != 1 || t->shape[0] > MAX_META) {
        error_set(err, EXIT_CODE_CHECKPOINT, "%s: meta: expected a text", r->path);
        return NULL;
    }
    char *text = xmalloc((size_t)t->shape[0]);
    if (hdf5_get(r, t, text, NULL, err) == 0) {
        meta = json_loadb(text, (size_t)t->shape[0], JSON_REJECT_DUPLICATES, &e);
        if (!json_is_object(meta)) {
            error_set(err, EXIT_CODE_CHECKPOINT, "%s: meta: %s", r->path, meta ? "expected an object" : e.text);
            json_decref(meta);
            meta = NULL;
        }
    }
    free(text);
    return meta;
}

/* Records a tensor that is missing or has another shape or type. */
static void compare(const struct hdf5_reader *r, struct hdf5_tensor wanted, struct mismatch *m)
{
    const struct hdf5_tensor *found = hdf5_find(r, wanted.name);
    char a[128], b[128];

    if (!found)
        name_list_add(&m->missing, "%s", wanted.name);
    else if (found->type != wanted.type || !shape_equal(found->ndim, found->shape, wanted.ndim, wanted.shape))
        name_list_add(&m->wrong_shape, "%s: expected %s %s, got %s %s", wanted.name, hdf5_type_name(wanted.type),
                      shape_text(b, wanted.ndim, wanted.shape), hdf5_type_name(found->type),
                      shape_text(a, found->ndim, found->shape));
}

static void compare_param(const struct hdf5_reader *r, const struct param *p, struct mismatch *m)
{
    struct weights_tensor t[2];
    int n = weights_tensors(r, p, t);

    for (int i = 0; i < n; i++)
        compare(r, t[i].tensor, m);
}

static void compare_wanted(const struct hdf5_reader *r, const struct checkpoint *c, struct mismatch *m)
{
    char name[HDF5_MAX_NAME];

    for (int i = 0; i < c->params->n; i++) {
        const struct param *p = &c->params->list[i];
        compare_param(r, p, m);
        for (int k = 0; k < PARAM_STATES; k++)
            if (p->state[k])
                compare(r, state_header(name, p, k), m);
    }
    for (int i = 0; i < c->n_extra; i++)
        compare(r, extra_header(name, &c->extra[i]), m);
}

static const char *after(const char *name, const char *prefix)
{
    size_t n = strlen(prefix);
    return strncmp(name, prefix, n) == 0 ? name + n : NULL;
}

/* Returns whether the tensor may be in the file. Optimizer states that are not wanted are no error. A scale must belong
 * to an int8 matrix. */
static bool expected(const struct hdf5_reader *r, const struct checkpoint *c, const char *name)
{
    static const char *const groups[] = { WEIGHTS_PARAM,        "adam_m/",       "adam_v/",
                                          "adam_m_bytes/",      "adam_v_bytes/", "adafactor_rows/",
                                          "adafactor_columns/", "adafactor_v/" };
    const char *own;

    for (int i = 0; i < ARRAY_LEN(groups); i++)
        if ((own = after(name, groups[i])))
            return params_find(c->params, own) != NULL;
    if ((own = after(name, WEIGHTS_SCALE)))
        return params_find(c->params, own) && weights_scaled(r, own);
    own = after(name, "state/");
    for (int i = 0; own && i < c->n_extra; i++)
        if (!strcmp(c->extra[i].tensor.name, own))
            return true;
    return own ? c->n_extra == 0 : !strcmp(name, meta_name);
}

/* Returns -1 unless the file has exactly the wanted tensors. */
static int check_wanted(const struct hdf5_reader *r, const struct checkpoint *c, struct error *err)
{
    struct mismatch m = { 0 };

    compare_wanted(r, c, &m);
    for (int i = 0; i < r->n; i++)
        if (!expected(r, c, r->tensors[i].name))
            name_list_add(&m.unexpected, "%s", r->tensors[i].name);
    return mismatch_report(&m, r->path, err);
}

/* Reads a tensor that passed compare(). */
static int fetch(const struct hdf5_reader *r, const char *group, const char *own, void *out, struct error *err)
{
    char name[HDF5_MAX_NAME];

    snprintf(name, sizeof name, "%s%s", group, own);
    return hdf5_get(r, hdf5_find(r, name), out, NULL, err);
}

static int load_param(const struct hdf5_reader *r, struct param *p, struct device *d, float *buffer, struct error *err)
{
    if (weights_get(r, p, buffer, err))
        return -1;
    param_upload(p, d, buffer);
    for (int k = 0; k < PARAM_STATES; k++) {
        if (!p->state[k])
            continue;
        if (fetch(r, param_state_group(p, k), p->name, buffer, err))
            return -1;
        device_upload(d, p->state[k], buffer + param_state_first(p));
    }
    return 0;
}

int checkpoint_load(const struct hdf5_reader *r, const struct checkpoint *c, struct error *err)
{
    int rc = 0;

    if (check_wanted(r, c, err))
        return -1;
    float *buffer = params_buffer(c->params);
    for (int i = 0; i < c->params->n && rc == 0; i++)
        rc = load_param(r, &c->params->list[i], c->device, buffer, err);
    for (int i = 0; i < c->n_extra && rc == 0; i++)
        rc = fetch(r, "state/", c->extra[i].tensor.name, c->extra[i].data, err);
    free(buffer);
    return rc;
}

/* ---- copying ---- */

/* Reads the mean of a parameter over n files. Both arrays hold [tensor_size]; `one` is overwritten. */
static int get_mean(float *mean, float *one, const struct param *p, const struct hdf5_reader *from, int n,
                    struct error *err)
{
    int64_t size = tensor_size(p->t);

    if (weights_get(from, p, mean, err))
        return -1;
    for (int k = 1; k < n; k++) {
        if (weights_get(from + k, p, one, err))
            return -1;
        for (int64_t i = 0; i < size; i++)
            mean[i] += one[i];
    }
    for (int64_t i = 0; i < size; i++)
        mean[i] /= (float)n;
    return 0;
}

static int copy_params(struct hdf5_writer *w, const struct checkpoint *c, const struct hdf5_reader *from, int n,
                       struct error *err)
{
    float *mean = params_buffer(c->params), *one = params_buffer(c->params);
    int rc = 0;

    for (int i = 0; i < c->params->n && rc == 0; i++) {
        const struct param *p = &c->params->list[i];
        rc = get_mean(mean, one, p, from, n, err) || weights_put(w, p, mean, c->weights, err) ? -1 : 0;
    }
    free(one);
    free(mean);
    return rc;
}

int checkpoint_copy(const char *dir, const struct checkpoint *c, const struct hdf5_reader *from, int n,
                    struct error *err)
{
    for (int k = 0; k < n; k++)
        if (check_wanted(from + k, c, err))
            return -1;
    char *path = path_in(dir, CHECKPOINT_FILE);
    struct hdf5_writer *w = hdf5_create(path, err);
    int rc = !w || checkpoint_put_meta(w, c->meta, err) || copy_params(w, c, from, n, err) ? -1 : 0;

    rc = hdf5_finish(w, rc, err);
    free(path);
    return rc;
}
