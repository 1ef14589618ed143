/*
 * triage_make.h - training questions of all kinds of data/corpora/triage.h.
 *
 * Marked words of counterfactual.h give answerable, ambiguous and unanswerable questions on edited tables: the same
 * question is of several kinds, depending on its table.  Three of ten tables have abbreviated names.  Data folders in
 * the form of natural.h give ambiguous and answerable ones.  An answerable question without a table that it uses, or
 * on the table of another question, is unanswerable.  Templates give requests beyond SQL, outside knowledge, small
 * talk, questions that follow an earlier one, and questions with vague times or filters beside similar exact ones.
 */
#ifndef DATA_SYNTH_TRIAGE_MAKE_H
#define DATA_SYNTH_TRIAGE_MAKE_H

#include "data/corpora/dataset.h"
#include "data/corpora/triage.h"

struct triage_make_request {
    const char *spans;     /* file of marked words */
    const char *natural;   /* data folder; or NULL */
    enum data_split split; /* of the data folder */
    const char *out;       /* folder */
    int64_t questions;     /* about so many; fewer if a source has fewer */
    uint64_t seed;
    bool force;
};

/* Writes OUT/questions.jsonl and OUT/tables.json in the form of triage_convert with a kind; source_class is the origin.
 * "values" lists the stored values in a question, [{"column", "text", "start", "end"}], if values are known.
 * "by_values": the class depends on them.  The same seed gives the same bytes.  Returns -1 with EXIT_CODE_DATA naming
 * file, line and field. */
int triage_make(const struct triage_make_request *q, struct triage_counts *n, struct error *err);

#endif
