/*
 * bench_tag HF_DIR SPANS DEVICE f32|bf16 BATCH: the erasing and CRF parts of a tagger's update, with the code of
 * ambit-train.
 *
 * HF_DIR is a pretrained BERT; its heads are random.  SPANS is a folder of ambit-data counterfactual, whose training
 * records are taken BATCH at a time.
 *
 * Commands on standard input, each answered by one line:
 *   erase K      encodes all erased copies of batch K and computes the weight of each word; answers with seconds
 *   copies K     answers with the number of these copies and of their tokens
 *   flops K      answers with the encoder's operations on them
 *   chain        computes the CRF loss and gradients of 64 questions with 40 words and 10 tags; answers with seconds
 *   tokens N     sets the maximum number of tokens encoded at once
 *   items FILE   writes the encoded records, one object a line: ids, markers, ranges of erased tokens
 *   heads FILE   writes the heads, one a line: name, then its numbers
 *   write FILE   writes the probabilities of the last erase, one a line, record by record, intact copies first
 */
#include "data/base/log.h"
#include "kernels/rng.h"
#include "kernels/tape.h"
#include "models/hf/hf_weights.h"
#include "models/tagger/dte_tagger.h"
#include "train/run/encoder.h"
#include "train/tagger/tag_data.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { HOST_BYTES = 256 << 20, TOKENS = 16384, HIDDEN = 384, CHAINS = 64, CHAIN = 40 };

struct bench {
    struct device device;
    struct workspace work;
    struct dte_model model;
    struct dte_tagger tagger;
    struct tag_data data;
    int batch;
    struct dte_sequences copies; /* of the last batch */
    float *p;                    /* probabilities of the copies */
    int64_t n_p;
};

static void die(const struct error *err)
{
    log_error("%s", err->text);
    exit((int)err->code);
}

static bool in_heads(const struct param *p)
{
    return strncmp(p->name, "dte.", 4) == 0;
}

/* The spread makes the probabilities of records differ. */
static void draw_heads(struct bench *b)
{
    for (int i = 0; i < b->model.params.n; i++) {
        struct param *p = &b->model.params.list[i];
        int64_t n = tensor_size(p->t);
        struct rng rng = { .seed = (uint64_t)i };
        if (!in_heads(p) || p->init_std < 0)
            continue;
        float *x = xmalloc((size_t)n * sizeof *x);
        for (int64_t k = 0; k < n; k++)
            x[k] = f32_from_bf16(bf16_from_f32(rng_uniform(&rng) / 4 - 0.125f));
        param_upload(p, &b->device, x);
        free(x);
    }
}

static void open_model(struct bench *b, const char *dir, enum dtype dtype)
{
    struct dte_spec spec = { .config.hidden = HIDDEN, .dtype = dtype, .temperature = 1 };
    struct error err;
    struct tokenizer *t = encoder_from_folder(dir, 1, &spec.config.bert, &err);

    if (!t || dte_model_init(&b->model, &b->device, &spec, OPTIMIZER_NONE, t, &err))
        die(&err);
    params_init(&b->model.params, &b->device, 1);
    if (hf_weights_load(&b->model.params, &b->device, dir, &hf_bert_rules, HF_ENCODER, NULL, &err) ||
        dte_tagger_init(&b->tagger, &b->model, &b->work, TOKENS, &err))
        die(&err);
    draw_heads(b);
}

/* Returns the number of records in batch K, and stores the first in *first. */
static int batch_of(const struct bench *b, int k, int *first)
{
    int n = b->data.splits[SPLIT_TRAIN].n;

    *first = k * b->batch;
    CHECK(k >= 0 && *first < n, "batch %d of %d records", k, n);
    return n - *first < b->batch ? n - *first : b->batch;
}

/* Appends each intact record, followed by its erased copies. */
static void list_copies(struct bench *b, int k)
{
    int first, n = batch_of(b, k, &first);

    b->copies.n = 0;
    for (int i = first; i < first + n; i++) {
        const struct dte_item *item = &b->data.splits[SPLIT_TRAIN].list[i].item;
        GROW(b->copies.items, b->copies.n, b->copies.cap);
        b->copies.items[b->copies.n++] = (struct dte_sequence){ .item = item };
        dte_erasures(&b->copies, item, 0);
    }
}

