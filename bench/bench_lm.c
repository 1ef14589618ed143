/*
 * bench_lm MODEL TEXTS DEVICE f32|bf16 BATCH NEW: steps of a language model, with the code of ambit-train and
 * ambit-infer.
 *
 * MODEL is a Hugging Face folder; decode and said also accept encoder-decoders.  TEXTS is a file of {"id", "prompt",
 * "completion"}.
 *
 * Commands on standard input, each answered by one line:
 *   head         trains an adapter on the head too
 *   micro N      sets the maximum number of tokens in a micro-batch
 *   adapter DIR  decodes with this adapter
 *   beams N      decodes by beam search with N beams, and keeps the best completion
 *   bind FILE    restricts completions to one sequence of each list of FILE, [[[ID, ...], ...], ...], and a stop token
 *   single       disables jump-forward decoding: forced tokens are read one per step
 *   open         opens the model; answers with seconds
 *   trainer      opens the trainer, which loss, write, memory and rest use from then on
 *   recompute N  1: recomputes blocks, 0: keeps their activations, regardless of the memory estimate
 *   train        takes a LoRA step (rank 16 on all seven maps of a block, NEFTune 5) on BATCH texts; answers with
 * seconds decode       prefills the first BATCH prompts and generates NEW greedy tokens for each; answers with seconds
 *   tokens       answers with the number of tokens in the last step
 *   said         answers with the first tokens of each generated completion
 *   length       answers with the number of all generated tokens
 *   loss         answers with the mean -log p of the completions of the first BATCH texts
 *   write FILE   writes the logits after each of the first BATCH prompts, one a line
 *   eager        launches steps kernel by kernel from then on, without replay
 *   counts       answers with the device's counts since the last counts, see device_counts.h
 *   memory       answers with the bytes of weights, of keys and values, and of steps
 *   rest         frees the memory of steps until the next one
 */
#include "bench/device_counts.h"
#include "data/base/log.h"
#include "models/engine/engine.h"
#include "models/lm/lm_batch.h"
#include "train/lm/lm_trainer.h"
#include "train/run/run.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { HOST_BYTES = 256 << 20, MAX_BATCH = 4096, MAX_LISTS = 64, SHOWN = 8, LONGEST = 1 << 16 };

struct bench {
    struct lm_request request;
    struct lm_trainer trainer; /* opened by the first train or trainer command */
    struct device device;
    struct workspace work;
    struct llama_model model; /* opened by decode, or by a command that needs any model while no trainer is open */
    struct lm_data texts;
    struct engine engine;
    struct engine_completion said[MAX_BATCH];
    struct automaton_host bound; /* without states: completions are unconstrained */
    bool single;
    int beams;
    char *adapter;
    int64_t batch, new, tokens;
    struct device_counts counted;
};

static void die(const struct error *err)
{
    log_error("%s", err->text);
    exit((int)err->code);
}

static void open_trainer(struct bench *b)
{
    struct error err;

    if (b->trainer.request)
        return;
    lm_trainer_init(&b->trainer, &b->request);
    if (run_open(&b->trainer.run, &err))
        die(&err);
}

static void open_model(struct bench *b)
{
    struct llama_request r = {
        .dir = b->request.base, .dtype = b->request.settings.compute, .adapter = b->adapter, .seq2seq = true
    };
    struct error err;

    if (b->model.tokenizer)
        return;
    if (device_open(&b->device, b->request.device, &err) || workspace_init(&b->work, &b->device, HOST_BYTES, &err) ||
        llama_model_open(&b->model, &b->device, &r, &err) ||
        lm_data_read(&b->texts, b->request.data, &b->model,
                     b->model.seq2seq ? LONGEST : b->model.net.config.max_positions, false, &err))
        die(&err);
    if (!b->bound.n_states) /* every completion has NEW tokens */
        b->model.net.config.n_stops = b->model.t5.config.n_stops = 0;
    if (b->texts.n < b->batch)
        b->batch = b->texts.n;
    const struct engine_settings set = { .max_new = b->new,
                                         .answers = 1,
                                         .beams = b->beams ? b->beams : 1,
                                         .beam.length_penalty = 1,
                                         .draw = { .top_p = 1, .typical_p = 1 },
                                         .batch = b->batch,
                                         .step_tokens = 1 << 20,
                                         .one_by_one = b->single };
    engine_init(&b->engine, &b->model, &b->work, &set);
}

static void show_opening(struct bench *b, const char *rest)
{
    double start = now_seconds();

    (void)rest;
    open_model(b);
    b->device.driver->sync(&b->device);
    printf("%.7f\n", now_seconds() - start);
}

/* The model, workspace and texts of the trainer, or of decoding. */
struct view {
    struct llama_model *model;
    struct workspace *work;
    const struct lm_data *texts;
};

static struct view view_of(struct bench *b)
{
    if (b->trainer.request)
        return (struct view){ &b->trainer.model, &b->trainer.run.work, &b->trainer.train };
    open_model(b);
    return (struct view){ &b->model, &b->work, &b->texts };
}

