/* Runs that are stopped, killed and gone on with end with the bits of an uninterrupted one. */
#include "tests/support/support.h"

#include "models/checkpoint/checkpoint.h"
#include "tests/support/small_data.h"
#include "train/cmd/commands.h"
#include "train/gate/gate_eval.h"
#include "train/run/run_impl.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

/* What the child process, which trains, shares with the test: where to end, and what it did. */
static struct shared {
    int saves, steps, evals;   /* counted */
    int end_after, end_before; /* checkpoints after and before which the process ends, 0: none */
    int signal_step;           /* step and */
    int signal_eval;           /* judgement of a fold before which SIGTERM comes, 0: none */
} * shared;

enum { KILLED = 99 };

int __real_run_save_checkpoint(struct run *r, struct error *err);
int __wrap_run_save_checkpoint(struct run *r, struct error *err);
int __real_run_step(struct run *r, struct error *err);
int __wrap_run_step(struct run *r, struct error *err);
int __real_gate_eval(struct gate_trainer *t, enum fold fold, bool presence, struct gate_answers *a, struct error *err);
int __wrap_gate_eval(struct gate_trainer *t, enum fold fold, bool presence, struct gate_answers *a, struct error *err);

int __wrap_run_save_checkpoint(struct run *r, struct error *err)
{
    if (++shared->saves == shared->end_before)
        _exit(KILLED);
    int rc = __real_run_save_checkpoint(r, err);
    if (shared->saves == shared->end_after)
        _exit(KILLED);
    return rc;
}

int __wrap_run_step(struct run *r, struct error *err)
{
    if (++shared->steps == shared->signal_step)
        raise(SIGTERM);
    return __real_run_step(r, err);
}

int __wrap_gate_eval(struct gate_trainer *t, enum fold fold, bool presence, struct gate_answers *a, struct error *err)
{
    if (++shared->evals == shared->signal_eval)
        raise(SIGTERM);
    return __real_gate_eval(t, fold, presence, a, err);
}

static char *data, *work, *whole, *stopped, *run; /* run folders: work/whole, ... */

/* A tiny network, a few steps of each stage, a checkpoint after every one. */
static struct gate_request request(const char *out)
{
    struct gate_request q = gate_request_defaults;
    struct gate_settings *s = &q.settings;

    q.data = data;
    q.out = out;
    q.device = "cpu";
    s->encode = ENCODE_ELEMENT;
    s->compute = GATE_F32;
    s->encoder_hidden = 32;
    s->encoder_heads = 1;
    s->encoder_layers = 1;
    s->encoder_intermediate = 32;
    s->encoder_vocabulary = 400;
    s->encoder_positions = 256;
    s->relevance_epochs = 1;
    s->epochs = 2;
    s->batch = 16;
    s->gat_hidden = s->pair_hidden = 8;
    s->gat_heads = 2;
    s->tokens = 2048;
    s->save_every = 1;
    return q;
}

/* Trains in a process of its own, whose exit code it returns.  What it said is in work/said. */
static int train(const struct gate_request *q)
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

static void assert_said(const char *word)
{
    char *text = test_read(test_file(work, "said", NULL));
    if (!strstr(text, word))
        fail_msg("'%s' does not say '%s'", text, word);
    free(text);
}

/* work/dir/name */
static const char *path_of(const char *dir, const char *name)
{
    return test_file(test_file(work, dir, NULL), name, NULL);
}

/* Two files hold the same bytes. */
static void assert_same(const char *a, const char *b)
{
    char command[9000];
    snprintf(command, sizeof command, "cmp '%s' '%s'", a, b);
    if (test_run(command, NULL) != 0)
        fail_msg("%s and %s differ", a, b);
}

static void assert_same_model(const char *a, const char *b)
{
    assert_same(path_of(a, CHECKPOINT_FILE), path_of(b, CHECKPOINT_FILE));
    assert_same(path_of(a, "best/" CHECKPOINT_FILE), path_of(b, "best/" CHECKPOINT_FILE));
    assert_same(path_of(a, "test.json"), path_of(b, "test.json"));
    assert_same(path_of(a, "metrics.jsonl"), path_of(b, "metrics.jsonl"));
}

static void clean(void)
{
    char command[9000];
    *shared = (struct shared){ 0 };
    snprintf(command, sizeof command, "rm -rf '%s'/*", work);
    assert_int_equal(test_run(command, NULL), 0);
}

