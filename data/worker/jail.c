#include "data/worker/jail_impl.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum { SAID = STDERR_FILENO + 1 }; /* where standard error is kept until the jail holds */

/* A terminal's signals are for the program, which may want its last answers.  The kernel kills this process with the
 * thread that started it, which ends with the program. */
static int heed_the_program_alone(void)
{
    static const int others[] = { SIGINT, SIGHUP, SIGQUIT, SIGTERM, SIGXFSZ, SIGPIPE };
    struct sigaction ignore = { .sa_handler = SIG_IGN };
    sigset_t none;

    for (int i = 0; i < ARRAY_LEN(others); i++)
        sigaction(others[i], &ignore, NULL);
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
    return prctl(PR_SET_PDEATHSIG, SIGKILL);
}

/* A lower limit that the program has stays. */
static int limit(int what, rlim_t most)
{
    struct rlimit r;

    if (getrlimit((__rlimit_resource_t)what, &r))
        return -1;
    r.rlim_max = r.rlim_max < most ? r.rlim_max : most;
    r.rlim_cur = r.rlim_max;
    return setrlimit((__rlimit_resource_t)what, &r);
}

static int limit_resources(void)
{
#ifndef AMBIT_SANITIZE /* which reserves terabytes of address space */
    enum { MEMORY = 3 << 29 };
    if (limit(RLIMIT_AS, MEMORY))
        return -1;
#endif
    return limit(RLIMIT_CORE, 0) || limit(RLIMIT_FSIZE, 0) || limit(RLIMIT_NPROC, 0) ? -1 : 0;
}

/* Keeps root's right to read files whose owner and mode forbid it: by the capability that does nothing else where it is
 * there, in containers by that to write them too, which the filter of calls refuses. */
static int drop_capabilities(void)
{
    enum { READ = 1 << CAP_DAC_READ_SEARCH, WRITE_TOO = 1 << CAP_DAC_OVERRIDE };
    struct __user_cap_header_struct head = { .version = _LINUX_CAPABILITY_VERSION_3 };
    struct __user_cap_data_struct now[_LINUX_CAPABILITY_U32S_3] = { 0 }, kept[_LINUX_CAPABILITY_U32S_3] = { 0 };

    if (syscall(SYS_capget, &head, now))
        return -1;
    kept[0].permitted = kept[0].effective = now[0].permitted & (now[0].permitted & READ ? READ : WRITE_TOO);
    return (int)syscall(SYS_capset, &head, kept);
}

static int give_up_privileges(void)
{
    return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) || drop_capabilities() || prctl(PR_SET_DUMPABLE, 0) ? -1 : 0;
}

/* Standard error becomes /dev/null.  Sanitizers report there. */
static int put_away_descriptors(void)
{
#ifdef AMBIT_SANITIZE
    closefrom(SAID);
    return 0;
#else
    if (dup2(STDERR_FILENO, SAID) < 0)
        return -1;
    closefrom(SAID + 1);
    int null = open("/dev/null", O_WRONLY | O_CLOEXEC);
    return null < 0 || dup2(null, STDERR_FILENO) < 0 || close(null) ? -1 : 0;
#endif
}

static int limit_all(struct error *err)
{
    tzset(); /* reads /etc/localtime, which is out of reach later */
    if (put_away_descriptors() || limit_resources() || give_up_privileges() || heed_the_program_alone())
        return error_set(
            err, EXIT_CODE_FAILURE,
            "the kernel refuses a limit that SQL is run in (%s): use Linux 3.5 or newer, in a container one "
            "that lets prctl, capset and setrlimit lower what a process may do",
            strerror(errno));
    return jail_restrict_files(err) < 0 || jail_filter_calls(err) ? -1 : 0;
}

int jail_enter(struct error *err)
{
    int rc = limit_all(err);

#ifndef AMBIT_SANITIZE
    if (rc)
        dup2(SAID, STDERR_FILENO);
    close(SAID);
#endif
    return rc;
}
