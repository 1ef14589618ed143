/*
 * list_mark.h - the marks before the items of a list as language models write them: "1.", "(b)", "IV.", a bullet, a
 * label, and those of East Asia.
 */
#ifndef DATA_PROMPT_LIST_MARK_H
#define DATA_PROMPT_LIST_MARK_H

#include "data/prompt/passage.h"

/* Bytes of a label with a number at the beginning ("Reading 1:", "Interpretation B -", "#2"); 0 without. */
size_t list_label_length(struct passage line);
/* Without one mark, and the label behind it; *marked tells whether there was one. */
struct passage list_mark_strip(struct passage line, bool *marked);

#endif
