#include "models/text/chat.h"

#include "data/base/json.h"
#include "data/base/whole_file.h"
#include "models/text/utf8.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum chat_mark { CHAT_TURN_END, CHAT_HEAD, CHAT_HEAD_END, CHAT_TEXT_START };

/* Templates that put the same special tokens in the same places. */
struct chat_family {
    const char *marks[CHAT_MARKS]; /* [n_marks] special tokens by enum chat_mark */
    int n_marks;
    const char *after_turn;
    void (*put_head)(const struct chat *c, struct chat_text *out, const char *role);
    /* content is the system message if there is one, else NULL */
    void (*put_system)(const struct chat *c, struct chat_text *out, const char *content);
};

struct chat_template {
    const char *name;
    uint64_t fingerprint;             /* hash_bytes of the published text without its last line break */
    const struct chat_family *family; /* NULL: a template with a layout */
    bool trims;                       /* remove white space around each message */
    const char *today;                /* Llama 3: today's date in the system turn; NULL: no dates */
    const char *system;               /* ChatML: default system message; NULL: none */
    const char *text;                 /* Jinja text that chat_write can write, else NULL */
    const char *layout;               /* JSON of a layout, as in a user's file; else NULL */
};

/* Places of a layout. */
enum chat_place {
    CHAT_START,
    CHAT_BEFORE_SYSTEM,
    CHAT_BEHIND_SYSTEM,
    CHAT_BEFORE_USER,
    CHAT_BEHIND_USER,
    CHAT_BEFORE_ASSISTANT,
    CHAT_BEHIND_ASSISTANT, /* its first piece is the token that ends a completion */
    CHAT_PLACES
};

enum { CHAT_PIECES = 64 };

/* A special token, or plain text (token is -1). */
struct chat_piece {
    char *text;
    int32_t token;
};

/* A declarative template: pieces before and after the messages of each role. The pieces of a place are first[place] to
 * first[place + 1] - 1. See docs/reference/chat-templates.md. */
struct chat_layout {
    struct chat_template template;
    char name[32];
    struct chat_piece pieces[CHAT_PIECES];
    int first[CHAT_PLACES + 1];
    char *join; /* text between the system message and the first user message; NULL: the system message has a turn of
                   its own */
    bool trims;
};

/* Appends a span of text. */
static void append(struct chat_text *out, const char *text, int64_t length, int32_t special, bool completion)
{
    if (out->cap - out->length <= length) {
        out->cap = (out->cap + length) * 2 + 256;
        out->text = xrealloc(out->text, (size_t)out->cap);
    }
    memcpy(out->text + out->length, text, (size_t)length);
    GROW(out->spans, out->count, out->cap_spans);
    out->spans[out->count++] = (struct chat_span){ out->length, out->length + length, special, completion };
    out->length += length;
    out->text[out->length] = '\0';
}

static void put(struct chat_text *out, const char *text)
{
    append(out, text, (int64_t)strlen(text), -1, false);
}

static void put_mark(const struct chat *c, struct chat_text *out, enum chat_mark which, bool completion)
{
    const char *text = c->template->family->marks[which];
    append(out, text, (int64_t)strlen(text), c->marks[which], completion);
}

/* White space as in Python's str.strip(). */
static bool is_white(uint32_t cp)
{
    return (cp >= 9 && cp <= 13) || (cp >= 28 && cp <= 32) || cp == 0x85 || cp == 0xA0 || cp == 0x1680 ||
           (cp >= 0x2000 && cp <= 0x200A) || cp == 0x2028 || cp == 0x2029 || cp == 0x202F || cp == 0x205F ||
           cp == 0x3000;
}

/* Removes white space from both ends. */
static const char *trim(const char *text, int64_t *length)
{
    int64_t start = -1, end = 0, n = *length;
    uint32_t cp;
    bool valid;

    for (int64_t at = 0; at < n;) {
        int bytes = utf8_read(text + at, n - at, &cp, &valid);
        if (!is_white(cp)) {
            start = start < 0 ? at : start;
            end = at + bytes;
        }
        at += bytes;
    }
    *length = start < 0 ? 0 : end - start;
    return start < 0 ? text : text + start;
}

/* Appends a message, without surrounding white space if `trims`. */
static void append_content(struct chat_text *out, const char *content, bool trims, bool completion)
{
    int64_t length = (int64_t)strlen(content);

    if (trims)
        content = trim(content, &length);
    append(out, content, length, -1, completion);
}

