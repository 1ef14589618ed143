#include "models/chat/chat_impl.h"
#include "models/unicode/utf8.h"

#include <stdlib.h>
#include <string.h>

void chat_append(struct chat_text *out, const char *text, int64_t length, int32_t special, bool answer)
{
    if (out->cap - out->length <= length) {
        out->cap = (out->cap + length) * 2 + 256;
        out->text = xrealloc(out->text, (size_t)out->cap);
    }
    memcpy(out->text + out->length, text, (size_t)length);
    GROW(out->parts, out->count, out->cap_parts);
    out->parts[out->count++] = (struct chat_part){ out->length, out->length + length, special, answer };
    out->length += length;
    out->text[out->length] = '\0';
}

static void put(struct chat_text *out, const char *text)
{
    chat_append(out, text, (int64_t)strlen(text), -1, false);
}

static void put_mark(const struct chat *c, struct chat_text *out, enum chat_mark which, bool answer)
{
    const char *text = c->template->family->marks[which];
    chat_append(out, text, (int64_t)strlen(text), c->marks[which], answer);
}

/* White space as Python's str.strip() sees it. */
static bool is_white(uint32_t cp)
{
    return (cp >= 9 && cp <= 13) || (cp >= 28 && cp <= 32) || cp == 0x85 || cp == 0xA0 || cp == 0x1680 ||
           (cp >= 0x2000 && cp <= 0x200A) || cp == 0x2028 || cp == 0x2029 || cp == 0x202F || cp == 0x205F ||
           cp == 0x3000;
}

/* Takes white space off both ends. */
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

void chat_append_content(struct chat_text *out, const char *content, bool trims, bool answer)
{
    int64_t length = (int64_t)strlen(content);

    if (trims)
        content = trim(content, &length);
    chat_append(out, content, length, -1, answer);
}

static void put_content(const struct chat *c, struct chat_text *out, const char *content, bool answer)
{
    chat_append_content(out, content, c->template->trims, answer);
}

static bool is_role(const struct chat_message *m, const char *role)
{
    return strcmp(m->role, role) == 0;
}

static void put_turn(const struct chat *c, struct chat_text *out, const struct chat_message *m)
{
    bool answer = is_role(m, "assistant");

    c->template->family->put_head(c, out, m->role);
    put_content(c, out, m->content, answer);
    put_mark(c, out, CHAT_TURN_END, answer);
    put(out, c->template->family->behind_turn);
}

/* Llama 3 */

static void llama_head(const struct chat *c, struct chat_text *out, const char *role)
{
    put_mark(c, out, CHAT_HEAD, false);
    put(out, role);
    put_mark(c, out, CHAT_HEAD_END, false);
    put(out, "\n\n");
}

/* A system turn whose text is the dates and then the system's message if there is one; without a date only the latter
 * makes a turn. */
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

const struct chat_family chat_llama3 = {
    .marks = { "<|eot_id|>", "<|start_header_id|>", "<|end_header_id|>", "<|begin_of_text|>" },
    .n_marks = 4,
    .behind_turn = "",
    .put_head = llama_head,
    .put_system = llama_system,
};

/* ChatML */

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

const struct chat_family chat_chatml = {
    .marks = { "<|im_end|>", "<|im_start|>" },
    .n_marks = 2,
    .behind_turn = "\n",
    .put_head = chatml_head,
    .put_system = chatml_system,
};

void chat_render(const struct chat *c, const struct chat_messages *m, bool prompt, struct chat_text *out)
{
    bool system = m->count > 0 && is_role(m->items, "system");

    out->length = out->count = 0;
    if (c->form) {
        chat_form_render(c->form, m, prompt, out);
        return;
    }
    c->template->family->put_system(c, out, system ? m->items->content : NULL);
    for (int64_t i = system; i < m->count; i++)
        put_turn(c, out, m->items + i);
    if (prompt)
        c->template->family->put_head(c, out, "assistant");
}

const char *chat_name(const struct chat *c)
{
    return c->template->name;
}

int32_t chat_end(const struct chat *c)
{
    return c->marks[CHAT_TURN_END];
}

static void mask_push(struct chat_mask *mask, bool answer)
{
    if (!mask)
        return;
    GROW(mask->items, mask->count, mask->cap);
    mask->items[mask->count++] = answer;
}

/* Parts [first, last) of plain text are encoded as one, as the reference does: a token may reach over their seams. */
static void encode_plain(const struct tokenizer *t, const struct chat_text *text, int64_t first, int64_t last,
                         struct ids *ids, struct token_spans *spans, struct chat_mask *mask)
{
    int64_t start = text->parts[first].start, length = text->parts[last - 1].end - start;

    spans->count = 0;
    tokenizer_encode(t, text->text + start, (size_t)length, 0, ids, spans);
    for (int64_t i = 0, part = first; i < spans->count; i++) {
        while (text->parts[part].end <= start + spans->items[i].start)
            part++;
        mask_push(mask, text->parts[part].answer);
    }
}

void chat_encode(const struct tokenizer *t, const struct chat_text *text, struct ids *ids, struct chat_mask *mask)
{
    struct token_spans spans = { 0 };

    for (int64_t i = 0, next; i < text->count; i = next) {
        const struct chat_part *p = text->parts + i;
        next = i + 1;
        if (p->special >= 0) {
            ids_push(ids, p->special);
            mask_push(mask, p->answer);
            continue;
        }
        while (next < text->count && text->parts[next].special < 0)
            next++;
        encode_plain(t, text, i, next, ids, &spans, mask);
    }
    token_spans_release(&spans);
}

void chat_text_release(struct chat_text *text)
{
    free(text->text);
    free(text->parts);
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
