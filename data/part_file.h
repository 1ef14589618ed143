/*
 * part_file.h - results on their way into an out_file: lines in NAME.part, each with the key of what it is the result
 * of, so that a run which was killed goes on where the file ends or its input changed.
 */
#ifndef DATA_PART_FILE_H
#define DATA_PART_FILE_H

#include "data/json.h"

struct part_file {
    FILE *f;
    char *path;   /* NULL for standard output, a device or a pipe, which keep nothing */
    bool reading; /* lines of an earlier run may follow */
    char *line;
    size_t cap;
};

/* For out, whose results go on when resume is true; "-" is standard output. */
int part_open(struct part_file *p, const char *out, bool resume, struct error *err);
/* Whether the next line is there for this key; when not, what follows it is gone and lines can be written. */
bool part_next(struct part_file *p, uint64_t key, bool *failed);
int part_write(struct part_file *p, uint64_t key, bool failed, const json_t *record, struct error *err);
/* What was written is in NAME.part then, and survives a kill. */
int part_flush(struct part_file *p, struct error *err);
/* Makes out of the lines, whole, and removes NAME.part. */
int part_commit(struct part_file *p, const char *out, struct error *err);
/* Closes.  Whether NAME.part stays: it keeps the lines that are whole, and goes when there are none.  Harmless after
 * commit or on a zeroed struct. */
bool part_close(struct part_file *p);

#endif
