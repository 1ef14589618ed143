/*
 * dte_decode.h - what the network says of one question as an answer: spans, what each may mean, how likely it is (spec
 * of DTE, 5).
 */
#ifndef MODELS_TAGGER_DTE_DECODE_H
#define MODELS_TAGGER_DTE_DECODE_H

#include "models/tagger/dte_chain.h"
#include "models/tagger/dte_reading.h"

struct dte_decode_settings {
    double temperature; /* of probabilities */
    double threshold;   /* AMB that is less likely is told as one column or value, UNK not at all */
    double share;       /* an alternative's least score beside the best one's */
    int most;           /* alternatives of AMB, and nearest concepts of UNK; at least 2 */
};
extern const struct dte_decode_settings dte_decode_defaults;

/* The caller releases the answer, whose concepts borrow from the question. */
void dte_decode(struct tag_answer *a, const struct dte_reading *r, const struct dte_chain *m, bool compat,
                const struct dte_decode_settings *s);

/* The ETA form: links alone, AMB where words are grounded by several concepts.  A column by the name of
 * dte_unknown_column stands for what the table has not, and makes UNK. */
void dte_decode_eta(struct tag_answer *a, const struct dte_reading *r, const struct dte_decode_settings *s);
extern const char dte_unknown_column[];

#endif
