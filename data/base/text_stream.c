#include "data/base/text_stream.h"

#include "data/base/compression.h"
#include "data/base/whole_file.h"

#include <errno.h>
#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { RAW_BYTES = 1 << 16 };

/* Text that was decoded before a failure is delivered before the failure is reported. */
enum stream_state {
    STREAM_OPENED, /* nothing has been read */
    STREAM_READING,
    STREAM_ENDED,  /* all text is decoded and all checksums were correct */
    STREAM_BROKEN, /* decoding failed; decoded units are still to be delivered */
    STREAM_FAILED  /* the failure was reported; every further call reports it */
};

struct text_stream {
    char *name;
    FILE *f; /* NULL for standard input; only its descriptor is read */
    int fd;
    const struct coding *named; /* format that the name requires */
    enum stream_state state;
    struct error why;             /* error of STREAM_BROKEN and STREAM_FAILED */
    unsigned char raw[RAW_BYTES]; /* undecoded input */
    size_t raw_at, n_raw;
    bool raw_ended;
    struct text_decoder *decoder; /* NULL: the input is not compressed */
    char *text;                   /* decoded text; [at, n) is not yet consumed */
    size_t at, n, cap;
    int64_t line;  /* line of text[at] */
    size_t column; /* bytes of that line before text[at] */
};

static size_t end_of_line(struct text_scan *scan, const char *text, size_t from, size_t n)
{
    const char *end = memchr(text + from, '\n', n - from);
    (void)scan;
    return end ? (size_t)(end - text) + 1 : 0;
}

const struct text_scan scan_line = { .end = end_of_line, .what = "line" };

/* A directory can be opened; only reading it would fail. */
static FILE *open_plain(const char *path, struct error *err)
{
    struct stat st;
    FILE *f = fopen(path, "rbe");
    if (f && fstat(fileno(f), &st) == 0 && S_ISDIR(st.st_mode)) {
        fclose(f);
        f = NULL;
        errno = EISDIR;
    }
    if (!f)
        error_set(err, EXIT_CODE_DATA, "%s: %s", path, strerror(errno));
    return f;
}

/* Makes space for RAW_BYTES more behind the unconsumed text. */
static void make_room(struct text_stream *s)
{
    if (s->at && s->cap - s->n < RAW_BYTES) {
        memmove(s->text, s->text + s->at, s->n - s->at);
        s->n -= s->at;
        s->at = 0;
    }
    if (s->cap - s->n < RAW_BYTES) {
        s->cap = s->cap ? 2 * s->cap : 2 * RAW_BYTES;
        s->text = xrealloc(s->text, s->cap);
    }
}

struct text_stream *text_stream_open(const char *path, struct error *err)
{
    bool standard = strcmp(path, "-") == 0;
    const struct coding *named = coding_of_name(path);
    FILE *f = NULL;

    if (!standard && !(f = named ? whole_file_open(path, DATABASE_MAX_BYTES, err) : open_plain(path, err)))
        return NULL;
    struct text_stream *s = xcalloc(1, sizeof *s);
    s->f = f;
    s->fd = f ? fileno(f) : STDIN_FILENO;
    s->name = xstrdup(standard ? "standard input" : path);
    s->named = named;
    s->line = 1;
    make_room(s);
    return s;
}

void text_stream_close(struct text_stream *s)
{
    if (!s)
        return;
    if (s->f)
        fclose(s->f);
    text_decoder_free(s->decoder);
    free(s->name);
    free(s->text);
    free(s);
}

const char *text_stream_name(const struct text_stream *s)
{
    return s->name;
}

bool text_stream_failed(const struct text_stream *s)
{
    return s->state == STREAM_FAILED;
}

/* Reports the stored failure.  Returns -1. */
static int report(struct text_stream *s, struct error *err)
{
    s->state = STREAM_FAILED;
    if (err)
        *err = s->why;
    return -1;
}

int text_stream_fail(struct text_stream *s, struct error *err, const char *fmt, ...)
{
    va_list ap;

    va_start(ap, fmt);
    vsnprintf(s->why.text, sizeof s->why.text, fmt, ap);
    va_end(ap);
    s->why.code = EXIT_CODE_DATA;
    return report(s, err);
}

/* Reads more input behind the undecoded bytes. */
static int read_raw(struct text_stream *s, struct error *err)
{
    if (s->raw_at) {
        memmove(s->raw, s->raw + s->raw_at, s->n_raw - s->raw_at);
        s->n_raw -= s->raw_at;
        s->raw_at = 0;
    }
    ssize_t n = read(s->fd, s->raw + s->n_raw, sizeof s->raw - s->n_raw);
    if (n < 0)
        return error_set(err, EXIT_CODE_DATA, "%s: cannot read: %s", s->name, strerror(errno));
    s->n_raw += (size_t)n;
    s->raw_ended = n == 0;
    return 0;
}

