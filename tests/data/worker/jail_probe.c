/* Simulates code that has taken over ambit-sql-worker. It is linked into a separate worker, runs as soon as the jail
 * holds, and tries forbidden calls. Each call that succeeds writes a line on the socket. Then "probed N" follows, and
 * the worker serves requests as usual. */
#include "data/db/sql_wire.h"
#include "data/worker/jail.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/perf_event.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

static int probed;

static void say(const char *line)
{
    CHECK(send(WIRE_SOCKET, line, strlen(line), MSG_NOSIGNAL) > 0, "nobody listens");
}

static void refuse(const char *what, long rc)
{
    char line[200];

    probed++;
    if (rc < 0)
        return;
    snprintf(line, sizeof line, "allowed: %s\n", what);
    say(line);
}

/* Treats NULL as a failure. */
static long mapped(const void *p)
{
    return p == MAP_FAILED ? -1 : 0;
}

static void open_and_write(const char *file)
{
    char below[64];

    refuse("open for writing", open(file, O_WRONLY));
    refuse("open for reading and writing", open(file, O_RDWR));
    refuse("open with O_TRUNC", open(file, O_RDONLY | O_TRUNC));
    refuse("open with O_APPEND", open(file, O_RDONLY | O_APPEND));
    refuse("make a file", open("jail_new", O_CREAT | O_RDONLY, 0600));
    refuse("make a file without a name", open(".", O_TMPFILE | O_RDWR, 0600));
    refuse("open with O_PATH", open(".", O_PATH));
    refuse("creat", creat("jail_new", 0600));
    refuse("openat2", syscall(SYS_openat2, AT_FDCWD, file, (uint64_t[3]){ O_WRONLY }, 24));
    snprintf(below, sizeof below, "/proc/self/fd/%d", STDERR_FILENO);
    refuse("open a descriptor again", open(below, O_WRONLY));
    refuse("open the terminal", open("/dev/tty", O_RDWR));
    refuse("write to standard output", write(STDOUT_FILENO, "x", 1));
    refuse("write to another descriptor", write(open(file, O_RDONLY), "x", 1));
    refuse("pwrite", pwrite(open(file, O_RDONLY), "x", 1, 0));
    refuse("memfd_create", syscall(SYS_memfd_create, "x", 0));
}

static void change_files(const char *file)
{
    int fd = open(file, O_RDONLY);

    CHECK(fd >= 0, "%s cannot be read: %s", file, strerror(errno));
    refuse("chmod", chmod(file, 0644));
    refuse("fchmod", fchmod(fd, 0644));
    refuse("fchmodat", fchmodat(AT_FDCWD, file, 0644, 0));
    refuse("fchmodat2", syscall(452, AT_FDCWD, file, 0644, 0));
    refuse("chown", chown(file, getuid(), getgid()));
    refuse("fchown", fchown(fd, getuid(), getgid()));
    refuse("fchownat", fchownat(AT_FDCWD, file, getuid(), getgid(), 0));
    refuse("futimens", futimens(fd, NULL));
    refuse("utimensat", utimensat(AT_FDCWD, file, NULL, 0));
    refuse("setxattr", syscall(SYS_setxattr, file, "user.x", "1", 1, 0));
    refuse("fsetxattr", syscall(SYS_fsetxattr, fd, "user.x", "1", 1, 0));
    refuse("removexattr", syscall(SYS_removexattr, file, "user.x"));
    refuse("truncate", truncate(file, 1));
    refuse("ftruncate", ftruncate(fd, 1));
    refuse("fallocate", fallocate(fd, 0, 0, 1));
    refuse("flock", syscall(SYS_flock, fd, 2));
    refuse("unlink", unlink(file));
    refuse("rename", rename(file, "jail_other"));
    refuse("link", link(file, "jail_link"));
    refuse("symlink", symlink(file, "jail_link"));
    refuse("mkdir", mkdir("jail_folder", 0700));
    refuse("mknod", mknod("jail_fifo", S_IFIFO | 0600, 0));
    refuse("chdir", chdir("/"));
    refuse("sync", syscall(SYS_sync_file_range, fd, 0, 0, 0));
    refuse("map a file shared and writable", mapped(mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0)));
    close(fd);
}

static void by_handle(const char *file)
{
    struct {
        struct file_handle head;
        char room[128];
    } h = { .head.handle_bytes = 128 };
    int mount = 0;

    refuse("name_to_handle_at", name_to_handle_at(AT_FDCWD, file, &h.head, &mount, 0));
    refuse("open_by_handle_at", open_by_handle_at(AT_FDCWD, &h.head, O_RDWR));
}

