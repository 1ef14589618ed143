#include "models/checkpoint/model_file.h"

#include "data/util/json.h"
#include "models/checkpoint/model_folder.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The folder of a file, without the slash at its end; the caller frees. */
static char *folder_of(const char *path)
{
    const char *slash = strrchr(path, '/');
    int n = slash && slash > path ? (int)(slash - path) : 1;
    char *dir = NULL;

    CHECK(asprintf(&dir, "%.*s", n, slash ? path : ".") >= 0, "%s", path);
    return dir;
}

static int open_file(struct model_file *f, const char *kind, struct error *err)
{
    f->dir = folder_of(f->reader.path);
    f->meta = checkpoint_meta(&f->reader, err);
    if (f->meta && model_folder_check_kind(f->meta, kind, f->reader.path, err) == 0)
        f->model = json_get_object(f->meta, "model", f->reader.path, err);
    return f->model ? 0 : -1;
}

int model_file_read(const char *dir, const char *kind, model_load_fn *load, void *model, struct device *device,
                    struct error *err)
{
    struct model_file f = { 0 };

    if (checkpoint_open(&f.reader, dir, err))
        return -1;
    int rc = open_file(&f, kind, err) || load(model, &f, device, err) ? -1 : 0;
    if (rc && err && err->code != EXIT_CODE_MEMORY)
        err->code = EXIT_CODE_CHECKPOINT;
    json_decref(f.meta);
    free(f.dir);
    hdf5_close(&f.reader);
    return rc;
}

int model_file_load(const struct model_file *f, struct params *p, struct device *device, struct error *err)
{
    struct checkpoint c = { .params = p, .device = device };

    return checkpoint_load(&f->reader, &c, err);
}
