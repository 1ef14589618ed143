/* Any bytes as a line of a file of constraints.  They give an error with a message, or tables in which the first text
 * of every list is a path that its tokens spell. */
#include "tests/support/fuzz.h"

#include "models/engine/constraint_form.h"
#include "models/text/byte_buffer.h"

#include <stdlib.h>
#include <string.h>

static const int32_t stop = 1 << 20; /* no token of a text */

static const struct tokenizer *qwen(void)
{
    static struct tokenizer *t;
    struct error err;
    if (!t)
        t = tokenizer_open("tests/gold/bpe/qwen", &err);
    CHECK(t, "%s", err.text);
    return t;
}

static int32_t step(const struct automaton_host *a, int32_t state, int32_t token)
{
    int32_t e = a->first[state], end = a->first[state + 1];
    while (e < end && a->token[e] != token)
        e++;
    CHECK(e < end, "state %d does not allow token %d", (int)state, (int)token);
    return a->next[e];
}

/* The first sequence of each list leads to the end, and is the template with the first text in each slot. */
static void check_first(const struct constraint_form *f, const struct token_list *words, int n,
                        const struct automaton_host *a)
{
    struct byte_buffer wanted = { 0 };
    struct ids path = { 0 };
    int32_t state = 0;
    size_t length;

    for (int i = 0; i < n; i++)
        for (int64_t k = 0; k < words[i].ends[0]; k++) {
            ids_push(&path, words[i].ids.items[k]);
            state = step(a, state, words[i].ids.items[k]);
        }
    state = step(a, state, stop);
    CHECK(a->first[state] == a->first[state + 1], "something follows a stop token");
    for (int i = 0; i < f->n_parts; i++) {
        const struct form_part *p = f->parts + i;
        const json_t *v = p->list < 0 ? NULL : json_array_get(f->lists[p->list].texts, 0);
        byte_buffer_add(&wanted, v ? json_string_value(v) : p->text, v ? json_string_length(v) : p->length);
    }
    char *text = tokenizer_decode(qwen(), path.items, path.count, TOKENIZER_EXACT_BYTES, &length);
    CHECK(length == wanted.count && memcmp(text, wanted.items, length) == 0, "\"%s\", wanted \"%s\"", text,
          wanted.items);
    free(text);
    ids_release(&path);
    byte_buffer_release(&wanted);
}

static int compile(const struct constraint_form *f, struct error *err)
{
    struct automaton_host a;
    int n;
    struct token_list *words = constraint_form_encode(f, qwen(), &stop, 1, &n, err);

    if (!words)
        return -1;
    int rc = automaton_build(&a, words, n, &stop, 1, err);
    if (rc == 0) {
        check_first(f, words, n, &a);
        automaton_release(&a);
    }
    for (int i = 0; i < n; i++)
        token_list_release(words + i);
    free(words);
    return rc;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct constraint_form f = { 0 };
    struct error err = { 0 };
    json_t *o = json_loadb((const char *)data, size, JSON_REJECT_DUPLICATES, NULL);

    if (o && (constraint_form_read(&f, o, "line", &err) || compile(&f, &err)))
        CHECK(err.code == EXIT_CODE_DATA && err.text[0], "refused without a word");
    constraint_form_release(&f);
    json_decref(o);
    return 0;
}