static void erase(struct bench *b, int k)
{
    struct error err;

    list_copies(b, k);
    struct dte_sizes z = dte_sizes_of(b->copies.items, b->copies.n);
    b->n_p = z.entities + z.sequences * DTE_KEYWORDS;
    b->p = xrealloc(b->p, (size_t)b->n_p * sizeof *b->p);
    if (dte_probabilities(&b->tagger, b->copies.items, b->copies.n, b->p, &err))
        die(&err);
    const float *p = b->p;
    for (int at = 0, next; at < b->copies.n; at = next) {
        const struct dte_item *item = b->copies.items[at].item;
        for (next = at + 1; next < b->copies.n && b->copies.items[next].item == item;)
            next++;
        int concepts = DTE_KEYWORDS + item->windows[0].n_entities;
        float *awake = xmalloc((size_t)concepts * (size_t)item->n_words * sizeof *awake);
        dte_awake(awake, item, concepts, p, b->copies.items + at + 1, next - at - 1, p + concepts);
        p += (int64_t)concepts * (next - at);
        free(awake);
    }
}

static double flops(struct bench *b, int k)
{
    list_copies(b, k);
    struct dte_sizes z = dte_sizes_of(b->copies.items, b->copies.n);
    double tokens = (double)z.tokens, n = (double)z.sequences;
    return bert_flops(&b->model.spec.config.bert, tokens, tokens / n, n + (double)z.entities);
}

static void chain_step(struct ctx *c, void *arg)
{
    static const float one = 1;
    static float e[CHAINS * CHAIN * DTE_TAGS], w[(DTE_TAGS + 2) * DTE_TAGS];
    int32_t lengths[CHAINS], tags[CHAINS * CHAIN];
    struct rng rng = { .seed = 1 };

    (void)arg;
    for (int i = 0; i < ARRAY_LEN(e); i++)
        e[i] = rng_uniform(&rng);
    for (int i = 0; i < ARRAY_LEN(w); i++)
        w[i] = rng_uniform(&rng);
    for (int i = 0; i < ARRAY_LEN(tags); i++)
        tags[i] = 1 << rng_below(&rng, DTE_TAGS);
    for (int i = 0; i < CHAINS; i++)
        lengths[i] = CHAIN;
    struct tensor *emissions = batch_f32(c, e, CHAINS * CHAIN, DTE_TAGS, F32);
    struct crf m = { .weights = batch_f32(c, w, DTE_TAGS + 2, DTE_TAGS, F32) };
    struct seqs s = batch_seqs(c, lengths, CHAINS);
    struct tensor *gold = batch_i32(c, tags, ARRAY_LEN(tags));
    emissions->needs_grad = m.weights->needs_grad = true;
    tape_backward(c, op_sum(c, op_crf_nll(c, emissions, gold, &s, &m), batch_f32(c, &one, 1, 1, F32)));
}

static double timed_chain(struct bench *b)
{
    struct error err;
    double start = now_seconds();

    b->work.ctx.recording = b->work.ctx.training = true;
    if (workspace_step(&b->work, chain_step, NULL, &err))
        die(&err);
    b->device.driver->sync(&b->device);
    return now_seconds() - start;
}

static FILE *open_out(const char *path)
{
    FILE *f = fopen(path, "w");

    CHECK(f, "cannot write %s", path);
    return f;
}

static void write_ints(FILE *f, const char *name, const int32_t *x, int64_t n)
{
    fprintf(f, "\"%s\": [", name);
    for (int64_t i = 0; i < n; i++)
        fprintf(f, "%s%d", i ? ", " : "", x[i]);
    fprintf(f, "], ");
}

