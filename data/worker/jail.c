#include "data/worker/jail.h"

#include "data/db/sql_wire.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/capability.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <stddef.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

/* Landlock by raw system calls and ABI numbers, because headers are often older than the kernel (see the kernel's
 * userspace-api/landlock). New system calls have the same number on all architectures. */
enum { CREATE_RULESET = 444, ADD_RULE = 445, RESTRICT_SELF = 446, ASK_VERSION = 1, PATH_BENEATH = 1 };

enum file_right {
    READ_FILE = 1 << 2,
    READ_FOLDER = 1 << 3,
    RIGHTS_OF_1 = (1 << 13) - 1,                  /* execute, write, read, create and remove files of each type */
    RIGHTS_OF_2 = RIGHTS_OF_1 | 1 << 13,          /* adds link and rename across folders */
    RIGHTS_OF_3 = RIGHTS_OF_2 | 1 << 14,          /* adds truncate */
    RIGHTS_OF_5 = RIGHTS_OF_3 | 1 << 15,          /* adds ioctl on devices */
    BIND_OR_CONNECT = 1 << 0 | 1 << 1,            /* TCP, from ABI 4 */
    ABSTRACT_SOCKETS_OR_SIGNALS = 1 << 0 | 1 << 1 /* to processes outside the jail, from ABI 6 */
};

struct ruleset {
    uint64_t handled_files, handled_network, scoped;
};

struct __attribute__((packed)) path_rule {
    uint64_t allowed;
    int32_t folder;
};

/* --- Landlock --- */

/* An older ABI knows only the first fields, and accepts a larger struct if the rest is 0. */
static struct ruleset ruleset_of(long version)
{
    static const uint64_t rights[] = { RIGHTS_OF_1, RIGHTS_OF_2, RIGHTS_OF_3, RIGHTS_OF_3, RIGHTS_OF_5 };
    long last = ARRAY_LEN(rights);

    return (struct ruleset){ .handled_files = rights[(version < last ? version : last) - 1],
                             .handled_network = version >= 4 ? BIND_OR_CONNECT : 0,
                             .scoped = version >= 6 ? ABSTRACT_SOCKETS_OR_SIGNALS : 0 };
}

/* Adds a rule for one name. A missing name needs none, and neither does a link, because its target has its own rule. */
static int allow_reading(int ruleset, int in, const char *name, bool only_folders)
{
    struct path_rule rule = { .folder = openat(in, name, O_PATH | O_NOFOLLOW | O_CLOEXEC) };
    struct stat st;
    long rc = 0;

    if (rule.folder < 0)
        return 0;
    bool known = fstat(rule.folder, &st) == 0, folder = known && S_ISDIR(st.st_mode);
    rule.allowed = folder ? READ_FILE | READ_FOLDER : READ_FILE;
    if (folder || (known && !only_folders && !S_ISLNK(st.st_mode)))
        rc = syscall(ADD_RULE, ruleset, PATH_BENEATH, &rule, 0);
    close(rule.folder);
    return rc ? -1 : 0;
}

static bool is_among(const char *name, const char *const *names)
{
    while (*names && strcmp(name, *names) != 0)
        names++;
    return *names;
}

/* Adds rules for the entries of a folder except `but`; optionally only for folders. */
static int allow_all_in(int ruleset, const char *path, const char *const *but, bool only_folders)
{
    DIR *d = opendir(path);
    int rc = 0;

    for (struct dirent *e; d && rc == 0 && (e = readdir(d));)
        if (!is_among(e->d_name, but))
            rc = allow_reading(ruleset, dirfd(d), e->d_name, only_folders);
    if (d)
        closedir(d);
    return rc;
}

/* Databases can be anywhere, so all top-level folders are readable except the system's. In /etc only folders are,
 * because secrets are in its plain files. */
