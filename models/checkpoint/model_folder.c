#include "models/checkpoint/model_folder.h"

#include "data/util/json.h"
#include "models/checkpoint/checkpoint.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { TEXT = 600 };

/* What a run of ambit-train left, by its kind, and what takes it. */
static const struct {
    const char *kind, *is;
} runs[] = {
    { "gatekeeper",
      "a detector (a run of ambit-train gatekeeper), which ambit-infer detect takes as --model and ask as "
      "--detector" },
    { "tag", "a tagger (a run of ambit-train tag), which ambit-infer tag takes as --model and ask as --tagger" },
    { "infill", "a language model (a run of ambit-train infill), which --model takes where its --method was full; an "
                "adapter is taken by --adapter beside --model BASE" },
    { "reward", "a language model's adapter (a run of ambit-train reward), which --adapter takes beside --model BASE" },
    { "seq2seq", "an encoder-decoder (a run of ambit-train seq2seq), whose folder --model takes once it is finished" },
};

static const char *kind_of(const json_t *meta)
{
    return json_string_value(json_object_get(meta, "kind"));
}

/* Of meta, or NULL. */
static const char *run_text(const json_t *meta)
{
    const char *kind = kind_of(meta);

    for (int i = 0; kind && i < ARRAY_LEN(runs); i++)
        if (strcmp(kind, runs[i].kind) == 0)
            return runs[i].is;
    return !kind && json_object_get(meta, "adapter")
               ? "what ambit-train adapt made of a detector, which --adapt takes beside the detector"
               : NULL;
}

int model_folder_check_kind(const json_t *meta, const char *kind, const char *file, struct error *err)
{
    const char *found = kind_of(meta), *text = run_text(meta);

    if (found ? strcmp(found, kind) == 0 : !text)
        return 0;
    return error_set(err, EXIT_CODE_CHECKPOINT, "%s: expected a run of ambit-train %s, got %.200s", file, kind,
                     text ? text : found);
}

static bool holds(const char *dir, const char *name)
{
    char *path = path_in(dir, name);
    bool there = access(path, F_OK) == 0;

    free(path);
    return there;
}

/* ORG/NAME, or a name alone, as it stands in an address or a path that leads nowhere; NULL for what is none. */
static const char *hub_name(const char *path)
{
    static const char *const before[] = { "https://huggingface.co/", "http://huggingface.co/", "https://hf.co/",
                                          "hf://" };
    static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_.";
    char here[4096];
    size_t n;

    for (int i = 0; i < ARRAY_LEN(before); i++)
        if (strncmp(path, before[i], n = strlen(before[i])) == 0)
            return path + n;
    if (getcwd(here, sizeof here) && strncmp(path, here, n = strlen(here)) == 0 && path[n] == '/')
        path += n + 1; /* settings are kept with paths from the root */
    size_t org = strspn(path, plain), name = path[org] == '/' ? strspn(path + org + 1, plain) : 0;
    const char *end = path + org + (name ? name + 1 : 0);
    if (!org || *path == '.' || *end || text_ends_with(path, ".h5"))
        return NULL;
    snprintf(here, sizeof here, "%.*s", (int)org, path);
    return name && access(here, F_OK) == 0 ? NULL : path;
}

/* The folder of one state of a model in the hub's cache, the caller's to free; NULL: it has none. */
static char *snapshot_of(const char *dir)
{
    char *all = path_in(dir, "snapshots"), *found = NULL;
    DIR *d = opendir(all);

    for (struct dirent *e; d && !found && (e = readdir(d));)
        if (e->d_name[0] != '.')
            found = path_in(all, e->d_name);
    if (d)
        closedir(d);
    free(all);
    return found;
}

/* What the run in a folder is. */
static bool tell_run(const char *dir, char text[TEXT])
{
    struct hdf5_reader r;
    const char *is = NULL;

    if (checkpoint_open(&r, dir, NULL))
        return false;
    json_t *meta = checkpoint_meta(&r, NULL);
    if ((is = run_text(meta)))
        snprintf(text, TEXT, "it is %s", is);
    json_decref(meta);
    hdf5_close(&r);
    return is != NULL;
}

static bool tell_folder(const char *dir, const char *file, char text[TEXT])
{
    char *snapshot = snapshot_of(dir);

    if (snapshot)
        snprintf(text, TEXT, "it is a folder of the hub's cache, whose model is in %.400s", snapshot);
    else if (holds(dir, "adapter_config.json"))
        snprintf(text, TEXT, "it is a PEFT adapter, which --adapter takes beside --model BASE");
    else if (holds(dir, "config.json") && !strcmp(file, "adapter_config.json"))
        snprintf(text, TEXT, "it is a whole model, which --model takes");
    else if (holds(dir, "config.json") && !strcmp(file, CHECKPOINT_FILE))
        snprintf(text, TEXT,
                 "it is a Hugging Face folder, and a run of ambit-train is expected: an encoder is what "
                 "ambit-train gatekeeper and tag begin with (--encoder)");
    else if (!tell_run(dir, text))
        return false;
    free(snapshot);
    return true;
}

/* A path that leads nowhere. */
static bool tell_missing(const char *path, char text[TEXT])
{
    const char *name = hub_name(path);

    if (name)
        snprintf(text, TEXT,
                 "ambit reads folders of this machine; a model of Hugging Face's hub is fetched first: "
                 "huggingface-cli download %.200s --local-dir DIR",
                 name);
    return name != NULL;
}

static bool tell(const char *path, const char *file, char text[TEXT])
{
    struct stat st;

    if (stat(path, &st) != 0)
        return tell_missing(path, text);
    if (S_ISDIR(st.st_mode))
        return tell_folder(path, file, text);
    snprintf(text, TEXT,
             text_ends_with(path, ".gguf") ? "GGUF files are not read: give the folder with the safetensors "
                                             "from which it was made"
                                           : "it is a file, and a folder is expected");
    return true;
}

int model_folder_explain(const char *path, const char *file, struct error *err)
{
    char text[TEXT];

    if (!err || !tell(path, file, text))
        return -1;
    const struct error fault = *err;
    return error_set(err, fault.code, "%s; %s", fault.text, text);
}

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
