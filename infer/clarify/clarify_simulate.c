#include "infer/clarify/clarify_simulate.h"

#include <stdlib.h>

/* Each record and gold statement has its own user, whatever came before. */
static struct user user_of(const struct clarify_request *q, int64_t record, size_t gold)
{
    const uint64_t key[] = { (uint64_t)q->seed, (uint64_t)record, gold };
    return (struct user){ q->user_noise, q->user_unknown, hash_bytes(HASH_START, key, sizeof key) };
}

/* One dialogue; its turns are told when `turns` is not NULL. */
static struct outcome talk(struct simulator *s, struct clarify_case *k, enum strategy strategy, const struct truth *t,
                           const struct user *user, json_t *turns)
{
    struct dialogue_rules rules = s->settings->rules;
    struct outcome o;

    rules.strategy = strategy;
    dialogue_release(&k->dialogue);
    dialogue_init(&k->dialogue, &rules, k->variables.splits, k->variables.n, &k->prior);
    simulate(&o, k, t, user, turns);
    return o;
}

static void keep(struct simulator *s, enum strategy strategy, struct outcome o, int64_t record, bool unambiguous)
{
    struct simulation *list = &s->by[strategy];

    o.record = (int)record;
    o.unambiguous = unambiguous;
    GROW(list->list, list->n, list->cap);
    list->list[list->n++] = o;
}

/* Every dialogue that asked something is kept as likely as any other. */
static void remember(struct simulator *s, const json_t *record, size_t gold, json_t *dialogue)
{
    if (json_array_size(json_object_get(dialogue, "turns")) == 0)
        return;
    uint32_t place = rng_below(&s->rng, (uint32_t)++s->heard);
    if (json_array_size(s->transcripts) >= TRANSCRIPTS && place >= TRANSCRIPTS)
        return;
    json_t *o = json_pack("{s:O?, s:O?, s:O, s:O}", "id", json_object_get(record, "id"), "question",
                          json_object_get(record, "question"), "gold",
                          json_array_get(json_object_get(record, "gold"), gold), "dialogue", dialogue);
    if (json_array_size(s->transcripts) < TRANSCRIPTS)
        json_array_append_new(s->transcripts, o);
    else
        json_array_set_new(s->transcripts, place, o);
}

/* The request's strategy last, whose dialogue is then the case's. */
static json_t *talk_all(struct simulator *s, struct clarify_case *k, const json_t *record, int64_t number, size_t gold,
                        const struct truth *t)
{
    const struct user user = user_of(s->request, number, gold);
    bool unambiguous = json_is_false(json_object_get(record, "ambiguous"));
    enum strategy own = s->settings->rules.strategy;
    json_t *turns = json_array();

    for (int i = 0; i < STRATEGIES && s->request->report; i++)
        if (i != (int)own)
            keep(s, (enum strategy)i, talk(s, k, (enum strategy)i, t, &user, NULL), number, unambiguous);
    struct outcome o = talk(s, k, own, t, &user, turns);
    keep(s, own, o, number, unambiguous);
    json_t *dialogue = json_pack("{s:I, s:b, s:b, s:b, s:f, s:s, s:o}", "gold", (json_int_t)gold, "covered", o.covered,
                                 "right", o.right[o.turns], "handed_over", o.handed_over, "confidence", o.confidence,
                                 "best", k->sql[belief_best(&k->dialogue.now)], "turns", turns);
    if (o.executed)
        json_object_set_new(dialogue, "gives_gold_rows", json_boolean(o.gives[o.turns]));
    if (s->request->report)
        remember(s, record, gold, dialogue);
    return dialogue;
}

int simulator_record(struct simulator *s, struct clarify_case *k, const json_t *record, int64_t number,
                     struct arena *scratch, json_t *out, const char *where, struct error *err)
{
    const json_t *golds = json_get_array(record, "gold", where, err);
    json_t *list = json_array();

    json_object_set_new(out, "dialogues", list);
    for (size_t i = 0; i < json_array_size(golds); i++) {
        struct error bad = { 0 };
        struct truth t;
        if (truth_read(&t, k, record, i, scratch, &bad) == 0) {
            json_array_append_new(list, talk_all(s, k, record, number, i, &t));
        } else {
            s->by[s->settings->rules.strategy].gold_errors++;
            json_array_append_new(list,
                                  json_pack("{s:I, s:o}", "gold", (json_int_t)i, "error", json_message(bad.text)));
        }
        truth_release(&t);
    }
    return golds ? 0 : -1;
}

static json_t *metrics_json(const struct simulator *s, enum strategy strategy)
{
    const struct clarify_request *q = s->request;
    enum strategy own = s->settings->rules.strategy;
    int turns = s->settings->rules.max_turns;
    json_t *o = json_pack("{s:s, s:f, s:f, s:f, s:i, s:o}", "strategy", strategy_name(strategy), "noise",
                          s->settings->noise, "user_noise", q->user_noise, "user_unknown", q->user_unknown, "max_turns",
                          turns, "metrics", simulation_metrics(&s->by[strategy], turns));

    if (strategy != own)
        json_object_set_new(o, "behind",
                            json_pack("{s:s, s:o}", "strategy", strategy_name(own), "by",
                                      simulation_difference(&s->by[own], &s->by[strategy], turns)));
    return o;
}

int simulator_finish(struct simulator *s, struct out_file *out, struct error *err)
{
    enum strategy own = s->settings->rules.strategy;
    json_t *lines = json_pack("[o]", metrics_json(s, own)), *line;
    int rc = 0;
    size_t i;

    for (int k = 0; k < STRATEGIES && s->request->report; k++)
        if (k != (int)own)
            json_array_append_new(lines, metrics_json(s, (enum strategy)k));
    json_array_foreach(lines, i, line)
    {
        if (rc == 0)
            rc = json_write_line(out, line, err);
    }
    if (rc == 0 && s->request->report)
        rc = simulator_report(s, lines, err);
    json_decref(lines);
    return rc;
}

void simulator_release(struct simulator *s)
{
    for (int i = 0; i < STRATEGIES; i++)
        simulation_release(&s->by[i]);
    json_decref(s->transcripts);
    s->transcripts = NULL;
}
