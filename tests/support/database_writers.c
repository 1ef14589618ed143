#include "tests/support/database_writers.h"

#include "tests/support/support.h"

#include <dirent.h>
#include <signal.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

void writer_run(sqlite3 *db, const char *sql)
{
    char *why = NULL;

    if (sqlite3_exec(db, sql, NULL, NULL, &why) != SQLITE_OK) {
        fprintf(stderr, "%s: %s\n", sql, why);
        _exit(1);
    }
}

sqlite3 *writer_open(const char *path)
{
    sqlite3 *db;

    CHECK(sqlite3_open(path, &db) == SQLITE_OK, "cannot open %s", path);
    sqlite3_busy_timeout(db, 20000);
    return db;
}

struct writer writer_start(const char *path, writer_fn *work, const char *sql)
{
    int ends[2];
    char byte;
    struct writer w;

    assert_int_equal(pipe(ends), 0);
    w.pid = fork();
    assert_true(w.pid >= 0);
    if (w.pid == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        work(path, sql);
        CHECK(write(ends[1], "", 1) == 1, "nobody listens");
        for (;;)
            pause();
    }
    close(ends[1]);
    w.said = ends[0];
    assert_int_equal(read(w.said, &byte, 1), 1);
    return w;
}

void writer_kill(struct writer *w)
{
    kill(w->pid, SIGKILL);
    waitpid(w->pid, NULL, 0);
    close(w->said);
}

void writer_work(const char *path, const char *sql)
{
    writer_run(writer_open(path), sql);
}

void writer_crash(const char *path, const char *sql)
{
    struct writer w = writer_start(path, writer_work, sql);
    writer_kill(&w);
}

void writer_finish(const char *path, const char *sql)
{
    sqlite3 *db = writer_open(path);
    writer_run(db, sql);
    sqlite3_close(db);
}

uint64_t folder_state(const char *dir)
{
    uint64_t sum = 0;
    DIR *d = opendir(dir);

    assert_non_null(d);
    for (struct dirent *e; (e = readdir(d));) {
        struct stat st;
        const char *path = test_file(dir, e->d_name, NULL);
        if (stat(path, &st) || !S_ISREG(st.st_mode))
            continue;
        char *bytes = test_read(path);
        const int64_t numbers[] = { st.st_size,         st.st_mtim.tv_sec, st.st_mtim.tv_nsec, st.st_ctim.tv_sec,
                                    st.st_ctim.tv_nsec, st.st_uid,         st.st_mode,         (int64_t)st.st_ino };
        uint64_t h = hash_bytes(HASH_START, e->d_name, strlen(e->d_name));
        h = hash_bytes(h, numbers, sizeof numbers);
        sum += bytes ? hash_bytes(h, bytes, (size_t)st.st_size) : h;
        free(bytes);
    }
    closedir(d);
    return sum;
}

void summary_show(char *to, size_t size, const char *a, const char *b, const char *c)
{
    snprintf(to, size, "%s|%s|%.40s", a, b, c);
}

static void show_result(char *to, size_t size, const struct exec_result *r)
{
    if (r->status != EXEC_OK) {
        snprintf(to, size, "error: %s", r->message);
        return;
    }
    char count[32], sum[32];
    snprintf(count, sizeof count, "%lld", (long long)r->cells[0].integer);
    snprintf(sum, sizeof sum, "%lld", (long long)r->cells[1].integer);
    summary_show(to, size, count, sum, r->cells[2].bytes);
}

void summary_read(char *to, size_t size, struct exec_db *db)
{
    struct exec_result r = exec_run(db, SUMMARY);

    show_result(to, size, &r);
    exec_result_release(&r);
}

struct exec_db *summary_open(const char *path, double seconds)
{
    struct exec_limits limits = exec_limits_preview;
    struct error err = { 0 };

    limits.seconds = seconds;
    struct exec_db *db = exec_open(path, &limits, &err);
    if (!db)
        fail_msg("%s", err.text);
    return db;
}

void summary_assert(const char *what, struct exec_db *db, const char *expected)
{
    char got[256];

    summary_read(got, sizeof got, db);
    if (getenv("AMBIT_SHOW"))
        print_message("%-40s %s\n", what, got);
    if (!strstr(got, expected))
        fail_msg("%s: expected %s, got %s", what, expected, got);
}
