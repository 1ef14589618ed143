/*
 * bench_encoder HF_DIR PAIRS DEVICE f32|bf16 score|text|train: relevance of (question, element) pairs, line by line.
 *
 * PAIRS holds one JSON object a line, {"question": text, "elements": [text, ...]}.  HF_DIR holds a configuration, a
 * vocabulary and weights; without model.safetensors the weights are random.
 *
 * Commands on standard input, each answered by one line:
 *   run         scores every pair (text: includes tokenising each string once), or takes one training step on the
 *               first TRAIN_PAIRS, captured if the device can; answers with seconds
 *   tokens N    sets the maximum number of tokens in a batch
 *   write FILE  writes the logits, one a line
 *   peak        answers with the FLOP/s of a large product of the same type
 *   counts      answers with the device's counts since the last counts, see device_counts.h
 *   flops       answers with the operations of one run
 *   length      answers with the mean number of tokens of a pair
 *
 * The scripts of bench/ run this program and its peers in turns.
 */
#include "bench/device_counts.h"
#include "data/base/json.h"
#include "data/base/log.h"
#include "kernels/batch.h"
#include "kernels/optim.h"
#include "kernels/workspace.h"
#include "models/hf/hf_config.h"
#include "models/hf/hf_weights.h"
#include "models/net/gatekeeper.h"
#include "models/text/tokenizer.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { HOST_BYTES = 64 << 20, TOKENS = 16384, TRAIN_PAIRS = 64, PEAK_SIDE = 4096 };

/* A pair of texts, by their numbers. */
struct pair {
    int question, element;
};

struct bench {
    struct device device;
    struct workspace work;
    struct params params;
    struct gatekeeper net;
    struct optim optim;
    struct arena host, data;
    struct tokenizer *tokenizer;
    char **texts; /* each once */
    int n_texts, cap_texts;
    struct ids ids;                                  /* of all texts, one after another */
    int64_t *text_start;                             /* [n_texts + 1] */
    struct pair *pairs;                              /* [n] */
    int n, cap_pairs, cap;                           /* cap: room for tokens */
    int32_t *tokens, *positions, *segments, *starts; /* of all pairs, one after another; starts [n + 1] */
    int n_tokens, budget;
    bool train, from_text;
    enum dtype dtype;
    float *logits;
    int first, end; /* range of the current step's pairs */
    struct tensor *out;
    double peak; /* FLOP/s of the last product */
    struct device_counts counted;
};

