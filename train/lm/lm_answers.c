/* Part of lm_trainer.h: validation by what the model writes. */
#include "data/util/stop.h"
#include "train/lm/lm_trainer_impl.h"

#include <stdlib.h>

enum { BATCH = 64 };

/* 0 to 1; -1 where nothing was to be written. */
static double score_of(struct lm_trainer *t, const struct lm_example *e, const struct engine_answer *g)
{
    if (t->set->select == SELECT_RECALL)
        return lm_recall(t, &e->text, g);
    char *said = tokenizer_decode(t->model.tokenizer, g->out.items, g->out.count, TOKENIZER_SKIP_SPECIALS, NULL);
    bool right = lm_judge_says(&t->judge, e->record, said);
    free(said);
    return right;
}

static double mean_score(struct lm_trainer *t, const struct engine_answer *list)
{
    double sum = 0;
    int n = 0;

    for (int i = 0; i < t->valid.n; i++) {
        double score = score_of(t, &t->valid.items[i], &list[i]);
        n += score >= 0;
        sum += score >= 0 ? score : 0;
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
        *share = mean_score(t, answers);
    for (int i = 0; i < t->valid.n; i++)
        engine_answer_release(&answers[i]);
    free(answers);
    free(list);
    return rc;
}