static int allow_folders(int ruleset)
{
    static const char *const none[] = { ".", "..", NULL };
    static const char *const own[] = { ".", "..", "proc", "sys", "dev", "etc", NULL };

    if (allow_all_in(ruleset, "/", own, false) || allow_all_in(ruleset, "/etc", none, true) ||
        allow_reading(ruleset, AT_FDCWD, "/dev/shm", false) || allow_reading(ruleset, AT_FDCWD, "/dev/urandom", false))
        return -1;
#ifdef AMBIT_SANITIZE /* sanitizer reports read the process's own mappings */
    return allow_reading(ruleset, AT_FDCWD, "/proc", false);
#else
    return 0;
#endif
}

/* Leaves only the right to read files outside system folders. Returns 1 if the kernel has no Landlock, or -1 with err
 * if it has and refuses. */
static int restrict_files(struct error *err)
{
    long version = syscall(CREATE_RULESET, NULL, 0, ASK_VERSION);

    if (version < 1)
        return 1;
    struct ruleset all = ruleset_of(version);
    int fd = (int)syscall(CREATE_RULESET, &all, sizeof all, 0);
    int rc = fd < 0 || allow_folders(fd) || syscall(RESTRICT_SELF, fd, 0) ? -1 : 0;
    if (rc)
        error_set(err, EXIT_CODE_FAILURE,
                  "the kernel has Landlock and refuses it (%s): a process can be within 16 Landlock domains at most; "
                  "start the program outside of some of them",
                  strerror(errno));
    if (fd >= 0)
        close(fd);
    return rc;
}

/* --- Filter of system calls (seccomp) --- */

#if defined(__x86_64__) && !defined(__ILP32__)
#define ARCHITECTURE AUDIT_ARCH_X86_64
#elif defined(__aarch64__) && __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
#define ARCHITECTURE AUDIT_ARCH_AARCH64
#endif

#if defined(ARCHITECTURE) && !defined(AMBIT_SANITIZE) /* sanitizers need more system calls */
/* A condition on the low 32 bits of an argument: the bits in `mask` equal `value`. A mask of 0 accepts every value. */
struct condition {
    int argument;
    uint32_t mask, value;
};

/* An allowed system call. If a call has several rules, one must match. */
struct rule {
    unsigned call;
    struct condition first, second;
};

enum {
    READING = O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_DIRECTORY, /* flags of openat; O_RDONLY is 0 */
    RULES = 96,
    INSTRUCTIONS = 9 /* maximum per rule */
};

#define ANYHOW(call)                                                                                                   \
    {                                                                                                                  \
        call, { 0 },                                                                                                   \
        {                                                                                                              \
            0                                                                                                          \
        }                                                                                                              \
    }
#define WITH(call, argument, mask, value)                                                                              \
    {                                                                                                                  \
        call, { argument, mask, value },                                                                               \
        {                                                                                                              \
            0                                                                                                          \
        }                                                                                                              \
    }

/* The calls that read files and allocate memory for results. F_GETLK and F_SETLK are read locks, because no file is
 * open for writing. */
