/*
 * query_answers.h - what models elsewhere answered to the prompts of query_prompt.h, by the prompts' ids.
 *
 * A prompt may have several answers, where a model was asked again and again.  They are kept as they were.
 */
#ifndef DATA_PROMPT_QUERY_ANSWERS_H
#define DATA_PROMPT_QUERY_ANSWERS_H

#include "data/prompt/model_output.h"
#include "data/util/strings.h"

#include <jansson.h>

struct query_answers {
    struct strings ids;
    struct text_items *texts; /* of each id */
    int cap;
};

/* JSONL of {"id", "text"} or {"id", "texts": [{"text"} or a text]}, as ambit-infer generate writes them; records with
 * "error" instead are passed over.  -1 with EXIT_CODE_DATA; the caller releases either way. */
int query_answers_open(struct query_answers *a, const char *path, struct error *err);
/* The answers to the record's prompt; NULL when there are none.  5 and "5" are one id. */
const struct text_items *query_answers_find(const struct query_answers *a, const json_t *record);
void query_answers_release(struct query_answers *a);

#endif