static void read_others(pid_t program)
{
    static const char *const files[] = { "mem", "maps", "environ", "cmdline", "status", "fd/0" };
    char path[64], bytes[8];
    struct iovec mine = { bytes, sizeof bytes }, theirs = { environ, sizeof bytes };

    for (int i = 0; i < ARRAY_LEN(files); i++) {
        snprintf(path, sizeof path, "/proc/%d/%s", (int)program, files[i]);
        refuse(path, open(path, O_RDONLY));
    }
    refuse("open /proc", open("/proc", O_RDONLY | O_DIRECTORY));
    refuse("open /proc/self/mem", open("/proc/self/mem", O_RDONLY));
    refuse("open /proc/kcore", open("/proc/kcore", O_RDONLY));
    refuse("open /sys/kernel", open("/sys/kernel", O_RDONLY | O_DIRECTORY));
    refuse("open /dev/mem", open("/dev/mem", O_RDONLY));
    refuse("open /dev/zero", open("/dev/zero", O_RDONLY));
    refuse("open /etc/shadow", open("/etc/shadow", O_RDONLY));
    refuse("open /etc/passwd", open("/etc/passwd", O_RDONLY));
    refuse("process_vm_readv", syscall(SYS_process_vm_readv, program, &mine, 1, &theirs, 1, 0));
    refuse("process_vm_writev", syscall(SYS_process_vm_writev, program, &mine, 1, &theirs, 1, 0));
    refuse("ptrace", ptrace(PTRACE_ATTACH, program, NULL, NULL));
    refuse("kcmp", syscall(SYS_kcmp, getpid(), program, 0, 0, 0));
    refuse("getdents64", syscall(SYS_getdents64, open(".", O_RDONLY | O_DIRECTORY), (char[512]){ 0 }, 512));
}

static void signal_others(pid_t program)
{
    siginfo_t info = { .si_code = SI_QUEUE };

    refuse("kill", kill(program, 0));
    refuse("kill oneself", kill(getpid(), 0));
    refuse("tkill", syscall(SYS_tkill, program, 0));
    refuse("tgkill", syscall(SYS_tgkill, program, program, 0));
    refuse("rt_sigqueueinfo", syscall(SYS_rt_sigqueueinfo, program, 0, &info));
    refuse("rt_tgsigqueueinfo", syscall(SYS_rt_tgsigqueueinfo, program, program, 0, &info));
    long pidfd = syscall(SYS_pidfd_open, program, 0);
    refuse("pidfd_open", pidfd);
    refuse("pidfd_send_signal", syscall(SYS_pidfd_send_signal, pidfd, 0, NULL, 0));
    refuse("pidfd_getfd", syscall(SYS_pidfd_getfd, pidfd, 0, 0));
    refuse("process_madvise", syscall(SYS_process_madvise, pidfd, NULL, 0, 0, 0));
    refuse("F_SETOWN", fcntl(WIRE_SOCKET, F_SETOWN, program));
    refuse("F_SETSIG", fcntl(WIRE_SOCKET, F_SETSIG, SIGKILL));
    refuse("F_SETFL", fcntl(WIRE_SOCKET, F_SETFL, O_ASYNC));
    refuse("F_SETLEASE", fcntl(WIRE_SOCKET, F_SETLEASE, F_RDLCK));
    refuse("F_DUPFD", fcntl(WIRE_SOCKET, F_DUPFD, 10));
    refuse("ioctl", ioctl(WIRE_SOCKET, FIOASYNC, &(int){ 1 }));
    refuse("type on the terminal", ioctl(STDERR_FILENO, TIOCSTI, "x"));
    refuse("setpriority", setpriority(PRIO_PROCESS, (id_t)program, 19));
    refuse("sched_setaffinity", syscall(SYS_sched_setaffinity, 0, 8, "\1\0\0\0\0\0\0\0"));
    refuse("timer_create", syscall(SYS_timer_create, 0, NULL, (int[2]){ 0 }));
}

static void talk_to_others(void)
{
    int two[2];

    refuse("socket", socket(AF_INET, SOCK_STREAM, 0));
    refuse("socket of a file", socket(AF_UNIX, SOCK_STREAM, 0));
    refuse("socketpair", socketpair(AF_UNIX, SOCK_STREAM, 0, two));
    refuse("connect", connect(WIRE_SOCKET, NULL, 0));
    refuse("listen", listen(WIRE_SOCKET, 1));
    refuse("accept4", syscall(SYS_accept4, WIRE_SOCKET, NULL, NULL, 0));
    refuse("shutdown", shutdown(WIRE_SOCKET, SHUT_WR));
    refuse("pipe", pipe(two));
    refuse("dup", dup(WIRE_SOCKET));
    refuse("eventfd", syscall(SYS_eventfd2, 0, 0));
    refuse("shmget", syscall(SYS_shmget, 0, 4096, 01600));
    refuse("msgget", syscall(SYS_msgget, 0, 01600));
    refuse("semget", syscall(SYS_semget, 0, 1, 01600));
    refuse("mq_open", syscall(SYS_mq_open, "/jail", O_CREAT | O_RDWR, 0600, NULL));
    refuse("mq_unlink", syscall(SYS_mq_unlink, "/jail"));
    refuse("inotify_init1", syscall(SYS_inotify_init1, 0));
    refuse("fanotify_init", syscall(SYS_fanotify_init, 0, 0));
    refuse("add_key", syscall(SYS_add_key, "user", "a", "b", 1, -2));
    refuse("keyctl", syscall(SYS_keyctl, 0, -3, 0, 0, 0));
}

