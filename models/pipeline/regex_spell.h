/*
 * regex_spell.h - a regular expression as Oniguruma reads it, spelled so that PCRE2 reads the same.
 *
 * Classes are written out: the two disagree about \s, \w, \b and \h, \p{...} asks PCRE2's older Unicode (14 in Debian
 * 12, 16 in the Oniguruma of tokenizers 0.23), and only Oniguruma has sets within sets.  What has no such spelling is
 * refused, never guessed.
 */
#ifndef MODELS_PIPELINE_REGEX_SPELL_H
#define MODELS_PIPELINE_REGEX_SPELL_H

#include "kernels/base.h"

#include <stdio.h>

/* The pattern as PCRE2 has to be told, with PCRE2_UTF, PCRE2_UCP and PCRE2_MULTILINE; the caller frees.  NULL with
 * EXIT_CODE_CHECKPOINT. */
char *regex_spell(const char *pattern, struct error *err);

/* The sets of a pattern, a part of the above: */
struct speller {
    const char *at; /* what is still to be spelled */
    FILE *out;
    struct error *err;
};
/* Writes the items of the class that s->at, a backslash, begins, which stood in brackets or not, and *negated when what
 * was written is its complement.  1 and s->at moved behind it; 0 when it is no class; -1 when it is one that is not
 * known. */
int regex_spell_class(struct speller *s, FILE *out, bool brackets, bool *negated);
/* Writes the set in brackets that s->at begins. */
int regex_spell_set(struct speller *s);

#endif
