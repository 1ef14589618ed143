/*
 * part_file.h - results on their way into an out_file: lines in NAME.part, each with the key of what it is the result
 * of, so that a run which was killed goes on where the file ends or its input changed.  They are plain text; where NAME
 * ends in .gz, .xz or .zst they are compressed as they come into it, at the end.
 */
#ifndef DATA_UTIL_PART_FILE_H
#define DATA_UTIL_PART_FILE_H

#include "data/util/json.h"
#include "data/util/out_file.h"

/* Writes a record in another form than as its line. */
typedef void part_print_fn(FILE *out, const json_t *record);

struct part_file {
    FILE *f;
    char *path;       /* NULL for standard output, a device or a pipe, which keep nothing */
    const char *name; /* of out, which is borrowed, in messages */
    bool reading;     /* lines of an earlier run may follow */
    char *line;
    size_t cap;
    int digits;              /* of a real number (json.h): JSON_EXACT unless set behind part_open */
    part_print_fn *print;    /* how out has the records: as they are unless set behind part_open */
    const char *head, *foot; /* with print: what out has before and behind the records; NULL: nothing */
    bool begun;              /* the head stands in what is no file */
};

/* For out, whose results go on when resume is true; "-" is standard output. */
int part_open(struct part_file *p, const char *out, bool resume, struct error *err);
/* The note of the next line when that is there for this key, good until the next call; when not, NULL: what follows it
 * is gone and lines can be written. */
const char *part_next(struct part_file *p, uint64_t key);
/* The note, a word without blanks, is for the run that goes on; it does not come into out. */
int part_write(struct part_file *p, uint64_t key, const char *note, const json_t *record, struct error *err);
/* What was written is in NAME.part then, and survives a kill. */
int part_flush(struct part_file *p, struct error *err);
/* Makes out of the lines, whole, and removes NAME.part. */
int part_commit(struct part_file *p, const char *out, struct error *err);
/* Closes.  NAME.part keeps the lines that are whole, and goes when there are none; where it stays after a failure, err
 * says how to go on.  Harmless after commit or on a zeroed struct. */
void part_close(struct part_file *p, bool failed, struct error *err);

#endif