/* The first bytes select the decoder. */
static int start_decoding(struct text_stream *s, struct error *err)
{
    do {
        if (read_raw(s, err))
            return -1;
    } while (!s->raw_ended && coding_may_begin(s->raw, s->n_raw));
    const struct coding *coding = coding_of_bytes(s->raw, s->n_raw);
    if (s->named && coding != s->named)
        return error_set(err, EXIT_CODE_DATA, "%s: expected %s data as its name says, got other data", s->name,
                         coding_name(s->named));
    if (coding && !(s->decoder = text_decoder_new(coding, s->name, err)))
        return -1;
    return 0;
}

/* Decodes into the space behind text[n]; may produce nothing.  The space always has the same size.  The amount decoded
 * before a failure therefore does not depend on the order of requests. */
static int decode(struct text_stream *s, struct error *err)
{
    struct coding_bytes b = { s->raw + s->raw_at, s->n_raw - s->raw_at, (unsigned char *)s->text + s->n, RAW_BYTES };
    int rc = 1;
    if (s->decoder) {
        rc = text_decoder_run(s->decoder, &b, s->raw_ended, err);
        s->raw_at = (size_t)(b.from - s->raw);
        s->n += RAW_BYTES - b.n_to;
    } else {
        size_t n = b.n_from < b.n_to ? b.n_from : b.n_to;
        memcpy(b.to, b.from, n);
        s->raw_at += n;
        s->n += n;
        rc = n > 0;
    }
    return rc;
}

/* Returns 1 if the text grew, 0 at the end, or -1. */
static int fill_decoded(struct text_stream *s, struct error *err)
{
    make_room(s);
    for (size_t n = s->n; s->n == n && s->state == STREAM_READING;) {
        int rc = decode(s, err);
        if (rc < 0)
            return -1;
        if (rc == 0 && s->raw_ended)
            s->state = STREAM_ENDED;
        if (s->n == n && s->raw_at == s->n_raw && !s->raw_ended && read_raw(s, err))
            return -1;
    }
    return s->state == STREAM_READING;
}

/* Skips a UTF-8 byte order mark and refuses UTF-16. */
static int pass_mark(struct text_stream *s, struct error *err)
{
    static const char mark[] = "\xef\xbb\xbf";
    int rc = 1;
    while (s->n < 3 && rc > 0 && memcmp(s->text, mark, s->n) == 0)
        rc = fill_decoded(s, err);
    if (rc < 0)
        return -1;
    if (s->n >= 3 && memcmp(s->text, mark, 3) == 0)
        s->at = 3;
    if (s->n < 2 || (memcmp(s->text, "\xff\xfe", 2) != 0 && memcmp(s->text, "\xfe\xff", 2) != 0))
        return 0;
    s->at = s->n; /* none of it is text */
    return error_set(err, EXIT_CODE_DATA, "%s: expected UTF-8, got UTF-16", s->name);
}

static int start(struct text_stream *s, struct error *err)
{
    s->state = STREAM_READING;
    return start_decoding(s, err) || pass_mark(s, err) ? -1 : 0;
}

/* Decodes more text unless the stream has ended. */
static void read_on(struct text_stream *s)
{
    size_t before = s->n - s->at;
    int rc = s->state == STREAM_OPENED ? start(s, &s->why) : 0;
    if (rc == 0 && s->state == STREAM_READING && s->n - s->at == before)
        rc = fill_decoded(s, &s->why);
    if (rc < 0)
        s->state = STREAM_BROKEN;
}

/* Returns 1 if there is more text at text[at], 0 at the end, or -1. */
static int fill(struct text_stream *s, struct error *err)
{
    size_t before = s->n - s->at;
    if (s->state <= STREAM_READING)
        read_on(s);
    if (s->n - s->at > before)
        return 1;
    return s->state == STREAM_ENDED || s->state == STREAM_READING ? 0 : report(s, err);
}

void text_stream_take(struct text_stream *s, size_t n)
{
    const char *from = s->text + s->at, *end = from + n, *line;
    s->column += n;
    for (; (line = memchr(from, '\n', (size_t)(end - from))); from = line + 1) {
        s->line++;
        s->column = (size_t)(end - line) - 1;
    }
    s->at += n;
}

