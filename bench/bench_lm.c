/*
 * bench_lm MODEL TEXTS DEVICE f32|bf16 BATCH NEW: steps of a language model, through the code that ambit-train and
 * ambit-infer run.
 *
 * MODEL is a Hugging Face folder, TEXTS a file of {"id", "prompt", "completion"}.
 * Commands on standard input, each answered by one line:
 *   train       the next LoRA step (rank 16 on all seven maps of a block, NEFTune 5) on BATCH texts; seconds
 *   decode      NEW greedy tokens for each of the first BATCH prompts, prompts read included; seconds
 *   tokens      tokens of the texts of the newest step
 *   said        the first tokens that decode found, of each prompt
 */
#include "data/log.h"
#include "models/llama_generate.h"
#include "train/infill_trainer.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { HOST_BYTES = 256 << 20, MAX_BATCH = 4096, SHOWN = 8 };

struct bench {
    struct infill_request request;
    struct infill_trainer trainer; /* open once train was asked for */
    struct device device;
    struct workspace work;
    struct llama_model model; /* open once decode was asked for */
    struct infill_data texts;
    struct generation said[MAX_BATCH];
    int64_t batch, new, tokens;
};

static void die(const struct error *err)
{
    log_error("%s", err->text);
    exit((int)err->code);
}

static void open_trainer(struct bench *b)
{
    struct error err;

    if (!b->trainer.request && infill_open(&b->trainer, &b->request, &err))
        die(&err);
}

static void train(struct bench *b)
{
    struct error err;
    int64_t before = b->trainer.state.tokens;

    if (infill_step(&b->trainer, &err))
        die(&err);
    b->tokens = b->trainer.state.tokens - before;
    b->trainer.state.batch = (b->trainer.state.batch + 1) % infill_batches(&b->trainer);
}

static void open_model(struct bench *b)
{
    struct llama_request r = { .dir = b->request.base, .dtype = b->request.settings.compute };
    struct error err;

    if (b->model.tokenizer)
        return;
    if (device_open(&b->device, b->request.device, &err) || workspace_init(&b->work, &b->device, HOST_BYTES, &err) ||
        llama_model_open(&b->model, &b->device, &r, &err) ||
        infill_data_read(&b->texts, b->request.data, &b->model, b->model.net.config.max_positions, false, &err))
        die(&err);
    b->model.net.config.n_stops = 0; /* every answer has NEW tokens */
    if (b->texts.n < b->batch)
        b->batch = b->texts.n;
}

static void decode(struct bench *b)
{
    struct generate_settings set = { .max_new = b->new, .batch = b->batch, .step_tokens = INT32_MAX };
    struct generator g;
    struct error err;

    for (int64_t i = 0; i < b->batch; i++) {
        const struct lm_text *p = &b->texts.items[i].text;
        ids_release(&b->said[i].out);
        b->said[i] = (struct generation){ .prompt = p->ids.items, .n_prompt = lm_text_prompt_length(p) };
    }
    generator_init(&g, &b->model, &b->work, &set);
    if (generator_run(&g, b->said, b->batch, NULL, NULL, &err))
        die(&err);
    generator_release(&g);
}

static void show(const struct bench *b)
{
    for (int64_t i = 0; i < b->batch; i++)
        for (int64_t k = 0; k < SHOWN && k < b->said[i].out.count; k++)
            printf("%d ", b->said[i].out.items[k]);
    printf("\n");
}

static void answer(struct bench *b, const char *line)
{
    bool trains = !strcmp(line, "train\n"), decodes = !strcmp(line, "decode\n");

    if (trains)
        open_trainer(b);
    if (decodes)
        open_model(b);
    double start = now_seconds();
    if (trains)
        train(b);
    else if (decodes)
        decode(b);
    if (trains || decodes)
        printf("%.7f\n", now_seconds() - start);
    else if (!strcmp(line, "tokens\n"))
        printf("%lld\n", (long long)b->tokens);
    else
        show(b);
    fflush(stdout);
}

int main(int argc, char **argv)
{
    static struct bench b;
    char line[64];

    if (argc != 7) {
        log_error("usage: bench_lm MODEL TEXTS DEVICE f32|bf16 BATCH NEW");
        return EXIT_CODE_USAGE;
    }
    b.request = infill_request_defaults;
    b.request.base = argv[1];
    b.request.data = argv[2];
    b.request.device = argv[3];
    b.request.settings.compute = argv[4];
    b.request.settings.neftune = 5;
    b.batch = b.request.settings.batch = strtol(argv[5], NULL, 10);
    b.new = strtol(argv[6], NULL, 10);
    if (b.batch < 1 || b.batch > MAX_BATCH || b.new < 1) {
        log_error("BATCH from 1 to %d and NEW from 1 on wanted", MAX_BATCH);
        return EXIT_CODE_USAGE;
    }
    while (fgets(line, sizeof line, stdin))
        answer(&b, line);
    return 0;
}
