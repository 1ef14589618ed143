#include "data/worker/jail.h"

#include "data/exec/sql_wire.h"

#include <signal.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

static pid_t parent;

/* Comes when the thread that started us ends, which need not be the end of the program. */
static void on_parent(int signal)
{
    (void)signal;
    if (getppid() != parent)
        _exit(EXIT_CODE_OK);
}

/* What a terminal sends to all that runs in it is for the program, which may want its last answers. */
static void heed_the_program_alone(void)
{
    struct sigaction ignore = { .sa_handler = SIG_IGN }, die = { .sa_handler = on_parent, .sa_flags = SA_RESTART };
    sigset_t none;

    sigaction(SIGINT, &ignore, NULL);
    sigaction(SIGHUP, &ignore, NULL);
    sigaction(SIGQUIT, &ignore, NULL);
    sigaction(SIGXFSZ, &ignore, NULL);
    parent = getppid();
    sigaction(SIGTERM, &die, NULL);
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
    prctl(PR_SET_PDEATHSIG, SIGTERM);
}

static void limit(int what, rlim_t most)
{
    struct rlimit r = { most, most };

    setrlimit((__rlimit_resource_t)what, &r);
}

void jail_enter(void)
{
    heed_the_program_alone();
    closefrom(STDERR_FILENO + 1);
    prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
    limit(RLIMIT_CORE, 0);
    limit(RLIMIT_FSIZE, 0);
    limit(RLIMIT_NPROC, 0);
#ifndef AMBIT_SANITIZE /* whose shadow memory is terabytes */
    enum { MEMORY = 3 << 29 };
    limit(RLIMIT_AS, MEMORY);
#endif
}
