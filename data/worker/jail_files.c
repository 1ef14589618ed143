/* Part of jail.h: Landlock, by raw system calls and the numbers of the kernel's ABI, since headers are older than
 * kernels (the kernel documents them in userspace-api/landlock). */
#include "data/worker/jail_impl.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

/* The same on all architectures: newer calls have one number. */
enum { CREATE_RULESET = 444, ADD_RULE = 445, RESTRICT_SELF = 446, ASK_VERSION = 1, PATH_BENEATH = 1 };

enum file_right {
    READ_FILE = 1 << 2,
    READ_FOLDER = 1 << 3,
    RIGHTS_OF_1 = (1 << 13) - 1,                  /* execute, write, read, make and remove files of each kind */
    RIGHTS_OF_2 = RIGHTS_OF_1 | 1 << 13,          /* and link or rename to another folder */
    RIGHTS_OF_3 = RIGHTS_OF_2 | 1 << 14,          /* and truncate */
    RIGHTS_OF_5 = RIGHTS_OF_3 | 1 << 15,          /* and ioctl of devices */
    BIND_OR_CONNECT = 1 << 0 | 1 << 1,            /* TCP, from 4 on */
    ABSTRACT_SOCKETS_OR_SIGNALS = 1 << 0 | 1 << 1 /* to processes outside of this jail, from 6 on */
};

struct ruleset {
    uint64_t handled_files, handled_network, scoped;
};

struct __attribute__((packed)) path_rule {
    uint64_t allowed;
    int32_t folder;
};

/* An older ABI knows the first fields alone, and takes a larger struct whose rest is 0. */
static struct ruleset ruleset_of(long version)
{
    static const uint64_t rights[] = { RIGHTS_OF_1, RIGHTS_OF_2, RIGHTS_OF_3, RIGHTS_OF_3, RIGHTS_OF_5 };
    long last = ARRAY_LEN(rights);

    return (struct ruleset){ .handled_files = rights[(version < last ? version : last) - 1],
                             .handled_network = version >= 4 ? BIND_OR_CONNECT : 0,
                             .scoped = version >= 6 ? ABSTRACT_SOCKETS_OR_SIGNALS : 0 };
}

/* A name that is not there, or a link, whose target has a rule of its own, needs none. */
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

/* All that is in a folder but for these names, or its folders alone. */
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

/* Databases are anywhere, so all top-level folders can be read but the system's.  /etc keeps its secrets in files. */
static int allow_folders(int ruleset)
{
    static const char *const none[] = { ".", "..", NULL };
    static const char *const own[] = { ".", "..", "proc", "sys", "dev", "etc", NULL };

    if (allow_all_in(ruleset, "/", own, false) || allow_all_in(ruleset, "/etc", none, true) ||
        allow_reading(ruleset, AT_FDCWD, "/dev/shm", false) || allow_reading(ruleset, AT_FDCWD, "/dev/urandom", false))
        return -1;
#ifdef AMBIT_SANITIZE /* whose reports read the process's own mappings */
    return allow_reading(ruleset, AT_FDCWD, "/proc", false);
#else
    return 0;
#endif
}

int jail_restrict_files(struct error *err)
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
