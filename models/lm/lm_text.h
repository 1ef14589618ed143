/*
 * lm_text.h - the records that a language model reads: a raw prompt, or a conversation in the model's chat template.
 *
 *   {"id", "prompt"}                  tokenised as it is; nothing is put around it, but that what an encoder-decoder
 *                                     reads ends with </s>, and its answer does
 *   {"id", "messages": [{"role", "content"}, ...]}
 *                                     an encoder-decoder, which has no template, reads one message of the user's as a
 *                                     prompt
 *
 * With an answer (for its loss): {"id", "prompt", "completion"}, or messages whose last one is the assistant's.  Names
 * of special tokens in any text are text.
 */
#ifndef MODELS_LM_LM_TEXT_H
#define MODELS_LM_LM_TEXT_H

#include "data/base/json.h"
#include "models/lm/llama_model.h"

/* What of a record is to be predicted. */
enum lm_answer {
    LM_OPEN,        /* nothing: the answer is to be written */
    LM_LAST_ANSWER, /* the completion, or the last message, which must be the assistant's */
    LM_ALL_ANSWERS  /* the completion, or all the assistant says */
};

struct lm_text {
    json_t *id; /* as the record has it; NULL: a record that could not be read */
    struct ids ids;
    struct chat_mask answer; /* one byte a token: 1 where the answer to be scored is; empty without an answer */
    char *error;             /* NULL when it can be run */
};

/* A message counts with the token that ends it.  What is wrong is left in p->error; `where` opens the message.  A
 * prompt has at least one token, and with its answer no more than the model has positions; an open one leaves room for
 * one more.  An encoder-decoder has no such limit: its positions are relative. */
void lm_text_read(struct lm_text *p, const struct llama_model *m, const json_t *record, enum lm_answer answer,
                  const char *where);
void lm_text_release(struct lm_text *p);
/* A pair whose sides have at most `most` tokens (at least 1), the one that ends a side being the last all the same.
 * Returns whether it was longer. */
bool lm_text_truncate(struct lm_text *p, int64_t most);
/* Tokens before the first of its answers, which it must have. */
int64_t lm_text_prompt_length(const struct lm_text *p);
/* Of its random numbers: a sum of its id. */
uint64_t lm_text_key(const struct lm_text *p);

/* {"id", "error"} */
json_t *lm_text_error(const struct lm_text *p);

#endif
