/* Part of commands.h: ambit-train inspect. */
#include "data/base/visible.h"
#include "models/io/checkpoint.h"
#include "models/io/checksum.h"
#include "models/io/mismatch.h"
#include "models/io/safetensors.h"
#include "train/cmd/commands.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#define ADAPTER_FILE "adapter_model.safetensors" /* PEFT's name */

static const struct option options[] = { { 0 } };

static void print_tensor(const char *name, const char *type, int ndim, const int64_t *shape, uint64_t sum)
{
    char text[128];
    visible_printf(stdout, "  %-64s %-5s %-20s %016" PRIx64 "\n", name, type, shape_text(text, ndim, shape), sum);
}

static void print_total(int n, int64_t bytes, const char *rest)
{
    printf("  %d tensors, %" PRId64 " bytes%s\n", n, bytes, rest);
}

/* Reads every tensor, to verify its checksum. */
static int print_tensors(const struct hdf5_reader *r, struct error *err)
{
    int64_t total = 0;

    for (int i = 0; i < r->n; i++) {
        const struct hdf5_tensor *t = &r->tensors[i];
        int64_t bytes = hdf5_tensor_size(t) * (int64_t)hdf5_type_size(t->type);
        void *data = xmalloc((size_t)bytes);
        uint64_t sum;
        int rc = hdf5_get(r, t, data, &sum, err);
        free(data);
        if (rc)
            return -1;
        print_tensor(t->name, hdf5_type_name(t->type), t->ndim, t->shape, sum);
        total += bytes;
    }
    print_total(r->n, total, ", every checksum holds");
    return 0;
}

/* Replaces thousands of validation scores by their number. */
static void shorten(json_t *meta)
{
    const char *scores = json_string_value(json_object_get(meta, "validation"));
    char text[64];
    int n = scores != NULL;

    for (const char *s = scores; s && *s; s++)
        n += *s == ' ';
    snprintf(text, sizeof text, "%d scores", n);
    if (scores)
        json_object_set_new(meta, "validation", json_string(text));
}

/* A file of a row cache has no meta data. */
static int print_meta(const struct hdf5_reader *r, struct error *err)
{
    json_t *meta = NULL;

    if (!hdf5_find(r, "meta"))
        return 0;
    if ((meta = checkpoint_meta(r, err)) == NULL)
        return -1;
    shorten(meta);
    char *text = json_dumps(meta, JSON_INDENT(2));
    visible_printf(stdout, "%s\n", text);
    free(text);
    json_decref(meta);
    return 0;
}

static int inspect_checkpoint(const char *path, struct error *err)
{
    struct hdf5_reader r;

    if (checkpoint_open(&r, path, err))
        return -1;
    visible_printf(stdout, "%s: ambit checkpoint %d\n", r.path, HDF5_VERSION);
    int rc = print_meta(&r, err) || print_tensors(&r, err) ? -1 : 0;
    hdf5_close(&r);
    return rc;
}

static int inspect_safetensors(const char *path, struct error *err)
{
    struct safetensors s;
    int64_t total = 0;

    if (safetensors_open(&s, path, err))
        return -1;
    visible_printf(stdout, "%s: safetensors\n", s.path);
    for (int i = 0; i < s.n; i++) {
        const struct safetensors_entry *e = &s.entries[i];
        print_tensor(e->name, e->dtype_name, e->ndim, e->shape, checksum_of(e->data, e->bytes));
        total += (int64_t)e->bytes;
    }
    print_total(s.n, total, "");
    safetensors_close(&s);
    return 0;
}

static bool holds(const char *dir, const char *name)
{
    char path[4096];
    int n = snprintf(path, sizeof path, "%s/%s", dir, name);
    return n > 0 && n < (int)sizeof path && access(path, F_OK) == 0;
}

static int inspect_adapter(const char *dir, struct error *err)
{
    char path[4096];

    snprintf(path, sizeof path, "%s/" ADAPTER_FILE, dir);
    return inspect_safetensors(path, err);
}

/* A folder may hold several formats of one model; all are printed. */
static int inspect_dir(const char *dir, struct error *err)
{
    bool adapter = holds(dir, ADAPTER_FILE), hf = holds(dir, "model.safetensors") ||
                                                  holds(dir, "model.safetensors.index.json") ||
                                                  holds(dir, "pytorch_model.bin");

    if ((!(hf || adapter) || holds(dir, CHECKPOINT_FILE)) && inspect_checkpoint(dir, err))
        return -1;
    if (hf && inspect_safetensors(dir, err))
        return -1;
    return adapter ? inspect_adapter(dir, err) : 0;
}

static enum exit_code run(const struct call *call, struct error *err)
{
    const char *path = call->operands[0];
    struct stat st;
    int rc;

    if (stat(path, &st) == 0 && S_ISDIR(st.st_mode))
        rc = inspect_dir(path, err);
    else if (text_ends_with(path, ".safetensors") || text_ends_with(path, ".json"))
        rc = inspect_safetensors(path, err);
    else
        rc = inspect_checkpoint(path, err);
    if (rc)
        return err->code;
    if (fflush(stdout) != 0 || ferror(stdout)) {
        error_set(err, EXIT_CODE_FAILURE, "standard output cannot be written");
        return EXIT_CODE_FAILURE;
    }
    return EXIT_CODE_OK;
}

const struct command command_inspect = {
    .name = "inspect",
    .summary = "list the contents of a checkpoint or safetensors file, and verify it",
    ONE_OPERAND("DIR|FILE"),
    .options = options,
    .details = "Prints name, type, shape and XXH64 of every tensor, and a checkpoint's meta data. "
               "A damaged file ends with exit code 6.",
    .examples = { "ambit-train inspect runs/gate", "ambit-train inspect llama/model.safetensors" },
    .run = run,
};
