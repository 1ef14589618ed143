/* Part of lm_trainer.h: validation by the readings that the model writes. */
#include "data/prompt/model_output.h"
#include "train/lm/lm_trainer_impl.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

/* Words in small letters with one space between: readings that differ in capitals or punctuation are the same. */
static void normalise(char *text)
{
    size_t n = 0;

    for (const char *c = text; *c; c++) {
        bool word = isalnum((unsigned char)*c) || (unsigned char)*c >= 128;
        if (word)
            text[n++] = (char)tolower((unsigned char)*c);
        else if (n && text[n - 1] != ' ')
            text[n++] = ' ';
    }
    text[n - (n && text[n - 1] == ' ')] = '\0';
}

static bool holds(const struct text_items *list, const char *text)
{
    for (int i = 0; i < list->n; i++)
        if (!strcmp(list->items[i], text))
            return true;
    return false;
}

/* Readings of an answer; the sentence that all are covered is none. */
static struct text_items readings_of(const struct tokenizer *t, const int32_t *ids, int64_t n)
{
    struct text_items list = { 0 };
    char *text = tokenizer_decode(t, ids, n, TOKENIZER_SKIP_SPECIALS, NULL);

    output_infilled(&list, text, false);
    for (int i = 0; i < list.n; i++)
        normalise(list.items[i]);
    free(text);
    return list;
}

double lm_recall(const struct lm_trainer *t, const struct lm_text *p, const struct engine_answer *g)
{
    int64_t at = lm_text_prompt_length(p);
    struct text_items expected = readings_of(t->model.tokenizer, p->ids.items + at, p->ids.count - at);
    struct text_items written = readings_of(t->model.tokenizer, g->out.items, g->out.count);
    int found = 0;

    for (int i = 0; i < expected.n; i++)
        found += holds(&written, expected.items[i]);
    double recall = expected.n ? (double)found / expected.n : -1;
    text_items_release(&expected);
    text_items_release(&written);
    return recall;
}
