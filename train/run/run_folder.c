/* Part of run.h: what a run may write over, and how it goes on. */
#include "data/cli/yaml.h"
#include "data/util/log.h"
#include "models/checkpoint/checkpoint.h"
#include "train/run/run_impl.h"
#include "train/run/run_request.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static bool holds(const char *dir, const char *name)
{
    char path[4096];
    int n = snprintf(path, sizeof path, "%s/%s", dir, name);

    return n > 0 && n < (int)sizeof path && access(path, F_OK) == 0;
}

/* A file of that name is not always a run's. */
static bool is_config(const struct run_settings *s)
{
    char path[4096];
    struct texts texts = { 0 };
    void *settings = xmalloc(s->size);

    snprintf(path, sizeof path, "%s/" RUN_CONFIG, s->out);
    memcpy(settings, s->request, s->size);
    int rc = yaml_read(path, s->table, settings, NULL, &texts, NULL);
    free(settings);
    texts_release(&texts);
    return rc == 0;
}

/* What a run leaves that ended before its first checkpoint. */
static bool of_a_run(const struct run_settings *s, const char *name)
{
    static const char *const names[] = { "metrics.jsonl", "start.jsonl", "states", "best" };
    static const char *const starts[] = { "events.", "checkpoint-", "config.yaml.", "metrics.jsonl.", "start.jsonl." };

    for (int i = 0; i < ARRAY_LEN(names); i++)
        if (strcmp(name, names[i]) == 0)
            return true;
    for (int i = 0; i < ARRAY_LEN(starts); i++)
        if (strncmp(name, starts[i], strlen(starts[i])) == 0)
            return true;
    return strcmp(name, RUN_CONFIG) == 0 && is_config(s);
}

/* -1 naming an entry of the folder that no run made. */
static int check_entries(const struct run_settings *s, struct error *err)
{
    DIR *dir = opendir(s->out);
    int rc = 0;

    for (struct dirent *e; dir && rc == 0 && (e = readdir(dir));)
        if (strcmp(e->d_name, ".") && strcmp(e->d_name, "..") && !of_a_run(s, e->d_name))
            rc = error_set(err, EXIT_CODE_USAGE,
                           "%s: holds something else (%.200s); expected a new or an empty folder, or --force", s->out,
                           e->d_name);
    if (dir)
        closedir(dir);
    return rc;
}

int run_check_folder(const struct run_settings *s, struct error *err)
{
    char *newest = NULL;

    if (s->dry_run || checkpoint_newest(s->out, &newest, NULL))
        return 0;
    bool run = newest || holds(s->out, CHECKPOINT_FILE);
    free(newest);
    if (run && !s->resume)
        return error_set(err, EXIT_CODE_USAGE,
                         "%s: holds a run already; --resume goes on with it, another --out starts anew", s->out);
    return run || s->force ? 0 : check_entries(s, err);
}

/* As a shell reads it. */
static void show_word(char *out, size_t size, const char *word)
{
    size_t n = 0;
    bool plain = word[strspn(word, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_./+:=@%-")] == 0;

    if (plain) {
        snprintf(out, size, "%s", word);
        return;
    }
    out[n++] = '\'';
    for (; *word && n + 6 < size; word++)
        n += (size_t)snprintf(out + n, size - n, *word == '\'' ? "'\\''" : "%c", *word);
    snprintf(out + n, size - n, "'");
}

void run_tell_resume(const struct run *r)
{
    char out[4200];

    show_word(out, sizeof out, r->set.out);
    log_info("stopped after step %lld; to go on: ambit-train %s --resume --out %s", (long long)r->state.step,
             r->trainer->kind, out);
}
