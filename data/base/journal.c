#include "data/base/journal.h"

#include "data/base/compression.h"
#include "data/base/json.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { HEAD = 34 }; /* length of "key hash ", which precedes the note, a blank and the record */

static int cannot(const struct journal *p, const char *what, struct error *err)
{
    return error_set(err, EXIT_CODE_FAILURE, "%s: cannot %s: %s", p->path ? p->path : p->name, what, strerror(errno));
}

/* An output that is not a regular file is written directly. */
static int open_special(struct journal *p, const char *out, struct error *err)
{
    if (coding_of_name(out))
        return error_set(err, EXIT_CODE_USAGE, "%s: expected a regular file to compress, got a pipe or device", out);
    p->f = fopen(out, "wbe");
    return p->f ? 0 : error_set(err, EXIT_CODE_FAILURE, "%s: cannot write: %s", out, strerror(errno));
}

int journal_open(struct journal *p, const char *out, bool resume, struct error *err)
{
    struct stat st;

    bool is_stdout = strcmp(out, "-") == 0;

    *p = (struct journal){ .f = stdout, .name = is_stdout ? "standard output" : out, .digits = JSON_EXACT };
    if (is_stdout)
        return 0;
    if (stat(out, &st) == 0 && !S_ISREG(st.st_mode))
        return open_special(p, out, err);
    CHECK(asprintf(&p->path, "%s.part", out) >= 0, "no memory for a name");
    int fd = open(p->path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW | (resume ? 0 : O_TRUNC), 0666);
    p->f = fd < 0 ? NULL : fdopen(fd, "r+b");
    p->reading = resume;
    return p->f ? 0 : out_file_cannot_write(p->path, err);
}

/* The start of the record in a line; NULL if there is none. */
static const char *record_of(const char *line, ssize_t n)
{
    const char *blank = n > HEAD ? memchr(line + HEAD, ' ', (size_t)n - HEAD) : NULL;
    return blank ? blank + 1 : NULL;
}

/* Whether a line is complete, undamaged and has the key. */
static bool is_line_of(const char *line, ssize_t n, uint64_t key)
{
    uint64_t found, hash;

    if (!record_of(line, n) || line[n - 1] != '\n' || sscanf(line, "%16" SCNx64 " %16" SCNx64 " ", &found, &hash) != 2)
        return false;
    return found == key && hash_bytes(HASH_START, line + HEAD, (size_t)n - HEAD) == hash;
}

const char *journal_next(struct journal *p, uint64_t key)
{
    if (!p->reading)
        return NULL;
    off_t start = ftello(p->f);
    ssize_t n = getline(&p->line, &p->cap, p->f);
    if (is_line_of(p->line, n, key)) {
        p->line[record_of(p->line, n) - p->line - 1] = '\0';
        return p->line + HEAD;
    }
    p->reading = false;
    if (fseeko(p->f, start, SEEK_SET) || ftruncate(fileno(p->f), start))
        clearerr(p->f); /* a file that cannot be truncated cannot be written either, and the write reports it */
    return NULL;
}

/* Without a journal, the head is written before the first record or at the end. */
static void begin(struct journal *p)
{
    if (p->head && !p->begun)
        fputs(p->head, p->f);
    p->begun = true;
}

int journal_write(struct journal *p, uint64_t key, const char *note, const json_t *record, struct error *err)
{
    if (!p->path && p->print) {
        begin(p);
        p->print(p->f, record);
        return ferror(p->f) ? cannot(p, "write", err) : 0;
    }
    char *text = json_text(record, p->digits);
    size_t n = strlen(note);

    if (!text)
        return error_set(err, EXIT_CODE_FAILURE, "expected a result in UTF-8, which JSON requires");
    if (p->path) {
        uint64_t hash = hash_bytes(hash_bytes(HASH_START, note, n), " ", 1);
        hash = hash_bytes(hash_bytes(hash, text, strlen(text)), "\n", 1);
        fprintf(p->f, "%016" PRIx64 " %016" PRIx64 " %s ", key, hash, note);
    }
    fprintf(p->f, "%s\n", text);
    free(text);
    return ferror(p->f) ? cannot(p, "write", err) : 0;
}

int journal_flush(struct journal *p, struct error *err)
{
    return fflush(p->f) ? cannot(p, "write", err) : 0;
}

/* Writes the record of a line in the format of the output. */
static void copy_record(const struct journal *p, const char *line, size_t size, FILE *out)
{
    json_t *record = p->print ? json_loadb(line, size, 0, NULL) : NULL;

    if (p->print)
        p->print(out, record);
    else
        fwrite(line, 1, size, out);
    json_decref(record);
}

static int copy_records(struct journal *p, struct out_file *o, struct error *err)
{
    ssize_t n;

    rewind(p->f);
    if (p->head)
        fputs(p->head, o->f);
    while (!ferror(o->f) && (n = getline(&p->line, &p->cap, p->f)) > HEAD) {
        const char *record = record_of(p->line, n);
        if (record)
            copy_record(p, record, (size_t)(p->line + n - record), o->f);
    }
    if (p->foot)
        fputs(p->foot, o->f);
    return ferror(p->f) ? cannot(p, "read", err) : out_file_commit(o, err);
}

int journal_commit(struct journal *p, const char *out, struct error *err)
{
    struct out_file o;

    journal_next(p, 0); /* removes lines of an earlier run beyond the end of the input */
    if (!p->path) {
        begin(p);
        if (p->foot)
            fputs(p->foot, p->f);
    }
    if (journal_flush(p, err))
        return -1;
    if (!p->path)
        return 0;
    if (out_file_open(&o, out, err))
        return -1;
    int rc = copy_records(p, &o, err);
    out_file_abort(&o);
    if (rc == 0)
        unlink(p->path);
    return rc;
}

/* Size of the complete lines.  A full disk truncates the last line. */
static off_t whole_lines(int fd)
{
    char block[4096];
    off_t size = lseek(fd, 0, SEEK_END);

    for (off_t end = size; end > 0;) {
        off_t start = end > (off_t)sizeof block ? end - (off_t)sizeof block : 0;
        ssize_t n = pread(fd, block, (size_t)(end - start), start);
        if (n <= 0)
            return size;
        const char *last = memrchr(block, '\n', (size_t)n);
        if (last)
            return start + (last - block) + 1;
        end = start;
    }
    return 0;
}

static bool keep_whole_lines(const char *path)
{
    int fd = open(path, O_RDWR | O_CLOEXEC | O_NOFOLLOW);
    if (fd < 0)
        return false;
    off_t size = whole_lines(fd);
    if (size > 0 ? ftruncate(fd, size) : unlink(path))
        size = 1; /* left as it is; a resumed run skips incomplete lines */
    close(fd);
    return size > 0;
}

void journal_close(struct journal *p, bool failed, struct error *err)
{
    bool opened = p->path && p->f;
    struct error why = *err;

    if (p->f && p->f != stdout)
        fclose(p->f);
    if (opened && keep_whole_lines(p->path) && failed)
        error_set(err, why.code, "%s; %s keeps the finished results: add --resume to continue", why.text, p->path);
    free(p->path);
    free(p->line);
    *p = (struct journal){ 0 };
}
