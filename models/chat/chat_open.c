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

static const struct chat_template templates[] = {
    /* Meta's, of Llama 3.1 and 3.3 */
    { "llama3", 0xcc0368e1ffb6b958, &chat_llama3, true, "26 Jul 2024", NULL, NULL },
    /* Unsloth's, which its adapters were trained with */
    { "llama3-unsloth", 0x85268fb1bbb68a11, &chat_llama3, false, "26 July 2024", NULL, NULL },
    /* Qwen 2.5's, and Unsloth's copy of it */
    { "chatml", 0xe642ce246d7f2e3d, &chat_chatml, false, NULL, QWEN, NULL },
    { "chatml", 0x9927118b34627a4d, &chat_chatml, false, NULL, QWEN, NULL },
    /* Qwen 3's of July 2025 */
    { "chatml-bare", 0x3751fe8ea48448ab, &chat_chatml, false, NULL, NULL, NULL },
    { "llama3-bare", 0x2fd22ccbef699b03, &chat_llama3, true, NULL, NULL, LLAMA3_BARE },
    { "chatml-bare", 0xaf4d3c86a9a50e79, &chat_chatml, false, NULL, NULL, CHATML_BARE },
};

static const struct chat_template *by_name(const char *name, struct error *err)
{
    for (int i = 0; i < ARRAY_LEN(templates); i++)
        if (strcmp(templates[i].name, name) == 0)
            return templates + i;
    error_set(err, EXIT_CODE_USAGE,
              "chat template: expected llama3, llama3-unsloth, llama3-bare, chatml or chatml-bare, got \"%.80s\"",
              name);
    return NULL;
}

const struct chat_template *chat_by_fingerprint(uint64_t fingerprint)
{
    for (int i = 0; i < ARRAY_LEN(templates); i++)
        if (templates[i].fingerprint == fingerprint)
            return templates + i;
    return NULL;
}

static const struct chat_template *by_text(const char *text, const char *where, struct error *err)
{
    size_t length = strlen(text);
    uint64_t hash = hash_bytes(HASH_START, text, length - (length > 0 && text[length - 1] == '\n'));
    const struct chat_template *found = chat_by_fingerprint(hash);

    if (!found)
        error_set(err, EXIT_CODE_CHECKPOINT,
                  "%s: a chat template of fingerprint %016llx is not known; say which to use: llama3, llama3-unsloth, "
                  "llama3-bare, chatml or chatml-bare",
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

int chat_open(struct chat *c, const char *dir, const char *name, const struct tokenizer *t, struct error *err)
{
    *c = (struct chat){ .template = name ? by_name(name, err) : from_folder(dir, err) };
    if (!c->template) {
        if (err && err->code == EXIT_CODE_DATA)
            err->code = EXIT_CODE_CHECKPOINT;
        return -1;
    }
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