static void put_content(const struct chat *c, struct chat_text *out, const char *content, bool completion)
{
    append_content(out, content, c->template->trims, completion);
}

static bool is_role(const struct chat_message *m, const char *role)
{
    return strcmp(m->role, role) == 0;
}

static void put_turn(const struct chat *c, struct chat_text *out, const struct chat_message *m)
{
    bool completion = is_role(m, "assistant");

    c->template->family->put_head(c, out, m->role);
    put_content(c, out, m->content, completion);
    put_mark(c, out, CHAT_TURN_END, completion);
    put(out, c->template->family->after_turn);
}

/* Llama 3. */

static void llama_head(const struct chat *c, struct chat_text *out, const char *role)
{
    put_mark(c, out, CHAT_HEAD, false);
    put(out, role);
    put_mark(c, out, CHAT_HEAD_END, false);
    put(out, "\n\n");
}

/* Writes a system turn with the dates and the system message, if any. Without dates, only a system message makes a
 * turn. */
static void llama_system(const struct chat *c, struct chat_text *out, const char *content)
{
    put_mark(c, out, CHAT_TEXT_START, false);
    if (!c->template->today) {
        if (content)
            put_turn(c, out, &(struct chat_message){ "system", content });
        return;
    }
    llama_head(c, out, "system");
    put(out, "Cutting Knowledge Date: December 2023\nToday Date: ");
    put(out, c->template->today);
    put(out, "\n\n");
    put_content(c, out, content ? content : "", false);
    put_mark(c, out, CHAT_TURN_END, false);
}

static const struct chat_family llama3 = {
    .marks = { "<|eot_id|>", "<|start_header_id|>", "<|end_header_id|>", "<|begin_of_text|>" },
    .n_marks = 4,
    .after_turn = "",
    .put_head = llama_head,
    .put_system = llama_system,
};

/* ChatML. */

static void chatml_head(const struct chat *c, struct chat_text *out, const char *role)
{
    put_mark(c, out, CHAT_HEAD, false);
    put(out, role);
    put(out, "\n");
}

static void chatml_system(const struct chat *c, struct chat_text *out, const char *content)
{
    if (!content)
        content = c->template->system;
    if (content)
        put_turn(c, out, &(struct chat_message){ "system", content });
}

static const struct chat_family chatml = {
    .marks = { "<|im_end|>", "<|im_start|>" },
    .n_marks = 2,
    .after_turn = "\n",
    .put_head = chatml_head,
    .put_system = chatml_system,
};

const char *chat_name(const struct chat *c)
{
    return c->template->name;
}

int32_t chat_end(const struct chat *c)
{
    return c->marks[CHAT_TURN_END];
}

static void mask_push(struct chat_mask *mask, bool completion)
{
    if (!mask)
        return;
    GROW(mask->items, mask->count, mask->cap);
    mask->items[mask->count++] = completion;
}

/* Encodes spans [first, last) of plain text as one text, as the reference does: a token may cross their boundaries. */
static void encode_plain(const struct tokenizer *t, const struct chat_text *text, int64_t first, int64_t last,
                         struct ids *ids, struct token_spans *origins, struct chat_mask *mask)
{
    int64_t start = text->spans[first].start, length = text->spans[last - 1].end - start;

    origins->count = 0;
    tokenizer_encode(t, text->text + start, (size_t)length, 0, ids, origins);
    for (int64_t i = 0, part = first; i < origins->count; i++) {
        while (text->spans[part].end <= start + origins->items[i].start)
            part++;
        mask_push(mask, text->spans[part].completion);
    }
}

void chat_encode(const struct tokenizer *t, const struct chat_text *text, struct ids *ids, struct chat_mask *mask)
{
    struct token_spans origins = { 0 };

    for (int64_t i = 0, next; i < text->count; i = next) {
        const struct chat_span *p = text->spans + i;
        next = i + 1;
        if (p->special >= 0) {
            ids_push(ids, p->special);
            mask_push(mask, p->completion);
            continue;
        }
        while (next < text->count && text->spans[next].special < 0)
            next++;
        encode_plain(t, text, i, next, ids, &origins, mask);
    }
    token_spans_release(&origins);
}