/* From the first checkpoint to the last, one step at a time. */
static void check_every_step(struct gate_request q)
{
    clean();
    q.out = whole;
    assert_int_equal(train(&q), 0);
    int saves = shared->saves, steps = shared->steps;
    assert_true(saves >= steps && steps > 4);
    assert_int_equal(train(&(struct gate_request){
                         .data = q.data, .out = q.out, .device = "cpu", .seed = q.seed, .settings = q.settings }),
                     EXIT_CODE_USAGE);
    assert_said("--resume");

    q.out = stopped;
    q.resume = true;
    shared->end_after = 1;
    for (int i = 0; i < saves; i++)
        assert_int_equal(train(&q), KILLED);
    assert_int_equal(train(&q), 0);
    assert_int_equal(shared->steps, 0);
    assert_same_model("whole", "stopped");
}

static void test_element(void **state)
{
    (void)state;
    check_every_step(request(NULL));
}

static void test_joint(void **state)
{
    struct gate_request q = request(NULL);

    (void)state;
    q.settings.embedder = EMBEDDER_JOINT;
    q.settings.compute = GATE_BF16;
    q.settings.relevance_epochs = 0;
    q.settings.eval_every = 2;
    q.settings.patience = 3;
    check_every_step(q);
}

/* One stage, in which the relevance head learns on states of an encoder that stays as it was. */
static void test_stock(void **state)
{
    struct gate_request q = request(NULL);

    (void)state;
    q.settings.embedder = EMBEDDER_STOCK;
    check_every_step(q);
    char *metrics = test_read(path_of("whole", "metrics.jsonl"));
    assert_non_null(strstr(metrics, "\"classifier\""));
    assert_null(strstr(metrics, "\"relevance\""));
    free(metrics);
}

static void test_schema(void **state)
{
    struct gate_request q = request(NULL);

    (void)state;
    q.settings.encode = ENCODE_SCHEMA;
    q.settings.schedule = GATE_COSINE;
    q.settings.presence = 0.5;
    q.settings.max_train = 40;
    check_every_step(q);
}

/* A kill just before a checkpoint loses steps and nothing else; the same with the cached states gone or damaged. */
static void test_kills(void **state)
{
    struct gate_request q = request(NULL);
    static const char *const between[] = { "true", "rm -r", "truncate -s -3" }; /* done to each file of cached states */
    char command[9000];

    (void)state;
    clean();
    q.settings.save_every = 3;
    q.out = whole;
    assert_int_equal(train(&q), 0);
    q.resume = true;
    q.out = stopped;
    for (int k = 0; k < ARRAY_LEN(between); k++) {
        *shared = (struct shared){ .end_before = 2 };
        assert_int_equal(train(&q), KILLED);
        *shared = (struct shared){ .end_after = 2 };
        assert_int_equal(train(&q), KILLED);
        snprintf(command, sizeof command, "%s '%s'/states/*", between[k], q.out);
        assert_int_equal(test_run(command, NULL), 0);
        *shared = (struct shared){ .end_before = 1 };
        assert_int_equal(train(&q), KILLED);
        *shared = (struct shared){ 0 };
        assert_int_equal(train(&q), 0);
        assert_same_model("whole", "stopped");
        snprintf(command, sizeof command, "rm -r '%s'", q.out);
        assert_int_equal(test_run(command, NULL), 0);
    }
}

/* SIGTERM before any step: the step is finished and saved. */
static void test_signal(void **state)
{
    struct gate_request q = request(NULL);

    (void)state;
    clean();
    q.settings.save_every = 0;
    q.out = whole;
    assert_int_equal(train(&q), 0);
    int steps = shared->steps, at = 0;
    q.out = stopped;
    for (q.resume = true; at + 2 < steps; at += 2) {
        char name[64];
        shared->signal_step = 2;
        assert_int_equal(train(&q), EXIT_CODE_SIGTERM);
        assert_int_equal(shared->steps, 2);
        snprintf(name, sizeof name, "stopped/checkpoint-%d", at + 2);
        assert_int_equal(access(test_file(work, name, NULL), F_OK), 0);
    }
    shared->signal_step = 0;
    assert_int_equal(train(&q), 0);
    assert_int_equal(shared->steps, steps - at);
    assert_same_model("whole", "stopped");
}

/* A process that SIGTERM meets at its n-th judgement of a fold. */
static void stop_at_eval(const struct gate_request *q, int n)
{
    shared->signal_eval = n;
    assert_int_equal(train(q), EXIT_CODE_SIGTERM);
    assert_int_equal(shared->evals, n);
    assert_int_not_equal(access(path_of("stopped", CHECKPOINT_FILE), F_OK), 0);
}

