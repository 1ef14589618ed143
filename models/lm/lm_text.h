/*
 * lm_text.h - tokenises the records that a language model reads: raw prompts, and conversations in its chat
 * template.
 *
 *   {"id", "prompt"}                                tokenised as it is; </s> ends an encoder-decoder's source
 *   {"id", "messages": [{"role", "content"}, ...]}  an encoder-decoder reads one user message as a prompt
 *
 * With a completion, for the loss: {"id", "prompt", "completion"}, or messages that end with the assistant's. Names
 * of special tokens in a text are plain text. The caller releases an lm_text.
 */
#ifndef MODELS_LM_LM_TEXT_H
#define MODELS_LM_LM_TEXT_H

#include "data/base/json.h"
#include "models/lm/llama_model.h"

/* The completions of a record whose tokens are predicted. */
enum lm_answer {
    LM_OPEN,        /* none: the completion is generated */
    LM_LAST_ANSWER, /* the completion, or the last message, which must be the assistant's */
    LM_ALL_ANSWERS  /* the completion, or all messages of the assistant */
};

struct lm_text {
    json_t *id; /* the record's id; NULL: the record could not be read */
    struct ids ids;
    struct chat_mask answer; /* [tokens] 1: predicted; empty without a completion */
    char *error;             /* NULL: no error */
};

/* Tokenises a record. A message includes its end token. An error is stored in p->error and starts with `where`. A
 * decoder's prompt has at least one token. With its completion it fits the model's positions; without one it leaves
 * room for a token. An encoder-decoder has no limit, since its positions are relative. */
void lm_text_read(struct lm_text *p, const struct llama_model *m, const json_t *record, enum lm_answer answer,
                  const char *where);
void lm_text_release(struct lm_text *p);
/* Truncates both sides of a pair to `most` tokens (at least 1), and keeps the end token last. Returns whether it was
 * longer. */
bool lm_text_truncate(struct lm_text *p, int64_t most);
/* Number of tokens before the first predicted one, which must exist. */
int64_t lm_text_prompt_length(const struct lm_text *p);
/* Seed of the text's random numbers: a hash of its id. */
uint64_t lm_text_key(const struct lm_text *p);

/* {"id", "error"} */
json_t *lm_text_error(const struct lm_text *p);

#endif
