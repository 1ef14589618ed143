/*
 * dte_target.h - labels of a question from marked words or from its SQL, and the effect of erasing words (DTE, Wang et
 * al. 2023).
 *
 * The caller releases targets and frees lists.
 */
#ifndef MODELS_TAGGER_DTE_TARGET_H
#define MODELS_TAGGER_DTE_TARGET_H

#include "models/tagger/dte_batch.h"
#include "models/tagger/dte_linker.h"

/* Labels of a question: its marked spans, and the concepts of its SQL if they are known. With by_sql they are weak as
 * in the paper (section 4): the SQL alone decides which concepts are meant, and only the marks AMB and UNK count. */
struct dte_supervision {
    const struct marked_span *spans;
    int n_spans;
    const struct sql_concepts *sql; /* NULL: unknown; keywords then have no label */
    bool by_sql;                    /* needs sql */
};

/* Fills all labels of a window but the grounding weights. Without by_sql, a concept is meant if it is an alternative
 * of a span; a column is also meant if one of its values is. A table is meant if one of its columns is. The linker
 * replaces the tags of by_sql (dte_target_link). */
void dte_target_init(struct dte_target *t, const struct dte_item *item, int window, const struct dte_supervision *by,
                     const struct dte_config *config);
void dte_target_release(struct dte_target *t);

/* Fills the grounding weights. awake [concepts, words]: how much each word carries each concept (dte_awake). Three
 * rules clean it. A column gets 0 at a word that means one of its values. A value gets 0 at all words but its own. A
 * concept that is not meant gets a small constant. NULL: 1 if a span marks the word as the concept; not with by_sql. */
void dte_target_ground(struct dte_target *t, const struct dte_item *item, int window, const struct dte_supervision *by,
                       const float *awake);

/* Fills the tags from the linker's links; AMB and UNK are those of the spans. */
void dte_target_link(struct dte_target *t, const struct dte_reading *r, const struct dte_supervision *by,
                     const struct dte_config *config);

/* Appends the runs of words that are erased one at a time. These are all single words. For each column, the longest
 * run of at least two words in its name is added, unless a longer run covers it. */
struct dte_sequences {
    struct dte_sequence *items;
    int n, cap;
};
void dte_erasures(struct dte_sequences *list, const struct dte_item *item, int window);

/* awake[k, q]: the decrease of concept k's probability, at least 0, averaged over the erased runs with word q. base:
 * [concepts]; erased: [n, concepts]. */
void dte_awake(float *awake, const struct dte_item *item, int concepts, const float *base,
               const struct dte_sequence *runs, int n, const float *erased);

#endif
