/* Part of lm_trainer.h: validation by what the model writes. */
#include "data/prompt/model_output.h"
#include "data/util/stop.h"
#include "models/engine/engine.h"
#include "train/lm/lm_trainer_impl.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

enum { BATCH = 64 };

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

/* Share of the expected readings that were written; -1 where none is expected. */
static double recall_of(const struct lm_trainer *t, const struct lm_text *p, const struct engine_answer *g)
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

static double mean_recall(const struct lm_trainer *t, const struct engine_answer *list)
{
    double sum = 0;
    int n = 0;

    for (int i = 0; i < t->valid.n; i++) {
        double recall = recall_of(t, &t->valid.items[i].text, &list[i]);
        n += recall >= 0;
        sum += recall >= 0 ? recall : 0;
    }
    return n ? sum / n : 0;
}

static int run_engine(struct lm_trainer *t, struct engine_request *list, struct error *err)
{
    const struct engine_settings set = { .max_new = t->set->max_new,
                                         .answers = 1,
                                         .beams = 1,
                                         .draw = { .top_p = 1, .typical_p = 1 },
                                         .batch = BATCH,
                                         .step_tokens = t->set->tokens,
                                         .stop = stop_requested };
    struct engine e;

    engine_init(&e, &t->model, &t->run.work, &set);
    int rc = engine_run(&e, list, t->valid.n, NULL, NULL, err);
    engine_release(&e);
    return rc;
}

int lm_valid_recall(struct lm_trainer *t, double *recall, struct error *err)
{
    size_t n = (size_t)t->valid.n;
    struct engine_request *list = xcalloc(n + 1, sizeof *list);
    struct engine_answer *answers = xcalloc(n + 1, sizeof *answers);

    for (int i = 0; i < t->valid.n; i++) {
        const struct lm_text *p = &t->valid.items[i].text;
        list[i] = (struct engine_request){ .prompt = p->ids.items,
                                           .n_prompt = lm_text_prompt_length(p),
                                           .answers = &answers[i] };
    }
    int rc = run_engine(t, list, err);
    if (rc == 0)
        *recall = mean_recall(t, answers);
    for (int i = 0; i < t->valid.n; i++)
        engine_answer_release(&answers[i]);
    free(answers);
    free(list);
    return rc;
}
