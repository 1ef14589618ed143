/* Part of lm_trainer.h: validation by what the model writes. */
#include "data/util/stop.h"
#include "train/lm/lm_trainer_impl.h"

#include <stdlib.h>

enum { BATCH = 64 };

/* What was written to each validation text; the caller frees all. */
static char **texts_of(struct lm_trainer *t, const struct engine_answer *list)
{
    char **texts = xcalloc((size_t)t->valid.n + 1, sizeof *texts);

    for (int i = 0; i < t->valid.n; i++)
        texts[i] =
            tokenizer_decode(t->model.tokenizer, list[i].out.items, list[i].out.count, TOKENIZER_SKIP_SPECIALS, NULL);
    return texts;
}

/* 1 when a signal asked to stop. */
static int mean_score(struct lm_trainer *t, const struct engine_answer *list, double *share, struct error *err)
{
    char **texts = texts_of(t, list);
    int rc = 0;

    *share = 0;
    if (t->set->select == SELECT_RECALL)
        rc = lm_recall_mean(&t->recall, &t->valid, texts, share, err);
    for (int i = 0; i < t->valid.n; i++) {
        if (t->set->select != SELECT_RECALL)
            *share += (double)lm_judge_says(&t->judge, t->valid.items[i].record, texts[i]) / t->valid.n;
        free(texts[i]);
    }
    free(texts);
    return rc;
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

int lm_valid_answers(struct lm_trainer *t, double *share, struct error *err)
{
    size_t n = (size_t)t->valid.n;
    struct engine_request *list = xcalloc(n + 1, sizeof *list);
    struct engine_answer *answers = xcalloc(n + 1, sizeof *answers);

    for (int i = 0; i < t->valid.n; i++) {
        const struct lm_text *p = &t->valid.items[i].text;
        list[i] = engine_ask(&t->model, p->ids.items, lm_text_prompt_length(p));
        list[i].answers = &answers[i];
    }
    int rc = run_engine(t, list, err);
    if (rc == 0)
        rc = mean_score(t, answers, share, err);
    for (int i = 0; i < t->valid.n; i++)
        engine_answer_release(&answers[i]);
    free(answers);
    free(list);
    return rc;
}
