#include "data/base/subprocess.h"

#include "data/base/log.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

extern char **environ;

enum { READ_BYTES = 1 << 16, WAIT_MS = 2 };

static int failure(struct error *err, const char *what, int code)
{
    return error_set(err, EXIT_CODE_FAILURE, "%s: %s", what, strerror(code));
}

/* An unnamed file with the text, at its start; NULL with err. */
static FILE *input_of(const char *text, size_t n, struct error *err)
{
    FILE *f = tmpfile();

    if (f && fwrite(text, 1, n, f) == n && fflush(f) == 0 && lseek(fileno(f), 0, SEEK_SET) == 0)
        return f;
    failure(err, "cannot write the input to a temporary file", errno);
    if (f)
        fclose(f);
    return NULL;
}

/* Starts the command in a new process group with default signals. Returns an errno. */
static int spawn(pid_t *pid, const char *command, int in, int out)
{
    char shell[] = "/bin/sh", option[] = "-c", *text = xstrdup(command), *argv[] = { shell, option, text, NULL };
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attributes;
    sigset_t none, all;

    sigemptyset(&none);
    sigfillset(&all);
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, in, STDIN_FILENO);
    posix_spawn_file_actions_adddup2(&actions, out, STDOUT_FILENO);
    posix_spawnattr_init(&attributes);
    posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
    posix_spawnattr_setsigmask(&attributes, &none);
    posix_spawnattr_setsigdefault(&attributes, &all);
    int failed = posix_spawn(pid, shell, &actions, &attributes, argv, environ);
    posix_spawnattr_destroy(&attributes);
    posix_spawn_file_actions_destroy(&actions);
    free(text);
    return failed;
}

static int too_slow(const struct subprocess *p, struct error *err)
{
    return error_set(err, EXIT_CODE_FAILURE, "not finished after %g seconds", p->seconds);
}

/* Waits until fd can be read. */
static int wait_output(const struct subprocess *p, int fd, double deadline, struct error *err)
{
    struct pollfd one = { .fd = fd, .events = POLLIN };

    for (;;) {
        double left = deadline - now_seconds();
        int n = left > 0 ? poll(&one, 1, (int)(1e3 * (left < 3600 ? left : 3600)) + 1) : 0;
        if (n > 0)
            return 0;
        if (n < 0 && errno != EINTR)
            return failure(err, "cannot wait for the output", errno);
        if (now_seconds() >= deadline)
            return too_slow(p, err);
    }
}

/* Reads until the end of the output. */
static int read_output(struct subprocess *p, int fd, double deadline, struct error *err)
{
    for (;;) {
        if (wait_output(p, fd, deadline, err))
            return -1;
        p->output = xrealloc(p->output, p->size + READ_BYTES + 1);
        ssize_t n = read(fd, p->output + p->size, READ_BYTES);
        if (n < 0 && errno != EINTR)
            return failure(err, "cannot read the output", errno);
        p->size += n > 0 ? (size_t)n : 0;
        p->output[p->size] = '\0';
        if (p->size > p->max_output)
            return error_set(err, EXIT_CODE_FAILURE, "more than %zu bytes of output", p->max_output);
        if (n == 0)
            return 0;
    }
}

/* Waits for the end of the process, which stays a zombie, so that its group keeps its number. */
static int wait_end(const struct subprocess *p, pid_t pid, double deadline, struct error *err)
{
    for (;;) {
        siginfo_t info = { 0 };
        if (waitid(P_PID, (id_t)pid, &info, WEXITED | WNOHANG | WNOWAIT) == 0 && info.si_pid == pid)
            return 0;
        if (now_seconds() >= deadline)
            return too_slow(p, err);
        nanosleep(&(struct timespec){ .tv_nsec = WAIT_MS * 1000000 }, NULL);
    }
}

/* Kills the group, and takes the status of the process. */
static int reap(pid_t pid)
{
    int status = 0;

    kill(-pid, SIGKILL);
    while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
        continue;
    return status;
}

static int check_status(int status, struct error *err)
{
    if (WIFSIGNALED(status))
        return error_set(err, EXIT_CODE_FAILURE, "ended by signal %d", WTERMSIG(status));
    if (WEXITSTATUS(status))
        return error_set(err, EXIT_CODE_FAILURE, "exit status %d", WEXITSTATUS(status));
    return 0;
}

static int run(struct subprocess *p, int in, const int pipe_ends[2], struct error *err)
{
    double deadline = now_seconds() + p->seconds;
    pid_t pid;
    int failed = spawn(&pid, p->command, in, pipe_ends[1]);

    close(pipe_ends[1]);
    if (failed)
        return failure(err, "cannot start /bin/sh", failed);
    int rc = read_output(p, pipe_ends[0], deadline, err) || wait_end(p, pid, deadline, err) ? -1 : 0;
    int status = reap(pid);
    return rc ? rc : check_status(status, err);
}

int subprocess_filter(struct subprocess *p, const char *text, size_t n, struct error *err)
{
    int ends[2];

    p->output = xcalloc(1, 1);
    p->size = 0;
    FILE *in = input_of(text, n, err);
    if (!in)
        return -1;
    if (pipe2(ends, O_CLOEXEC)) {
        fclose(in);
        return failure(err, "cannot make a pipe", errno);
    }
    int rc = run(p, fileno(in), ends, err);
    close(ends[0]);
    fclose(in);
    return rc;
}

void subprocess_release(struct subprocess *p)
{
    free(p->output);
    p->output = NULL;
    p->size = 0;
}
