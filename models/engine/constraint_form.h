/*
 * constraint_form.h - the texts that an answer may be, as a line of a file of constraints says them, and their tokens.
 *
 *   {"answers": ["...", ...]}                   one of these
 *   {"template": "select {column} from {table}", "slots": {"column": [...], "table": [...]}}
 *                                               the template with any text of its list in each slot
 *   {"alternatives": [{"template", "slots"}, ...]}  what one of these templates may be
 *
 * A template is cut into words before each of its own blanks, and the texts that a word may be are written out, so that
 * a slot and what touches it ("count({column})", "t1.{column}") are tokenised together, the blank before them too.
 * Tokenizers cut before a blank themselves, so the words' tokens in a row are those of the text as a whole: answers
 * have one spelling, the one that a model has learnt, and most states one edge.  Each text of a word is tokenised
 * between the first texts of its neighbours; where a token would reach over the cut after all, that is an error.
 */
#ifndef MODELS_ENGINE_CONSTRAINT_FORM_H
#define MODELS_ENGINE_CONSTRAINT_FORM_H

#include "models/engine/automaton.h"

#include <jansson.h>

/* The texts of all words together, written out. */
enum { CONSTRAINT_MAX_BYTES = 1 << 24 };

/* A list of texts: the answers, or those of a slot. */
struct slot_texts {
    const char *name; /* NULL: the answers */
    const json_t *texts;
    int64_t count, bytes;
    bool solid; /* each ends in something other than a blank */
    bool used;
};

/* A piece of a template's own text, or a slot. */
struct form_part {
    const char *text; /* not terminated */
    size_t length;
    int list;    /* of a slot, else -1 */
    bool starts; /* a word */
    bool opens;  /* an alternative */
};

struct constraint_form {
    struct slot_texts *lists;
    int n_lists, cap_lists;
    struct form_part *parts;
    int n_parts, cap_parts;
    char *text; /* of the parts */
};

/* Borrows from o until release, which is due after an error too.  -1 with EXIT_CODE_DATA; `where` opens the message. */
int constraint_form_read(struct constraint_form *f, const json_t *o, const char *where, struct error *err);
void constraint_form_release(struct constraint_form *f);

/* Takes from {"alternatives"} what the tokenizer cannot spell: texts of slots, and alternatives whose own text it is or
 * that have a slot without texts.  -1 with EXIT_CODE_DATA, naming such a text, when none is left. */
int constraint_form_keep_spelt(json_t *constraint, const struct tokenizer *t, struct error *err);

/* Lists of token sequences, one for each word in its order, alternatives one behind the other; the caller releases each
 * and frees the list.  NULL with EXIT_CODE_DATA: a text that the tokenizer cannot spell, that holds one of the stop
 * tokens or is cut elsewhere than its word, or too many texts. */
struct token_list *constraint_form_encode(const struct constraint_form *f, const struct tokenizer *t,
                                          const int32_t *stops, int n_stops, int *n_words, struct error *err);

#endif
