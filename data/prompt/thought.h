/*
 * thought.h - an answer without what its model thought aloud: the one place where thoughts are taken out.
 *
 * Reasoning models write their thoughts before the answer, in tags of a few spellings.  The opening tag may stand in
 * the prompt, so everything before a closing tag that nothing opened is a thought.  A thought that never ends tells
 * that the answer was cut off before it began, so such an answer has nothing.
 */
#ifndef DATA_PROMPT_THOUGHT_H
#define DATA_PROMPT_THOUGHT_H

#include "data/prompt/passage.h"

/* The stretches of an answer outside its thoughts, in order. */
struct stretches {
    struct passage *items;
    int n, cap;
    bool cut; /* a thought never ends; n is 0 */
};

/* Fills a zeroed struct; the stretches point into answer.  A tag between quotes or backticks is only spoken of. */
void stretches_read(struct stretches *s, const char *answer);
void stretches_release(struct stretches *s);

#endif
