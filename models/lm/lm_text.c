#include "models/lm/lm_text.h"

#include <stdlib.h>
#include <string.h>

static void push_mask(struct chat_mask *mask, int64_t n, uint8_t value)
{
    while (mask->count < n) {
        GROW(mask->items, mask->count, mask->cap);
        mask->items[mask->count++] = value;
    }
}

static void encode(struct lm_text *p, const struct llama_model *m, const char *text, size_t length)
{
    tokenizer_encode(m->tokenizer, text, length, 0, &p->ids, NULL);
    if (m->seq2seq)
        ids_push(&p->ids, m->eos);
}

static int encode_field(struct lm_text *p, const struct llama_model *m, const json_t *record, const char *field,
                        const char *where, struct error *err)
{
    const char *text = json_get_string(record, field, where, err);

    if (text)
        encode(p, m, text, json_string_length(json_object_get(record, field)));
    return text ? 0 : -1;
}

static int read_raw(struct lm_text *p, const struct llama_model *m, const json_t *record, enum lm_answer answer,
                    const char *where, struct error *err)
{
    if (encode_field(p, m, record, "prompt", where, err))
        return -1;
    if (p->ids.count == 0)
        return error_set(err, EXIT_CODE_DATA, "%s: prompt: expected at least one token, got none", where);
    if (answer == LM_OPEN)
        return 0;
    push_mask(&p->answer, p->ids.count, 0);
    if (encode_field(p, m, record, "completion", where, err))
        return -1;
    push_mask(&p->answer, p->ids.count, 1);
    return 0;
}

/* An encoder-decoder reads a single user message as its prompt. The assistant's message is the completion. */
static int read_pair(struct lm_text *p, const struct llama_model *m, const struct chat_messages *list, bool answered,
                     const char *where, struct error *err)
{
    const struct chat_message *said = list->items;

    if (list->count != 1 + answered || strcmp(said->role, "user"))
        return error_set(err, EXIT_CODE_DATA,
                         "%s: messages: expected one user message for an encoder-decoder, got "
                         "%lld before the completion%s",
                         where, (long long)list->count - answered,
                         list->count == 1 + answered ? ", of another role" : "");
    encode(p, m, said->content, strlen(said->content));
    if (answered) {
        push_mask(&p->answer, p->ids.count, 0);
        encode(p, m, said[1].content, strlen(said[1].content));
        push_mask(&p->answer, p->ids.count, 1);
    }
    return 0;
}

/* Keeps only the last of several completions. */
static void keep_last_answer(struct chat_mask *mask)
{
    int64_t k = mask->count;

    while (k > 0 && !mask->items[k - 1])
        k--;
    while (k > 0 && mask->items[k - 1])
        k--;
    memset(mask->items, 0, (size_t)k);
}

static int check_roles(const struct chat_messages *list, enum lm_answer answer, const char *where, struct error *err)
{
    const char *last = list->count ? list->items[list->count - 1].role : "";

    if (answer != LM_OPEN && strcmp(last, "assistant"))
        return error_set(err, EXIT_CODE_DATA, "%s: messages: expected the assistant's message last, got the %s's",
                         where, last);
    if (answer == LM_OPEN && !strcmp(last, "assistant"))
        return error_set(err, EXIT_CODE_DATA, "%s: messages: expected another role than the assistant last", where);
    return 0;
}

static void read_turns(struct lm_text *p, const struct llama_model *m, const struct chat_messages *list,
                       enum lm_answer answer)
{
    struct chat_text text = { 0 };

    chat_render(&m->chat, list, answer == LM_OPEN, &text);
    chat_encode(m->tokenizer, &text, &p->ids, answer == LM_OPEN ? NULL : &p->answer);
    if (answer == LM_LAST_ANSWER)
        keep_last_answer(&p->answer);
    chat_text_release(&text);
}

static int read_chat(struct lm_text *p, const struct llama_model *m, const json_t *record, enum lm_answer answer,
                     const char *where, struct error *err)
{
    struct chat_messages list = { 0 };

    if (!m->seq2seq && !m->chat.template)
        return error_set(err, EXIT_CODE_DATA,
                         "%s: messages: the model's folder has no known chat template; give one with --chat-template",
                         where);
    int rc = chat_read(&list, json_object_get(record, "messages"), where, err);
    if (rc == 0)
        rc = check_roles(&list, answer, where, err);
    if (rc == 0 && m->seq2seq)
        rc = read_pair(p, m, &list, answer != LM_OPEN, where, err);
    else if (rc == 0)
        read_turns(p, m, &list, answer);
    chat_messages_release(&list);
    return rc;
}

static int check_length(const struct lm_text *p, const struct llama_model *m, enum lm_answer answer, const char *where,
                        struct error *err)
{
    int64_t most = m->net.config.max_positions - (answer == LM_OPEN);

    if (m->seq2seq || p->ids.count <= most)
        return 0;
    return error_set(err, EXIT_CODE_DATA, "%s: %lld tokens, but the model's limit is %lld", where,
                     (long long)p->ids.count, (long long)most);
}

static int read_record(struct lm_text *p, const struct llama_model *m, const json_t *record, enum lm_answer answer,
                       const char *where, struct error *err)
{
    bool chat = json_object_get(record, "messages") != NULL;

    if (chat && json_object_get(record, "prompt"))
        return error_set(err, EXIT_CODE_DATA, "%s: expected \"prompt\" or \"messages\", got both", where);
    if ((chat ? read_chat : read_raw)(p, m, record, answer, where, err))
        return -1;
    return check_length(p, m, answer, where, err);
}

void lm_text_read(struct lm_text *p, const struct llama_model *m, const json_t *record, enum lm_answer answer,
                  const char *where)
{
    struct error err = { 0 };

    *p = (struct lm_text){ .id = json_incref(json_object_get(record, "id")) };
    if (read_record(p, m, record, answer, where, &err))
        p->error = xstrdup(err.text);
}

int64_t lm_text_prompt_length(const struct lm_text *p)
{
    int64_t n = 0;
    while (!p->answer.items[n])
        n++;
    return n;
}

/* Removes tokens [from, to). */
static void cut_out(struct lm_text *p, int64_t from, int64_t to)
{
    size_t rest = (size_t)(p->ids.count - to);

    memmove(p->ids.items + from, p->ids.items + to, rest * sizeof *p->ids.items);
    memmove(p->answer.items + from, p->answer.items + to, rest);
    p->ids.count -= to - from;
    p->answer.count -= to - from;
}

bool lm_text_truncate(struct lm_text *p, int64_t most)
{
    int64_t prompt = lm_text_prompt_length(p), answer = p->ids.count - prompt;

    if (answer > most)
        cut_out(p, prompt + most - 1, p->ids.count - 1);
    if (prompt > most)
        cut_out(p, most - 1, prompt - 1);
    return answer > most || prompt > most;
}

void lm_text_release(struct lm_text *p)
{
    json_decref(p->id);
    ids_release(&p->ids);
    chat_mask_release(&p->answer);
    free(p->error);
    *p = (struct lm_text){ 0 };
}

uint64_t lm_text_key(const struct lm_text *p)
{
    char *text = json_dumps(p->id, JSON_ENCODE_ANY | JSON_COMPACT);
    uint64_t key = text ? hash_bytes(HASH_START, text, strlen(text)) : 0;

    free(text);
    return key;
}

json_t *lm_text_error(const struct lm_text *p)
{
    return json_pack("{s:O?, s:o}", "id", p->id, "error", json_message(p->error));
}
