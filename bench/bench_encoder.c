/*
 * bench_encoder HF_DIR PAIRS DEVICE TYPE score|train: relevance of (question, element) pairs, driven line by line.
 *
 * PAIRS holds one JSON object a line, {"question": [ids], "element": [ids]}.  Commands on standard input, each answered
 * by one line: "run" scores every pair (or takes one training step on TRAIN_PAIRS of them) and answers with seconds;
 * "write FILE" writes the logits, one a line; "peak" answers with the FLOP/s of a large product of the same type;
 * "flops" with the operations of one run.  bench/encoder.py lets it and its peers take turns.
 */
#include "data/json.h"
#include "data/log.h"
#include "kernels/batch.h"
#include "kernels/optim.h"
#include "kernels/workspace.h"
#include "models/gatekeeper.h"
#include "models/hf_config.h"
#include "models/hf_weights.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { HOST_BYTES = 64 << 20, TOKENS = 4096, TRAIN_PAIRS = 64, PEAK_SIDE = 4096, CLS = 101, SEP = 102 };

struct bench {
    struct device device;
    struct workspace work;
    struct params params;
    struct gatekeeper net;
    struct optim optim;
    struct arena host, data;
    int32_t *tokens, *positions, *segments, *starts; /* of all pairs, one after another; starts [n + 1] */
    int n, n_tokens, cap;
    bool train;
    enum dtype dtype;
    float *logits;
    int first, end; /* pairs of the current step */
    struct tensor *out;
};

static void die(const struct error *err)
{
    log_error("%s", err->text);
    exit(err->code);
}

static void put(struct bench *b, int32_t id, int position, int segment)
{
    if (b->n_tokens == b->cap) {
        b->cap = b->cap ? 2 * b->cap : 1 << 16;
        b->tokens = xrealloc(b->tokens, (size_t)b->cap * sizeof *b->tokens);
        b->positions = xrealloc(b->positions, (size_t)b->cap * sizeof *b->positions);
        b->segments = xrealloc(b->segments, (size_t)b->cap * sizeof *b->segments);
    }
    b->tokens[b->n_tokens] = id;
    b->positions[b->n_tokens] = position;
    b->segments[b->n_tokens++] = segment;
}

static int put_ids(struct bench *b, const json_t *ids, int position, int segment)
{
    for (size_t i = 0; i < json_array_size(ids); i++)
        put(b, (int32_t)json_integer_value(json_array_get(ids, i)), position++, segment);
    put(b, SEP, position++, segment);
    return position;
}

static void read_pairs(struct bench *b, const char *path)
{
    struct error err;
    json_t *record;
    struct json_reader *r = json_reader_open(path, &err);
    int cap = 0, rc;

    if (!r)
        die(&err);
    while ((rc = json_reader_next(r, &record, &err)) == 1) {
        GROW(b->starts, b->n, cap);
        b->starts[b->n++] = b->n_tokens;
        put(b, CLS, 0, 0);
        int position = put_ids(b, json_object_get(record, "question"), 1, 0);
        put_ids(b, json_object_get(record, "element"), position, 1);
        json_decref(record);
    }
    if (rc < 0)
        die(&err);
    GROW(b->starts, b->n, cap);
    b->starts[b->n] = b->n_tokens;
    json_reader_close(r);
}

/* Pairs [first, end) as packed sequences whose [CLS] rows are wanted. */
static void build(struct ctx *c, const struct bench *b, struct gate_text *t)
{
    const struct bert_config *g = &b->net.config.bert;
    int from = b->starts[b->first], n = b->end - b->first;
    int tokens = b->starts[b->end] - from;
    int32_t *lengths = xmalloc(3 * (size_t)n * sizeof *lengths), *ones = lengths + n, *cls = ones + n;

    for (int i = 0; i < n; i++) {
        lengths[i] = b->starts[b->first + i + 1] - b->starts[b->first + i];
        ones[i] = 1;
        cls[i] = b->starts[b->first + i] - from;
    }
    *t = (struct gate_text){ 0 };
    t->bert.tokens[0] = batch_index(c, b->tokens + from, tokens, g->vocab_size);
    t->bert.tokens[1] = batch_index(c, b->positions + from, tokens, g->max_positions);
    t->bert.tokens[2] = batch_index(c, b->segments + from, tokens, g->type_vocab_size);
    t->bert.seqs = batch_seqs(c, lengths, n);
    t->bert.row_seqs = batch_seqs(c, ones, n);
    t->rows = batch_index(c, cls, n, tokens);
    t->bert.rows = &t->rows;
    free(lengths);
}

static void step(struct ctx *c, void *arg)
{
    struct bench *b = arg;
    struct gate_text text;
    float target[TRAIN_PAIRS];

    build(c, b, &text);
    b->out = gatekeeper_relevance(c, &b->net, gatekeeper_states(c, &b->net, &text));
    if (!b->train)
        return;
    for (int i = 0; i < TRAIN_PAIRS; i++)
        target[i] = (float)(i & 1);
    int64_t n = b->end - b->first;
    struct tensor *t = op_reshape(c, batch_f32(c, target, 1, n, F32), 1, &n);
    tape_backward(c, op_bce(c, b->out, t, NULL, 1, 1.0f / (float)n));
    optim_step(c, &b->optim, &b->params);
}

