#include "data/worker/jail.h"

#include "data/exec/sql_wire.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
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

#ifndef AMBIT_SANITIZE /* a sanitizer asks the kernel for more, and for terabytes of memory */
/* What reading a database never asks of the kernel.  A list of all that it does ask would differ from one C library to
 * the next. */
static const unsigned never[] = {
    SYS_execve,   SYS_execveat, SYS_clone,    SYS_clone3,    SYS_socket,    SYS_socketpair, SYS_connect,
    SYS_bind,     SYS_sendto,   SYS_kill,     SYS_tkill,     SYS_ptrace,    SYS_prlimit64,  SYS_process_vm_writev,
    SYS_unlinkat, SYS_renameat, SYS_linkat,   SYS_symlinkat, SYS_renameat2, SYS_mkdirat,    SYS_mknodat,
    SYS_fchmodat, SYS_fchownat, SYS_truncate, SYS_openat2,   SYS_mount,     SYS_bpf,        SYS_io_uring_setup,
#ifdef SYS_open /* older names of the same */
    SYS_open,     SYS_creat,    SYS_fork,     SYS_vfork,     SYS_unlink,    SYS_rename,     SYS_link,
    SYS_symlink,  SYS_mkdir,    SYS_rmdir,    SYS_mknod,     SYS_chmod,     SYS_chown,      SYS_lchown,
#endif
};

#if defined(__x86_64__)
#define ARCHITECTURE AUDIT_ARCH_X86_64
#elif defined(__aarch64__)
#define ARCHITECTURE AUDIT_ARCH_AARCH64
#endif

/* Refuses these, and to open a file for anything but reading.  A kernel without such filters goes without. */
static void filter_calls(void)
{
#ifdef ARCHITECTURE
    enum { OTHER_ABI = 0x40000000, WRITING = O_WRONLY | O_RDWR | O_CREAT | O_TRUNC };
    static const struct sock_filter refuse = BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM);
    struct sock_filter f[2 * ARRAY_LEN(never) + 12];
    struct sock_fprog program = { .filter = f };
    unsigned short n = 0;

    f[n++] = (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, arch));
    f[n++] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, ARCHITECTURE, 1, 0);
    f[n++] = refuse;
    f[n++] = (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr));
    f[n++] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JGE | BPF_K, OTHER_ABI, 0, 1);
    f[n++] = refuse;
    for (int i = 0; i < ARRAY_LEN(never); i++) {
        f[n++] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, never[i], 0, 1);
        f[n++] = refuse;
    }
    f[n++] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_openat, 0, 3);
    f[n++] = (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args[2]));
    f[n++] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, WRITING, 0, 1);
    f[n++] = refuse;
    f[n++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
    program.len = n;
    prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program);
#endif
}

static void limit_the_rest(void)
{
    enum { MEMORY = 3 << 29 };

    limit(RLIMIT_AS, MEMORY);
    filter_calls();
}
#else
static void limit_the_rest(void)
{
}
#endif

void jail_enter(void)
{
    heed_the_program_alone();
    closefrom(STDERR_FILENO + 1);
    prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
    limit(RLIMIT_CORE, 0);
    limit(RLIMIT_FSIZE, 0);
    limit(RLIMIT_NPROC, 0);
    limit_the_rest();
}
