/*
 * base.h - the basics of every file: CHECK for bugs, struct error for bad input, exit codes.
 *
 * A bug (wrong shape, NULL, full arena) aborts through CHECK.  Bad input (a file, an argument, too little memory)
 * returns -1 or NULL and fills the caller's struct error.  Its code becomes the exit code of the program.
 */
#ifndef KERNELS_BASE_H
#define KERNELS_BASE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The exit codes of all programs, documented in every --help and man page. */
enum exit_code {
    EXIT_CODE_OK = 0,
    EXIT_CODE_FAILURE = 1,
    EXIT_CODE_USAGE = 2,      /* command line or configuration */
    EXIT_CODE_DATA = 3,       /* input data */
    EXIT_CODE_DEVICE = 4,     /* device or driver */
    EXIT_CODE_MEMORY = 5,     /* out of memory */
    EXIT_CODE_CHECKPOINT = 6, /* checkpoint or model folder corrupt or incompatible */
    EXIT_CODE_RECORDS = 7,    /* some records failed */
    EXIT_CODE_SIGINT = 130,   /* interrupted, after saving */
    EXIT_CODE_SIGTERM = 143
};

/* A failure that the caller can report.  It lives on the caller's stack and never allocates. */
struct error {
    char text[1024];
    enum exit_code code;
};

/* Formats into err->text and sets err->code; err may be NULL.  Returns -1 for use in `return error_set(err, ...)`. */
int error_set(struct error *err, enum exit_code code, const char *fmt, ...) __attribute__((format(printf, 3, 4)));

/* Puts "<formatted>: " before the existing text and keeps the code.  Returns -1. */
int error_prefix(struct error *err, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* Prints a warning of one line to stderr, or to the program's log. */
extern void (*base_warn)(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

/* Whether this code is a library in somebody else's process: settings of the whole process then stay unchanged.  Set it
 * before all other calls. */
extern bool base_is_guest;

/* Prints file:line, condition and message, then aborts.  Reached only through CHECK. */
void check_failed(const char *file, int line, const char *expr, const char *fmt, ...)
    __attribute__((noreturn, format(printf, 4, 5)));

#define CHECK(cond, ...) ((cond) ? (void)0 : check_failed(__FILE__, __LINE__, #cond, __VA_ARGS__))

/* malloc and realloc for sizes that ambit chose itself.  They never return NULL; without memory they abort and print
 * the size. */
void *xmalloc(size_t bytes) __attribute__((malloc));
void *xcalloc(size_t count, size_t size) __attribute__((malloc));
void *xrealloc(void *p, size_t bytes);
char *xstrdup(const char *s) __attribute__((malloc));
/* Returns "dir/name"; the caller frees it. */
char *path_in(const char *dir, const char *name);
bool text_ends_with(const char *text, const char *end);

/* Makes space for one more element of a growing array: items points to the array, cap is its capacity. */
#define GROW(items, count, cap)                                                                                        \
    do {                                                                                                               \
        if ((count) == (cap)) {                                                                                        \
            (cap) = (cap) ? 2 * (cap) : 16;                                                                            \
            (items) = xrealloc((items), (size_t)(cap) * sizeof *(items));                                              \
        }                                                                                                              \
    } while (0)

/* Continues the FNV-1a hash h over n bytes; start with HASH_START. */
#define HASH_START UINT64_C(14695981039346656037)
uint64_t hash_bytes(uint64_t h, const void *p, size_t n);

#define ARRAY_LEN(a) ((int)(sizeof(a) / sizeof *(a)))

#ifdef __cplusplus
}
#endif
#endif
