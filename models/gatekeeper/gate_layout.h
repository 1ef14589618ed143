/*
 * gate_layout.h - how the sequences of gate_batch.h are laid out: their special tokens, and how long they may be.
 */
#ifndef MODELS_GATEKEEPER_GATE_LAYOUT_H
#define MODELS_GATEKEEPER_GATE_LAYOUT_H

#include "models/net/gate_config.h"
#include "models/text/tokenizer.h"

/* Tokens of the whole schema's sequence besides names: [CLS], two [SEP], colon, and the mark that ends a column with
 * one to spare. */
enum { GATE_SEPARATORS = 6 };
enum { GATE_WORD_TOKENS = 8, GATE_THESIS_TOKENS = 128 };
struct gate_word {
    int32_t ids[GATE_WORD_TOKENS], n;
};

/* How sequences are laid out: the ids that part their texts, and how long these may be. */
struct gate_layout {
    enum gate_encode encode;
    int32_t cls, sep, colon, comma, semicolon;
    int max_positions;
    int asks;         /* schema: the question's own tokens are wanted, too */
    int max_question; /* longer questions are cut; 0: those that do not fit beside the schema's names */
    int least_room;   /* for a question: longer texts of elements are cut so that it is left */
    int max_name;     /* longer names are cut, so that a table's and a column's fit beside that */
    enum gate_texts texts;
    struct gate_word words[2]; /* TEXTS_RELEVANCE and TEXTS_THESIS: "irrelevant", "relevant" */
};
int gate_layout_init(struct gate_layout *layout, const struct tokenizer *t, int max_positions, enum gate_encode encode,
                     struct error *err);

/* Of texts that say whether an element is relevant: which, and with which words. */
void gate_layout_words(struct gate_layout *layout, const struct tokenizer *t, enum gate_texts texts);

#endif