/* SIGTERM in every validation, and in every judgement at the end: it stops there and later does all of that one. */
static void check_signals_in_evals(struct gate_request q)
{
    enum { LAST = 3 }; /* validation once more, both slices of the test fold, of which one is empty */

    clean();
    q.settings.save_every = 0;
    q.out = whole;
    assert_int_equal(train(&q), 0);
    int steps = shared->steps, validations = shared->evals - LAST, done = 0;
    assert_true(validations > 1);
    q.out = stopped;
    q.resume = true;
    for (int i = 0; i < validations; i++) {
        stop_at_eval(&q, i ? 2 : 1);
        done += shared->steps;
    }
    assert_int_equal(done, steps);
    for (int i = 0; i < LAST; i++) {
        stop_at_eval(&q, i ? i + 1 : 2);
        assert_int_equal(shared->steps, 0);
    }
    shared->signal_eval = 0;
    assert_int_equal(train(&q), 0);
    assert_same_model("whole", "stopped");
}

static void test_signals_in_evals(void **state)
{
    struct gate_request q = request(NULL);

    (void)state;
    check_signals_in_evals(q);
    q.settings.encode = ENCODE_SCHEMA;
    q.settings.eval_every = 2;
    q.settings.patience = 2;
    check_signals_in_evals(q);
}

/* Nothing of the folder changes when a run cannot go on with it. */
static void refuse(struct gate_request q, int code, const char *word)
{
    char *config = test_read(path_of("run", "config.yaml")), *metrics = test_read(path_of("run", "metrics.jsonl"));

    assert_int_equal(train(&q), code);
    assert_int_equal(shared->steps, 0);
    assert_said(word);
    char *after = test_read(path_of("run", "config.yaml"));
    assert_string_equal(after, config);
    free(after);
    after = test_read(path_of("run", "metrics.jsonl"));
    assert_string_equal(after, metrics);
    free(after);
    free(config);
    free(metrics);
}

static void test_refused(void **state)
{
    struct gate_request q = request(NULL), other;
    char *changed = test_dir_new(), command[9000];

    (void)state;
    clean();
    q.out = run;
    shared->end_after = 3;
    assert_int_equal(train(&q), KILLED);
    refuse(q, EXIT_CODE_USAGE, "--resume");
    q.resume = true;
    other = q;
    other.seed++;
    refuse(other, EXIT_CODE_USAGE, "seed: the run to resume has 1, got 2");
    other = q;
    other.settings.head_lr *= 2;
    refuse(other, EXIT_CODE_USAGE, "head-lr: the run to resume has 0.001, got 0.002");
    other = q;
    other.settings.embedder = EMBEDDER_JOINT;
    refuse(other, EXIT_CODE_USAGE, "embedder: the run to resume has \"linker\", got \"joint\"");
    other = q;
    other.settings.epochs--;
    refuse(other, EXIT_CODE_USAGE, "epochs: the run to resume has 2, got 1");
    other = q;
    other.data = changed;
    static const char *const edits[] = { "5s/\"question\":\"/&Please, /' train.jsonl", "2d' valid.jsonl" };
    for (int i = 0; i < ARRAY_LEN(edits); i++) {
        snprintf(command, sizeof command, "cd '%s' && cp '%s'/* . && sed -i '%s", changed, data, edits[i]);
        assert_int_equal(test_run(command, NULL), 0);
        refuse(other, EXIT_CODE_USAGE, "the data of the run to resume were others");
    }
    test_dir_remove(changed);
    shared->end_after = 0;
    q.settings.save_every = 7; /* how often may change, and more epochs may come */
    assert_int_equal(train(&q), 0);
    snprintf(command, sizeof command, "truncate -s -1 '%s'/checkpoint-*/" CHECKPOINT_FILE, q.out);
    assert_int_equal(test_run(command, NULL), 0);
    refuse(q, EXIT_CODE_CHECKPOINT, CHECKPOINT_FILE);
}

/* More epochs: the run goes on where it ended, or stood, at the rates of its longer schedule, and may be killed there.
 */
static void test_more_epochs(void **state)
{
    struct gate_request q = request(NULL), more;

    (void)state;
    clean();
    q.resume = true;
    more = q;
    more.settings.epochs = 2 * q.settings.epochs;
    q.out = more.out = whole;
    assert_int_equal(train(&q), 0);
    int saves = shared->saves;
    assert_int_equal(train(&more), 0);
    int more_saves = shared->saves;
    assert_int_equal(shared->steps, (int)q.settings.epochs * (48 / 16));
    q.out = more.out = stopped;
    for (int i = 0; i < saves + more_saves; i++) {
        shared->end_after = 1;
        assert_int_equal(train(i < saves ? &q : &more), KILLED);
    }
    shared->end_after = 0;
    assert_int_equal(train(&more), 0);
    assert_int_equal(shared->steps, 0);
    assert_same_model("whole", "stopped");
}