void chat_text_release(struct chat_text *text)
{
    free(text->text);
    free(text->spans);
    *text = (struct chat_text){ 0 };
}

void chat_mask_release(struct chat_mask *mask)
{
    free(mask->items);
    *mask = (struct chat_mask){ 0 };
}

void chat_messages_release(struct chat_messages *m)
{
    free(m->items);
    *m = (struct chat_messages){ 0 };
}

/* Layouts. */

/* State of reading a layout. */
struct layout_reader {
    struct chat_layout *layout;
    int n; /* pieces so far */
    const struct tokenizer *tokenizer;
    const char *where;
    struct error *err;
};

static int refuse(const struct layout_reader *r, const char *place, const char *expected)
{
    return error_set(r->err, EXIT_CODE_DATA, "%s: %s: expected %s", r->where, place, expected);
}

static int add_piece(struct layout_reader *r, const json_t *v, const char *place)
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
    r->layout->pieces[r->n++] = (struct chat_piece){ xstrdup(text), id };
    return 0;
}

static int add_place(struct layout_reader *r, const json_t *list, const char *place)
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

/* Reads the pieces before and after a role's messages. NULL: there are none. */
static int add_role(struct layout_reader *r, const json_t *o, const char *role, enum chat_place before)
{
    const char *key;
    json_t *v;

    if (o && !json_is_object(o))
        return refuse(r, role, "{\"before\": [...], \"after\": [...]}");
    json_object_foreach((json_t *)(uintptr_t)o, key, v)
    {
        if (strcmp(key, "before") && strcmp(key, "after"))
            return refuse(r, role, "before and after, and no more");
    }
    r->layout->first[before] = r->n;
    if (add_place(r, json_object_get(o, "before"), role))
        return -1;
    r->layout->first[before + 1] = r->n;
    return add_place(r, json_object_get(o, "after"), role);
}

static int check_keys(const struct layout_reader *r, const json_t *o)
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

static int read_join(struct layout_reader *r, const json_t *o)
{
    const json_t *join = json_object_get(o, "join");

    if (!json_object_get(o, "system") == !join)
        return refuse(r, "system", "either system, or join, which stands between its message and the user's");
    if (join && !json_is_string(join))
        return refuse(r, "join", "a text");
    r->layout->join = join ? xstrdup(json_string_value(join)) : NULL;
    return 0;
}

static int read_layout(struct layout_reader *r, const json_t *o)
{
    struct chat_layout *f = r->layout;

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
        return refuse(r, "assistant", "after to begin with the token that ends an answer");
    return 0;
}

static void layout_free(struct chat_layout *layout)
{
    for (int i = 0; layout && i < CHAT_PIECES; i++)
        free(layout->pieces[i].text);
    if (layout)
        free(layout->join);
    free(layout);
}

/* Reads a layout. Returns -1 with EXIT_CODE_DATA, or EXIT_CODE_CHECKPOINT if the vocabulary lacks a token. */
static int layout_read(struct chat_layout **layout, const json_t *o, const char *where, const struct tokenizer *t,
                       struct error *err)
{
    struct layout_reader r = { .layout = xcalloc(1, sizeof *r.layout), .tokenizer = t, .where = where, .err = err };

    if (read_layout(&r, o)) {
        layout_free(r.layout);
        return -1;
    }
    *layout = r.layout;
    return 0;
}

/* After a completion, the first piece is the token that ends it. It belongs to the completion. */
static void put_place(const struct chat_layout *f, struct chat_text *out, enum chat_place place)
{
    for (int i = f->first[place]; i < f->first[place + 1]; i++) {
        bool completion = place == CHAT_BEHIND_ASSISTANT && i == f->first[place];
        append(out, f->pieces[i].text, (int64_t)strlen(f->pieces[i].text), f->pieces[i].token, completion);
    }
}

static enum chat_place place_of(const char *role)
{
    return !strcmp(role, "system") ? CHAT_BEFORE_SYSTEM
           : !strcmp(role, "user") ? CHAT_BEFORE_USER
                                   : CHAT_BEFORE_ASSISTANT;
}

