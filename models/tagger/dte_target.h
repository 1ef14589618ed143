/*
 * dte_target.h - what the network should say of a question whose words are marked, and what erasing words tells of it
 * (spec of DTE, 4).
 */
#ifndef MODELS_TAGGER_DTE_TARGET_H
#define MODELS_TAGGER_DTE_TARGET_H

#include "models/tagger/dte_batch.h"
#include "models/tagger/dte_linker.h"

/* All of a window's labels but for the weights of its grounding.  A concept is meant when it is an alternative of a
 * span, a column also when one of its values is, and a table when one of its columns is. */
void dte_target_init(struct dte_target *t, const struct dte_item *item, int window, const struct marked_span *spans,
                     int n_spans, const struct dte_config *config);
void dte_target_release(struct dte_target *t);

/*
 * Weights of the grounding.  awake [concepts, words]: how much each word carries of each concept (A of 4.2), cleaned up
 * by its rules (a) to (d); NULL: 1 where a span marks the word as the concept's.
 */
void dte_target_ground(struct dte_target *t, const struct dte_item *item, int window, const struct marked_span *spans,
                       int n_spans, const float *awake);

/* Tags of words from the linker's links, but AMB and UNK as the spans have them (4.5). */
void dte_target_link(struct dte_target *t, const struct dte_reading *r, const struct marked_span *spans, int n_spans,
                     const struct dte_config *config);

/* The runs of words that are erased one at a time: every word, and for each column the longest run of two or more that
 * its name has too, unless a longer one covers it.  Appended as sequences of that window. */
struct dte_sequences {
    struct dte_sequence *items;
    int n, cap;
};
void dte_erasures(struct dte_sequences *list, const struct dte_item *item, int window);

/* awake[k, q] = mean over the erased runs that hold word q of how much less likely concept k became, at least 0.
 * base [concepts], erased [n, concepts]. */
void dte_awake(float *awake, const struct dte_item *item, int concepts, const float *base,
               const struct dte_sequence *runs, int n, const float *erased);

#endif
