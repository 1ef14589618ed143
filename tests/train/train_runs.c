#include "tests/train/train_runs.h"

#include "tests/support/small_data.h"
#include "train/cmd/commands.h"
#include "train/detector/gate_eval.h"
#include "train/run/run.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

struct shared *shared;

int __real_run_save_checkpoint(struct run *r, struct error *err);
int __wrap_run_save_checkpoint(struct run *r, struct error *err);
int __real_ranks_step(struct run *r, int (*part)(struct run *r, struct error *err), struct error *err);
int __wrap_ranks_step(struct run *r, int (*part)(struct run *r, struct error *err), struct error *err);
int __real_gate_eval(struct gate_trainer *t, enum data_split split, bool hard_negatives, struct gate_answers *a,
                     struct error *err);
int __wrap_gate_eval(struct gate_trainer *t, enum data_split split, bool hard_negatives, struct gate_answers *a,
                     struct error *err);

int __wrap_run_save_checkpoint(struct run *r, struct error *err)
{
    if (++shared->saves == shared->end_before)
        _exit(KILLED);
    int rc = __real_run_save_checkpoint(r, err);
    if (shared->saves == shared->end_after)
        _exit(KILLED);
    return rc;
}

int __wrap_ranks_step(struct run *r, int (*part)(struct run *r, struct error *err), struct error *err)
{
    if (++shared->steps == shared->signal_step)
        raise(SIGTERM);
    return __real_ranks_step(r, part, err);
}

int __wrap_gate_eval(struct gate_trainer *t, enum data_split split, bool hard_negatives, struct gate_answers *a,
                     struct error *err)
{
    if (++shared->evals == shared->signal_eval)
        raise(SIGTERM);
    return __real_gate_eval(t, split, hard_negatives, a, err);
}

char *data, *work, *whole, *stopped, *run;

struct gate_request request(const char *out)
{
    struct gate_request q = gate_request_defaults;
    struct gate_settings *s = &q.settings;

    q.data = data;
    q.out = out;
    q.device = "cpu";
    s->encode = ENCODE_ELEMENT;
    s->compute = GATE_F32;
    s->scratch.hidden = 32;
    s->scratch.heads = 1;
    s->scratch.layers = 1;
    s->scratch.intermediate = 32;
    s->scratch.vocabulary = 400;
    s->scratch.positions = 256;
    s->relevance_epochs = 1;
    s->train.epochs = 2;
    s->train.batch = 16;
    s->gat_hidden = s->pair_hidden = 8;
    s->gat_heads = 2;
    s->train.tokens = 2048;
    s->train.save_every = 1;
    s->distractors = 0.5;
    return q;
}

/* Its messages are in work/said. */
int train(const struct gate_request *q)
{
    char said[4096];
    int status;

    snprintf(said, sizeof said, "%s/said", work);
    shared->saves = shared->steps = shared->evals = 0;
    pid_t pid = fork();
    if (pid == 0) {
        struct error err = { .text = "" };
        int fd = open(said, O_WRONLY | O_CREAT | O_TRUNC, 0666);
        dup2(fd, 1);
        dup2(fd, 2);
        int code = (int)command_gatekeeper.run(&(struct call){ .options = q }, &err);
        dprintf(2, "%s\n", err.text);
        _exit(code);
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    int code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
    if (code && code != KILLED) {
        char *text = test_read(said);
        print_message("exit code %d: %s", code, text);
        free(text);
    }
    return code;
}

void assert_said(const char *word)
{
    char *text = test_read(test_file(work, "said", NULL));
    if (!strstr(text, word))
        fail_msg("'%s' does not say '%s'", text, word);
    free(text);
}

const char *path_of(const char *dir, const char *name)
{
    return test_file(test_file(work, dir, NULL), name, NULL);
}

/* Two files have the same bytes. */
static void assert_same(const char *a, const char *b)
{
    char command[9000];
    snprintf(command, sizeof command, "cmp '%s' '%s'", a, b);
    if (test_run(command, NULL) != 0)
        fail_msg("%s and %s differ", a, b);
}

/* Removes the fields of a log that no two runs have in common. */
static char *without_times(char *log)
{
    static const char *const names[] = { ",\"examples_per_second\":", ",\"seconds\":", ",\"memory_mib\":",
                                         ",\"device_memory_mib\":" };

    for (int i = 0; i < ARRAY_LEN(names); i++)
        for (char *at = log; (at = strstr(at, names[i]));) {
            char *end = at + strlen(names[i]);
            end += strcspn(end, ",}");
            memmove(at, end, strlen(end) + 1);
        }
    return log;
}

/* Two logs have the same lines, apart from those fields. */
static void assert_same_metrics(const char *a, const char *b)
{
    char *x = without_times(test_read(a)), *y = without_times(test_read(b));

    assert_string_equal(x, y);
    free(x);
    free(y);
}

void assert_same_model(const char *a, const char *b)
{
    assert_same(path_of(a, CHECKPOINT_FILE), path_of(b, CHECKPOINT_FILE));
    assert_same(path_of(a, "best/" CHECKPOINT_FILE), path_of(b, "best/" CHECKPOINT_FILE));
    assert_same(path_of(a, "test.json"), path_of(b, "test.json"));
    assert_same_metrics(path_of(a, "metrics.jsonl"), path_of(b, "metrics.jsonl"));
}

void clean(void)
{
    char command[9000];
    *shared = (struct shared){ 0 };
    snprintf(command, sizeof command, "rm -rf '%s'/*", work);
    assert_int_equal(test_run(command, NULL), 0);
}

int train_runs_set_up(void **state)
{
    (void)state;
    shared = mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    assert_true(shared != MAP_FAILED);
    data = test_dir_new();
    work = test_dir_new();
    whole = xstrdup(test_file(work, "whole", NULL));
    stopped = xstrdup(test_file(work, "stopped", NULL));
    run = xstrdup(test_file(work, "run", NULL));
    small_data_write(data, 48, 12, 12);
    return 0;
}

int train_runs_tear_down(void **state)
{
    (void)state;
    test_dir_remove(data);
    test_dir_remove(work);
    free(whole);
    free(stopped);
    free(run);
    return 0;
}
