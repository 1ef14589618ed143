/*
 * evidence_files.h - the output files of detect and tag, joined with records of candidates by id.
 *
 * Both files are read and checked before the first record.  Only the fields that data/clarify/evidence.h reads are
 * kept. The fields of a line replace those of the record, so a prediction in a file and the same prediction in the
 * record have the same effect.  Lines with an error are ignored.
 */
#ifndef INFER_CLARIFY_EVIDENCE_FILES_H
#define INFER_CLARIFY_EVIDENCE_FILES_H

#include "data/base/json.h"
#include "data/schema/schema.h"

struct evidence_file {
    const char *path;
    json_t *lines; /* {"where", "question", "db_id", "fields"} as texts, by id; the last two are optional */
    int64_t met;   /* number of records with a line */
};

/* A zeroed struct has no files. */
struct evidence_files {
    struct evidence_file predictions, spans;
};

/* Paths may be NULL and must outlive the struct.  Returns -1 with EXIT_CODE_DATA, which names file, line and field. The
 * caller closes the struct in any case. */
int evidence_files_open(struct evidence_files *h, const char *predictions, const char *spans, struct error *err);
void evidence_files_close(struct evidence_files *h);

/* Returns a copy of the record with the evidence of its id, as a new reference.  Returns NULL with EXIT_CODE_DATA when
 * a line is about another question or database, or names elements that the schema lacks. */
json_t *evidence_files_join(struct evidence_files *h, json_t *record, const struct schema *s, const char *where,
                            struct error *err);
/* Joins lines in memory, a prediction and a tagger's line; each may be NULL. */
json_t *evidence_join_lines(json_t *record, const json_t *prediction, const json_t *marked, const struct schema *s,
                            const char *where, struct error *err);
/* Warns about files of which no line belongs to a record. */
void evidence_files_warn(const struct evidence_files *h);

#endif