static void *end(void *unused)
{
    return unused;
}

/* Handles a call that also returns in a child. */
static long born(long pid)
{
    if (pid == 0)
        _exit(0);
    return pid;
}

static void start_others(void)
{
    char *const argv[] = { (char *)(uintptr_t) "true", NULL };
    pthread_t thread;

#ifdef SYS_fork
    refuse("fork", born(syscall(SYS_fork)));
    refuse("vfork", born(syscall(SYS_vfork)));
#endif
    refuse("clone", born(syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0)));
    refuse("clone3", born(syscall(SYS_clone3, (uint64_t[8]){ 0 }, 64)));
    refuse("a thread", pthread_create(&thread, NULL, end, NULL) ? -1 : 0);
    refuse("execve", execve("/bin/true", argv, argv + 1));
    refuse("execveat", syscall(SYS_execveat, AT_FDCWD, "/bin/true", argv, argv + 1, 0));
    refuse("io_uring_setup", syscall(SYS_io_uring_setup, 1, (char[120]){ 0 }));
    refuse("bpf", syscall(SYS_bpf, 0, NULL, 0));
    refuse("userfaultfd", syscall(SYS_userfaultfd, 0));
    refuse("perf_event_open", syscall(SYS_perf_event_open, NULL, 0, -1, -1, 0));
}

static void leave_the_jail(void)
{
    struct rlimit large = { 1 << 20, 1 << 20 };

    refuse("PR_SET_DUMPABLE", syscall(SYS_prctl, 4, 1, 0, 0, 0));
    refuse("PR_SET_PDEATHSIG, to outlive the program", syscall(SYS_prctl, 1, 0, 0, 0, 0));
    refuse("PR_SET_NAME", syscall(SYS_prctl, 15, "other", 0, 0, 0));
    refuse("seccomp", syscall(SYS_seccomp, 2, 0, NULL));
    refuse("setrlimit", syscall(SYS_setrlimit, RLIMIT_NOFILE, &large));
    refuse("prlimit64", syscall(SYS_prlimit64, 0, RLIMIT_NOFILE, &large, NULL));
    refuse("setuid", syscall(SYS_setuid, getuid()));
    refuse("setgroups", syscall(SYS_setgroups, 0, NULL));
    refuse("setsid", syscall(SYS_setsid));
    refuse("personality", syscall(SYS_personality, 0xffffffff));
    refuse("unshare", syscall(SYS_unshare, 0));
    refuse("setns", syscall(SYS_setns, -1, 0));
    refuse("chroot", syscall(SYS_chroot, "/"));
    refuse("pivot_root", syscall(SYS_pivot_root, "/", "/"));
    refuse("mount", syscall(SYS_mount, "none", "/mnt", "tmpfs", 0, NULL));
    refuse("umount2", syscall(SYS_umount2, "/nonexistent", 0));
    refuse("fsopen", syscall(SYS_fsopen, "tmpfs", 0));
    refuse("open_tree", syscall(SYS_open_tree, AT_FDCWD, "/tmp", 0));
    refuse("swapon", syscall(SYS_swapon, "/nonexistent", 0));
    refuse("acct", syscall(SYS_acct, NULL));
    refuse("quotactl", syscall(SYS_quotactl, 0, NULL, 0, NULL));
    refuse("reboot", syscall(SYS_reboot, 0, 0, 0, NULL));
    refuse("settimeofday", syscall(SYS_settimeofday, NULL, NULL));
    refuse("init_module", syscall(SYS_init_module, NULL, 0, ""));
    refuse("finit_module", syscall(SYS_finit_module, -1, "", 0));
}

static void run_own_code(void)
{
    void *page = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    CHECK(page != MAP_FAILED, "no memory for results: %s", strerror(errno));
    refuse("mprotect with PROT_EXEC", mprotect(page, 4096, PROT_READ | PROT_EXEC));
    refuse("pkey_mprotect", syscall(SYS_pkey_mprotect, page, 4096, PROT_READ | PROT_EXEC, -1));
    refuse("mmap with PROT_EXEC", mapped(mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)));
    refuse("mmap of shared memory",
           mapped(mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0)));
    refuse("mmap of 2 GiB", mapped(mmap(NULL, 2ul << 30, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)));
    refuse("mlock", mlock(page, 4096));
    munmap(page, 4096);
}

/* The linker redirects the worker's call here (-Wl,--wrap=jail_enter). */
int __real_jail_enter(struct error *err);
int __wrap_jail_enter(struct error *err);

int __wrap_jail_enter(struct error *err)
{
    const char *file = getenv("JAIL_FILE");
    pid_t program = getppid();
    char line[64];

    if (__real_jail_enter(err))
        return -1;
    open_and_write(file);
    change_files(file);
    by_handle(file);
    read_others(program);
    signal_others(program);
    talk_to_others();
    start_others();
    leave_the_jail();
    run_own_code();
    snprintf(line, sizeof line, "probed %d\n", probed);
    say(line);
    return 0;
}
