/*
 * option_words.h - the options of a question as words, and the options that words of a reply fit.
 *
 * A word fits an option by degrees.  It is a word of the option, in singular or plural.  Or it begins like one:
 * "shipment" like "shipping".  Or it is a misspelt one: "shiping".  The first degree at which an option has all words
 * of a reply decides.
 */
#ifndef INFER_CLARIFY_OPTION_WORDS_H
#define INFER_CLARIFY_OPTION_WORDS_H

#include "data/clarify/question.h"
#include "data/span/spoken.h"

enum { REPLY_TEXT_MAX = 4000 /* bytes of a text with its zero byte; a longer one is cut */ };

struct option_words {
    char names[DIALOGUE_SHOWN + 1][REPLY_TEXT_MAX]; /* simplified */
    struct spoken words[DIALOGUE_SHOWN + 1];
    bool fits[DIALOGUE_SHOWN + 1]; /* options that a reply may mean */
    int n;
};

/* Drops apostrophes, so that "don't" is one word. */
void drop_apostrophes(char to[REPLY_TEXT_MAX], const char *text);
/* Normalises text: lower case, no apostrophes, one blank for other signs, none at the ends. */
void simplify_text(char to[REPLY_TEXT_MAX], const char *text);
/* Appends a word of a text, after a blank. */
void append_word(char to[REPLY_TEXT_MAX], const char *text, const struct spoken_word *w);
/* Reads the options of a question, which none of the words fit yet. */
void option_words_read(struct option_words *o, const struct question *q);

/* Tells whether a word means nothing for an option, such as "please". */
bool is_idle_word(const struct spoken_word *w);
/* Sets the options that have all words with a meaning.  Returns their number. */
int option_words_fit(struct option_words *o, const struct spoken *said);
/* Marks the options with the word, at the first degree at which there are some.  An option of this word alone is
 * marked alone.  Returns their number. */
int option_words_mark(const struct option_words *o, const char *stem, bool has[DIALOGUE_SHOWN + 1]);
/* Tells whether the word belongs to some options, and not to all of them. */
bool option_words_tell(const struct option_words *o, const char *stem);
/* Number of options that fit. */
int option_words_count(const struct option_words *o);
/* Index of the only option that fits, or -1. */
int option_words_only(const struct option_words *o);
/* Writes the words of an option that not all options have, or all its words. */
void option_words_distinct(char text[REPLY_TEXT_MAX], const struct option_words *o, int option);
/* Index of the only option that lists other options, "office city, home city" beside both cities; or -1. */
int option_words_list(const struct option_words *o);

#endif
