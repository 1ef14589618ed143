/*
 * fence.h - the fenced blocks of a text in Markdown.
 */
#ifndef DATA_PROMPT_FENCE_H
#define DATA_PROMPT_FENCE_H

#include "data/prompt/passage.h"

/* Cuts the next block, with what stands before it and its fences, off *rest; false without one.  A fence is ``` or ~~~;
 * the word behind the opening one is no part of the block.  An opening fence at a line's beginning is closed at the
 * beginning of a line where one closes there, else anywhere; a block that is never closed goes to the end. */
bool fence_next(struct passage *rest, struct passage *block);

#endif