static const struct rule rules[] = {
    ANYHOW(SYS_pread64),
    ANYHOW(SYS_read),
    ANYHOW(SYS_lseek),
    WITH(SYS_recvfrom, 0, UINT32_MAX, WIRE_SOCKET),
    WITH(SYS_sendmsg, 0, UINT32_MAX, WIRE_SOCKET),
    WITH(SYS_sendto, 0, UINT32_MAX, WIRE_SOCKET),
    WITH(SYS_write, 0, UINT32_MAX, STDERR_FILENO),
    WITH(SYS_writev, 0, UINT32_MAX, STDERR_FILENO),
    WITH(SYS_openat, 2, ~(uint32_t)READING, O_RDONLY),
    ANYHOW(SYS_close),
    ANYHOW(SYS_fstat),
    ANYHOW(SYS_newfstatat),
    ANYHOW(SYS_statx),
    ANYHOW(SYS_faccessat),
    ANYHOW(SYS_faccessat2),
    ANYHOW(SYS_readlinkat),
    ANYHOW(SYS_getcwd),
    WITH(SYS_fcntl, 1, UINT32_MAX, F_GETFD),
    WITH(SYS_fcntl, 1, UINT32_MAX, F_SETFD),
    WITH(SYS_fcntl, 1, UINT32_MAX, F_GETFL),
    WITH(SYS_fcntl, 1, UINT32_MAX, F_GETLK),
    WITH(SYS_fcntl, 1, UINT32_MAX, F_SETLK),
    WITH(SYS_fcntl, 1, UINT32_MAX, F_OFD_GETLK),
    WITH(SYS_fcntl, 1, UINT32_MAX, F_OFD_SETLK),
    { SYS_mmap, { 2, PROT_EXEC | PROT_WRITE, 0 }, { 0 } },
    { SYS_mmap, { 2, PROT_EXEC, 0 }, { 3, MAP_SHARED, 0 } },
    WITH(SYS_mprotect, 2, PROT_EXEC, 0),
    ANYHOW(SYS_munmap),
    ANYHOW(SYS_mremap),
    ANYHOW(SYS_madvise),
    ANYHOW(SYS_brk),
    ANYHOW(SYS_futex),
    ANYHOW(SYS_clock_gettime),
    ANYHOW(SYS_clock_getres),
    ANYHOW(SYS_clock_nanosleep),
    ANYHOW(SYS_nanosleep),
    ANYHOW(SYS_gettimeofday),
    ANYHOW(SYS_ppoll),
    ANYHOW(SYS_sched_yield),
    ANYHOW(SYS_sysinfo),
    ANYHOW(SYS_getrandom),
    ANYHOW(SYS_getpid),
    ANYHOW(SYS_gettid),
    ANYHOW(SYS_getppid),
    ANYHOW(SYS_getuid),
    ANYHOW(SYS_geteuid),
    ANYHOW(SYS_getgid),
    ANYHOW(SYS_getegid),
    ANYHOW(SYS_rt_sigaction),
    ANYHOW(SYS_rt_sigprocmask),
    ANYHOW(SYS_rt_sigreturn),
    ANYHOW(SYS_restart_syscall),
    ANYHOW(SYS_exit),
    ANYHOW(SYS_exit_group),
#ifdef SYS_open /* older variants of these calls */
    ANYHOW(SYS_stat),
    ANYHOW(SYS_lstat),
    ANYHOW(SYS_access),
    ANYHOW(SYS_readlink),
    ANYHOW(SYS_poll),
    ANYHOW(SYS_time),
#endif
};

struct call_filter {
    struct sock_filter items[(RULES + 1) * INSTRUCTIONS];
    unsigned short n;
};

static void add(struct call_filter *p, unsigned code, uint32_t k, int if_true, int if_false)
{
    CHECK(p->n < ARRAY_LEN(p->items), "%d instructions", p->n);
    p->items[p->n++] = (struct sock_filter){ (uint16_t)code, (uint8_t)if_true, (uint8_t)if_false, k };
}

static void add_load(struct call_filter *p, size_t offset)
{
    add(p, BPF_LD | BPF_W | BPF_ABS, (uint32_t)offset, 0, 0);
}

/* Adds a condition; if it fails, jumps over the next `skip` instructions. */
static void add_condition(struct call_filter *p, const struct condition *c, int skip)
{
    if (!c->mask)
        return;
    add_load(p, offsetof(struct seccomp_data, args[c->argument]));
    add(p, BPF_ALU | BPF_AND | BPF_K, c->mask, 0, 0);
    add(p, BPF_JMP | BPF_JEQ | BPF_K, c->value, 0, skip);
}

static void add_rule(struct call_filter *p, const struct rule *r)
{
    int second = r->second.mask ? 3 : 0, conditions = second + (r->first.mask ? 3 : 0);

    add_load(p, offsetof(struct seccomp_data, nr));
    add(p, BPF_JMP | BPF_JEQ | BPF_K, r->call, 0, conditions + 1);
    add_condition(p, &r->first, second + 1);
    add_condition(p, &r->second, 1);
    add(p, BPF_RET | BPF_K, SECCOMP_RET_ALLOW, 0, 0);
}

