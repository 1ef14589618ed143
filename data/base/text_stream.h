/*
 * text_stream.h - reads a text, decodes it (compression.h) and cuts it into units: lines, rows of a table or elements
 * of an array.
 *
 * The text comes from a file, a pipe or standard input.  Memory is bounded by the longest unit.  Reading never waits
 * for more input than the requested unit needs.  All units before an unreadable place are delivered first.  The end is
 * reported only after the whole input was read and its checksums were verified.
 *
 * The caller owns the stream; units are borrowed until the next call.  Failures have EXIT_CODE_DATA.
 */
#ifndef DATA_BASE_TEXT_STREAM_H
#define DATA_BASE_TEXT_STREAM_H

#include "kernels/base.h"

enum {
    TEXT_MAX_UNIT = 64 << 20, /* maximum bytes of a unit */
    TEXT_MAX_SKIP =
        1 << 30 /* maximum bytes that are skipped to find the end of a longer unit; beyond them reading fails */
};

/* State of the search for the end of a unit.  `end` sees n bytes, of which those from `from` on are new.  It returns
 * the unit's length with its terminator, or 0 if the end is still to come. */
struct text_scan {
    size_t (*end)(struct text_scan *scan, const char *text, size_t from, size_t n);
    const char *what;          /* "line" */
    char separator;            /* field separator of a table */
    bool inside, quoted, bare; /* state of a field or string: started, in quotes, started without quotes */
    bool escaped;
    int64_t depth;
};
extern const struct text_scan scan_line;

struct text_unit {
    const char *text; /* valid until the next call */
    size_t length;
    int64_t line; /* line where the unit starts, from 1 */
    int column;   /* bytes of that line before the unit */
    bool whole;   /* the terminator is there; the last unit of a text may lack it */
};

/* Opens a text; "-" is standard input.  A byte order mark is skipped.  NULL with EXIT_CODE_DATA.  Input is read on the
 * first request only. */
struct text_stream;
struct text_stream *text_stream_open(const char *path, struct error *err);
void text_stream_close(struct text_stream *s);
/* The path, or "standard input". */
const char *text_stream_name(const struct text_stream *s);
/* Whether a read failure was reported.  Later calls report it again, since it is not the end of the text. */
bool text_stream_failed(const struct text_stream *s);
/* Ends reading with an error of the caller: -1 with EXIT_CODE_DATA from this call and every later one. */
int text_stream_fail(struct text_stream *s, struct error *err, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));

/* Returns 1 and the next unit, or 0 at the end.  Returns -1 with EXIT_CODE_DATA if the input cannot be read or the unit
 * exceeds max bytes.  The units after one that was too long can still be read.  `start` is the initial state of each
 * search. */
int text_stream_next(struct text_stream *s, const struct text_scan *start, size_t max, struct text_unit *unit,
                     struct error *err);
/* The same without consuming the unit. */
int text_stream_peek(struct text_stream *s, const struct text_scan *start, size_t max, struct text_unit *unit,
                     struct error *err);
/* Skips white space and returns the next byte without consuming it; -1 at the end, -2 with err. */
int text_stream_first(struct text_stream *s, struct error *err);
/* Consumes n bytes that text_stream_peek or text_stream_first has seen. */
void text_stream_take(struct text_stream *s, size_t n);
/* Reads up to n bytes; 0 at the end, -1 with EXIT_CODE_DATA. */
ptrdiff_t text_stream_read(struct text_stream *s, char *to, size_t n, struct error *err);
/* Whether the next unit, the end or a failure can be reported without waiting.  The call consumes nothing. */
bool text_stream_ready(struct text_stream *s, const struct text_scan *start);

/* Whether a text is empty or white space only. */
bool text_is_blank(const char *text, size_t length);

#endif
