#include "models/tokenizer/tokenizer_impl.h"

#include <stdlib.h>
#include <string.h>

struct string {
    char *text;
    size_t length, cap;
};

static void append(struct string *s, const char *text, size_t length)
{
    if (s->cap - s->length <= length) {
        s->cap = (s->cap + length) * 2 + 64;
        s->text = xrealloc(s->text, s->cap);
    }
    memcpy(s->text + s->length, text, length);
    s->length += length;
    s->text[s->length] = '\0';
}

/* Tokens that the cleanup of tokenizers' decoder moves up to the word before. */
static bool closes(const char *token)
{
    static const char *const starts[] = { ".", "?", "!", ",", "n't", "'m", "'s", "'ve", "'re" };
    for (int i = 0; i < ARRAY_LEN(starts); i++)
        if (strncmp(token, starts[i], strlen(starts[i])) == 0)
            return true;
    return false;
}

/* A piece goes on with the word before it, anything else starts a new one. */
static void append_token(struct string *s, const struct tokenizer *t, const char *token, size_t length)
{
    size_t skip = strlen(t->wordpiece.prefix);

    if (strncmp(token, t->wordpiece.prefix, skip) == 0) {
        token += skip;
        length -= skip;
    } else if (!t->cleanup || !closes(token)) {
        append(s, " ", 1);
    }
    append(s, token, length);
}

char *tokenizer_decode(const struct tokenizer *t, const int32_t *ids, int64_t n, unsigned flags)
{
    struct normal_text normal = { 0 };
    struct string s = { 0 };
    int64_t shown = 0;

    append(&s, "", 0);
    for (int64_t i = 0; i < n; i++) {
        const char *token = tokenizer_token(t, ids[i]);
        const struct added_token *added = token ? tokenizer_added(t, ids[i]) : NULL;
        if (!token || (flags & TOKENIZER_SKIP_SPECIALS && added && added->special))
            continue;
        size_t length = strlen(token);
        if (added && added->normalized) { /* shown as it is matched */
            bert_normalize(&t->normalizer, token, 0, (int64_t)length, &normal);
            token = normal.text;
            length = (size_t)normal.length;
        }
        if (shown++ > 0)
            append_token(&s, t, token, length);
        else
            append(&s, token, length);
    }
    normal_text_release(&normal);
    return s.text;
}