static void die(const struct error *err)
{
    log_error("%s", err->text);
    exit((int)err->code);
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

/* The tokens of a text and [SEP]. */
static int put_text(struct bench *b, int text, int position, int segment)
{
    for (int64_t i = b->text_start[text]; i < b->text_start[text + 1]; i++)
        put(b, b->ids.items[i], position++, segment);
    put(b, tokenizer_special(b->tokenizer, SPECIAL_SEP), position++, segment);
    return position;
}

/* Tokenises every text once, then builds the token sequence of every pair. */
static void tokenize(struct bench *b)
{
    b->ids.count = 0;
    b->n_tokens = 0;
    for (int i = 0; i < b->n_texts; i++) {
        b->text_start[i] = b->ids.count;
        tokenizer_encode(b->tokenizer, b->texts[i], strlen(b->texts[i]), 0, &b->ids, NULL);
    }
    b->text_start[b->n_texts] = b->ids.count;
    for (int i = 0; i < b->n; i++) {
        b->starts[i] = b->n_tokens;
        put(b, tokenizer_special(b->tokenizer, SPECIAL_CLS), 0, 0);
        int position = put_text(b, b->pairs[i].question, 1, 0);
        put_text(b, b->pairs[i].element, position, 1);
    }
    b->starts[b->n] = b->n_tokens;
}

/* Returns the number of a text, and assigns one to a new text; seen holds the numbered texts. */
static int number_of(struct bench *b, json_t *seen, const json_t *text)
{
    const char *key = json_string_value(text);

    CHECK(key, "questions and elements are strings");
    const json_t *known = json_object_get(seen, key);
    if (known)
        return (int)json_integer_value(known);
    GROW(b->texts, b->n_texts, b->cap_texts);
    b->texts[b->n_texts] = xstrdup(key);
    json_object_set_new(seen, key, json_integer(b->n_texts));
    return b->n_texts++;
}

static void add_pairs(struct bench *b, json_t *seen, const json_t *record)
{
    const json_t *elements = json_object_get(record, "elements");
    int question = number_of(b, seen, json_object_get(record, "question"));

    for (size_t i = 0; i < json_array_size(elements); i++) {
        int element = number_of(b, seen, json_array_get(elements, i));
        GROW(b->pairs, b->n, b->cap_pairs);
        b->pairs[b->n++] = (struct pair){ question, element };
    }
}

static void read_pairs(struct bench *b, const char *path)
{
    struct error err;
    json_t *record, *seen = json_object();
    struct json_reader *r = json_reader_open(path, &err);
    int rc;

    if (!r)
        die(&err);
    while ((rc = json_reader_next(r, &record, &err)) == 1) {
        add_pairs(b, seen, record);
        json_decref(record);
    }
    if (rc < 0)
        die(&err);
    json_reader_close(r);
    json_decref(seen);
    CHECK(b->n, "%s holds no pair", path);
    b->text_start = xcalloc((size_t)b->n_texts + 1, sizeof *b->text_start);
    b->starts = xcalloc((size_t)b->n + 1, sizeof *b->starts);
    b->logits = xcalloc((size_t)b->n, sizeof *b->logits);
    tokenize(b);
}

/* Packs the pairs [first, end) into sequences, and selects their [CLS] rows. */
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
    bert_input_ids(c, &t->bert, g, b->tokens + from, b->positions + from, b->segments + from, tokens);
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
    device_download_start(&b->device, b->logits + from, b->out);
    b->device.driver->download_finish(&b->device, 1); /* prepare the next pairs while the device computes these */
}

/* Uploads the inputs for every step, as a loop over batches of one shape would. */
static void run_training(struct bench *b)
{
    struct error err;

    b->first = 0;
    b->end = b->n < TRAIN_PAIRS ? b->n : TRAIN_PAIRS;
    if (workspace_step(&b->work, step, b, &err))
        die(&err);
    device_download(&b->device, b->logits, b->out);
}

static void run(struct bench *b)
{
    if (b->train) {
        run_training(b);
        return;
    }
    if (b->from_text)
        tokenize(b);
    for (int from = 0, to; from < b->n; from = to) {
        for (to = from + 1; to < b->n && b->starts[to + 1] - b->starts[from] <= b->budget; to++)
            ;
        run_pairs(b, from, to);
    }
    b->device.driver->download_finish(&b->device, 0);
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
    struct destination out = { noise, false };
    struct tensor *column = op_reshape(c, row, 2, (int64_t[]){ PEAK_SIDE, 1 });
    RUN(c, matmul, out, column, false, row, false);
    RUN(c, cast, a, noise);
    RUN(c, cast, w, noise);
    struct tensor *y = tensor_like(c, a);
    struct destination product = { y, false };
    for (int i = 0; i < 3; i++) {
        double start = now_seconds();
        RUN(c, matmul, product, a, false, w, true);
        if (c->k)
            b->device.driver->sync(&b->device);
        b->peak = 2.0 * PEAK_SIDE * PEAK_SIDE * PEAK_SIDE / (now_seconds() - start);
    }
}

static double product_peak(struct bench *b)
{
    struct error err;

    if (workspace_run(&b->work, run_product, b, &err))
        die(&err);
    return b->peak;
}

