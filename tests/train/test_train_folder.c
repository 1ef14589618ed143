/* Folders that a run can resume from, and folders that it may write to. */
#include "tests/train/train_runs.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

/* A refused folder stays unchanged. */
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
    other.settings.train.epochs--;
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
    q.settings.train.save_every = 7; /* save_every may change, and epochs may be added */
    assert_int_equal(train(&q), 0);
    snprintf(command, sizeof command, "truncate -s -1 '%s'/checkpoint-*/" CHECKPOINT_FILE, q.out);
    assert_int_equal(test_run(command, NULL), 0);
    refuse(q, EXIT_CODE_CHECKPOINT, CHECKPOINT_FILE);
    assert_said("to begin the run anew in its folder");
}

static void shell(const char *format, const char *a, const char *b)
{
    char command[9000];

    snprintf(command, sizeof command, format, a, b);
    assert_int_equal(test_run(command, NULL), 0);
}

/* The best weights are missing, damaged, of another run, or of no step: refused, since the result would be another
 * model. */
static void test_lost_best(void **state)
{
    struct gate_request q = request(NULL), other;

    (void)state;
    clean();
    q.resume = true;
    other = q;
    other.seed++;
    q.out = run;
    other.out = whole;
    assert_int_equal(train(&q), 0);
    assert_int_equal(train(&other), 0);
    shell("mv '%s' '%s'", path_of("run", "best"), path_of("run", "states/kept"));
    refuse(q, EXIT_CODE_CHECKPOINT, "/best back as the run left it, or begin anew with another --out");
    shell("cp -r '%s' '%s'", path_of("whole", "best"), path_of("run", "best"));
    refuse(q, EXIT_CODE_USAGE, "seed: the run to resume has 2, got 1");
    shell("cp '%s' '%s'", path_of("run", CHECKPOINT_FILE), path_of("run", "best/" CHECKPOINT_FILE));
    refuse(q, EXIT_CODE_CHECKPOINT, "got those of step 0");
    shell("truncate -s -1 '%s%s'", path_of("run", "best/" CHECKPOINT_FILE), "");
    refuse(q, EXIT_CODE_CHECKPOINT, "damaged or truncated");
    shell("cp '%s' '%s'", path_of("run", "states/kept/" CHECKPOINT_FILE), path_of("run", "best/" CHECKPOINT_FILE));
    assert_int_equal(train(&q), 0);
}

/* Missing, truncated or foreign curves are replaced by those of the checkpoint. */
static void test_lost_metrics(void **state)
{
    static const char *const spoil[] = { "rm '%s%s'", "truncate -s -3 '%s%s'", "sed -i '1s/[1-9]/7/g' '%s%s'" };
    struct gate_request q = request(NULL);

    (void)state;
    clean();
    q.resume = true;
    q.out = whole;
    q.settings.train.epochs = 4;
    assert_int_equal(train(&q), 0);
    q.out = stopped;
    shared->end_after = 8;
    assert_int_equal(train(&q), KILLED);
    shared->end_after = 0;
    shell("cp -r '%s' '%s'", stopped, run);
    for (int i = 0; i < ARRAY_LEN(spoil); i++) {
        shell("rm -rf '%s%s'", stopped, "");
        shell("cp -r '%s' '%s'", run, stopped);
        shell(spoil[i], path_of("stopped", "metrics.jsonl"), "");
        assert_int_equal(train(&q), 0);
        assert_said("stopped/metrics.jsonl: not what the run wrote up to step 8, restored from");
        assert_same_model("whole", "stopped");
    }
}

/* With more epochs, a run continues from its end or its last checkpoint, with the rates of the longer schedule. It
 * may be killed there. */
static void test_more_epochs(void **state)
{
    struct gate_request q = request(NULL), more;

    (void)state;
    clean();
    q.resume = true;
    more = q;
    more.settings.train.epochs = 2 * q.settings.train.epochs;
    q.out = more.out = whole;
    assert_int_equal(train(&q), 0);
    int saves = shared->saves;
    assert_int_equal(train(&more), 0);
    int more_saves = shared->saves;
    assert_int_equal(shared->steps, (int)q.settings.train.epochs * (48 / 16));
    q.out = more.out = stopped;
    for (int i = 0; i < saves; i += 3) {
        shared->end_after = 3;
        assert_int_equal(train(&q), i + 3 <= saves ? KILLED : 0);
    }
    for (int i = 0; i < more_saves; i++) {
        shared->end_after = 1;
        assert_int_equal(train(&more), KILLED);
    }
    shared->end_after = 0;
    assert_int_equal(train(&more), 0);
    assert_int_equal(shared->steps, 0);
    assert_same_model("whole", "stopped");
}

/* A run that was ended by patience has no more steps. */
static void test_patience_and_more_epochs(void **state)
{
    struct gate_request q = request(NULL);

    (void)state;
    clean();
    q.out = run;
    q.resume = true;
    q.settings.relevance_epochs = 0;
    q.settings.train.patience = 1;
    q.settings.train.epochs = 20;
    q.settings.head_lr = 1e-9;
    assert_int_equal(train(&q), 0);
    assert_true(shared->steps < 20 * 3);
    q.settings.train.epochs = 30;
    assert_int_equal(train(&q), 0);
    assert_int_equal(shared->steps, 0);
    assert_said("no more steps: 1 validations without a better one have ended the run");
}

