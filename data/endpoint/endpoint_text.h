/*
 * endpoint_text.h - requests and replies of OpenAI-compatible servers as JSON, without the network.
 *
 * vLLM, Ollama, llama.cpp's server and hosted services take POST chat/completions with "messages", and POST completions
 * with "prompt".  A reply comes from a stranger: its size, its number of texts and its numbers are bounded.
 */
#ifndef DATA_ENDPOINT_ENDPOINT_TEXT_H
#define DATA_ENDPOINT_ENDPOINT_TEXT_H

#include "kernels/base.h"

#include <jansson.h>

enum { ENDPOINT_MAX_REPLY = 32 << 20 /* bytes */, ENDPOINT_MAX_SAMPLES = 256, ENDPOINT_MAX_MESSAGE = 300 };

/* Settings of completions, as the request has them. */
struct endpoint_sampling {
    int samples; /* completions of each prompt, at most ENDPOINT_MAX_SAMPLES */
    int64_t max_new, top_k, seed;
    double temperature, top_p, min_p, typical_p; /* 0, 1, 0 and 1: not sent, except the temperature */
    const char *stop;                            /* stop string, or NULL */
    bool logprobs;                               /* ask for log-probabilities of tokens */
};

/* A token of a text. */
struct endpoint_token {
    size_t end; /* number of bytes of the text up to the end of the token */
    double logp;
};

/* A completion.  Owns its values. */
struct endpoint_text {
    char *text;                    /* NULL: not received */
    bool stopped;                  /* the completion ended by itself, not at the limit of its length */
    struct endpoint_token *tokens; /* NULL: the server gave no log-probabilities of this text */
    int64_t n_tokens;
};
void endpoint_text_release(struct endpoint_text *t);
/* Sum of the log-probabilities of the tokens with a byte in [from, to); NAN without log-probabilities. */
double endpoint_text_logp(const struct endpoint_text *t, size_t from, size_t to);
/* The text as JSON, and back.  endpoint_text_from_json returns -1 if the value is not one of endpoint_text_to_json. */
json_t *endpoint_text_to_json(const struct endpoint_text *t);
int endpoint_text_from_json(struct endpoint_text *t, const json_t *o);

/* Differences between servers, which are found by their refusals. */
struct endpoint_dialect {
    bool no_logprobs;           /* the server refuses "logprobs" */
    bool max_completion_tokens; /* the server refuses "max_tokens" */
};

/* Returns the body of a request for `samples` completions, the first with this number, as a new reference.  record has
 * "messages" or "prompt" and is borrowed.  model may be NULL. */
json_t *endpoint_request(const json_t *record, const char *model, const struct endpoint_sampling *s,
                         const struct endpoint_dialect *d, int first, int samples);
/* Whether the record has messages, and so is sent to chat/completions. */
bool endpoint_is_chat(const json_t *record);

struct endpoint_usage {
    int64_t prompt, completion; /* tokens, as far as the server tells them */
};

/* Reads at most max texts of a reply, by their "index".  Returns their number, or -1 with EXIT_CODE_DATA. */
int endpoint_reply(struct endpoint_text *texts, int max, struct endpoint_usage *usage, const char *body, size_t size,
                   struct error *err);
/* Writes the message of an error reply, or the start of its text, to text [ENDPOINT_MAX_MESSAGE]. */
void endpoint_message(char *text, const char *body, size_t size);

#endif