/* A run that patience has ended has no more steps. */
static void test_patience_and_more_epochs(void **state)
{
    struct gate_request q = request(NULL);

    (void)state;
    clean();
    q.out = run;
    q.resume = true;
    q.settings.relevance_epochs = 0;
    q.settings.patience = 1;
    q.settings.epochs = 20;
    q.settings.head_lr = 1e-9;
    assert_int_equal(train(&q), 0);
    assert_true(shared->steps < 20 * 3);
    q.settings.epochs = 30;
    assert_int_equal(train(&q), 0);
    assert_int_equal(shared->steps, 0);
    assert_said("no more steps: 1 validations without a better one have ended the run");
}

/* Files that no run made are not written among, unless force. */
static void test_foreign_folder(void **state)
{
    struct gate_request q = request(NULL);
    static const char *const spoil[] = { "echo hello >'%s/notes.txt'", "echo 'lr: no rate' >'%s/config.yaml'" };
    char command[9000];

    (void)state;
    q.out = run;
    q.settings.epochs = 1;
    for (int i = 0; i < ARRAY_LEN(spoil); i++) {
        clean();
        assert_int_equal(mkdir(run, 0777), 0);
        snprintf(command, sizeof command, spoil[i], run);
        assert_int_equal(test_run(command, NULL), 0);
        q.force = false;
        assert_int_equal(train(&q), EXIT_CODE_USAGE);
        assert_said(i ? "run: holds something else (config.yaml)" : "run: holds something else (notes.txt)");
        q.force = true;
        assert_int_equal(train(&q), 0);
    }
}

/* A dry run says what it would take and leaves nothing, also where a run is already. */
static void test_dry_run(void **state)
{
    struct gate_request q = request(NULL);

    (void)state;
    clean();
    q.out = run;
    q.dry_run = true;
    assert_int_equal(train(&q), 0);
    assert_int_equal(shared->steps, 0);
    assert_said("MiB for a step");
    assert_int_not_equal(access(q.out, F_OK), 0);

    q.dry_run = false;
    assert_int_equal(train(&q), 0);
    q.dry_run = true;
    q.seed++;
    refuse(q, 0, "MiB for a step");
}

/* The loss of fewer than ten steps is told once, at the end. */
static void test_few_steps(void **state)
{
    struct gate_request q = request(NULL);

    (void)state;
    clean();
    q.out = run;
    q.settings.encode = ENCODE_SCHEMA;
    assert_int_equal(train(&q), 0);
    assert_true(shared->steps < 10);
    char *metrics = test_read(path_of("run", "metrics.jsonl")), *loss = strstr(metrics, "\"loss\"");
    assert_non_null(loss);
    assert_null(strstr(loss + 1, "\"loss\""));
    free(metrics);
}

/* A first run that was killed before its first checkpoint leaves nothing that a second one could take for its own. */
static void test_stale_best(void **state)
{
    struct gate_request q = request(NULL);

    (void)state;
    clean();
    q.settings.save_every = 0;
    q.settings.relevance_epochs = 0;
    q.settings.embedder = EMBEDDER_JOINT;
    q.out = run;
    shared->end_before = 1;
    assert_int_equal(train(&q), KILLED);
    assert_int_equal(access(path_of("run", "best/" CHECKPOINT_FILE), F_OK), 0);
    shared->end_before = 0;
    q.settings.epochs = 0;
    assert_int_equal(train(&q), 0);
    assert_int_not_equal(access(path_of("run", "best/" CHECKPOINT_FILE), F_OK), 0);
}

static int set_up(void **state)
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

static int tear_down(void **state)
{
    (void)state;
    test_dir_remove(data);
    test_dir_remove(work);
    free(whole);
    free(stopped);
    free(run);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_element),
        cmocka_unit_test(test_joint),
        cmocka_unit_test(test_stock),
        cmocka_unit_test(test_schema),
        cmocka_unit_test(test_kills),
        cmocka_unit_test(test_signal),
        cmocka_unit_test(test_refused),
        cmocka_unit_test(test_more_epochs),
        cmocka_unit_test(test_patience_and_more_epochs),
        cmocka_unit_test(test_foreign_folder),
        cmocka_unit_test(test_dry_run),
        cmocka_unit_test(test_stale_best),
        cmocka_unit_test(test_signals_in_evals),
        cmocka_unit_test(test_few_steps),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
