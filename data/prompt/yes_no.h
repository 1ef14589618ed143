/*
 * yes_no.h - a language model as a detector: writes yes-or-no prompts and converts completions to scores.
 *
 * These are the language models in GATekeeper's tables (Skadborg and Mortensen 2025). The paper describes question and
 * schema, but the released program shows the question alone. Its prompt is the form `published`, word for word. The
 * form `schema` has question and schema, in our words, and few-shot examples: labelled questions of other texts.
 *
 * As published, the first word of a completion counts if it is yes or no. Other completions, and those that are cut
 * off in a thought, are unread.
 */
#ifndef DATA_PROMPT_YES_NO_H
#define DATA_PROMPT_YES_NO_H

#include "data/corpora/labels.h"
#include "data/endpoint/endpoint.h"

#define YES_NO_FORMS "published|schema"

struct yes_no_request {
    const char *data;                      /* data folder, whose test split is asked, or a custom data set */
    const char *support;                   /* custom data set of few-shot examples; NULL: the folder's training split */
    const char *db, *schema, *label_field; /* of a custom data set, as in labels.h */
    enum record_format format_in;
    const char *write;               /* one of YES_NO_FORMS; NULL: read completions */
    const char *answers;             /* {"id", "text"} or {"id", "texts"}, as ambit-infer generate writes them */
    int64_t shots, seed;             /* of schema: examples in a prompt, half of each label; an odd one is ambiguous */
    struct endpoint_settings server; /* answers prompts, if it has an address */
    const char *prompt;              /* one of YES_NO_FORMS for the server; NULL: schema */
    int64_t samples;                 /* completions of each prompt by the server; several are drawn at temperature 1 */
    bool dry;                        /* count the requests to the server, and write nothing */
    const char *out;
};

struct yes_no_counts {
    int64_t questions, unread; /* questions without a completion that says yes or no */
};

/* Writes prompts {"id", "messages"}, or scores {"id", "score"} of completions in a file or by a server: the share of
 * yes among the read completions of a prompt.  If the server gives log-probabilities, a completion counts with the
 * probability of its word, as yes or against it. A question without any gets {"id", "error", "completion"} with its
 * first completion. -1 with EXIT_CODE_DATA: a missing or duplicate id, a few-shot example among the questions, or too
 * few examples of a label. */
int yes_no_run(const struct yes_no_request *q, struct yes_no_counts *counts, struct error *err);
/* 1 for yes, 0 for no, -1 for neither: the first word after thoughts and a label such as "Answer:". */
int yes_no_read(const char *answer);

#endif
