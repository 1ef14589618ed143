#include "infer/parse/published.h"

#include "data/prompt/restricted_infilling.h"
#include "models/engine/engine.h"

#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Maximum number of tokens: of a completion, of an encoder's input, and of a restricted beam. */
enum { MAX_LENGTH = 512, MAX_SOURCE = 512, RESTRICTED = 128 };

/* One search. */
struct published_run {
    struct llama_model *model;
    struct row_scores scores;
    struct template_names names;
    struct infilling_ids whitelist, prefix;
    int32_t stops[ENGINE_MAX_STOPS]; /* the first one stands for all */
    int n_stops;
    struct error *err;
};

static void encode(void *user, const char *text, struct infilling_ids *out)
{
    const struct published_run *r = user;
    struct ids ids = { 0 };

    tokenizer_encode(r->model->tokenizer, text, strlen(text), 0, &ids, NULL);
    for (int64_t i = 0; i < ids.count; i++) {
        GROW(out->items, out->n, out->cap);
        out->items[out->n++] = ids.items[i];
    }
    ids_release(&ids);
}

/* Tokens of a text after a blank, which T5's tokenizer adds to every text. */
static void encode_name(void *user, const char *name, struct infilling_ids *out)
{
    char *text = NULL;

    CHECK(asprintf(&text, " %s", name) >= 0, "no memory for a name");
    encode(user, text, out);
    free(text);
}

static char *text_of(const struct published_run *r, const int32_t *ids, int n)
{
    return infilling_clean_up(tokenizer_decode(r->model->tokenizer, ids, n, TOKENIZER_SKIP_SPECIALS, NULL));
}

/* The start of a beam is not part of its text. */
static char *decode(void *user, const int32_t *ids, int n)
{
    return text_of(user, ids + 1, n - 1);
}

/* The published models have one end token; of several the most probable one counts. */
static void join_stops(const struct published_run *r, double *row)
{
    for (int i = 1; i < r->n_stops; i++) {
        row[r->stops[0]] = fmax(row[r->stops[0]], row[r->stops[i]]);
        row[r->stops[i]] = -INFINITY;
    }
}

static int next_scores(void *user, double *rows, const int32_t *const *beams, int n, int length)
{
    struct published_run *r = user;

    if (row_scores_next(&r->scores, rows, beams, n, length, r->err))
        return -1;
    for (int i = 0; i < n; i++)
        join_stops(r, rows + i * r->scores.n_vocabulary);
    return 0;
}

static int open_scores(struct published_run *r, struct workspace *work, const struct published_question *q)
{
    int64_t n = q->n_prompt;
    int32_t *cut = NULL;

    if (r->model->seq2seq && n > MAX_SOURCE) {
        n = MAX_SOURCE;
        cut = xmalloc((size_t)n * sizeof *cut);
        memcpy(cut, q->prompt, (size_t)n * sizeof *cut);
        cut[n - 1] = r->model->eos;
    }
    int rc = row_scores_open(&r->scores, r->model, work, cut ? cut : q->prompt, n, PUBLISHED_BEAMS, MAX_LENGTH, r->err);
    free(cut);
    return rc;
}

static struct infilling_rules rules_of(const struct published_run *r, const struct published_question *q)
{
    return (struct infilling_rules){ .names = &r->names,
                                     .template = q->template,
                                     .prefix = r->prefix.items,
                                     .n_prefix = r->prefix.n,
                                     .branch_columns = true,
                                     .branch_tables = true,
                                     .whitelist = r->whitelist.items,
                                     .n_whitelist = r->whitelist.n,
                                     .unrestricted_from = q->template ? RESTRICTED : INT_MAX };
}

/* Takes the text. */
static void add_text(struct published_answers *out, char *text, double score)
{
    bool known = false;

    for (int i = 0; i < out->n && !known; i++)
        known = strcmp(out->items[i].text, text) == 0;
    if (known)
        free(text);
    else
        out->items[out->n++] = (struct published_text){ text, score };
}

static void add_answer(struct published_answers *out, const struct published_run *r,
                       const struct infilling_rules *rules, const struct infilling_answer *a)
{
    char *text = text_of(r, a->ids, a->n), *sql = rules->template ? infilling_statement(rules, text) : NULL;

    if (!rules->template)
        add_text(out, xstrdup(text), a->score);
    else if (sql)
        add_text(out, sql, a->score);
    free(text);
}

static int search(struct published_answers *out, struct published_run *r, const struct published_question *q)
{
    const struct infilling_rules rules = rules_of(r, q);
    struct infilling_answer *answers;
    int n = infilling_run(&answers, &(struct infilling_search){ .rules = &rules,
                                                                .beams = PUBLISHED_BEAMS,
                                                                .max_length = (int)row_scores_limit(&r->scores),
                                                                .n_vocabulary = (int)r->scores.n_vocabulary,
                                                                .start = r->scores.start,
                                                                .end = r->n_stops ? r->stops[0] : -1,
                                                                .user = r,
                                                                .scores = next_scores,
                                                                .decode = decode });
    int wanted = q->template ? PUBLISHED_BEAMS : PUBLISHED_SINGLE_ANSWERS;

    for (int i = 0; i < n; i++) {
        if (i < wanted)
            add_answer(out, r, &rules, &answers[i]);
        free(answers[i].ids);
    }
    free(answers);
    return n < 0 ? -1 : 0;
}

int published_answer(struct published_answers *out, struct llama_model *model, struct workspace *work,
                     const struct published_question *q, struct error *err)
{
    struct published_run r = { .model = model, .err = err };

    CHECK(!q->template == !!q->begin, "a template, or how the text begins");
    *out = (struct published_answers){ 0 };
    r.n_stops = engine_stops(model, r.stops);
    int rc = template_names_of_text(&r.names, q->schema, err);
    rc = rc ? rc : infilling_whitelist(&r.whitelist, q->schema, true, true, encode_name, &r, err);
    rc = rc ? rc : open_scores(&r, work, q);
    if (rc == 0 && q->begin) {
        GROW(r.prefix.items, r.prefix.n, r.prefix.cap);
        r.prefix.items[r.prefix.n++] = r.scores.start;
        encode(&r, q->begin, &r.prefix);
    }
    rc = rc ? rc : search(out, &r, q);
    row_scores_release(&r.scores);
    free(r.whitelist.items);
    free(r.prefix.items);
    template_names_release(&r.names);
    return rc;
}

void published_answers_release(struct published_answers *a)
{
    for (int i = 0; i < a->n; i++)
        free(a->items[i].text);
    *a = (struct published_answers){ 0 };
}
