#include "data/shard/shard_sample.h"

#include "data/util/sums.h"

#include <fcntl.h>
#include <fts.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { BLOCKS = 16, BLOCK = 4096, LEVELS = 2 };

/* Blocks at even distances, the first and the last among them: these have the headers of SQLite and of ambit.h5, whose
 * sums tell of the rest. */
static uint64_t sample_file(uint64_t h, const char *path, int64_t size)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    char bytes[BLOCK];

    h = hash_bytes(h, &size, sizeof size);
    for (int64_t i = 0; i < BLOCKS && fd >= 0; i++) {
        off_t at = size > BLOCK ? (size - BLOCK) * i / (BLOCKS - 1) : 0;
        ssize_t n = pread(fd, bytes, sizeof bytes, at);
        h = hash_bytes(h, bytes, n > 0 ? (size_t)n : 0);
    }
    if (fd >= 0)
        close(fd);
    return h;
}

static bool is_read(const char *name)
{
    static const char *const ends[] = { ".h5", ".safetensors", ".gguf", ".sqlite", ".sqlite3", ".db" };
    static const char *const names[] = {
        "config.json", "adapter_config.json", "tokenizer.json", "vocab.txt", "def.txt", "fill.txt",
        "sql.txt",     "rewrite.txt",         "e2e.txt",        "gold.txt"
    };

    for (int i = 0; i < ARRAY_LEN(ends); i++)
        if (text_ends_with(name, ends[i]))
            return true;
    for (int i = 0; i < ARRAY_LEN(names); i++)
        if (strcmp(name, names[i]) == 0)
            return true;
    return false;
}

static int by_name(const FTSENT **a, const FTSENT **b)
{
    return strcmp((*a)->fts_name, (*b)->fts_name);
}

static uint64_t sample_folder(uint64_t h, const char *path)
{
    char *copy = xstrdup(path), *paths[] = { copy, NULL };
    FTS *walk = fts_open(paths, FTS_LOGICAL | FTS_NOCHDIR, by_name);

    for (FTSENT *e; walk && (e = fts_read(walk));) {
        if (e->fts_info == FTS_F && is_read(e->fts_name))
            h = sample_file(sum_text(h, e->fts_name), e->fts_path, e->fts_statp->st_size);
        if (e->fts_level >= LEVELS)
            fts_set(walk, e, FTS_SKIP);
    }
    if (walk)
        fts_close(walk);
    free(copy);
    return h;
}

uint64_t shard_sample(const char *path)
{
    struct stat st;

    if (stat(path, &st))
        return HASH_START;
    return S_ISDIR(st.st_mode)   ? sample_folder(HASH_START, path)
           : S_ISREG(st.st_mode) ? sample_file(HASH_START, path, st.st_size)
                                 : HASH_START;
}