static void run_pairs(struct bench *b, int from, int to)
{
    struct error err;

    b->first = from;
    b->end = to;
    if (workspace_run(&b->work, step, b, &err))
        die(&err);
    device_download(&b->device, b->logits + from, b->out);
}

static void run(struct bench *b)
{
    if (b->train) {
        run_pairs(b, 0, b->n < TRAIN_PAIRS ? b->n : TRAIN_PAIRS);
        return;
    }
    for (int from = 0, to; from < b->n; from = to) {
        for (to = from + 1; to < b->n && b->starts[to + 1] - b->starts[from] <= TOKENS; to++)
            ;
        run_pairs(b, from, to);
    }
}

static void run_product(struct ctx *c, void *arg)
{
    struct bench *b = arg;
    static float x[PEAK_SIDE];

    for (int i = 0; i < PEAK_SIDE; i++)
        x[i] = (float)(i % 97) / 97 - 0.5f;
    struct tensor *a = tensor_new2(c, b->dtype, PEAK_SIDE, PEAK_SIDE), *w = tensor_like(c, a);
    struct tensor *row = batch_f32(c, x, 1, PEAK_SIDE, F32);
    struct tensor *noise = tensor_new2(c, F32, PEAK_SIDE, PEAK_SIDE);
    struct grad out = { noise, false };
    struct tensor *column = op_reshape(c, row, 2, (int64_t[]){ PEAK_SIDE, 1 });
    RUN(c, matmul, out, column, false, row, false);
    RUN(c, cast, a, noise);
    RUN(c, cast, w, noise);
    struct tensor *y = tensor_like(c, a);
    struct grad product = { y, false };
    for (int i = 0; i < 3; i++) {
        double start = now_seconds();
        RUN(c, matmul, product, a, false, w, true);
        if (c->k)
            b->device.driver->sync(&b->device);
        b->logits[0] = (float)(2.0 * PEAK_SIDE * PEAK_SIDE * PEAK_SIDE / (now_seconds() - start) / 1e9);
    }
}

static void answer(struct bench *b, char *line)
{
    struct error err;
    line[strcspn(line, "\n")] = 0;
    if (!strcmp(line, "run")) {
        double start = now_seconds();
        run(b);
        printf("%.6f\n", now_seconds() - start);
    } else if (!strcmp(line, "peak")) {
        if (workspace_run(&b->work, run_product, b, &err))
            die(&err);
        printf("%.6g\n", (double)b->logits[0] * 1e9);
    } else if (!strcmp(line, "flops")) {
        printf("%.6g\n", bert_flops(&b->net.config.bert, b->n_tokens, (double)b->n_tokens / b->n, b->n));
    } else if (!strncmp(line, "write ", 6)) {
        FILE *f = fopen(line + 6, "w");
        CHECK(f, "cannot write %s", line + 6);
        for (int i = 0; i < b->n; i++)
            fprintf(f, "%.9g\n", (double)b->logits[i]);
        fclose(f);
        printf("ok\n");
    }
    fflush(stdout);
}

static void open_model(struct bench *b, const char *dir)
{
    struct error err;
    struct hf_config config;

    if (hf_config_read(&config, dir, &err))
        die(&err);
    struct gatekeeper_config g = { .bert = config.bert,
                                   .classifier = CLASSIFIER_GAT_MEAN,
                                   .gat_hidden = 1,
                                   .gat_heads = 1,
                                   .edge_types = 1,
                                   .pool = GATE_POOL_MEAN };
    struct arena measure;
    if (arena_init(&b->host, HOST_BYTES, &err))
        die(&err);
    arena_measure(&measure);
    struct param_arenas dry = { &b->host, &measure, b->train };
    gatekeeper_init(&b->net, &g, b->dtype, &b->params, &dry);
    params_release(&b->params);
    if (device_arena(&b->device, &b->data, measure.peak + (1 << 12), &err))
        die(&err);
    struct param_arenas real = { &b->host, &b->data, b->train };
    gatekeeper_init(&b->net, &g, b->dtype, &b->params, &real);
    optim_init(&b->optim, &real);
    b->optim.schedule = (struct schedule){ .lr = 1e-5f, .total = 1 << 30 };
    b->optim.adamw = (struct adamw){ .beta1 = 0.9f, .beta2 = 0.999f, .eps = 1e-8f, .lr_scale = 1, .clip = 1 };
    params_init(&b->params, &b->device, 1);
    if (hf_weights_load(&b->params, &b->device, dir, &hf_bert_rules, HF_ENCODER, NULL, &err))
        die(&err);
}

int main(int argc, char **argv)
{
    static struct bench b;
    struct error err;
    char line[4096];

    if (argc != 6) {
        log_error("usage: bench_encoder HF_DIR PAIRS DEVICE f32|bf16 score|train");
        return EXIT_CODE_USAGE;
    }
    b.dtype = strcmp(argv[4], "bf16") ? F32 : BF16;
    b.train = !strcmp(argv[5], "train");
    if (device_open(&b.device, argv[3], &err) || workspace_init(&b.work, &b.device, HOST_BYTES, &err))
        die(&err);
    read_pairs(&b, argv[2]);
    b.logits = xcalloc((size_t)b.n + 1, sizeof *b.logits);
    b.work.ctx.recording = b.work.ctx.training = b.train;
    open_model(&b, argv[1]);
    while (fgets(line, sizeof line, stdin))
        answer(&b, line);
    return 0;
}
