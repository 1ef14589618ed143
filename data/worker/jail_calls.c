/* Part of jail.h: the filter of system calls (seccomp). */
#include "data/exec/sql_wire.h"
#include "data/worker/jail_impl.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#if defined(__x86_64__) && !defined(__ILP32__)
#define ARCHITECTURE AUDIT_ARCH_X86_64
#elif defined(__aarch64__) && __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
#define ARCHITECTURE AUDIT_ARCH_AARCH64
#endif

#if defined(ARCHITECTURE) && !defined(AMBIT_SANITIZE) /* a sanitizer asks the kernel for more */
/* The low 32 bits of an argument, of which those in `mask` are `value`.  A mask of 0: whatever it is. */
struct condition {
    int argument;
    uint32_t mask, value;
};

/* A call that is allowed; one with several rules where any of them fits. */
struct rule {
    unsigned call;
    struct condition first, second;
};

enum {
    READING = O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_DIRECTORY, /* flags of openat; O_RDONLY is 0 */
    RULES = 96,
    INSTRUCTIONS = 9 /* of a rule at most */
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

/* Reading files and memory for results; F_GETLK and F_SETLK are a reader's locks, since no file is open for writing. */
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
#ifdef SYS_open /* older names of the same */
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

/* Where the condition does not hold, `skip` instructions behind its last are passed over. */
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

/* A call that is not allowed fails with EPERM: the C library's next release may try one that it can do without. */
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

int jail_filter_calls(struct error *err)
{
    struct call_filter p = { .n = 0 };
    _Static_assert(ARRAY_LEN(rules) < RULES, "room for the rules");

    build(&p);
    struct sock_fprog filter = { .len = p.n, .filter = p.items };
    if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter) == 0)
        return 0;
    return error_set(err, EXIT_CODE_FAILURE,
                     "the kernel takes no filter of system calls (seccomp: %s), and no SQL runs without one: use a "
                     "kernel with CONFIG_SECCOMP_FILTER, in a container one that lets prctl set it",
                     strerror(errno));
}
#elif defined(ARCHITECTURE)
int jail_filter_calls(struct error *err)
{
    (void)err;
    return 0;
}
#else
int jail_filter_calls(struct error *err)
{
    return error_set(err, EXIT_CODE_FAILURE,
                     "there is no list of system calls for this processor, and no SQL runs without one: use x86-64 or "
                     "aarch64");
}
#endif
