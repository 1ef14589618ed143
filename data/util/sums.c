#include "data/util/sums.h"

#include "data/util/whole_file.h"

#include <dirent.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

uint64_t sum_text(uint64_t h, const char *text)
{
    return text ? hash_bytes(h, text, strlen(text) + 1) : h;
}

uint64_t sum_file(const char *path)
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

uint64_t sum_folder(uint64_t h, const char *dir)
{
    struct dirent **list = NULL;
    int n = dir ? scandir(dir, &list, NULL, alphasort) : 0;
    char path[PATH_MAX];
    struct stat st;

    for (int i = 0; i < n; i++) {
        int size = snprintf(path, sizeof path, "%s/%s", dir, list[i]->d_name);
        if (size < (int)sizeof path && stat(path, &st) == 0 && S_ISREG(st.st_mode)) {
            h = hash_bytes(sum_text(h, list[i]->d_name), &st.st_size, sizeof st.st_size);
            h = hash_bytes(h, &st.st_mtim, sizeof st.st_mtim);
        }
        free(list[i]);
    }
    free(list);
    return h;
}
