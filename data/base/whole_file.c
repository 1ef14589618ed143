#include "data/base/whole_file.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static int check(int fd, const char *path, int64_t max_bytes, struct error *err)
{
    struct stat st;

    if (fd < 0 || fstat(fd, &st))
        return error_set(err, EXIT_CODE_DATA, "%s: %s", path, strerror(errno));
    if (S_ISDIR(st.st_mode))
        return error_set(err, EXIT_CODE_DATA, "%s: %s, expected a file", path, strerror(EISDIR));
    if (!S_ISREG(st.st_mode))
        return error_set(err, EXIT_CODE_DATA, "%s: expected a regular file, got a pipe or device", path);
    if (st.st_size > max_bytes)
        return error_set(err, EXIT_CODE_DATA, "%s: expected at most %lld bytes, got %lld", path, (long long)max_bytes,
                         (long long)st.st_size);
    return 0;
}

FILE *whole_file_open(const char *path, int64_t max_bytes, struct error *err)
{
    int fd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC); /* returns at once for a pipe */
    FILE *f = NULL;

    if (check(fd, path, max_bytes, err) == 0 && !(f = fdopen(fd, "rb")))
        error_set(err, EXIT_CODE_DATA, "%s: %s", path, strerror(errno));
    if (!f && fd >= 0)
        close(fd);
    return f;
}

/* Reads the size that was checked, even if the file has grown since. */
static char *read_all(FILE *f, const char *path, int64_t size, size_t *n, struct error *err)
{
    char *text = xmalloc((size_t)size + 1);

    *n = fread(text, 1, (size_t)size, f);
    text[*n] = '\0';
    if (!ferror(f))
        return text;
    error_set(err, EXIT_CODE_DATA, "%s: cannot read: %s", path, strerror(errno));
    free(text);
    return NULL;
}

char *whole_file_read(const char *path, int64_t max_bytes, size_t *n, struct error *err)
{
    FILE *f = whole_file_open(path, max_bytes, err);
    struct stat st;

    if (!f)
        return NULL;
    CHECK(fstat(fileno(f), &st) == 0, "%s is open", path);
    char *text = read_all(f, path, st.st_size < max_bytes ? st.st_size : max_bytes, n, err);
    fclose(f);
    return text;
}

uint64_t hash_text(uint64_t h, const char *text)
{
    return text ? hash_bytes(h, text, strlen(text) + 1) : h;
}

uint64_t hash_file(const char *path)
{
    FILE *f = whole_file_open(path, DATABASE_MAX_BYTES, NULL);
    uint64_t h = HASH_START;
    char bytes[1 << 15];
    size_t n;

    if (!f)
        return 0;
    while ((n = fread(bytes, 1, sizeof bytes, f)) > 0)
        h = hash_bytes(h, bytes, n);
    bool bad = ferror(f);
    fclose(f);
    return bad ? 0 : h;
}

uint64_t hash_folder(uint64_t h, const char *dir)
{
    struct dirent **list = NULL;
    int n = dir ? scandir(dir, &list, NULL, alphasort) : 0;
    char path[PATH_MAX];
    struct stat st;

    for (int i = 0; i < n; i++) {
        int size = snprintf(path, sizeof path, "%s/%s", dir, list[i]->d_name);
        if (size < (int)sizeof path && stat(path, &st) == 0 && S_ISREG(st.st_mode)) {
            h = hash_bytes(hash_text(h, list[i]->d_name), &st.st_size, sizeof st.st_size);
            h = hash_bytes(h, &st.st_mtim, sizeof st.st_mtim);
        }
        free(list[i]);
    }
    free(list);
    return h;
}
