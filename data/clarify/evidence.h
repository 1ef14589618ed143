/*
 * evidence.h - what others know of a question that is to be asked: the user's own words, from a tagger; the
 * alternatives that a detector found; values that columns hold.
 *
 * In a record "spans" are {"start", "end", "label", "alternatives", "probability"}: letters (code points) of the
 * question, the last not included; AMB, UNK, COL or VAL; what the words are linked to, {"concept": "table.column" or
 * "table", "kind"}, and how sure that is, both if known; a column's name alone will do where only one table has it.
 * "alternatives", "kind", "ambiguous" and "score" are those of a finding. Elements are numbered as a schema graph's
 * nodes: tables first, then columns.
 */
#ifndef DATA_CLARIFY_EVIDENCE_H
#define DATA_CLARIFY_EVIDENCE_H

#include "data/exec/column_values.h"
#include "data/schema/ambiguity_type.h"
#include "data/span/span_record.h"

enum { EVIDENCE_MAX = 64, FOUND_MAX = 2 }; /* spans of a question, elements of a span; alternatives of a finding */

struct span {
    const char *words; /* as the user wrote them */
    enum span_label label;
    double probability; /* 1 when not told */
    int elements[EVIDENCE_MAX], n_elements;
    bool is_value; /* the words are linked to values: the elements are their columns */
    float *said;   /* [elements of the schema] the share of each name's words that the span has */
};

/* A zeroed struct is one without any hint. */
struct evidence {
    struct span *spans;
    int n_spans;
    int found[FOUND_MAX]; /* elements */
    int n_found;
    enum sia_kind kind;             /* of what was found */
    double score;                   /* that it is ambiguous; 1 when not told */
    struct column_samples *samples; /* borrowed; NULL without a database */
    struct strings pool;
};

/* From a record with "question".  -1 with EXIT_CODE_DATA naming the field; release in any case. */
int evidence_read(struct evidence *h, const json_t *record, const struct schema *s, const char *where,
                  struct error *err);
void evidence_release(struct evidence *h);

/* "table" or "table.column". */
const char *evidence_element_name(const struct schema *s, int element, struct strings *pool);

#endif
