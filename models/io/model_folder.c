#include "models/io/model_folder.h"

#include "data/base/json.h"
#include "models/io/checkpoint.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { TEXT = 600 };

/* Runs of ambit-train by command: a description, and the option that takes them. */
static const struct {
    const char *command, *description;
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

static const char *command_of(const json_t *meta)
{
    return json_string_value(json_object_get(meta, "kind"));
}

/* Returns the description of the run that wrote meta, or NULL. */
static const char *run_text(const json_t *meta)
{
    const char *command = command_of(meta);

    for (int i = 0; command && i < ARRAY_LEN(runs); i++)
        if (strcmp(command, runs[i].command) == 0)
            return runs[i].description;
    return !command && json_object_get(meta, "adapter")
               ? "an adaptation of a detector (a run of ambit-train adapt), which --adapter takes beside the detector"
               : NULL;
}

int model_folder_check_command(const json_t *meta, const char *command, const char *file, struct error *err)
{
    const char *found = command_of(meta), *text = run_text(meta);

    if (found ? strcmp(found, command) == 0 : !text)
        return 0;
    return error_set(err, EXIT_CODE_CHECKPOINT, "%s: expected a run of ambit-train %s, got %.200s", file, command,
                     text ? text : found);
}

bool model_folder_is(const char *dir, const char *command)
{
    struct hdf5_reader r;
    struct error why;

    if (checkpoint_open(&r, dir, &why))
        return false;
    json_t *meta = checkpoint_meta(&r, &why);
    const char *found = meta ? command_of(meta) : NULL;
    bool is = found && strcmp(found, command) == 0;
    json_decref(meta);
    hdf5_close(&r);
    return is;
}

static bool holds(const char *dir, const char *name)
{
    char *path = path_in(dir, name);
    bool there = access(path, F_OK) == 0;

    free(path);
    return there;
}

/* Returns ORG/NAME or NAME if the path is an address of Hugging Face's hub, or could be a model's name there. NULL
 * otherwise. */
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
        path += n + 1; /* options are stored as absolute paths */
    size_t org = strspn(path, plain), name = path[org] == '/' ? strspn(path + org + 1, plain) : 0;
    const char *end = path + org + (name ? name + 1 : 0);
    if (!org || *path == '.' || *end || text_ends_with(path, ".h5"))
        return NULL;
    snprintf(here, sizeof here, "%.*s", (int)org, path);
    return name && access(here, F_OK) == 0 ? NULL : path;
}

/* Returns a snapshot of a model in the hub's cache, which the caller frees. NULL if the folder is not a cache entry. */
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

/* Describes the run in a folder. */
static bool describe_run(const char *dir, char text[TEXT])
{
    struct hdf5_reader r;
    const char *description = NULL;

    if (checkpoint_open(&r, dir, NULL))
        return false;
    json_t *meta = checkpoint_meta(&r, NULL);
    if ((description = run_text(meta)))
        snprintf(text, TEXT, "it is %s", description);
    json_decref(meta);
    hdf5_close(&r);
    return description != NULL;
}

static bool describe_folder(const char *dir, const char *file, char text[TEXT])
{
    char *snapshot = snapshot_of(dir);

    if (snapshot)
        snprintf(text, TEXT, "it is a folder of the hub's cache, whose model is in %.400s", snapshot);
    else if (holds(dir, "adapter_config.json"))
        snprintf(text, TEXT, "it is a PEFT adapter, which --adapter takes beside --model BASE");
    else if (holds(dir, "config.json") && !strcmp(file, "adapter_config.json"))
        snprintf(text, TEXT, "it is a whole model, which --model takes");
    else if (holds(dir, "config.json") && !strcmp(file, CHECKPOINT_FILE))
        snprintf(
            text, TEXT,
            "it is a Hugging Face folder, but a run of ambit-train is expected; ambit-train gatekeeper and tag take "
            "an encoder as --encoder");
    else if (!describe_run(dir, text))
        return false;
    free(snapshot);
    return true;
}

/* Describes a path that does not exist. */
static bool describe_missing(const char *path, char text[TEXT])
{
    const char *name = hub_name(path);
    bool address = !name && (strncmp(path, "http://", 7) == 0 || strncmp(path, "https://", 8) == 0);

    if (address)
        snprintf(
            text, TEXT,
            "ambit-infer ask takes the address of a language-model server as --parser URL, other commands as --lm URL");
    if (name)
        snprintf(text, TEXT,
                 "ambit reads local folders; download a model of Hugging Face's hub first: "
                 "huggingface-cli download %.200s --local-dir DIR",
                 name);
    return name || address;
}

static bool describe(const char *path, const char *file, char text[TEXT])
{
    struct stat st;

    if (stat(path, &st) != 0)
        return describe_missing(path, text);
    if (S_ISDIR(st.st_mode))
        return describe_folder(path, file, text);
    snprintf(text, TEXT,
             text_ends_with(path, ".gguf") ? "GGUF files are not supported; give the folder with the safetensors "
                                             "from which it was made"
                                           : "it is a file, but a folder is expected");
    return true;
}

int model_folder_explain(const char *path, const char *file, struct error *err)
{
    char text[TEXT];

    if (!err || !describe(path, file, text))
        return -1;
    const struct error fault = *err;
    return error_set(err, fault.code, "%s; %s", fault.text, text);
}

/* Returns the folder of a file without a trailing slash; the caller frees it. */
static char *folder_of(const char *path)
{
    const char *slash = strrchr(path, '/');
    int n = slash && slash > path ? (int)(slash - path) : 1;
    char *dir = NULL;

    CHECK(asprintf(&dir, "%.*s", n, slash ? path : ".") >= 0, "%s", path);
    return dir;
}

static int open_file(struct model_file *f, const char *command, struct error *err)
{
    f->dir = folder_of(f->reader.path);
    f->meta = checkpoint_meta(&f->reader, err);
    if (f->meta && model_folder_check_command(f->meta, command, f->reader.path, err) == 0)
        f->model = json_get_object(f->meta, "model", f->reader.path, err);
    return f->model ? 0 : -1;
}

int model_file_read(const char *dir, const char *command, model_load_fn *load, void *model, struct device *device,
                    struct error *err)
{
    struct model_file f = { 0 };

    if (checkpoint_open(&f.reader, dir, err))
        return -1;
    int rc = open_file(&f, command, err) || load(model, &f, device, err) ? -1 : 0;
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
