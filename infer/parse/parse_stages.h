/*
 * parse_stages.h - the stages of parsing, each over a window of records.
 */
#ifndef INFER_PARSE_PARSE_STAGES_H
#define INFER_PARSE_PARSE_STAGES_H

#include "data/prompt/reading_sql.h"
#include "data/util/out_file.h"
#include "infer/parse/parse_case.h"
#include "kernels/arena.h"

struct parse_stages {
    const struct parse_request *q;
    struct schema_catalog schemas;
    struct query_answers answers; /* with q->answers */
    struct out_file prompts;      /* with q->write */
    struct strings ids;           /* of the records so far, with either */
    struct calibration select;    /* with q->calibration */
    struct column_values values;  /* of the database of the case that was asked about last */
    const struct schema *valued;  /* whose they are, or NULL */
    struct arena trees;           /* of statements that are checked */
    struct parse_case *cases;     /* the window */
    int64_t n, cap;
};

int parse_stages_open(struct parse_stages *f, const struct parse_request *q, struct error *err);
/* Asks the models about every case of the window without error, and chooses.  1 when a signal stopped it, -1. */
int parse_stages_run(struct parse_stages *f, struct error *err);
/* Tells on the log what memory each model takes for the window's questions; the models are dry ones. */
int parse_stages_measure(struct parse_stages *f, struct error *err);
/* With q->write or q->answers, of each record that is read: an id that came before is an error. */
void parse_elsewhere_read(struct parse_stages *f, struct parse_case *c);
/* Writes the prompt of a case without error. */
int parse_elsewhere_write(struct parse_stages *f, const struct parse_case *c, struct error *err);
/* Forgets the window. */
void parse_stages_clear(struct parse_stages *f);
void parse_stages_release(struct parse_stages *f);

#endif
