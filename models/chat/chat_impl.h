/*
 * chat_impl.h - what a chat template is made of; for chat.c, chat_form.c and chat_open.c only.
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
    uint64_t fingerprint;             /* hash_bytes of the published text without its last line break */
    const struct chat_family *family; /* NULL: a template in pieces */
    bool trims;                       /* white space round every message goes */
    const char *today;                /* Llama: the date it tells, NULL for no turn of its own */
    const char *system;               /* ChatML: the system's message when there is none, NULL for no turn */
    const char *text;                 /* where chat_write can write it, else NULL */
    const char *form;                 /* of a template in pieces, as its file would be */
};

/* Where the pieces of a template stand. */
enum chat_place {
    CHAT_START,
    CHAT_BEFORE_SYSTEM,
    CHAT_BEHIND_SYSTEM,
    CHAT_BEFORE_USER,
    CHAT_BEHIND_USER,
    CHAT_BEFORE_ASSISTANT,
    CHAT_BEHIND_ASSISTANT, /* the first is the token that ends an answer */
    CHAT_PLACES
};
enum { CHAT_PIECES = 64 };

/* A special token, or plain text (token is -1). */
struct chat_piece {
    char *text;
    int32_t token;
};

/* A template in pieces: those of a place are first[place] .. first[place + 1] - 1. */
struct chat_form {
    struct chat_template template;
    char name[32];
    struct chat_piece pieces[CHAT_PIECES];
    int first[CHAT_PLACES + 1];
    char *join; /* what stands between the system's message and the first user's; NULL: it has a turn of its own */
    bool trims;
};

/* The template that a parsed file says.  -1 with EXIT_CODE_DATA, or EXIT_CODE_CHECKPOINT where the vocabulary lacks a
 * token. */
int chat_form_read(struct chat_form **form, const json_t *o, const char *where, const struct tokenizer *t,
                   struct error *err);
void chat_form_free(struct chat_form *form);
void chat_form_render(const struct chat_form *f, const struct chat_messages *m, bool prompt, struct chat_text *out);

/* A stretch of text goes to the end of out. */
void chat_append(struct chat_text *out, const char *text, int64_t length, int32_t special, bool answer);
/* A message's text, without the white space round it where `trims`. */
void chat_append_content(struct chat_text *out, const char *content, bool trims, bool answer);

#endif
