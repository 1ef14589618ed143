/*
 * gate_triage.h - a head on a detector that predicts class and kind of a question (data/corpora/triage.h).
 *
 * The head is a softmax regression over the kinds.  The probability of a class is the sum over its kinds.  The head
 * reads numbers that the detector has computed anyway, and the signs of
 * data/span/triage_words.h.  Relevance tells whether the question is about the schema at all.  The detector's states
 * were tried as well: they fit the training questions better and unseen sets worse.
 *
 * Thresholds turn the probabilities into a decision, because a question that is refused by mistake costs more than one
 * that is answered by mistake.  A question is refused if the probabilities of unanswerable and improper together reach
 * the threshold of the more probable one of both.  Else it is ambiguous if the detector says so, or if that probability
 * reaches its threshold.  The thresholds are chosen on validation questions.
 *
 * The head is the file triage.json in the detector's folder.  A hash binds it to the detector's weights and settings.
 */
#ifndef MODELS_GATEKEEPER_GATE_TRIAGE_H
#define MODELS_GATEKEEPER_GATE_TRIAGE_H

#include "data/span/triage_words.h"
#include "models/gatekeeper/gate_words.h"

enum {
    TRIAGE_TOP = 6, /* the largest relevance logits */
    TRIAGE_MEAN = TRIAGE_TOP,
    TRIAGE_ELEMENTS,                              /* log of the number of elements */
    TRIAGE_SCORE,                                 /* logit of the likeliest pair */
    TRIAGE_LINGUISTIC,                            /* logit of the likeliest linguistic type */
    TRIAGE_RELEVANT,                              /* number of elements with a positive logit */
    TRIAGE_TOKENS,                                /* of the question */
    TRIAGE_PAIR,                                  /* [SIA_TYPES] the likeliest pair's probability at its type, else 0 */
    TRIAGE_TIMES = TRIAGE_PAIR + SIA_TYPES,       /* 1 if the schema has a column of times */
    TRIAGE_LABELLED,                              /* [SPAN_LABELS] expected number of words with each label */
    TRIAGE_LABEL = TRIAGE_LABELLED + SPAN_LABELS, /* [SPAN_LABELS] logit of the word likeliest to have it */
    TRIAGE_FIRST_SIGN = TRIAGE_LABEL + SPAN_LABELS,
    TRIAGE_FEATURES = TRIAGE_FIRST_SIGN + TRIAGE_SIGNS
};

#define TRIAGE_HEAD_FILE "triage.json"

struct gate_triage {
    bool known; /* the detector's folder has a head */
    double mean[TRIAGE_FEATURES], scale[TRIAGE_FEATURES];
    double weight[TRIAGE_KINDS][TRIAGE_FEATURES], bias[TRIAGE_KINDS]; /* of standardised features */
    double threshold[TRIAGE_CLASSES]; /* of all classes but answerable; above 1: never predicted */
    int questions;                    /* that the head was trained on */
    uint64_t hash;                    /* of the file */
};

/* The detector's results for a question, and the signs of its words; all is borrowed. */
struct gate_triage_input {
    const float *relevance; /* [nodes of the schema] logits */
    const struct schema_input *schema;
    int n_question; /* tokens of the question */
    const struct gate_result *result;
    const struct triage_reading *signs;
    const struct word_reading *words; /* of a detector with a head for words, else NULL */
};
/* out: [TRIAGE_FEATURES].  Without words their features are 0. */
void gate_triage_features(float *out, const struct gate_triage_input *in);
/* Probabilities of the kinds.  They assume that all classes are equally frequent, and all kinds of a class. */
void gate_triage_predict_kinds(const struct gate_triage *t, const float *features, double p[TRIAGE_KINDS]);
/* Probabilities of the classes from those of the kinds. */
void gate_triage_classes(double p[TRIAGE_CLASSES], const double kinds[TRIAGE_KINDS]);
/* Probabilities of the classes. */
void gate_triage_predict(const struct gate_triage *t, const float *features, double p[TRIAGE_CLASSES]);
/* The likeliest kind of the class. */
enum triage_kind gate_triage_kind(const double kinds[TRIAGE_KINDS], enum triage_class class);

/* The probability that the question is to be refused, and the class for which it would be. */
double gate_triage_refusal(const double p[TRIAGE_CLASSES]);
enum triage_class gate_triage_refusal_class(const double p[TRIAGE_CLASSES]);
/* The class by the thresholds.  ambiguous: the detector's own prediction. */
enum triage_class gate_triage_decide(const struct gate_triage *t, const double p[TRIAGE_CLASSES], bool ambiguous);
bool triage_class_refused(enum triage_class c);

/* Reads the head of the model, which was opened from dir and has no adapter.  words: its head for words.  Without the
 * file t->known is false.  Returns -1 with EXIT_CODE_CHECKPOINT for a bad file, or a head that was trained on another
 * detector or beside another head for words. */
int gate_triage_open(struct gate_triage *t, const struct gate_model *m, const struct gate_words *words, const char *dir,
                     struct error *err);
/* Writes the head as a file of JSON. */
int gate_triage_save(const struct gate_triage *t, const struct gate_model *m, const struct gate_words *words,
                     const char *path, struct error *err);

#endif
