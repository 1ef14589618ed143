/*
 * evidence_files.h - what `ambit-infer detect` and `ambit-infer tag` wrote, joined by id with records of candidates.
 *
 * Both files are read whole and checked before the first record; of a line only what data/clarify/evidence.h reads is
 * kept.  A record that has a line gets its fields in the place of its own, so that one with a prediction in a file and
 * one that brings the same prediction along are asked the same.  A line that is an error, or names nothing, says
 * nothing.
 */
#ifndef INFER_CLARIFY_EVIDENCE_FILES_H
#define INFER_CLARIFY_EVIDENCE_FILES_H

#include "data/schema/schema.h"
#include "data/util/json.h"

struct evidence_file {
    const char *path;
    json_t *lines; /* by id, as texts: {"where", "question", "db_id", "fields"}, the last two if there are any */
    int64_t met;   /* records that had a line */
};

/* A zeroed struct joins nothing. */
struct evidence_files {
    struct evidence_file predictions, spans;
};

/* Paths may be NULL and must outlive it.  -1 with EXIT_CODE_DATA naming file, line and field; close in any case. */
int evidence_files_open(struct evidence_files *h, const char *predictions, const char *spans, struct error *err);
void evidence_files_close(struct evidence_files *h);

/* A copy of the record with what is known of its id; a new reference.  NULL with EXIT_CODE_DATA where a line is
 * about another question or database, or names what the schema has not. */
json_t *evidence_files_join(struct evidence_files *h, json_t *record, const struct schema *s, const char *where,
                            struct error *err);
/* The same of lines that are in memory, a prediction's and a tagger's; NULL: nothing is said. */
json_t *evidence_join_lines(json_t *record, const json_t *prediction, const json_t *marked, const struct schema *s,
                            const char *where, struct error *err);
/* Warns of files of which no line met a record. */
void evidence_files_warn(const struct evidence_files *h);

#endif
