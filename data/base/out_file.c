#include "data/base/out_file.h"

#include "data/base/compression.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static int cannot(struct error *err, const char *what, const char *path)
{
    return error_set(err, EXIT_CODE_FAILURE, "%s: cannot %s: %s", path, what, strerror(errno));
}

int out_file_cannot_write(const char *path, struct error *err)
{
    const char *slash = strrchr(path, '/');

    if (errno != ENOENT || !slash)
        return cannot(err, "write", path);
    return error_set(err, EXIT_CODE_FAILURE, "%s: cannot write: %s; make the folder %.*s first", path, strerror(errno),
                     (int)(slash - path), path);
}

/* Follows links, so that the linked file is replaced and not the link. */
static char *target_of(const char *path)
{
    char *real = realpath(path, NULL);
    return real ? real : xstrdup(path);
}

/* Devices and pipes are written directly, since a rename would replace them by a file. */
static bool is_special(const char *path)
{
    struct stat st;
    return stat(path, &st) == 0 && !S_ISREG(st.st_mode) && !S_ISDIR(st.st_mode);
}

/* Takes ownership of the descriptor, also on failure. */
static int open_stream(struct out_file *o, const char *path, int fd, struct error *err)
{
    const struct coding *coding = coding_of_name(path);

    o->compressed = coding && fd >= 0;
    o->fd = fd;
    o->f = o->compressed ? text_encoder_open(coding, fd, path, err) : fd >= 0 ? fdopen(fd, "wb") : NULL;
    if (o->f)
        return 0;
    if (!o->compressed)
        out_file_cannot_write(path, err);
    if (fd >= 0)
        close(fd);
    return -1;
}

int out_file_open(struct out_file *o, const char *path, struct error *err)
{
    struct stat st;
    *o = (struct out_file){ 0 };
    if (strcmp(path, "-") == 0) {
        o->f = stdout;
        return 0;
    }
    if (stat(path, &st) == 0 && S_ISDIR(st.st_mode)) {
        errno = EISDIR;
        return cannot(err, "write", path);
    }
    o->path = target_of(path);
    if (!is_special(o->path)) {
        size_t size = strlen(o->path) + sizeof ".tmp";
        o->tmp = xmalloc(size);
        snprintf(o->tmp, size, "%s.tmp", o->path);
    }
    int flags = O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | (o->tmp ? O_NOFOLLOW : 0);
    int fd = open(o->tmp ? o->tmp : o->path, flags, 0666);
    if (open_stream(o, path, fd, err) == 0)
        return 0;
    out_file_abort(o);
    return -1;
}

/* Makes the rename durable.  A file system that cannot sync folders is not an error. */
static void sync_folder_of(const char *path)
{
    char *dir = xstrdup(path), *slash = strrchr(dir, '/');
    if (slash)
        slash[slash == dir] = '\0';
    int fd = open(slash ? dir : ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd >= 0) {
        fsync(fd);
        close(fd);
    }
    free(dir);
}

static void forget(struct out_file *o)
{
    free(o->path);
    free(o->tmp);
    *o = (struct out_file){ 0 };
}

/* Closes the stream and, if the file is compressed, its descriptor; syncs regular files.  EOF with errno on failure. */
static int close_stream(struct out_file *o)
{
    bool bad = ferror(o->f) || fflush(o->f) || (o->tmp && !o->compressed && fsync(fileno(o->f)));
    int why = errno;

    if (fclose(o->f) && !bad) {
        bad = true;
        why = errno;
    }
    if (o->compressed && ((o->tmp && fsync(o->fd)) | close(o->fd)) && !bad) {
        bad = true;
        why = errno;
    }
    o->f = NULL;
    errno = why;
    return bad ? EOF : 0;
}

int out_file_commit(struct out_file *o, struct error *err)
{
    const char *path = o->path ? o->path : "standard output";
    bool bad = o->f == stdout ? ferror(stdout) || fflush(stdout) : close_stream(o) != 0;

    if (!bad && o->tmp)
        bad = rename(o->tmp, o->path) != 0;
    if (bad) {
        cannot(err, "write", path);
        out_file_abort(o);
        return -1;
    }
    if (o->tmp)
        sync_folder_of(o->path);
    forget(o);
    return 0;
}

static bool same_bytes(FILE *a, FILE *b)
{
    char x[8192], y[8192];
    size_t n;

    do {
        n = fread(x, 1, sizeof x, a);
        if (fread(y, 1, sizeof y, b) != n || memcmp(x, y, n) != 0)
            return false;
    } while (n == sizeof x);
    return !ferror(a) && !ferror(b);
}

int out_file_may_replace(const char *made, const char *path, struct error *err)
{
    FILE *old = fopen(path, "rbe"), *new = old ? fopen(made, "rbe") : NULL;
    bool other = old && (!new || !same_bytes(old, new));

    if (old)
        fclose(old);
    if (new)
        fclose(new);
    if (!other)
        return 0;
    return error_set(err, EXIT_CODE_USAGE,
                     "%s: exists with other contents; add --force to replace it, or choose another --out", path);
}

/* Write errors are left to the commit, which needs errno to explain them. */
static int check_target(const struct out_file *o, struct error *err)
{
    int before = errno;

    if (!o->tmp || ferror(o->f) || fflush(o->f))
        return 0;
    int rc = out_file_may_replace(o->tmp, o->path, err);
    errno = before;
    return rc;
}

int out_files_commit(struct out_file *files, int n, bool force, struct error *err)
{
    for (int i = 0; i < n && !force; i++)
        if (files[i].f && check_target(&files[i], err))
            return -1;
    for (int i = 0; i < n; i++)
        if (files[i].f && out_file_commit(&files[i], err))
            return -1;
    return 0;
}

void out_file_abort(struct out_file *o)
{
    if (o->f && o->f != stdout)
        close_stream(o);
    if (o->tmp)
        unlink(o->tmp);
    forget(o);
}

int make_dirs(const char *path, struct error *err)
{
    struct stat st;
    char *part = xstrdup(path);
    int above = ENOENT; /* errno of a parent folder that could not be made; the last mkdir shows that it is missing */
    for (char *p = part + 1; *part && *p; p++)
        if (*p == '/') {
            *p = '\0';
            if (mkdir(part, 0777) && errno != EEXIST && above == ENOENT)
                above = errno;
            *p = '/';
        }
    int rc = mkdir(part, 0777);
    free(part);
    if (rc == 0)
        return 0;
    int why = errno == ENOENT ? above : errno;
    if (why == EEXIST && stat(path, &st) == 0) {
        if (S_ISDIR(st.st_mode))
            return 0;
        why = ENOTDIR;
    }
    errno = why;
    return cannot(err, "make the folder", path);
}

bool same_path(const char *a, const char *b)
{
    struct stat x, y;

    return stat(a, &x) == 0 && stat(b, &y) == 0 && x.st_dev == y.st_dev && x.st_ino == y.st_ino;
}

typedef int file_fn(const char *tmp, const char *target, struct error *err);

/* Calls fn for each file of the temporary folder with its target. */
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
    each_file(o, remove_file, NULL); /* left by a killed run */
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
        rmdir(o->path); /* fails if the folder is not empty */
    free(o->path);
    free(o->tmp);
    *o = (struct out_folder){ 0 };
}
