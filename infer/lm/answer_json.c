/* Part of complete.h: answers as records. */
#include "infer/lm/complete_impl.h"

#include <math.h>
#include <stdlib.h>

static json_t *text_json(const struct completion *r, const int32_t *ids, int64_t n)
{
    size_t length;
    char *text = tokenizer_decode(r->model.tokenizer, ids, n, 0, &length);
    json_t *o = json_stringn(text, length);

    free(text);
    return o;
}

/* A token that is none, where fewer were allowed, is left out. */
static json_t *best_json(const struct completion *r, const struct engine_answer *a, int64_t step)
{
    int keep = r->engine.set.keep;
    json_t *list = json_array();

    for (int i = 0; i < keep; i++) {
        int32_t id = a->best[step * keep + i];
        if (id >= 0)
            json_array_append_new(list, json_pack("{s:i, s:o, s:f}", "id", id, "token", text_json(r, &id, 1), "logprob",
                                                  (double)a->best_logp[step * keep + i]));
    }
    return list;
}

/* One a token of the text. */
static json_t *logprobs_json(const struct completion *r, const struct engine_answer *a)
{
    json_t *list = json_array();

    for (int64_t t = 0; t < a->out.count; t++)
        json_array_append_new(list, json_pack("{s:i, s:o, s:f, s:o}", "id", a->out.items[t], "token",
                                              text_json(r, &a->out.items[t], 1), "logprob", (double)a->step_logp[t],
                                              "top", best_json(r, a, t)));
    return list;
}

static json_t *answer_json(const struct completion *r, const struct engine_answer *a, const struct stop_watch *watch)
{
    json_t *text = watch && watch->found ? json_stringn(watch->text.items, watch->length)
                                         : text_json(r, a->out.items, a->out.count);
    json_t *o = json_pack("{s:o}", "text", text);

    if (r->request->n) {
        json_object_set_new(o, "score", json_real(a->score));
        json_object_set_new(o, "logprob", json_real(a->logp));
    }
    json_object_set_new(o, "tokens", json_integer(a->out.count));
    json_object_set_new(o, "finish", json_string(a->stopped ? "stop" : "length"));
    if (r->engine.set.keep)
        json_object_set_new(o, "logprobs", logprobs_json(r, a));
    return o;
}

json_t *complete_answers_json(const struct completion *r, const struct lm_text *p, const struct engine_request *q,
                              const struct stop_watch *watches)
{
    json_t *o = json_pack("{s:O}", "id", p->id), *texts = json_array();

    for (int i = 0; i < q->n_answers; i++)
        json_array_append_new(texts, answer_json(r, &q->answers[i], watches ? &watches[i] : NULL));
    if (r->request->n)
        json_object_set(o, "texts", texts);
    else if (q->n_answers)
        json_object_update(o, json_array_get(texts, 0));
    json_decref(texts);
    return o;
}

/* Its score and log p are those of the tokens that are left. */
static void cut(struct engine_answer *a, const struct stop_watch *w)
{
    a->out.count = stop_watch_tokens(w);
    a->stopped = true;
    a->logp = 0;
    for (int64_t t = 0; t < a->out.count; t++)
        a->logp += (double)a->step_logp[t];
    a->score = a->logp;
}

void complete_cut(struct engine_request *q, struct stop_watch *watches)
{
    for (int i = 0; i < q->n_answers; i++) {
        struct engine_answer *a = &q->answers[i];
        if (stop_watch_read(&watches[i], a->out.items, a->out.count) || stop_watch_end(&watches[i]))
            cut(a, &watches[i]);
    }
}
