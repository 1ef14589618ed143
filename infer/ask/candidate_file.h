/*
 * candidate_file.h - records of candidates (data/clarify/candidate_list.h) found by id, or by the question itself.
 *
 * The file is read whole; each record is kept as text, which takes a fraction of its value's memory.
 */
#ifndef INFER_ASK_CANDIDATE_FILE_H
#define INFER_ASK_CANDIDATE_FILE_H

#include "data/util/json.h"
#include "data/util/record_reader.h"

struct candidate_file {
    const char *path;  /* borrowed; NULL: there is none */
    json_t *lines;     /* array of texts */
    json_t *by_id;     /* numbers of lines; a question that comes alone has none: */
    json_t *questions; /* likewise by question */
};

/* -1 with EXIT_CODE_DATA naming file and line; close in any case, a zeroed struct too. */
int candidate_file_open(struct candidate_file *f, const char *path, enum record_form form, struct error *err);
void candidate_file_close(struct candidate_file *f);

/* The file's record with the id of this one, or by_question the first with its question; a new reference in *found,
 * NULL where there is none.  -1 with EXIT_CODE_DATA where the id's is about another question or database. */
int candidate_file_find(json_t **found, const struct candidate_file *f, const json_t *record, bool by_question,
                        const char *where, struct error *err);

#endif
