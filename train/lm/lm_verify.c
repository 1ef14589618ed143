#include "train/lm/lm_verify.h"

#include "data/util/log.h"
#include "kernels/workspace.h"
#include "models/lm/lm_batch.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { HOST_BYTES = 64 << 20, LINEAR_MAPS = 7 /* of a block */ };

static const char *const texts[] = {
    "How many singers are there in each concert?",
    "SELECT name FROM singer WHERE age > 30 ORDER BY age DESC",
    "1. The names of all singers and of all concerts.\n2. The names of all singers.",
};

/* Logits of the texts: a step_fn's argument, then a copy in host memory. */
struct logits {
    const struct llama_model *m;
    struct lm_batch batch;
    struct tensor *found;
    float *x;
    int64_t n;
};

static void run(struct ctx *c, void *arg)
{
    struct logits *l = arg;
    l->found = lm_batch_logits(c, l->m, 0, &l->batch);
}

/* A decoder predicts the whole text, an encoder-decoder its second half. */
static void add_texts(struct logits *l)
{
    for (int i = 0; i < ARRAY_LEN(texts); i++) {
        struct ids ids = { 0 };
        tokenizer_encode(l->m->tokenizer, texts[i], strlen(texts[i]), 0, &ids, NULL);
        int64_t read = l->m->seq2seq ? ids.count / 2 : 0;
        uint8_t *answer = xcalloc((size_t)ids.count + 1, 1);
        memset(answer + read, 1, (size_t)(ids.count - read));
        struct llama_text text = { ids.items, answer, ids.count };
        lm_batch_add(&l->batch, l->m, &text, 1, false);
        free(answer);
        ids_release(&ids);
    }
}

static int compute(struct logits *l, const struct llama_model *m, struct error *err)
{
    struct workspace w;

    *l = (struct logits){ .m = m };
    if (workspace_init(&w, m->device, HOST_BYTES, err))
        return -1;
    add_texts(l);
    int rc = workspace_run(&w, run, l, err);
    if (rc == 0) {
        l->n = tensor_size(l->found);
        l->x = xmalloc(tensor_bytes(l->found));
        device_download(m->device, l->x, l->found);
    }
    workspace_release(&w);
    lm_batch_release(&l->batch);
    return rc;
}

static int trained_logits(struct logits *l, const struct lm_export *e, struct error *err)
{
    const struct llama_request text = { .dir = e->base };
    struct llama_model m;
    int rc = lm_export_open(&m, e, "f32", false, err);

    if (rc == 0)
        rc = llama_model_open_text(&m, &text, err) || compute(l, &m, err) ? -1 : 0;
    llama_model_release(&m);
    return rc;
}

static int written_logits(struct logits *l, const struct lm_export *e, struct error *err)
{
    bool merged = !strcmp(e->request->format, "merged");
    const struct llama_request q = { .dir = merged ? e->request->to : e->base,
                                     .adapter = merged ? NULL : e->request->to,
                                     .dtype = "f32",
                                     .seq2seq = true };
    struct llama_model m;

    if (llama_model_open(&m, e->device, &q, err))
        return -1;
    int rc = compute(l, &m, err);
    llama_model_release(&m);
    return rc;
}

/* Share of the largest logit.  A weight in bf16 is off by 2^-10 in the mean of squares, and the errors of a network's
 * maps add up as random ones do; four deviations. */
static int allowed(const struct lm_export *e, double *share, struct error *err)
{
    struct lm_export_config c;

    *share = 1e-4;
    if (strcmp(e->request->format, "merged"))
        return 0;
    if (lm_export_config(&c, e, e->request->to, err))
        return -1;
    if (c.dtype == BF16)
        *share = 0x1p-8 * sqrt(LINEAR_MAPS * c.layers);
    return 0;
}

static int compare(const struct lm_export *e, const struct logits *a, const struct logits *b, struct error *err)
{
    double largest = 0, most = 0, share;

    if (allowed(e, &share, err))
        return -1;
    CHECK(a->n == b->n, "%lld and %lld logits", (long long)a->n, (long long)b->n);
    for (int64_t i = 0; i < a->n; i++) {
        double d = fabs((double)a->x[i] - (double)b->x[i]);
        largest = d <= largest ? largest : isnan(d) ? HUGE_VAL : d;
        most = fmax(most, fabs((double)a->x[i]));
    }
    if (!(largest <= share * most))
        return error_set(err, EXIT_CODE_FAILURE,
                         "%s: logits beside the trained model's: expected differences of at most %.3g, got %.3g",
                         e->request->out, share * most, largest);
    log_info("%s: verified, %lld logits of up to %.3g, largest difference %.3g", e->request->out, (long long)a->n, most,
             largest);
    return 0;
}

int lm_verify(const struct lm_export *e, struct error *err)
{
    struct logits trained = { 0 }, written = { 0 };
    int rc = trained_logits(&trained, e, err);

    if (rc == 0)
        rc = written_logits(&written, e, err);
    if (rc == 0)
        rc = compare(e, &trained, &written, err);
    free(trained.x);
    free(written.x);
    return rc;
}
