/*
 * chat_impl.h - what a chat template is made of; for chat.c and chat_open.c only.
 */
#ifndef MODELS_CHAT_CHAT_IMPL_H
#define MODELS_CHAT_CHAT_IMPL_H

#include "models/chat/chat.h"

enum chat_mark { CHAT_TURN_END, CHAT_HEAD, CHAT_HEAD_END, CHAT_TEXT_START };

/* Templates that put the same special tokens in the same places. */
struct chat_family {
    const char *marks[CHAT_MARKS]; /* n_marks special tokens, by enum chat_mark */
    int n_marks;
    const char *behind_turn;
    void (*put_head)(const struct chat *c, struct chat_text *out, const char *role);
    /* content is the first message when that is the system's, else NULL */
    void (*put_system)(const struct chat *c, struct chat_text *out, const char *content);
};

extern const struct chat_family chat_llama3, chat_chatml;

struct chat_template {
    const char *name;
    uint64_t fingerprint; /* hash_bytes of the published text without its last line break */
    const struct chat_family *family;
    bool trims;         /* white space round every message goes */
    const char *today;  /* Llama: the date it tells, NULL for no turn of its own */
    const char *system; /* ChatML: the system's message when there is none, NULL for no turn */
    const char *text;   /* where chat_write can write it, else NULL */
};

/* NULL when it is nobody's. */
const struct chat_template *chat_by_fingerprint(uint64_t fingerprint);

#endif
