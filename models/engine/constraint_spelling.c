/* Part of constraint_form.h: texts that a tokenizer can write as they stand. */
#include "models/engine/constraint_form.h"

#include "data/base/strings.h"

#include <stdlib.h>
#include <string.h>

/* What has been looked at: alternatives have most of their texts in common. */
struct spelling {
    const struct tokenizer *t;
    struct strings texts;
    bool *good; /* [texts] */
    int cap;
    int first_bad; /* of texts, -1: none */
};

/* Blanks at the ends, which a tokenizer may drop, are the words' around it. */
static bool is_written(const struct tokenizer *t, const char *text, size_t n)
{
    struct ids ids = { 0 };
    size_t said, skip;

    for (; n && *text == ' '; n--)
        text++;
    while (n && text[n - 1] == ' ')
        n--;
    tokenizer_encode(t, text, n, 0, &ids, NULL);
    char *whole = tokenizer_decode(t, ids.items, ids.count, TOKENIZER_EXACT_BYTES, &said);
    skip = said > n && *whole == ' ';
    bool same = said - skip == n && memcmp(whole + skip, text, n) == 0;
    free(whole);
    ids_release(&ids);
    return same;
}

static bool is_spelt(struct spelling *s, const char *text)
{
    int n = s->texts.n, i = strings_add(&s->texts, text);

    if (i < n)
        return s->good[i];
    GROW(s->good, n, s->cap);
    s->good[i] = is_written(s->t, text, strlen(text));
    if (!s->good[i] && s->first_bad < 0)
        s->first_bad = i;
    return s->good[i];
}

/* False where nothing is left. */
static bool keep_texts(struct spelling *s, json_t *texts)
{
    for (size_t i = json_array_size(texts); i-- > 0;)
        if (!is_spelt(s, json_string_value(json_array_get(texts, i))))
            json_array_remove(texts, i);
    return json_array_size(texts) > 0;
}

static bool keep_slots(struct spelling *s, json_t *slots)
{
    const char *name;
    json_t *texts;
    bool good = true;

    json_object_foreach(slots, name, texts) good = keep_texts(s, texts) && good;
    return good;
}

/* The template's own text, which constraint_form_read has cut at its slots. */
static int keep_alternative(struct spelling *s, json_t *alternative, struct error *err)
{
    struct constraint_form f;
    int good = constraint_form_read(&f, alternative, "alternatives", err) ? -1 : 1;

    for (int i = 0; good == 1 && i < f.n_parts; i++) {
        char *text = f.parts[i].list < 0 ? strndup(f.parts[i].text, f.parts[i].length) : xstrdup("");
        CHECK(text, "no memory for a template's text");
        good = is_spelt(s, text);
        free(text);
    }
    constraint_form_release(&f);
    return good == 1 ? keep_slots(s, json_object_get(alternative, "slots")) : good;
}

int constraint_form_keep_spelt(json_t *constraint, const struct tokenizer *t, struct error *err)
{
    json_t *alternatives = json_object_get(constraint, "alternatives");
    struct spelling s = { .t = t, .first_bad = -1 };
    int good = 1;

    for (size_t i = json_array_size(alternatives); good >= 0 && i-- > 0;) {
        good = keep_alternative(&s, json_array_get(alternatives, i), err);
        if (good == 0)
            json_array_remove(alternatives, i);
    }
    if (good >= 0 && json_array_size(alternatives) == 0)
        good = error_set(err, EXIT_CODE_DATA, "the tokenizer cannot spell \"%.200s\", and nothing else fits",
                         s.first_bad < 0 ? "" : s.texts.items[s.first_bad]);
    strings_release(&s.texts);
    free(s.good);
    return good < 0 ? -1 : 0;
}