/* joined is a system message that is put before this message, or NULL. */
static void put_message(const struct chat_layout *f, struct chat_text *out, const struct chat_message *m,
                        const char *joined)
{
    enum chat_place place = place_of(m->role);

    put_place(f, out, place);
    if (joined) {
        append_content(out, joined, f->trims, false);
        append(out, f->join, (int64_t)strlen(f->join), -1, false);
    }
    append_content(out, m->content, f->trims, place == CHAT_BEFORE_ASSISTANT);
    put_place(f, out, place + 1);
}

static void layout_render(const struct chat_layout *f, const struct chat_messages *m, bool prompt,
                          struct chat_text *out)
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

/* Published templates, looked up by name or by fingerprint, and the messages of a record. */

enum { MAX_TEMPLATE = 1 << 20, MAX_PATH = 4096 };

#define QWEN "You are Qwen, created by Alibaba Cloud. You are a helpful assistant."

/* ambit's own templates, for vocabularies trained by ambit: turns without dates and default messages. */
#define LLAMA3_BARE                                                                                                    \
    "{{ bos_token }}{% for message in messages %}{{ '<|start_header_id|>' + message['role'] + "                        \
    "'<|end_header_id|>\\n\\n' + message['content'] | trim + '<|eot_id|>' }}{% endfor %}"                              \
    "{% if add_generation_prompt %}{{ '<|start_header_id|>assistant<|end_header_id|>\\n\\n' }}{% endif %}"
#define CHATML_BARE                                                                                                    \
    "{% for message in messages %}{{ '<|im_start|>' + message['role'] + '\\n' + message['content'] + "                 \
    "'<|im_end|>\\n' }}{% endfor %}{% if add_generation_prompt %}{{ '<|im_start|>assistant\\n' }}{% endif %}"

/* Gemma's own template refuses system messages. Here they are put before the first user message. */
#define GEMMA                                                                                                          \
    "{\"start\":[{\"token\":\"<bos>\"}],\"join\":\"\\n\\n\",\"trim\":true,"                                            \
    "\"user\":{\"before\":[{\"token\":\"<start_of_turn>\"},\"user\\n\"],"                                              \
    "\"after\":[{\"token\":\"<end_of_turn>\"},\"\\n\"]},"                                                              \
    "\"assistant\":{\"before\":[{\"token\":\"<start_of_turn>\"},\"model\\n\"],"                                        \
    "\"after\":[{\"token\":\"<end_of_turn>\"},\"\\n\"]}}"
/* Mistral 7B Instruct 0.1, with a space after each completion, and 0.2. Their own templates refuse system messages too.
 */
#define MISTRAL(after)                                                                                                   \
    "{\"start\":[{\"token\":\"<s>\"}],\"join\":\"\\n\\n\",\"user\":{\"before\":[\"[INST] \"],\"after\":[\" [/INST]\"]}," \
    "\"assistant\":{\"after\":[{\"token\":\"</s>\"}" after "]}}"

static const struct chat_template templates[] = {
    /* Meta's template of Llama 3.1 and 3.3 */
    { "llama3", 0xcc0368e1ffb6b958, &llama3, true, "26 Jul 2024", NULL, NULL, NULL },
    /* Unsloth's template, used to train its adapters */
    { "llama3-unsloth", 0x85268fb1bbb68a11, &llama3, false, "26 July 2024", NULL, NULL, NULL },
    /* Qwen 2.5's template, and Unsloth's copy of it */
    { "chatml", 0xe642ce246d7f2e3d, &chatml, false, NULL, QWEN, NULL, NULL },
    { "chatml", 0x9927118b34627a4d, &chatml, false, NULL, QWEN, NULL, NULL },
    /* Qwen 3's template of July 2025 */
    { "chatml-bare", 0x3751fe8ea48448ab, &chatml, false, NULL, NULL, NULL, NULL },
    { "llama3-bare", 0x2fd22ccbef699b03, &llama3, true, NULL, NULL, LLAMA3_BARE, NULL },
    { "chatml-bare", 0xaf4d3c86a9a50e79, &chatml, false, NULL, NULL, CHATML_BARE, NULL },
    { .name = "gemma", .fingerprint = 0x70f3cded3fb90051, .layout = GEMMA },
    { .name = "mistral-spaced", .fingerprint = 0xc730acc029ce6ee0, .layout = MISTRAL(",\" \"") },
    { .name = "mistral", .fingerprint = 0x8c734b90b4f8d84d, .layout = MISTRAL("") },
};
#define NAMES "llama3, llama3-unsloth, llama3-bare, chatml, chatml-bare, gemma, mistral or mistral-spaced"

