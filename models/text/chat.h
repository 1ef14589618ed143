/*
 * chat.h - chat templates: Llama 3.1's, ChatML, Gemma's, Mistral's, and those that a user describes in a file
 * (docs/reference/chat-templates.md).
 *
 * Models come with Jinja templates. ambit implements the known ones by hand, for conversations without tools. A
 * folder's template is recognised by its fingerprint; an unknown one is refused, because a wrong format would silently
 * degrade the model.
 *
 * Special tokens are inserted by id, and all other text is plain: a message that contains "<|im_end|>" does not end a
 * turn. A rendered conversation has all its special tokens. Structs that are filled here are released by the caller.
 */
#ifndef MODELS_TEXT_CHAT_H
#define MODELS_TEXT_CHAT_H

#include "models/text/tokenizer.h"

#include <jansson.h>

enum { CHAT_MARKS = 4 };

/* A template, and the ids of its special tokens in one vocabulary. */
struct chat {
    const struct chat_template *template;
    int32_t marks[CHAT_MARKS];
    struct chat_layout *layout; /* layout of a declarative template, else NULL */
};

/* role is "system", "user" or "assistant". */
struct chat_message {
    const char *role, *content;
};

struct chat_messages {
    struct chat_message *items;
    int64_t count, cap;
};

/* A span of rendered text: a special token, or plain text (special is -1). */
struct chat_span {
    int64_t start, end;
    int32_t special;
    bool completion; /* text of the assistant, or the token that ends it */
};

struct chat_text {
    char *text;
    int64_t length, cap;
    struct chat_span *spans;
    int64_t count, cap_spans;
};

/* One byte for each token: 1 in a completion, 0 elsewhere. */
struct chat_mask {
    uint8_t *items;
    int64_t count, cap;
};

/* Opens a template. name is "llama3", "llama3-unsloth", "llama3-bare", "chatml", "chatml-bare", "gemma", "mistral",
 * "mistral-spaced", or a file that ends in .json. If name is NULL, the template of the model folder dir is used:
 * chat_template.jinja, or chat_template in tokenizer_config.json.
 *
 * Returns -1, with nothing to release. EXIT_CODE_USAGE: unknown name. EXIT_CODE_DATA: invalid file.
 * EXIT_CODE_CHECKPOINT: the folder has no template or an unknown one, or the vocabulary lacks a special token. */
int chat_open(struct chat *c, const char *dir, const char *name, const struct tokenizer *t, struct error *err);
void chat_release(struct chat *c);
/* Writes chat_template.jinja of "llama3-bare" or "chatml-bare", ambit's own templates, into dir. */
int chat_write(const char *dir, const char *name, struct error *err);
const char *chat_name(const struct chat *c);
/* Returns the name of the published template with this fingerprint: hash_bytes of its text without the last line break.
 * NULL if it is unknown. */
const char *chat_name_of(uint64_t fingerprint);
/* Returns the token that ends a turn. */
int32_t chat_end(const struct chat *c);

/* Reads [{"role", "content"}, ...]. Strings stay owned by list. Returns -1 with EXIT_CODE_DATA. */
int chat_read(struct chat_messages *m, const json_t *list, const char *where, struct error *err);
void chat_messages_release(struct chat_messages *m);

/* Replaces out by the rendered conversation. With `prompt`, the head of the assistant's turn follows. */
void chat_render(const struct chat *c, const struct chat_messages *m, bool prompt, struct chat_text *out);
void chat_text_release(struct chat_text *text);

/* Appends the ids of a rendered conversation. Unless mask is NULL, appends whether each id belongs to a completion. A
 * token that starts before a completion does not belong to it. */
void chat_encode(const struct tokenizer *t, const struct chat_text *text, struct ids *ids, struct chat_mask *mask);
void chat_mask_release(struct chat_mask *mask);

#endif
