#include "tests/support/dte_world.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const tokens[] = {
    "[PAD]",      "[UNK]",      "[CLS]",      "[SEP]", "[MASK]", "[unused21]", "[unused22]", "[unused23]",
    "[unused24]", "[unused30]", "[unused31]", "how",   "many",   "what",       "is",         "the",
    "of",         "score",      "home",       "team",  "date",   "birth",      "in",         "paris",
    "city",       "price",      "##s",        "##ty",  "?",      ".",          "2004",       "year",
    "lyon",       "name",       "show",       "and",   "un",     "##known",    "x",          "a",
};

void dte_world_vocabulary(const char *dir, const char *without)
{
    char text[2048] = "";

    for (int i = 0; i < ARRAY_LEN(tokens); i++)
        if (!without || strcmp(tokens[i], without) != 0)
            snprintf(text + strlen(text), sizeof text - strlen(text), "%s\n", tokens[i]);
    test_file(dir, "vocab.txt", text);
}

void dte_world_open(struct dte_world *w)
{
    struct error err = { 0 };

    *w = (struct dte_world){ .dir = test_dir_new() };
    dte_world_vocabulary(w->dir, NULL);
    w->tokenizer = tokenizer_open(w->dir, &err);
    if (!w->tokenizer || dte_layout_init(&w->layout, w->tokenizer, 256, &err))
        fail_msg("%s", err.text);
}

void dte_world_close(struct dte_world *w)
{
    tokenizer_close(w->tokenizer);
    test_dir_remove(w->dir);
}

char *dte_world_tokens(const struct dte_world *w, const struct dte_window *window)
{
    size_t cap = 16;
    char *text = xcalloc(1, cap);

    for (int64_t i = 0; i < window->tokens.count; i++) {
        const char *token = tokenizer_token(w->tokenizer, window->tokens.items[i]);
        cap += strlen(token) + 1;
        text = xrealloc(text, cap);
        snprintf(text + strlen(text), cap - strlen(text), "%s%s", i ? " " : "", token);
    }
    return text;
}

void dte_asked_init(struct dte_asked *a, const struct dte_world *w, const char *text, const struct span_column *columns,
                    int n_columns, const struct tag_value *values, int n_values)
{
    struct error err = { 0 };

    a->question = (struct tag_question){
        .question = text, .columns = columns, .n_columns = n_columns, .values = values, .n_values = n_values
    };
    if (dte_item_init(&a->item, &a->question, &w->layout, "here", &err))
        fail_msg("%s", err.text);
}

void dte_asked_release(struct dte_asked *a)
{
    dte_item_release(&a->item);
}

void dte_world_reading(struct dte_reading *r, const struct dte_item *item, int tags)
{
    int concepts = DTE_KEYWORDS + item->windows[0].n_entities, words = item->n_words;
    float *zeros = xcalloc((size_t)(concepts * (words + 1) + words * tags), sizeof *zeros);
    float *halves = xmalloc((size_t)concepts * sizeof *halves);
    struct dte_window_scores s = { halves, zeros, zeros };

    for (int k = 0; k < concepts; k++)
        halves[k] = 0.5f;
    dte_reading_init(r, item, tags, true);
    dte_reading_add(r, 0, &s);
    dte_reading_finish(r);
    memset(r->grounding, 0, (size_t)concepts * (size_t)words * sizeof *r->grounding);
    free(halves);
    free(zeros);
}

void dte_near(double got, double wanted, double tolerance, const char *file, int line)
{
    if (!(fabs(got - wanted) <= tolerance)) {
        print_error("%.9g, expected %.9g\n", got, wanted);
        _fail(file, line);
    }
}