void chat_render(const struct chat *c, const struct chat_messages *m, bool prompt, struct chat_text *out)
{
    bool system = m->count > 0 && is_role(m->items, "system");

    out->length = out->count = 0;
    if (c->layout) {
        layout_render(c->layout, m, prompt, out);
        return;
    }
    c->template->family->put_system(c, out, system ? m->items->content : NULL);
    for (int64_t i = system; i < m->count; i++)
        put_turn(c, out, m->items + i);
    if (prompt)
        c->template->family->put_head(c, out, "assistant");
}

static const struct chat_template *by_name(const char *name, struct error *err)
{
    for (int i = 0; i < ARRAY_LEN(templates); i++)
        if (strcmp(templates[i].name, name) == 0)
            return templates + i;
    error_set(err, EXIT_CODE_USAGE,
              "chat template: expected " NAMES ", or a file whose name ends in .json, got \"%.80s\"", name);
    return NULL;
}

static const struct chat_template *find_fingerprint(uint64_t fingerprint)
{
    for (int i = 0; i < ARRAY_LEN(templates); i++)
        if (templates[i].fingerprint == fingerprint)
            return templates + i;
    return NULL;
}

const char *chat_name_of(uint64_t fingerprint)
{
    const struct chat_template *found = find_fingerprint(fingerprint);
    return found ? found->name : NULL;
}

static const struct chat_template *by_text(const char *text, const char *where, struct error *err)
{
    size_t length = strlen(text);
    uint64_t hash = hash_bytes(HASH_START, text, length - (length > 0 && text[length - 1] == '\n'));
    const struct chat_template *found = find_fingerprint(hash);

    if (!found)
        error_set(err, EXIT_CODE_CHECKPOINT,
                  "%s: unknown chat template (fingerprint %016llx); give its name: " NAMES
                  ", or a .json file that describes it",
                  where, (unsigned long long)hash);
    return found;
}

/* Returns the template: a string, or the entry "default" of a list. NULL if there is none. */
static const char *text_of(const json_t *value)
{
    const json_t *o;
    size_t i;

    if (json_is_string(value))
        return json_string_value(value);
    json_array_foreach(value, i, o)
    {
        const char *name = json_string_value(json_object_get(o, "name"));
        if (name && strcmp(name, "default") == 0)
            return json_string_value(json_object_get(o, "template"));
    }
    return NULL;
}

static const struct chat_template *from_config(const char *dir, struct error *err)
{
    char path[MAX_PATH];
    const struct chat_template *found = NULL;

    snprintf(path, sizeof path, "%s/tokenizer_config.json", dir);
    json_t *config = access(path, F_OK) == 0 ? json_read_file_reals(path, err) : NULL;
    if (!config && access(path, F_OK) == 0)
        return NULL;
    const char *text = text_of(json_object_get(config, "chat_template"));
    if (text)
        found = by_text(text, path, err);
    else
        error_set(err, EXIT_CODE_CHECKPOINT, "%s: no chat_template, and no chat_template.jinja in its folder", path);
    json_decref(config);
    return found;
}

static const struct chat_template *from_jinja(const char *path, struct error *err)
{
    size_t n;
    char *text = whole_file_read(path, MAX_TEMPLATE, &n, err);
    const struct chat_template *found = text ? by_text(text, path, err) : NULL;

    free(text);
    return found;
}

static const struct chat_template *from_folder(const char *dir, struct error *err)
{
    char path[MAX_PATH];

    if (strlen(dir) > MAX_PATH - 64) {
        error_set(err, EXIT_CODE_CHECKPOINT, "%.80s...: path too long", dir);
        return NULL;
    }
    snprintf(path, sizeof path, "%s/chat_template.jinja", dir);
    return access(path, F_OK) ? from_config(dir, err) : from_jinja(path, err);
}

/* Opens a layout, built in or a user's. */
static int open_layout(struct chat *c, const json_t *o, const char *where, const struct tokenizer *t, struct error *err)
{
    if (layout_read(&c->layout, o, where, t, err))
        return -1;
    c->marks[CHAT_TURN_END] = c->layout->pieces[c->layout->first[CHAT_BEHIND_ASSISTANT]].token;
    return 0;
}

