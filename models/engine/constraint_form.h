/*
 * constraint_form.h - reads one line of a constraint file and tokenises the texts that it allows.
 *
 *   {"answers": ["...", ...]}                       one of these texts
 *   {"template": "select {column} from {table}",    the template with a text of its list in each slot
 *    "slots": {"column": [...], "table": [...]}}
 *   {"alternatives": [{"template", "slots"}, ...]}  one of these templates
 *
 * A template is split into words before each of its own blanks, and all texts of a word are written out. A slot is
 * therefore tokenised together with its neighbours ("count({column})", "t1.{column}") and the blank before it.
 * Tokenizers split before blanks too, so that the tokens of the words are those of the whole text. Each text has one
 * spelling, the one that models have learnt, and most states of the automaton have one edge.
 * Each text of a word is tokenised between the first texts of its neighbours. A token across the border of a word is
 * an error.
 */
#ifndef MODELS_ENGINE_CONSTRAINT_FORM_H
#define MODELS_ENGINE_CONSTRAINT_FORM_H

#include "models/engine/automaton.h"

#include <jansson.h>

/* Maximum size of all texts of all words. */
enum { CONSTRAINT_MAX_BYTES = 1 << 24 };

/* The texts of a slot, or the answers. */
struct slot_texts {
    const char *name; /* NULL: the answers */
    const json_t *texts;
    int64_t count, bytes;
    bool solid; /* no text ends in a blank */
    bool used;
};

/* A piece of a template's own text, or a slot. */
struct form_part {
    const char *text; /* not terminated */
    size_t length;
    int list;    /* index of the slot's list; -1: own text */
    bool starts; /* starts a word */
    bool opens;  /* starts an alternative */
};

struct constraint_form {
    struct slot_texts *lists;
    int n_lists, cap_lists;
    struct form_part *parts;
    int n_parts, cap_parts;
    char *text; /* own text of all parts */
};

/* Reads a constraint. The form borrows from o; the caller releases it either way. -1 with EXIT_CODE_DATA; the
 * message starts with `where`. */
int constraint_form_read(struct constraint_form *f, const json_t *o, const char *where, struct error *err);
void constraint_form_release(struct constraint_form *f);

/* Removes everything from {"alternatives"} that the tokenizer cannot spell: texts of slots, alternatives with such
 * own text, and alternatives that have a slot without texts. -1 with EXIT_CODE_DATA if no alternative is left; the
 * message has one such text. */
int constraint_form_keep_spelt(json_t *constraint, const struct tokenizer *t, struct error *err);

/* Returns lists of token sequences, one for each word in order; alternatives follow one another. The caller releases
 * each list and frees the array. NULL with EXIT_CODE_DATA: too many texts, or a text that the tokenizer cannot
 * spell, splits at another place, or maps to a stop token. */
struct token_list *constraint_form_encode(const struct constraint_form *f, const struct tokenizer *t,
                                          const int32_t *stops, int n_stops, int *n_words, struct error *err);

#endif
