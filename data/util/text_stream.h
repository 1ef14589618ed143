/*
 * text_stream.h - a text from a file, a pipe or standard input, decoded (compression.h) and cut into units: lines,
 * rows of a table, elements of an array.
 *
 * Memory is bounded by the longest unit, and reading never waits for more than the unit that was asked for.  All units
 * before a place that cannot be read come first; the end is reported only where the whole file was read and its
 * checksums are right.
 */
#ifndef DATA_UTIL_TEXT_STREAM_H
#define DATA_UTIL_TEXT_STREAM_H

#include "kernels/base.h"

enum {
    TEXT_MAX_UNIT = 64 << 20, /* bytes of a unit */
    TEXT_MAX_SKIP = 1 << 30   /* bytes in which the end of a longer one is looked for; there reading ends */
};

/* How far the end of a unit has been looked for.  `end` sees n bytes of which those from `from` are new, and returns
 * the unit's length with what ends it, 0 when that is still to come. */
struct text_scan {
    size_t (*end)(struct text_scan *scan, const char *text, size_t from, size_t n);
    const char *what;          /* "line" */
    char separator;            /* of a table's fields */
    bool inside, quoted, bare; /* of a field or string: it has begun, in quotes, without quotes */
    bool escaped;
    int64_t depth;
};
extern const struct text_scan scan_line;

struct text_unit {
    const char *text; /* good until the next call */
    size_t length;
    int64_t line; /* where it begins; the first is 1 */
    int column;   /* bytes of that line before it */
    bool whole;   /* its end is there; the last of a text may lack it */
};

/* "-" is standard input.  A byte order mark is passed over.  NULL with EXIT_CODE_DATA; nothing is read before the first
 * bytes are asked for. */
struct text_stream;
struct text_stream *text_stream_open(const char *path, struct error *err);
void text_stream_close(struct text_stream *s);
/* The path, or "standard input". */
const char *text_stream_name(const struct text_stream *s);
/* Whether a failure to read was reported.  Every further call reports it again: it cannot be taken for the end. */
bool text_stream_failed(const struct text_stream *s);
/* Ends reading with a failure of the caller's own: -1 with EXIT_CODE_DATA, from this call and every later one. */
int text_stream_fail(struct text_stream *s, struct error *err, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));

/* 1 and the next unit, 0 at the end, -1 with EXIT_CODE_DATA where it cannot be read or has more than max bytes; what
 * follows one that was too long can be read.  `start` is where each unit's scan begins. */
int text_stream_next(struct text_stream *s, const struct text_scan *start, size_t max, struct text_unit *unit,
                     struct error *err);
/* The same, and it stays the next. */
int text_stream_peek(struct text_stream *s, const struct text_scan *start, size_t max, struct text_unit *unit,
                     struct error *err);
/* The first byte that is not white space, which stays; what is before it is passed over.  -1 at the end, -2 with err.
 */
int text_stream_first(struct text_stream *s, struct error *err);
/* Takes n bytes of those that peek or first have seen. */
void text_stream_take(struct text_stream *s, size_t n);
/* Some bytes, at most n; 0 at the end, -1 with EXIT_CODE_DATA. */
ptrdiff_t text_stream_read(struct text_stream *s, char *to, size_t n, struct error *err);
/* Whether the next unit, the end or a failure is at hand without waiting.  Asking changes nothing that is read. */
bool text_stream_ready(struct text_stream *s, const struct text_scan *start);

/* Whether a text holds nothing but white space. */
bool text_is_blank(const char *text, size_t length);

#endif