static void use_head(struct bench *b, const char *rest)
{
    (void)rest;
    b->request.settings.head = HEAD_LORA;
    printf("head\n");
}

static void use_micro(struct bench *b, const char *rest)
{
    b->request.settings.train.tokens = strtol(rest, NULL, 10);
    printf("%lld\n", (long long)b->request.settings.train.tokens);
}

static void use_adapter(struct bench *b, const char *rest)
{
    b->adapter = xstrdup(rest);
    printf("%s\n", b->adapter);
}

static void use_beams(struct bench *b, const char *rest)
{
    b->beams = (int)strtol(rest, NULL, 10);
    printf("%d\n", b->beams);
}

static void use_single(struct bench *b, const char *rest)
{
    (void)rest;
    b->single = true;
    printf("single\n");
}

/* Reads the sequences of one list. */
static struct token_list sequences(const json_t *list)
{
    struct token_list l = { 0 };
    size_t i, k;
    json_t *one, *id;

    json_array_foreach(list, i, one)
    {
        json_array_foreach(one, k, id) ids_push(&l.ids, (int32_t)json_integer_value(id));
        token_list_end(&l);
    }
    return l;
}

/* Reads the stop tokens of a model that is not open yet. */
static int stops_of(const struct bench *b, int32_t stops[ENGINE_MAX_STOPS])
{
    struct llama_model m = { .seq2seq = t5_config_is(b->request.base) };
    struct error err;

    if (m.seq2seq ? t5_config_read(&m.t5.config, b->request.base, &err)
                  : llama_config_read(&m.net.config, b->request.base, &err))
        die(&err);
    return engine_stops(&m, stops);
}

static void bind(struct bench *b, const char *path)
{
    int32_t stops[ENGINE_MAX_STOPS];
    int n_stops = stops_of(b, stops);
    struct token_list lists[MAX_LISTS];
    json_t *file = json_load_file(path, 0, NULL);
    int n = (int)json_array_size(file);
    struct error err;

    CHECK(n > 0 && n <= MAX_LISTS, "%s: %d lists, expected 1 .. %d", path, n, MAX_LISTS);
    for (int i = 0; i < n; i++)
        lists[i] = sequences(json_array_get(file, (size_t)i));
    double start = now_seconds();
    if (automaton_build(&b->bound, lists, n, stops, n_stops, &err))
        die(&err);
    printf("%.7f\n", now_seconds() - start);
    for (int i = 0; i < n; i++)
        token_list_release(&lists[i]);
    json_decref(file);
}

static void start_trainer(struct bench *b, const char *rest)
{
    (void)rest;
    open_trainer(b);
    printf("%d\n", b->trainer.model.net.checkpointed);
}

static void recompute(struct bench *b, const char *rest)
{
    open_trainer(b);
    b->trainer.model.net.checkpointed = *rest == '1';
    printf("%d\n", b->trainer.model.net.checkpointed);
}

static void train(struct bench *b, const char *rest)
{
    struct error err;

    (void)rest;
    open_trainer(b);
    struct run *r = &b->trainer.run;
    int64_t before = r->state.units;
    double start = now_seconds();
    if (run_step(r, &err))
        die(&err);
    r->device.driver->sync(&r->device);
    printf("%.7f\n", now_seconds() - start);
    b->tokens = r->state.units - before;
    r->state.batch = (r->state.batch + 1) % run_batches(r);
}

static void decode(struct bench *b, const char *rest)
{
    struct error err;

    (void)rest;
    open_model(b);
    struct engine_request *asked = xcalloc((size_t)b->batch, sizeof *asked);
    double start = now_seconds();
    for (int64_t i = 0; i < b->batch; i++) {
        const struct lm_text *p = &b->texts.items[i].text;
        engine_completion_release(&b->said[i]);
        asked[i] = engine_ask(&b->model, p->ids.items, lm_text_prompt_length(p));
        asked[i].constraint = b->bound.n_states ? &b->bound : NULL;
        asked[i].answers = &b->said[i];
    }
    int rc = engine_run(&b->engine, asked, b->batch, NULL, NULL, &err);
    free(asked);
    if (rc)
        die(&err);
    printf("%.7f\n", now_seconds() - start);
}

static void show_tokens(struct bench *b, const char *rest)
{
    (void)rest;
    printf("%lld\n", (long long)b->tokens);
}

static void show_said(struct bench *b, const char *rest)
{
    (void)rest;
    for (int64_t i = 0; i < b->batch; i++)
        for (int64_t k = 0; k < SHOWN && k < b->said[i].out.count; k++)
            printf("%d ", b->said[i].out.items[k]);
    printf("\n");
}

static void show_length(struct bench *b, const char *rest)
{
    int64_t n = 0;

    (void)rest;
    for (int64_t i = 0; i < b->batch; i++)
        n += b->said[i].steps;
    printf("%lld\n", (long long)n);
}

/* The argument of a step_fn: the first texts in one batch, and the requested output. */
struct look {
    struct view of;
    struct llama_batch batch;
    bool logits; /* true: logits, false: -log p */
    struct tensor *found;
};

