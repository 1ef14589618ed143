/*
 * journal.h - a journal of results, from which an interrupted run resumes.
 *
 * Each line of NAME.part holds the key of an input and its result.  A resumed run reuses lines until the file ends or a
 * key differs.  The commit copies the results into NAME, which is compressed if its name ends in .gz, .xz or .zst; the
 * journal is always plain text.
 *
 * The caller owns the struct and ends it with journal_close().  Failures to write have EXIT_CODE_FAILURE.
 */
#ifndef DATA_BASE_JOURNAL_H
#define DATA_BASE_JOURNAL_H

#include "data/base/json.h"
#include "data/base/out_file.h"

/* Writes a record to the output in another format than JSONL. */
typedef void journal_print_fn(FILE *out, const json_t *record);

struct journal {
    FILE *f;
    char *path;       /* NULL for standard output, a device or a pipe, which have no journal */
    const char *name; /* name of the output in messages, borrowed */
    bool reading;     /* lines of an earlier run may follow */
    char *line;
    size_t cap;
    int digits;              /* digits of reals (json.h); JSON_EXACT unless set after journal_open */
    journal_print_fn *print; /* output format of the records; NULL: JSONL.  Set after journal_open. */
    const char *head, *foot; /* with print: text before and after the records; NULL: none */
    bool begun;              /* without a journal: the head has been written */
};

/* Opens the journal of the output `out`; "-" is standard output.  With resume, lines of an earlier run are kept. */
int journal_open(struct journal *p, const char *out, bool resume, struct error *err);
/* The note of the next line if that line has this key; valid until the next call.  Otherwise NULL: the rest of the
 * journal is removed, and the caller writes from here on. */
const char *journal_next(struct journal *p, uint64_t key);
/* Appends a result.  The note is a word without blanks for the resumed run; it is not part of the output. */
int journal_write(struct journal *p, uint64_t key, const char *note, const json_t *record, struct error *err);
/* Flushes the journal.  Results written before then survive a kill. */
int journal_flush(struct journal *p, struct error *err);
/* Writes the output from the journal and removes the journal. */
int journal_commit(struct journal *p, const char *out, struct error *err);
/* Closes the journal.  Complete lines stay in NAME.part; an empty journal is removed.  After a failure, err tells how
 * to resume.  Harmless after commit or on a zeroed struct. */
void journal_close(struct journal *p, bool failed, struct error *err);

#endif
