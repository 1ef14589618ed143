#include "data/util/out_folder.h"

#include "data/util/out_file.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

typedef int file_fn(const char *tmp, const char *target, struct error *err);

/* Gives every file to fn, with its place in the folder. */
static int each_file(const struct out_folder *o, file_fn *fn, struct error *err)
{
    DIR *dir = opendir(o->tmp);
    int rc = 0;

    for (struct dirent *e; dir && rc == 0 && (e = readdir(dir));) {
        char *from = NULL, *to = NULL;
        if (strcmp(e->d_name, ".") == 0 || strcmp(e->d_name, "..") == 0)
            continue;
        CHECK(asprintf(&from, "%s/%s", o->tmp, e->d_name) >= 0 && asprintf(&to, "%s/%s", o->path, e->d_name) >= 0,
              "no memory for a path");
        rc = fn(from, to, err);
        free(from);
        free(to);
    }
    if (dir)
        closedir(dir);
    return rc;
}

static int remove_file(const char *tmp, const char *target, struct error *err)
{
    (void)target, (void)err;
    unlink(tmp);
    return 0;
}

static int move_file(const char *tmp, const char *target, struct error *err)
{
    if (rename(tmp, target) == 0)
        return 0;
    return error_set(err, EXIT_CODE_FAILURE, "%s: cannot write: %s", target, strerror(errno));
}

int out_folder_open(struct out_folder *o, const char *path, struct error *err)
{
    *o = (struct out_folder){ .path = xstrdup(path), .made = access(path, F_OK) != 0 };
    CHECK(asprintf(&o->tmp, "%s/.tmp", path) >= 0, "no memory for a path");
    each_file(o, remove_file, NULL); /* of a run that was killed */
    return make_dirs(o->path, err) || make_dirs(o->tmp, err) ? -1 : 0;
}

int out_folder_commit(struct out_folder *o, bool force, struct error *err)
{
    return (!force && each_file(o, out_file_may_replace, err)) || each_file(o, move_file, err) ? -1 : 0;
}

void out_folder_abort(struct out_folder *o)
{
    if (!o->path)
        return;
    each_file(o, remove_file, NULL);
    rmdir(o->tmp);
    if (o->made)
        rmdir(o->path); /* unless it holds something now */
    free(o->path);
    free(o->tmp);
    *o = (struct out_folder){ 0 };
}