/* The name of a user's template contains its fingerprint, by which a later run recognises it. */
static int open_file(struct chat *c, const char *path, const struct tokenizer *t, struct error *err)
{
    size_t n;
    char *text = whole_file_read(path, MAX_TEMPLATE, &n, err);
    json_t *o = text ? json_read_file(path, err) : NULL;
    int rc = o ? open_layout(c, o, path, t, err) : -1;

    if (rc == 0) {
        struct chat_layout *f = c->layout;
        snprintf(f->name, sizeof f->name, "pieces-%016llx", (unsigned long long)hash_bytes(HASH_START, text, n));
        f->template.name = f->name;
        c->template = &f->template;
    }
    json_decref(o);
    free(text);
    return rc;
}

static int open_published_layout(struct chat *c, const char *dir, const struct tokenizer *t, struct error *err)
{
    char where[MAX_PATH];
    json_t *o = json_loads(c->template->layout, 0, NULL);

    CHECK(o, "chat template %s is not JSON", c->template->name);
    snprintf(where, sizeof where, "%.4000s: chat template %s", dir, c->template->name);
    int rc = open_layout(c, o, where, t, err);
    json_decref(o);
    return rc;
}

void chat_release(struct chat *c)
{
    layout_free(c->layout);
    *c = (struct chat){ 0 };
}

int chat_open(struct chat *c, const char *dir, const char *name, const struct tokenizer *t, struct error *err)
{
    *c = (struct chat){ 0 };
    if (name && text_ends_with(name, ".json"))
        return open_file(c, name, t, err);
    c->template = name ? by_name(name, err) : from_folder(dir, err);
    if (!c->template) {
        if (err && err->code == EXIT_CODE_DATA)
            err->code = EXIT_CODE_CHECKPOINT;
        return -1;
    }
    if (c->template->layout)
        return open_published_layout(c, dir, t, err);
    for (int i = 0; i < c->template->family->n_marks; i++) {
        const char *text = c->template->family->marks[i];
        if ((c->marks[i] = tokenizer_id(t, text)) < 0)
            return error_set(err, EXIT_CODE_CHECKPOINT,
                             "%s: chat template %s needs the token %s, which is not in the vocabulary", dir,
                             c->template->name, text);
    }
    return 0;
}

int chat_write(const char *dir, const char *name, struct error *err)
{
    char path[MAX_PATH];
    struct out_file o;
    const char *text = NULL;

    for (int i = 0; i < ARRAY_LEN(templates); i++)
        if (templates[i].text && strcmp(templates[i].name, name) == 0)
            text = templates[i].text;
    CHECK(text, "chat template %s has no text here", name);
    if (snprintf(path, sizeof path, "%s/chat_template.jinja", dir) >= (int)sizeof path)
        return error_set(err, EXIT_CODE_USAGE, "%.80s...: path too long", dir);
    if (out_file_open(&o, path, err))
        return -1;
    if (fputs(text, o.f) != EOF)
        return out_file_commit(&o, err);
    out_file_abort(&o);
    return error_set(err, EXIT_CODE_FAILURE, "%s: cannot write: %s", path, strerror(errno));
}

static int read_message(struct chat_messages *m, const json_t *o, const char *where, struct error *err)
{
    struct chat_message message = { json_get_string(o, "role", where, err), NULL };

    if (!message.role || !(message.content = json_get_string(o, "content", where, err)))
        return -1;
    if (strcmp(message.role, "system") != 0 && strcmp(message.role, "user") != 0 &&
        strcmp(message.role, "assistant") != 0)
        return error_set(err, EXIT_CODE_DATA, "%s: role: expected system, user or assistant, got \"%.80s\"", where,
                         message.role);
    GROW(m->items, m->count, m->cap);
    m->items[m->count++] = message;
    return 0;
}

int chat_read(struct chat_messages *m, const json_t *list, const char *where, struct error *err)
{
    char inside[MAX_PATH];
    const json_t *o;
    size_t i;

    m->count = 0;
    json_array_foreach(list, i, o)
    {
        snprintf(inside, sizeof inside, "%s: messages[%zu]", where, i);
        if (read_message(m, o, inside, err))
            return -1;
    }
    if (m->count == 0)
        return error_set(err, EXIT_CODE_DATA, "%s: messages: expected a list of {\"role\", \"content\"}", where);
    return 0;
}
