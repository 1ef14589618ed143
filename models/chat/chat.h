/*
 * chat.h - conversations as the instruction-tuned models were taught to read them: Llama 3.1's template, ChatML,
 * Gemma's, Mistral's, and those that a user writes down in pieces (docs/reference/chat-templates.md).
 *
 * Templates are Jinja programs that come with the model; these here are written by hand for conversations without
 * tools, and a folder's template is told by its fingerprint, so that one which would read otherwise is refused rather
 * than guessed at.  Special tokens are put in by id and everything else is plain text: a message that holds
 * "<|im_end|>" holds those ten characters.  A rendered conversation has all its special tokens; add none.
 */
#ifndef MODELS_CHAT_CHAT_H
#define MODELS_CHAT_CHAT_H

#include "models/tokenizer/tokenizer.h"

#include <jansson.h>

enum { CHAT_MARKS = 4 };

/* Which template, and the ids of its special tokens in one vocabulary. */
struct chat {
    const struct chat_template *template;
    int32_t marks[CHAT_MARKS];
    struct chat_form *form; /* of a template in pieces, else NULL */
};

/* Role is "system", "user" or "assistant". */
struct chat_message {
    const char *role, *content;
};

struct chat_messages {
    struct chat_message *items;
    int64_t count, cap;
};

/* A stretch of rendered text: a special token, or plain text (special is -1). */
struct chat_part {
    int64_t start, end;
    int32_t special;
    bool answer; /* what the assistant says, or the token that ends it */
};

struct chat_text {
    char *text;
    int64_t length, cap;
    struct chat_part *parts;
    int64_t count, cap_parts;
};

/* One byte for each token: 1 where the model's answer is, 0 elsewhere. */
struct chat_mask {
    uint8_t *items;
    int64_t count, cap;
};

/* The template called name ("llama3", "llama3-unsloth", "llama3-bare", "chatml", "chatml-bare", "gemma", "mistral",
 * "mistral-spaced"), that of the file which name ends in .json to say, or, when name is NULL, the one that the model
 * folder dir names: chat_template.jinja, or else chat_template in tokenizer_config.json.  -1, with nothing to release:
 * an unknown name (EXIT_CODE_USAGE), a file that holds no template (EXIT_CODE_DATA); no template, one nobody here
 * knows, or a special token that the vocabulary does not have (EXIT_CODE_CHECKPOINT). */
int chat_open(struct chat *c, const char *dir, const char *name, const struct tokenizer *t, struct error *err);
void chat_release(struct chat *c);
/* Writes chat_template.jinja of "llama3-bare" or "chatml-bare", whose text is ours, into dir. */
int chat_write(const char *dir, const char *name, struct error *err);
const char *chat_name(const struct chat *c);
/* The name of the published template with this fingerprint, hash_bytes() of its text without a last line break.  NULL
 * for an unknown one. */
const char *chat_name_of(uint64_t fingerprint);
/* The token that ends a turn. */
int32_t chat_end(const struct chat *c);

/* Reads [{"role", "content"}, ...]; the strings stay list's.  -1 with EXIT_CODE_DATA. */
int chat_read(struct chat_messages *m, const json_t *list, const char *where, struct error *err);
void chat_messages_release(struct chat_messages *m);

/* Replaces out with the conversation; prompt: and with the head of the assistant's turn that comes next. */
void chat_render(const struct chat *c, const struct chat_messages *m, bool prompt, struct chat_text *out);
void chat_text_release(struct chat_text *text);

/* Appends the ids of a rendered conversation and, unless mask is NULL, for each whether it is the answer's.  A token
 * that begins before the answer's first character is not. */
void chat_encode(const struct tokenizer *t, const struct chat_text *text, struct ids *ids, struct chat_mask *mask);
void chat_mask_release(struct chat_mask *mask);

#endif
