/* Part of chat.h: the templates, found by name or by what a model folder says, and the messages of a record. */
#include "data/util/json.h"
#include "data/util/whole_file.h"
#include "models/chat/chat_impl.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { MAX_TEMPLATE = 1 << 20, MAX_PATH = 4096 };

#define QWEN "You are Qwen, created by Alibaba Cloud. You are a helpful assistant."

/* Ours, for vocabularies learnt from text: the turns and nothing else. */
#define LLAMA3_BARE                                                                                                    \
    "{{ bos_token }}{% for message in messages %}{{ '<|start_header_id|>' + message['role'] + "                        \
    "'<|end_header_id|>\\n\\n' + message['content'] | trim + '<|eot_id|>' }}{% endfor %}"                              \
    "{% if add_generation_prompt %}{{ '<|start_header_id|>assistant<|end_header_id|>\\n\\n' }}{% endif %}"
#define CHATML_BARE                                                                                                    \
    "{% for message in messages %}{{ '<|im_start|>' + message['role'] + '\\n' + message['content'] + "                 \
    "'<|im_end|>\\n' }}{% endfor %}{% if add_generation_prompt %}{{ '<|im_start|>assistant\\n' }}{% endif %}"

/* Gemma's template refuses a system's message; ours has it before the first user's. */
#define GEMMA                                                                                                          \
    "{\"start\":[{\"token\":\"<bos>\"}],\"join\":\"\\n\\n\",\"trim\":true,"                                            \
    "\"user\":{\"before\":[{\"token\":\"<start_of_turn>\"},\"user\\n\"],"                                              \
    "\"behind\":[{\"token\":\"<end_of_turn>\"},\"\\n\"]},"                                                             \
    "\"assistant\":{\"before\":[{\"token\":\"<start_of_turn>\"},\"model\\n\"],"                                        \
    "\"behind\":[{\"token\":\"<end_of_turn>\"},\"\\n\"]}}"
/* Of Mistral 7B Instruct 0.1, with a blank behind each answer, and of 0.2; both refuse a system's message too. */
#define MISTRAL(behind)                                                                                                   \
    "{\"start\":[{\"token\":\"<s>\"}],\"join\":\"\\n\\n\",\"user\":{\"before\":[\"[INST] \"],\"behind\":[\" [/INST]\"]}," \
    "\"assistant\":{\"behind\":[{\"token\":\"</s>\"}" behind "]}}"

static const struct chat_template templates[] = {
    /* Meta's, of Llama 3.1 and 3.3 */
    { "llama3", 0xcc0368e1ffb6b958, &chat_llama3, true, "26 Jul 2024", NULL, NULL, NULL },
    /* Unsloth's, which its adapters were trained with */
    { "llama3-unsloth", 0x85268fb1bbb68a11, &chat_llama3, false, "26 July 2024", NULL, NULL, NULL },
    /* Qwen 2.5's, and Unsloth's copy of it */
    { "chatml", 0xe642ce246d7f2e3d, &chat_chatml, false, NULL, QWEN, NULL, NULL },
    { "chatml", 0x9927118b34627a4d, &chat_chatml, false, NULL, QWEN, NULL, NULL },
    /* Qwen 3's of July 2025 */
    { "chatml-bare", 0x3751fe8ea48448ab, &chat_chatml, false, NULL, NULL, NULL, NULL },
    { "llama3-bare", 0x2fd22ccbef699b03, &chat_llama3, true, NULL, NULL, LLAMA3_BARE, NULL },
    { "chatml-bare", 0xaf4d3c86a9a50e79, &chat_chatml, false, NULL, NULL, CHATML_BARE, NULL },
    { .name = "gemma", .fingerprint = 0x70f3cded3fb90051, .form = GEMMA },
    { .name = "mistral-spaced", .fingerprint = 0xc730acc029ce6ee0, .form = MISTRAL(",\" \"") },
    { .name = "mistral", .fingerprint = 0x8c734b90b4f8d84d, .form = MISTRAL("") },
};
#define NAMES "llama3, llama3-unsloth, llama3-bare, chatml, chatml-bare, gemma, mistral or mistral-spaced"

static const struct chat_template *by_name(const char *name, struct error *err)
{
    for (int i = 0; i < ARRAY_LEN(templates); i++)
        if (strcmp(templates[i].name, name) == 0)
            return templates + i;
    error_set(err, EXIT_CODE_USAGE,
              "chat template: expected " NAMES ", or a file whose name ends in .json, got \"%.80s\"", name);
    return NULL;
}

static const struct chat_template *by_fingerprint(uint64_t fingerprint)
{
    for (int i = 0; i < ARRAY_LEN(templates); i++)
        if (templates[i].fingerprint == fingerprint)
            return templates + i;
    return NULL;
}

const char *chat_name_of(uint64_t fingerprint)
{
    const struct chat_template *found = by_fingerprint(fingerprint);
    return found ? found->name : NULL;
}

static const struct chat_template *by_text(const char *text, const char *where, struct error *err)
{
    size_t length = strlen(text);
    uint64_t hash = hash_bytes(HASH_START, text, length - (length > 0 && text[length - 1] == '\n'));
    const struct chat_template *found = by_fingerprint(hash);

    if (!found)
        error_set(err, EXIT_CODE_CHECKPOINT,
                  "%s: a chat template of fingerprint %016llx is not known; say which to use: " NAMES
                  ", or a file that says it in pieces",
                  where, (unsigned long long)hash);
    return found;
}

/* One text, or a list of them with names, of which "default" counts.  NULL when there is none. */
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
        error_set(err, EXIT_CODE_CHECKPOINT, "%s: no chat_template in it, and no chat_template.jinja beside it", path);
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

/* A template in pieces, ours or a user's. */
static int open_form(struct chat *c, const json_t *o, const char *where, const struct tokenizer *t, struct error *err)
{
    if (chat_form_read(&c->form, o, where, t, err))
        return -1;
    c->marks[CHAT_TURN_END] = c->form->pieces[c->form->first[CHAT_BEHIND_ASSISTANT]].token;
    return 0;
}

/* Its name is its fingerprint, by which a run knows its template again. */
static int open_file(struct chat *c, const char *path, const struct tokenizer *t, struct error *err)
{
    size_t n;
    char *text = whole_file_read(path, MAX_TEMPLATE, &n, err);
    json_t *o = text ? json_read_file(path, err) : NULL;
    int rc = o ? open_form(c, o, path, t, err) : -1;

    if (rc == 0) {
        struct chat_form *f = c->form;
        snprintf(f->name, sizeof f->name, "pieces-%016llx", (unsigned long long)hash_bytes(HASH_START, text, n));
        f->template.name = f->name;
        c->template = &f->template;
    }
    json_decref(o);
    free(text);
    return rc;
}

static int open_own_form(struct chat *c, const char *dir, const struct tokenizer *t, struct error *err)
{
    char where[MAX_PATH];
    json_t *o = json_loads(c->template->form, 0, NULL);

    CHECK(o, "chat template %s is not JSON", c->template->name);
    snprintf(where, sizeof where, "%.4000s: chat template %s", dir, c->template->name);
    int rc = open_form(c, o, where, t, err);
    json_decref(o);
    return rc;
}

void chat_release(struct chat *c)
{
    chat_form_free(c->form);
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
    if (c->template->form)
        return open_own_form(c, dir, t, err);
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
