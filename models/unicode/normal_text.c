#include "models/unicode/normal_text.h"

#include "models/unicode/utf8.h"

#include <stdlib.h>
#include <string.h>

void normal_text_reserve(struct normal_text *t, int64_t more)
{
    if (t->cap - t->length >= more)
        return;
    t->cap = (t->length + more) * 3 / 2 + 64;
    t->text = xrealloc(t->text, (size_t)t->cap);
    if (t->track)
        t->origin = xrealloc(t->origin, (size_t)t->cap * sizeof *t->origin);
}

void normal_text_put(struct normal_text *t, uint32_t cp, struct token_span from)
{
    normal_text_reserve(t, 4);
    int n = utf8_write(t->text + t->length, cp);
    bool same = from.end - from.start == n; /* byte by byte, then */
    for (int i = 0; t->track && i < n; i++)
        t->origin[t->length + i] = same ? (struct token_span){ from.start + i, from.start + i + 1 } : from;
    t->length += n;
}

void normal_text_copy(struct normal_text *t, const char *text, int64_t start, int64_t end)
{
    normal_text_reserve(t, end - start + 1);
    memcpy(t->text + t->length, text + start, (size_t)(end - start));
    for (int64_t i = start; t->track && i < end; i++)
        t->origin[t->length + i - start] = (struct token_span){ i, i + 1 };
    t->length += end - start;
}

void normal_text_release(struct normal_text *t)
{
    free(t->text);
    free(t->origin);
    *t = (struct normal_text){ 0 };
}