static void write_item(FILE *f, const struct tag_example *e)
{
    const struct dte_window *w = &e->item.windows[0];
    struct dte_sequences runs = { 0 };
    int32_t *places = xmalloc((size_t)w->n_entities * sizeof *places);

    for (int k = 0; k < w->n_entities; k++)
        places[k] = w->entities[k].at;
    dte_erasures(&runs, &e->item, 0);
    fprintf(f, "{");
    write_ints(f, "ids", w->tokens.items, w->tokens.count);
    write_ints(f, "entities", places, w->n_entities);
    fprintf(f, "\"words\": %d, \"runs\": [", e->item.n_words);
    for (int i = 0; i < runs.n; i++) {
        const struct dte_word *last = &e->item.words[runs.items[i].to - 1];
        fprintf(f, "%s[%d, %d, %d, %d]", i ? ", " : "", runs.items[i].from, runs.items[i].to,
                e->item.words[runs.items[i].from].at, last->at + last->n);
    }
    fprintf(f, "]}\n");
    free(places);
    free(runs.items);
}

static void write_items(struct bench *b, const char *path)
{
    FILE *f = open_out(path);

    for (int i = 0; i < b->data.splits[SPLIT_TRAIN].n; i++)
        write_item(f, &b->data.splits[SPLIT_TRAIN].list[i]);
    CHECK(fclose(f) == 0, "cannot write %s", path);
}

static void write_numbers(FILE *f, const float *x, int64_t n, char between)
{
    for (int64_t i = 0; i < n; i++)
        fprintf(f, "%.9g%c", (double)x[i], between);
}

static void write_heads(struct bench *b, const char *path)
{
    FILE *f = open_out(path);

    for (int i = 0; i < b->model.params.n; i++) {
        const struct param *p = &b->model.params.list[i];
        if (!in_heads(p))
            continue;
        int64_t n = tensor_size(p->t);
        float *x = xmalloc((size_t)n * sizeof *x);
        param_download(p, &b->device, x);
        fprintf(f, "%s ", p->name);
        write_numbers(f, x, n, ' ');
        fprintf(f, "\n");
        free(x);
    }
    CHECK(fclose(f) == 0, "cannot write %s", path);
}

static void write_probabilities(struct bench *b, const char *path)
{
    FILE *f = open_out(path);

    write_numbers(f, b->p, b->n_p, '\n');
    CHECK(fclose(f) == 0, "cannot write %s", path);
}

/* Returns the argument of the command, or NULL if the line holds another command. */
static const char *argument(const char *line, const char *command)
{
    size_t n = strlen(command);

    return strncmp(line, command, n) == 0 ? line + n : NULL;
}

static int number(const char *text)
{
    return (int)strtol(text, NULL, 10);
}

static void answer(struct bench *b, char *line)
{
    const char *rest;

    line[strcspn(line, "\n")] = 0;
    if ((rest = argument(line, "erase "))) {
        double start = now_seconds();
        erase(b, number(rest));
        printf("%.6f\n", now_seconds() - start);
    } else if ((rest = argument(line, "copies "))) {
        list_copies(b, number(rest));
        printf("%d %lld\n", b->copies.n, (long long)dte_sizes_of(b->copies.items, b->copies.n).tokens);
    } else if ((rest = argument(line, "flops "))) {
        printf("%.6g\n", flops(b, number(rest)));
    } else if (argument(line, "chain")) {
        printf("%.9f\n", timed_chain(b));
    } else if ((rest = argument(line, "tokens "))) {
        b->tagger.max_tokens = number(rest);
        printf("ok\n");
    } else {
        if ((rest = argument(line, "items ")))
            write_items(b, rest);
        else if ((rest = argument(line, "heads ")))
            write_heads(b, rest);
        else if ((rest = argument(line, "write ")))
            write_probabilities(b, rest);
        printf("ok\n");
    }
    fflush(stdout);
}

int main(int argc, char **argv)
{
    static struct bench b;
    struct error err;
    char line[4096];

    if (argc != 6) {
        log_error("usage: bench_tag HF_DIR SPANS DEVICE f32|bf16 BATCH");
        return EXIT_CODE_USAGE;
    }
    b.batch = number(argv[5]);
    if (device_open(&b.device, argv[3], &err) || workspace_init(&b.work, &b.device, HOST_BYTES, &err))
        die(&err);
    open_model(&b, argv[1], strcmp(argv[4], "bf16") ? F32 : BF16);
    if (tag_data_read(&b.data, argv[2], false, &err) || tag_data_pack(&b.data, &b.tagger.layout, &err))
        die(&err);
    while (fgets(line, sizeof line, stdin))
        answer(&b, line);
    return 0;
}
