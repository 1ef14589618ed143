/*
 * yes_no.h - a language model as a detector: is this question ambiguous, yes or no?  Prompts for models elsewhere, and
 * their answers as scores: the LLM rows of GATekeeper's tables.
 *
 * The published program shows a model the question alone; the paper says question and schema.  Both forms are here, in
 * words of ours, since theirs are not at hand; each without examples or behind some, which are labelled questions of
 * other texts.  As published, the first word of an answer counts, where it is yes or no.  An answer that begins
 * otherwise, or that breaks off in its thought, says neither.
 */
#ifndef DATA_PROMPT_YES_NO_H
#define DATA_PROMPT_YES_NO_H

#include "data/corpora/labels.h"

enum yes_no_form { YES_NO_QUESTION, YES_NO_SCHEMA };
#define YES_NO_FORMS "question|schema"

struct yes_no_request {
    const char *data;    /* a folder of contrast or practice, whose test fold is asked, or a file of own labels */
    const char *support; /* own labels to show; NULL: a folder's training fold */
    const char *db, *schema, *label_field; /* of own labels, as in labels.h */
    enum record_form form;
    const char *write;   /* one of YES_NO_FORMS; NULL: answers are read */
    const char *answers; /* {"id", "text"} or {"id", "texts"}, as ambit-infer generate writes them */
    int64_t shots, seed; /* examples in a prompt, as many of each label or one more that is ambiguous */
    const char *out;
};

struct yes_no_counts {
    int64_t questions, unread; /* of them, without an answer that says yes or no */
};

/*
 * Writes prompts {"id", "messages"}, or of the answers scores {"id", "score"}: the share of yes among a prompt's
 * answers that are read.  Questions without any have {"id", "error", "answer"}, with the first text as it was.  -1 with
 * EXIT_CODE_DATA: an id that two questions have or none has, an example that is asked too, too few of a label to show;
 * EXIT_CODE_USAGE never.
 */
int yes_no_run(const struct yes_no_request *q, struct yes_no_counts *counts, struct error *err);
/* 1 yes, 0 no, -1 neither: the first word behind thoughts and a label such as "Answer:". */
int yes_no_read(const char *answer);

#endif