/* Skips a unit that is too long, up to its end. */
static int skip_unit(struct text_stream *s, struct text_scan *scan, size_t max, struct error *err)
{
    int64_t line = s->line;
    size_t skipped = s->n - s->at, end = 0;
    text_stream_take(s, skipped);
    while (!end && skipped < TEXT_MAX_SKIP) {
        int rc = fill(s, err);
        if (rc < 0)
            return -1;
        if (rc == 0)
            break;
        size_t n = s->n - s->at;
        end = scan->end(scan, s->text + s->at, 0, n);
        text_stream_take(s, end ? end : n);
        skipped += n;
    }
    if (!end && skipped >= TEXT_MAX_SKIP)
        return text_stream_fail(s, err, "%s: line %lld: a %s without end in %d bytes", s->name, (long long)line,
                                scan->what, TEXT_MAX_SKIP);
    return error_set(err, EXIT_CODE_DATA, "%s: line %lld: longer than %zu bytes", s->name, (long long)line, max);
}

int text_stream_peek(struct text_stream *s, const struct text_scan *start, size_t max, struct text_unit *unit,
                     struct error *err)
{
    struct text_scan scan = *start;
    size_t seen = 0, end = 0;
    int rc = 1;

    *unit = (struct text_unit){ .line = s->line };
    if (s->state == STREAM_FAILED)
        return report(s, err);
    while (!end && rc > 0 && seen <= max) {
        size_t n = s->n - s->at;
        if (n > seen)
            end = scan.end(&scan, s->text + s->at, seen, n);
        seen = end ? end : n;
        if (!end && seen <= max)
            rc = fill(s, err);
    }
    if (rc < 0)
        return -1;
    if (seen > max && end) {
        text_stream_take(s, end);
        return error_set(err, EXIT_CODE_DATA, "%s: line %lld: longer than %zu bytes", s->name, (long long)unit->line,
                         max);
    }
    if (seen > max)
        return skip_unit(s, &scan, max, err);
    *unit = (struct text_unit){
        .text = s->text + s->at, .length = seen, .line = s->line, .column = (int)s->column, .whole = end > 0
    };
    return seen > 0;
}

int text_stream_next(struct text_stream *s, const struct text_scan *start, size_t max, struct text_unit *unit,
                     struct error *err)
{
    int rc = text_stream_peek(s, start, max, unit, err);
    if (rc > 0)
        text_stream_take(s, unit->length);
    return rc;
}

int text_stream_first(struct text_stream *s, struct error *err)
{
    while (s->state != STREAM_FAILED) {
        size_t n = 0;
        while (s->at + n < s->n && text_is_blank(s->text + s->at + n, 1))
            n++;
        text_stream_take(s, n);
        if (s->at < s->n)
            return (unsigned char)s->text[s->at];
        if (s->column > TEXT_MAX_SKIP)
            text_stream_fail(s, err, "%s: line %lld: more than %d blanks", s->name, (long long)s->line, TEXT_MAX_SKIP);
        else if (fill(s, err) == 0)
            return -1;
    }
    return report(s, err) - 1;
}

ptrdiff_t text_stream_read(struct text_stream *s, char *to, size_t n, struct error *err)
{
    if (s->state == STREAM_FAILED || (s->at == s->n && fill(s, err) < 0))
        return report(s, err);
    if (n > s->n - s->at)
        n = s->n - s->at;
    memcpy(to, s->text + s->at, n);
    text_stream_take(s, n);
    return (ptrdiff_t)n;
}

bool text_stream_ready(struct text_stream *s, const struct text_scan *start)
{
    struct text_scan scan = *start;
    struct pollfd input = { .fd = s->fd, .events = POLLIN };
    size_t blanks = 0, seen = 0;

    while (s->state <= STREAM_READING &&
           seen < TEXT_MAX_UNIT) { /* stop at half a maximal unit, since its end may be far */
        while (!seen && s->at + blanks < s->n && text_is_blank(s->text + s->at + blanks, 1))
            blanks++; /* after blanks a unit must follow */
        size_t n = s->n - s->at - blanks;
        if (n > seen && scan.end(&scan, s->text + s->at + blanks, seen, n))
            return true;
        seen = n;
        if (s->raw_at == s->n_raw && !s->raw_ended && poll(&input, 1, 0) <= 0)
            return false;
        read_on(s);
    }
    return true;
}

bool text_is_blank(const char *text, size_t length)
{
    for (size_t i = 0; i < length; i++)
        if (text[i] != ' ' && text[i] != '\t' && text[i] != '\r' && text[i] != '\n')
            return false;
    return true;
}