/* A folder with files of no run is refused without --force. */
static void test_foreign_folder(void **state)
{
    struct gate_request q = request(NULL);
    static const char *const spoil[] = { "echo hello >'%s/notes.txt'", "echo 'lr: no rate' >'%s/config.yaml'" };
    char command[9000];

    (void)state;
    q.out = run;
    q.settings.train.epochs = 1;
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

/* A dry run reports its cost and writes nothing, also in a run's folder. */
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

/* A run that was killed before its first checkpoint leaves no file that a second run would use. */
static void test_stale_best(void **state)
{
    struct gate_request q = request(NULL);

    (void)state;
    clean();
    q.settings.train.save_every = 0;
    q.settings.relevance_epochs = 0;
    q.settings.embedder = EMBEDDER_JOINT;
    q.out = run;
    shared->end_before = 1;
    assert_int_equal(train(&q), KILLED);
    assert_int_equal(access(path_of("run", "best/" CHECKPOINT_FILE), F_OK), 0);
    shared->end_before = 0;
    q.settings.train.epochs = 0;
    assert_int_equal(train(&q), 0);
    assert_int_not_equal(access(path_of("run", "best/" CHECKPOINT_FILE), F_OK), 0);
}

/* A run of no epochs that starts from a detector has its scores. Its settings must be those of the detector. */
static void test_init(void **state)
{
    struct gate_request q = request(NULL), other;

    (void)state;
    clean();
    q.settings.encode = ENCODE_SCHEMA;
    q.settings.distractors = 0;
    q.out = whole;
    assert_int_equal(train(&q), 0);
    q.init = whole;
    q.out = stopped;
    q.settings.train.epochs = 0;
    q.settings.scratch.hidden = 64; /* sizes come from the detector */
    assert_int_equal(train(&q), 0);
    shell("cmp '%s' '%s'", path_of("whole", "test.json"), path_of("stopped", "test.json"));
    q.out = run;
    other = q;
    other.encoder = data;
    assert_int_equal(train(&other), EXIT_CODE_USAGE);
    assert_said("--init and --encoder cannot be used together");
    other = q;
    other.settings.encode = ENCODE_ELEMENT;
    assert_int_equal(train(&other), EXIT_CODE_USAGE);
    assert_said("expected a detector and a run of --encode schema");
    other = q;
    other.settings.classifier = CLASSIFIER_GAT_MEAN;
    assert_int_equal(train(&other), EXIT_CODE_USAGE);
    assert_said("expected the --classifier and --graph with which the detector was trained");
}

/* Starts a process that has the folder for 0.3 s, as one that trains has, and then runs the command. */
static pid_t occupy(const char *folder, const char *command)
{
    int ready[2];
    char byte;

    assert_int_equal(pipe(ready), 0);
    pid_t pid = fork();
    if (pid == 0) {
        int fd = open(folder, O_RDONLY | O_DIRECTORY);
        bool locked = fd >= 0 && flock(fd, LOCK_EX) == 0 && write(ready[1], "x", 1) == 1;
        usleep(300000);
        _exit(locked && test_run(command, NULL) == 0 ? 0 : 1);
    }
    close(ready[1]);
    assert_int_equal(read(ready[0], &byte, 1), 1);
    close(ready[0]);
    return pid;
}

/* Whether the process has ended with code 0. */
static void assert_ended(pid_t pid)
{
    int status;

    assert_int_equal(waitpid(pid, &status, WNOHANG), pid);
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

/* A run waits for a process that trains into its folder, and then sees what that process has written. */
static void test_busy_folder(void **state)
{
    struct gate_request q = request(NULL);
    char command[9000];

    (void)state;
    clean();
    q.out = whole;
    assert_int_equal(train(&q), 0);
    q.out = run;
    assert_int_equal(mkdir(run, 0777), 0);
    snprintf(command, sizeof command, "cp -r '%s'/. '%s'", whole, run);
    pid_t other = occupy(run, command);
    assert_int_equal(train(&q), EXIT_CODE_USAGE);
    assert_ended(other);
    assert_said("another process trains into this folder; waiting until it ends");
    assert_said("holds a run already");
    q.resume = true;
    other = occupy(run, "true");
    assert_int_equal(train(&q), 0);
    assert_ended(other);
    assert_int_equal(shared->steps, 0);
    assert_same_model("whole", "run");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_refused),
        cmocka_unit_test(test_lost_best),
        cmocka_unit_test(test_lost_metrics),
        cmocka_unit_test(test_more_epochs),
        cmocka_unit_test(test_patience_and_more_epochs),
        cmocka_unit_test(test_foreign_folder),
        cmocka_unit_test(test_dry_run),
        cmocka_unit_test(test_stale_best),
        cmocka_unit_test(test_init),
        cmocka_unit_test(test_busy_folder),
    };
    return cmocka_run_group_tests(tests, train_runs_set_up, train_runs_tear_down);
}
