/* Part of chat.h: templates in pieces, as a file says them (docs/reference/chat-templates.md). */
#include "data/util/json.h"
#include "models/chat/chat_impl.h"

#include <stdlib.h>
#include <string.h>

/* A file being read. */
struct form_reader {
    struct chat_form *form;
    int n; /* pieces so far */
    const struct tokenizer *tokenizer;
    const char *where;
    struct error *err;
};

static int refuse(const struct form_reader *r, const char *place, const char *expected)
{
    return error_set(r->err, EXIT_CODE_DATA, "%s: %s: expected %s", r->where, place, expected);
}

static int add_piece(struct form_reader *r, const json_t *v, const char *place)
{
    const char *token = json_is_object(v) ? json_string_value(json_object_get(v, "token")) : NULL;
    const char *text = token ? token : json_string_value(v);
    int32_t id = token ? tokenizer_id(r->tokenizer, token) : -1;

    if (!text || !*text || (token && json_object_size(v) != 1))
        return refuse(r, place, "a list of texts and {\"token\": TEXT}");
    if (token && id < 0)
        return error_set(r->err, EXIT_CODE_CHECKPOINT, "%s: %s: the token %.80s is not in the vocabulary", r->where,
                         place, token);
    if (r->n == CHAT_PIECES)
        return refuse(r, place, "64 pieces at most in all");
    r->form->pieces[r->n++] = (struct chat_piece){ xstrdup(text), id };
    return 0;
}

static int add_place(struct form_reader *r, const json_t *list, const char *place)
{
    const json_t *v;
    size_t i;

    if (list && !json_is_array(list))
        return refuse(r, place, "a list of texts and {\"token\": TEXT}");
    json_array_foreach(list, i, v)
    {
        if (add_piece(r, v, place))
            return -1;
    }
    return 0;
}

/* What stands before and behind a role's messages; NULL: nothing. */
static int add_role(struct form_reader *r, const json_t *o, const char *role, enum chat_place before)
{
    const char *key;
    json_t *v;

    if (o && !json_is_object(o))
        return refuse(r, role, "{\"before\": [...], \"behind\": [...]}");
    json_object_foreach((json_t *)(uintptr_t)o, key, v)
    {
        if (strcmp(key, "before") && strcmp(key, "behind"))
            return refuse(r, role, "before and behind, and no more");
    }
    r->form->first[before] = r->n;
    if (add_place(r, json_object_get(o, "before"), role))
        return -1;
    r->form->first[before + 1] = r->n;
    return add_place(r, json_object_get(o, "behind"), role);
}

static int check_keys(const struct form_reader *r, const json_t *o)
{
    static const char *const known[] = { "start", "system", "user", "assistant", "join", "trim" };
    const char *key;
    json_t *v;

    if (!json_is_object(o))
        return error_set(r->err, EXIT_CODE_DATA, "%s: expected an object", r->where);
    json_object_foreach((json_t *)(uintptr_t)o, key, v)
    {
        int i = 0;
        while (i < ARRAY_LEN(known) && strcmp(known[i], key))
            i++;
        if (i == ARRAY_LEN(known))
            return error_set(r->err, EXIT_CODE_DATA,
                             "%s: field \"%.60s\": expected start, system, user, assistant, join or trim", r->where,
                             key);
    }
    return 0;
}

static int read_join(struct form_reader *r, const json_t *o)
{
    const json_t *join = json_object_get(o, "join");

    if (!json_object_get(o, "system") == !join)
        return refuse(r, "system", "either system, or join, which stands between its message and the user's");
    if (join && !json_is_string(join))
        return refuse(r, "join", "a text");
    r->form->join = join ? xstrdup(json_string_value(join)) : NULL;
    return 0;
}

static int read_form(struct form_reader *r, const json_t *o)
{
    struct chat_form *f = r->form;

    if (check_keys(r, o) || read_join(r, o))
        return -1;
    if (json_object_get(o, "trim") && json_get_bool(o, "trim", &f->trims, r->where, r->err))
        return -1;
    if (!json_object_get(o, "user") || !json_object_get(o, "assistant"))
        return refuse(r, "user, assistant", "both");
    if (add_place(r, json_object_get(o, "start"), "start") ||
        add_role(r, json_object_get(o, "system"), "system", CHAT_BEFORE_SYSTEM) ||
        add_role(r, json_object_get(o, "user"), "user", CHAT_BEFORE_USER) ||
        add_role(r, json_object_get(o, "assistant"), "assistant", CHAT_BEFORE_ASSISTANT))
        return -1;
    f->first[CHAT_PLACES] = r->n;
    int end = f->first[CHAT_BEHIND_ASSISTANT];
    if (end == r->n || f->pieces[end].token < 0)
        return refuse(r, "assistant", "behind to begin with the token that ends an answer");
    return 0;
}

int chat_form_read(struct chat_form **form, const json_t *o, const char *where, const struct tokenizer *t,
                   struct error *err)
{
    struct form_reader r = { .form = xcalloc(1, sizeof *r.form), .tokenizer = t, .where = where, .err = err };

    if (read_form(&r, o)) {
        chat_form_free(r.form);
        return -1;
    }
    *form = r.form;
    return 0;
}

void chat_form_free(struct chat_form *form)
{
    for (int i = 0; form && i < CHAT_PIECES; i++)
        free(form->pieces[i].text);
    if (form)
        free(form->join);
    free(form);
}

/* Of the pieces behind an answer the first, which ends it, is the answer's. */
static void put_place(const struct chat_form *f, struct chat_text *out, enum chat_place place)
{
    for (int i = f->first[place]; i < f->first[place + 1]; i++) {
        bool answer = place == CHAT_BEHIND_ASSISTANT && i == f->first[place];
        chat_append(out, f->pieces[i].text, (int64_t)strlen(f->pieces[i].text), f->pieces[i].token, answer);
    }
}

static enum chat_place place_of(const char *role)
{
    return !strcmp(role, "system") ? CHAT_BEFORE_SYSTEM
           : !strcmp(role, "user") ? CHAT_BEFORE_USER
                                   : CHAT_BEFORE_ASSISTANT;
}

/* joined: a system's message that stands before this one's text, or NULL. */
static void put_message(const struct chat_form *f, struct chat_text *out, const struct chat_message *m,
                        const char *joined)
{
    enum chat_place place = place_of(m->role);

    put_place(f, out, place);
    if (joined) {
        chat_append_content(out, joined, f->trims, false);
        chat_append(out, f->join, (int64_t)strlen(f->join), -1, false);
    }
    chat_append_content(out, m->content, f->trims, place == CHAT_BEFORE_ASSISTANT);
    put_place(f, out, place + 1);
}

void chat_form_render(const struct chat_form *f, const struct chat_messages *m, bool prompt, struct chat_text *out)
{
    const char *joined = NULL;

    put_place(f, out, CHAT_START);
    for (int64_t i = 0; i < m->count; i++) {
        enum chat_place place = place_of(m->items[i].role);
        if (f->join && place == CHAT_BEFORE_SYSTEM) {
            joined = m->items[i].content;
            continue;
        }
        put_message(f, out, &m->items[i], place == CHAT_BEFORE_USER ? joined : NULL);
        joined = place == CHAT_BEFORE_USER ? NULL : joined;
    }
    if (prompt)
        put_place(f, out, CHAT_BEFORE_ASSISTANT);
}