static void run_look(struct ctx *c, void *arg)
{
    struct look *k = arg;
    k->found = (k->logits ? llama_batch_logits : llama_batch_nll)(c, &k->of.model->net, &k->batch);
}

static void add_text(struct look *k, const struct lm_text *p)
{
    int64_t n = lm_text_prompt_length(p) + 1;
    uint8_t *last = xcalloc((size_t)n, 1);

    last[n - 1] = 1;
    if (k->logits)
        llama_batch_add(&k->batch, p->ids.items, last, n);
    else
        llama_batch_add(&k->batch, p->ids.items, p->answer.items, p->ids.count);
    free(last);
}

/* Returns the values and stores their number in n.  The caller frees them. */
static float *look(struct bench *b, bool logits, int64_t *n)
{
    struct look k = { .of = view_of(b), .logits = logits };
    struct error err;

    for (int64_t i = 0; i < b->batch && i < k.of.texts->n; i++)
        add_text(&k, &k.of.texts->items[i].text);
    if (workspace_run(k.of.work, run_look, &k, &err))
        die(&err);
    float *values = xmalloc(tensor_bytes(k.found));
    device_download(k.of.model->device, values, k.found);
    *n = tensor_size(k.found);
    llama_batch_release(&k.batch);
    return values;
}

static void show_loss(struct bench *b, const char *rest)
{
    int64_t n;
    double sum = 0;
    float *nll = look(b, false, &n);

    (void)rest;
    for (int64_t i = 0; i < n; i++)
        sum += (double)nll[i];
    printf("%.9g\n", sum / (double)n);
    free(nll);
}

static void write_logits(struct bench *b, const char *path)
{
    int64_t n;
    float *logits = look(b, true, &n);
    FILE *f = fopen(path, "w");

    CHECK(f, "cannot write %s", path);
    for (int64_t i = 0; i < n; i++)
        fprintf(f, "%.6g\n", (double)logits[i]);
    CHECK(fclose(f) == 0, "cannot write %s", path);
    printf("%lld\n", (long long)n);
    free(logits);
}

static void show_memory(struct bench *b, const char *rest)
{
    struct view v = view_of(b);
    size_t cache = v.model == &b->model ? b->engine.data.size : 0;

    (void)rest;
    printf("%zu\n", v.model->data.size + v.model->adapter_data.size + v.work->step.size + cache);
}

static void launch_all(struct bench *b, const char *rest)
{
    (void)rest;
    view_of(b).work->eager = true;
    printf("eager\n");
}

static void show_counts(struct bench *b, const char *rest)
{
    (void)rest;
    print_counts(view_of(b).model->device, &b->counted);
}

static void give_back(struct bench *b, const char *rest)
{
    struct workspace *w = view_of(b).work;

    (void)rest;
    device_arena_release(w->device, &w->step);
    printf("0\n");
}

static const struct {
    const char *word;
    void (*run)(struct bench *b, const char *rest);
} commands[] = {
    { "head", use_head },       { "micro", use_micro },    { "adapter", use_adapter }, { "trainer", start_trainer },
    { "recompute", recompute }, { "train", train },        { "decode", decode },       { "tokens", show_tokens },
    { "said", show_said },      { "loss", show_loss },     { "write", write_logits },  { "memory", show_memory },
    { "rest", give_back },      { "counts", show_counts }, { "eager", launch_all },    { "beams", use_beams },
    { "bind", bind },           { "single", use_single },  { "length", show_length },  { "open", show_opening },
};

static void answer(struct bench *b, char *line)
{
    size_t n = strcspn(line, " ");
    int i = 0;

    while (i < ARRAY_LEN(commands) && (strlen(commands[i].word) != n || strncmp(commands[i].word, line, n)))
        i++;
    if (i == ARRAY_LEN(commands)) {
        log_error("command '%s' is not known", line);
        exit(EXIT_CODE_USAGE);
    }
    commands[i].run(b, line[n] ? line + n + 1 : "");
    fflush(stdout);
}

int main(int argc, char **argv)
{
    static struct bench b;
    char line[4096];

    if (argc != 7) {
        log_error("usage: bench_lm MODEL TEXTS DEVICE f32|bf16 BATCH NEW");
        return EXIT_CODE_USAGE;
    }
    b.request = lm_request_defaults;
    b.request.base = argv[1];
    b.request.data = argv[2];
    b.request.device = argv[3];
    b.request.settings.compute = argv[4];
    b.request.settings.neftune = 5;
    b.batch = b.request.settings.train.batch = strtol(argv[5], NULL, 10);
    b.new = strtol(argv[6], NULL, 10);
    if (b.batch < 1 || b.batch > MAX_BATCH || b.new < 1) {
        log_error("BATCH from 1 to %d and NEW from 1 on wanted", MAX_BATCH);
        return EXIT_CODE_USAGE;
    }
    while (fgets(line, sizeof line, stdin)) {
        line[strcspn(line, "\n")] = '\0';
        answer(&b, line);
    }
    return 0;
}