/* Other calls fail with EPERM instead of killing the process: a future C library may try an optional call. */
static void build(struct call_filter *p)
{
    const struct rule abort_self = WITH(SYS_tgkill, 0, UINT32_MAX, (uint32_t)getpid());

    add_load(p, offsetof(struct seccomp_data, arch));
    add(p, BPF_JMP | BPF_JEQ | BPF_K, ARCHITECTURE, 1, 0);
    add(p, BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS, 0, 0);
    for (int i = 0; i < ARRAY_LEN(rules); i++)
        add_rule(p, &rules[i]);
    add_rule(p, &abort_self);
    add(p, BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM, 0, 0);
}

static int filter_calls(struct error *err)
{
    struct call_filter p = { .n = 0 };
    _Static_assert(ARRAY_LEN(rules) < RULES, "room for the rules");

    build(&p);
    struct sock_fprog filter = { .len = p.n, .filter = p.items };
    if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter) == 0)
        return 0;
    return error_set(err, EXIT_CODE_FAILURE,
                     "the kernel refuses the seccomp filter (%s), and SQL does not run without it: use a "
                     "kernel with CONFIG_SECCOMP_FILTER, in a container one that lets prctl set it",
                     strerror(errno));
}
#elif defined(ARCHITECTURE)
static int filter_calls(struct error *err)
{
    (void)err;
    return 0;
}
#else
static int filter_calls(struct error *err)
{
    return error_set(err, EXIT_CODE_FAILURE,
                     "no seccomp filter exists for this processor, and SQL does not run without one: use x86-64 or "
                     "aarch64");
}
#endif

/* --- Limits and descriptors --- */

enum { SAVED_STDERR = STDERR_FILENO + 1 }; /* holds standard error until the jail holds */

/* Terminal signals are for the program, which may still need answers. The kernel kills this process with the thread
 * that started it, which ends with the program. */
static int detach_from_terminal(void)
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

/* Keeps a lower limit that the program has set. */
static int lower_limit(int what, rlim_t max)
{
    struct rlimit r;

    if (getrlimit((__rlimit_resource_t)what, &r))
        return -1;
    r.rlim_max = r.rlim_max < max ? r.rlim_max : max;
    r.rlim_cur = r.rlim_max;
    return setrlimit((__rlimit_resource_t)what, &r);
}

static int limit_resources(void)
{
#ifndef AMBIT_SANITIZE /* a sanitizer reserves terabytes of address space */
    enum { MEMORY = 3 << 29 };
    if (lower_limit(RLIMIT_AS, MEMORY))
        return -1;
#endif
    return lower_limit(RLIMIT_CORE, 0) || lower_limit(RLIMIT_FSIZE, 0) || lower_limit(RLIMIT_NPROC, 0) ? -1 : 0;
}

/* Keeps root's right to read files against owner and mode. The capability that only allows reading is used if present.
 * Containers may have only the one that also allows writing, which the seccomp filter blocks. */
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

/* Standard error becomes /dev/null, except for sanitizers, which report there. */
static int close_descriptors(void)
{
#ifdef AMBIT_SANITIZE
    closefrom(SAVED_STDERR);
    return 0;
#else
    if (dup2(STDERR_FILENO, SAVED_STDERR) < 0)
        return -1;
    closefrom(SAVED_STDERR + 1);
    int null = open("/dev/null", O_WRONLY | O_CLOEXEC);
    return null < 0 || dup2(null, STDERR_FILENO) < 0 || close(null) ? -1 : 0;
#endif
}

static int limit_all(struct error *err)
{
    tzset(); /* reads /etc/localtime, which the jail blocks later */
    if (close_descriptors() || limit_resources() || give_up_privileges() || detach_from_terminal())
        return error_set(
            err, EXIT_CODE_FAILURE,
            "the kernel refuses a limit for the SQL worker (%s): use Linux 3.5 or newer, in a container one "
            "that lets prctl, capset and setrlimit lower what a process may do",
            strerror(errno));
    return restrict_files(err) < 0 || filter_calls(err) ? -1 : 0;
}

int jail_enter(struct error *err)
{
    int rc = limit_all(err);

#ifndef AMBIT_SANITIZE
    if (rc)
        dup2(SAVED_STDERR, STDERR_FILENO);
    close(SAVED_STDERR);
#endif
    return rc;
}
