/*
 * gate_words.h - a head on a detector that tags the words of a question: detector and tagger share one encoder pass.
 *
 * The head is a perceptron with one hidden layer.  For each word it reads the state of its first token before one of
 * the encoder's layers.  It also reads the states of the elements' names there, weighted by their similarity to it, the
 * largest similarities, and signs of the word and its neighbours (data/span/word_signs.h).  It predicts one of the
 * labels of DTE (Wang et al. 2023), or none.  A middle layer tells more about single words than the last one, which
 * serves the detector.
 *
 * The head is the file words.h5 in the detector's folder.  A hash binds it to the detector's weights and settings.
 */
#ifndef MODELS_GATEKEEPER_GATE_WORDS_H
#define MODELS_GATEKEEPER_GATE_WORDS_H

#include "data/span/word_signs.h"
#include "models/gatekeeper/gate_score.h"

#define WORD_HEAD_FILE "words.h5"

/* No label, or 1 + enum span_label. */
enum { WORD_OTHER, WORD_LABELS = 1 + SPAN_LABELS };

struct gate_words {
    bool known;        /* the detector's folder has a head */
    int layer, hidden; /* the number of encoder layers before the states, not all; hidden channels */
    int width;         /* channels of the encoder's states */
    int words;         /* that the head was trained on */
    /* Owned weights: dense_w [gate_words_inputs, hidden], which the file rounds to bf16, dense_b [hidden], score_w
     * [hidden, WORD_LABELS], score_b [WORD_LABELS]. */
    float *dense_w, *dense_b, *score_w, *score_b;
    double temperature;            /* divisor of logits, for probabilities */
    double threshold[SPAN_LABELS]; /* min probability of AMB and UNK words; those of other labels are 0 */
    uint64_t hash;                 /* of the file */
};

/* Allocates a head with weights of zero.  The caller releases it. */
void gate_words_init(struct gate_words *h, int width, int layer, int hidden);
void gate_words_release(struct gate_words *h);
/* Opens the head of a model that was opened from dir and has no adapter.  Without the file h->known is false.  -1 with
 * EXIT_CODE_CHECKPOINT for a bad file or a head of another detector. */
int gate_words_open(struct gate_words *h, const struct gate_model *m, const char *dir, struct error *err);
/* Writes the head as a file. */
int gate_words_save(const struct gate_words *h, const struct gate_model *m, const char *path, struct error *err);
/* NULL if a model can have a head, else the reason why not. */
const char *gate_words_refusal(const struct gate_model *m);

/* A question as the head reads it; everything is borrowed. */
struct word_input {
    const struct gate_model *model;
    const struct gate_item *item;
    const float *tokens, *elements; /* states [tokens that are read, C], [nodes, C] (gate_encode_words) */
    const struct word_signs *signs;
};

/* Numbers of a word. */
int gate_words_inputs(const struct gate_words *h);
/* Writes the numbers of the words [n, gate_words_inputs].  Returns n, the number of words that the model read. */
int gate_words_features(float *out, const struct gate_words *h, const struct word_input *in);

/* Probabilities p [WORD_LABELS] of the labels of a word with these features. */
void gate_words_predict(const struct gate_words *h, const float *features, double p[WORD_LABELS]);
/* The label of a word: the most probable one that reaches its threshold. */
int gate_words_decide(const struct gate_words *h, const double p[WORD_LABELS]);

/* The words of a question with their probabilities, and the similarity of each word and element. */
struct word_reading {
    int n, n_elements;
    double (*p)[WORD_LABELS]; /* [n] */
    float *cosine;            /* [n, n_elements] of the states */
};
void gate_words_read(struct word_reading *r, const struct gate_words *h, const struct word_input *in);
void word_reading_release(struct word_reading *r);

/* The spans of a question.  element_of [q->n_columns]: the element of each column of q; -1: none.  Concepts borrow from
 * q.  Neighbours with one label are a span, as are the words of a stored value of which one is tagged VAL, or AMB if
 * several columns hold it.  The meanings of a span are the elements whose states and names are most similar to its
 * words, or matching values.  VAL spans without a matching value are dropped.  The caller releases the answer. */
struct word_question {
    const struct tag_question *q;
    const struct schema *schema; /* that the model read */
    const int *element_of;
    const struct word_names *names; /* of the schema */
    const struct word_signs *signs;
};
void gate_words_answer(struct tag_answer *a, const struct gate_words *h, const struct word_reading *r,
                       const struct word_question *q);

#endif
