#include "tests/support/support.h"

#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

bool test_all(void)
{
    const char *text = getenv("AMBIT_TEST_ALL");
    return text && *text;
}

void test_choose_seed(void)
{
    char text[32];

    snprintf(text, sizeof text, "%ld", test_all() ? (long)(time(NULL) % 100000) : 1L);
    setenv("AMBIT_SIMT_SEED", text, 0);
}

char *test_dir_new(void)
{
    char path[4096];
    const char *base = getenv("TMPDIR");
    snprintf(path, sizeof path, "%s/ambit-test-XXXXXX", base && *base ? base : "/tmp");
    CHECK(mkdtemp(path), "no temporary folder at %s", path);
    return xstrdup(path);
}

static int remove_one(const char *path, const struct stat *st, int kind, struct FTW *at)
{
    (void)st, (void)kind, (void)at;
    return remove(path);
}

void test_dir_remove(char *dir)
{
    nftw(dir, remove_one, 16, FTW_DEPTH | FTW_PHYS);
    free(dir);
}

const char *test_file(const char *dir, const char *name, const char *text)
{
    static char paths[8][4096];
    static int next;
    char *path = paths[next++ % 8];
    snprintf(path, sizeof paths[0], "%s/%s", dir, name);
    if (text) {
        FILE *f = fopen(path, "wb");
        CHECK(f && fputs(text, f) >= 0 && fclose(f) == 0, "cannot write %s", path);
    }
    return path;
}

static char *read_all(FILE *f)
{
    size_t n = 0, cap = 4096, got;
    char *text = xmalloc(cap + 1);
    while ((got = fread(text + n, 1, cap - n, f)) > 0) {
        n += got;
        if (n == cap)
            text = xrealloc(text, (cap *= 2) + 1);
    }
    text[n] = '\0';
    return text;
}

char *test_read(const char *path)
{
    FILE *f = fopen(path, "rb");
    if (!f)
        return NULL;
    char *text = read_all(f);
    fclose(f);
    return text;
}

const char *test_shared(const char *name)
{
    static char path[4096];
    const char *base = getenv("AMBIT_SHARED");
    snprintf(path, sizeof path, "%s/%s", base && *base ? base : "../shared", name);
    return access(path, R_OK) == 0 ? path : NULL;
}

int test_run(const char *command, char **output)
{
    char line[8192];
    const char *bin = getenv("AMBIT_BIN");
    CHECK(bin, "AMBIT_BIN names the folder of the programs");
    int n = snprintf(line, sizeof line, "PATH='%s':\"$PATH\"; { %s ; } 2>&1", bin, command);
    CHECK(n < (int)sizeof line, "the command is too long");
    FILE *f = popen(line, "r");
    CHECK(f, "cannot start %s", command);
    char *text = read_all(f);
    int status = pclose(f);
    if (output)
        *output = text;
    else
        free(text);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

void test_error(const struct error *err, const char *file, int line, const char *const *words)
{
    for (; *words; words++)
        if (!strstr(err->text, *words)) {
            print_error("'%s' does not say '%s'\n", err->text, *words);
            _fail(file, line);
        }
}

char *test_said(void (*call)(void *), void *arg)
{
    char path[] = "/tmp/ambit-test-said-XXXXXX";
    int fd = mkstemp(path), kept = dup(STDERR_FILENO);

    assert_true(fd >= 0 && kept >= 0);
    fflush(stderr);
    dup2(fd, STDERR_FILENO);
    call(arg);
    fflush(stderr);
    dup2(kept, STDERR_FILENO);
    close(kept);
    close(fd);
    char *said = test_read(path);
    unlink(path);
    return said;
}
