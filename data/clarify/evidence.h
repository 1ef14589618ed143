/*
 * evidence.h - the evidence of detector and tagger about a question: words of the user, alternatives, column values.
 *
 * The field "spans" of a record lists {"start", "end", "label", "alternatives", "probability"}.  Positions count code
 * points of the question, and "end" is exclusive.  The label is AMB, UNK, COL or VAL.  The alternatives are
 * {"concept": "table.column" or "table", "type"}; a column's name suffices where only one table has it.  The fields
 * "alternatives", "type", "ambiguous" and "score" of a record are those of the detector's prediction.  Further entries
 * of its field "ambiguities" become AMB spans, unless the tagger has an AMB span of these words.
 *
 * Elements of the schema are numbered like the nodes of a schema graph: tables first, then columns.
 */
#ifndef DATA_CLARIFY_EVIDENCE_H
#define DATA_CLARIFY_EVIDENCE_H

#include "data/db/column_values.h"
#include "data/schema/ambiguity_type.h"
#include "data/span/span_record.h"

enum {
    EVIDENCE_MAX = 64,
    FOUND_MAX = 2
}; /* maximum: spans of a question and elements of a span; alternatives of a prediction */

struct span {
    int start, end;    /* code points of the question */
    const char *words; /* of the user */
    enum span_label label;
    double probability; /* 1 by default */
    int elements[EVIDENCE_MAX], n_elements;
    bool is_value; /* the alternatives are values; the elements are their columns */
    float *said;   /* [elements of the schema] share of the words of each name that the span contains */
};

/* A zeroed struct has no evidence. */
struct evidence {
    struct span *spans;
    int n_spans;
    int found[FOUND_MAX]; /* alternatives of the prediction, as elements */
    int n_found;
    enum sia_type type;             /* ambiguity type of the prediction */
    double score;                   /* ambiguity score; 1 by default */
    struct column_samples *samples; /* borrowed; NULL without a database */
    struct strings pool;
};

/* Reads the evidence of a record with "question".  Returns -1 with EXIT_CODE_DATA, which names the field.  The caller
 * releases the evidence in any case. */
int evidence_read(struct evidence *h, const json_t *record, const struct schema *s, const char *where,
                  struct error *err);
void evidence_release(struct evidence *h);

/* Name of an element: "table" or "table.column".  The pool owns the text of a column. */
const char *evidence_element_name(const struct schema *s, int element, struct strings *pool);

#endif