/* Returns the operations of the forward pass; the backward pass of a training step has twice as many. */
static double run_flops(const struct bench *b)
{
    int n = b->train && b->n > TRAIN_PAIRS ? TRAIN_PAIRS : b->n;
    double tokens = b->starts[n];

    return (b->train ? 3 : 1) * bert_flops(&b->net.config.bert, tokens, tokens / n, n);
}

static void write_logits(const struct bench *b, const char *path)
{
    FILE *f = fopen(path, "w");

    CHECK(f, "cannot write %s", path);
    for (int i = 0; i < b->n; i++)
        fprintf(f, "%.9g\n", (double)b->logits[i]);
    CHECK(fclose(f) == 0, "cannot write %s", path);
}

static void answer(struct bench *b, char *line)
{
    line[strcspn(line, "\n")] = 0;
    if (!strcmp(line, "run")) {
        double start = now_seconds();
        run(b);
        printf("%.6f\n", now_seconds() - start);
    } else if (!strcmp(line, "counts")) {
        print_counts(&b->device, &b->counted);
    } else if (!strcmp(line, "peak")) {
        printf("%.6g\n", product_peak(b));
    } else if (!strcmp(line, "flops")) {
        printf("%.6g\n", run_flops(b));
    } else if (!strcmp(line, "length")) {
        printf("%.2f\n", (double)b->n_tokens / b->n);
    } else if (!strncmp(line, "tokens ", 7)) {
        b->budget = (int)strtol(line + 7, NULL, 10);
        printf("ok\n");
    } else if (!strncmp(line, "write ", 6)) {
        write_logits(b, line + 6);
        printf("ok\n");
    }
    fflush(stdout);
}

static bool has_weights(const char *dir)
{
    char path[4096];

    snprintf(path, sizeof path, "%s/model.safetensors", dir);
    return access(path, R_OK) == 0;
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
    struct param_arenas dry = { &b->host, &measure, b->train ? OPTIMIZER_ADAMW : OPTIMIZER_NONE };
    gatekeeper_init(&b->net, &g, b->dtype, &b->params, &dry);
    params_release(&b->params);
    if (device_arena(&b->device, &b->data, measure.peak, &err))
        die(&err);
    struct param_arenas real = { &b->host, &b->data, b->train ? OPTIMIZER_ADAMW : OPTIMIZER_NONE };
    gatekeeper_init(&b->net, &g, b->dtype, &b->params, &real);
    if (optim_init(&b->optim, &b->device, &b->params, &err))
        die(&err);
    b->optim.schedule = (struct schedule){ .lr = 1e-5f, .total = 1 << 30 };
    b->optim.adamw = (struct adamw){ .beta1 = 0.9f, .beta2 = 0.999f, .eps = 1e-8f, .clip = 1 };
    params_init(&b->params, &b->device, 1);
    if (has_weights(dir) &&
        hf_weights_load(&b->params, &b->device, dir, hf_encoder_rules(config.bert.kind), HF_WHOLE, NULL, &err))
        die(&err);
}

int main(int argc, char **argv)
{
    static struct bench b;
    struct error err;
    char line[4096];

    if (argc != 6) {
        log_error("usage: bench_encoder HF_DIR PAIRS DEVICE f32|bf16 score|text|train");
        return EXIT_CODE_USAGE;
    }
    b.dtype = strcmp(argv[4], "bf16") ? F32 : BF16;
    b.train = !strcmp(argv[5], "train");
    b.from_text = !strcmp(argv[5], "text");
    b.budget = TOKENS;
    if (device_open(&b.device, argv[3], &err) || workspace_init(&b.work, &b.device, HOST_BYTES, &err))
        die(&err);
    b.tokenizer = tokenizer_open(argv[1], &err);
    if (!b.tokenizer)
        die(&err);
    read_pairs(&b, argv[2]);
    b.work.ctx.recording = b.work.ctx.training = b.train;
    open_model(&b, argv[1]);
    while (fgets(line, sizeof line, stdin))
        answer(&b, line);
    return 0;
}
