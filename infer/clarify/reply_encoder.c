#include "infer/clarify/reply_encoder.h"

#include "data/base/log.h"

#include <stdlib.h>

enum { HOST_BYTES = 16 << 20, TOKENS = 4096 };

/* Texts of any subject.  An option that is similar to all of them says little by being similar to a reply. */
static const char *const background[] = {
    "name",
    "date of birth",
    "number of orders",
    "city of customer",
    "total price of product",
    "status of order",
    "type of account",
    "description",
    "home address of person",
    "largest value",
    "oldest",
    "employees",
    "students",
    "products",
    "the one that was added last",
    "where it is stored",
    "who did it",
    "how long it takes",
    "when it happened",
    "what it costs",
    "something else",
    "hello",
    "thank you very much",
    "how many are there",
    "red",
    "country",
    "email address of user",
    "score of game",
    "weight of animal",
    "year of publication",
    "title of book",
    "temperature",
    "the blue one",
    "that is wrong",
    "how do I do this",
    "left or right",
};

/* Sets the number of layers of the next vectors, for layer i of REPLY_LAYERS. */
static void set_layers(struct reply_encoder *e, int i)
{
    e->encoder.layers = REPLY_FIRST_LAYER + i;
}

/* Computes the mean vector of the background after each layer. */
static int embed_background(struct reply_encoder *e, struct error *err)
{
    int64_t width = sentence_encoder_width(&e->encoder);
    float *vectors = xmalloc(ARRAY_LEN(background) * (size_t)width * sizeof *vectors);
    int rc = 0;

    e->background = xcalloc(REPLY_LAYERS * (size_t)width, sizeof *e->background);
    for (int i = 0; i < REPLY_LAYERS && rc == 0; i++) {
        set_layers(e, i);
        rc = sentence_encoder_embed(&e->encoder, vectors, background, ARRAY_LEN(background), err);
        for (int64_t k = 0; k < (int64_t)ARRAY_LEN(background) * width && rc == 0; k++)
            e->background[i * width + k % width] += vectors[k] / ARRAY_LEN(background);
    }
    free(vectors);
    return rc;
}

static int open_model(struct reply_encoder *e, const char *dir, struct error *err)
{
    if (device_open(&e->device, "cpu", err) || workspace_init(&e->work, &e->device, HOST_BYTES, err) ||
        gate_model_open(&e->model, &e->device, dir, err))
        return -1;
    const struct bert *net = &e->model.net.bert;
    int needed = REPLY_FIRST_LAYER + REPLY_LAYERS - 1;
    if (net->config.kind != CLASSIC_BERT || net->config.layers < needed)
        return error_set(err, EXIT_CODE_CHECKPOINT, "%s: expected a BERT of at least %d layers", dir, needed);
    sentence_encoder_borrow(&e->encoder, &e->work, net, needed, e->model.tokenizer, TOKENS);
    return embed_background(e, err);
}

static int open_encoder(struct reply_encoder *e, struct error *err)
{
    if (!gate_model_has_room())
        return error_set(err, EXIT_CODE_MEMORY, "the address space is limited to less than 2 GiB");
    char *dir = gate_model_default("--detector", err);
    int rc = dir ? open_model(e, dir, err) : -1;
    free(dir);
    return rc;
}

/* Adds the similarities after one layer. */
static void add_similarities(double *similarity, const float *vectors, const float *mean, int n, int64_t width)
{
    for (int i = 0; i < n; i++) {
        const float *option = vectors + (1 + i) * width;
        for (int64_t k = 0; k < width; k++)
            similarity[i] += (double)(vectors[k] - mean[k]) * (double)option[k] / REPLY_LAYERS;
    }
}

static int compare(struct reply_encoder *e, double *similarity, const char *text, const char *const *options, int n,
                   struct error *err)
{
    int64_t width = sentence_encoder_width(&e->encoder);
    const char *texts[1 + REPLY_TEXTS] = { text };
    float *vectors = xmalloc((size_t)(n + 1) * (size_t)width * sizeof *vectors);
    int rc = 0;

    for (int i = 0; i < n; i++) {
        texts[1 + i] = options[i];
        similarity[i] = 0;
    }
    for (int i = 0; i < REPLY_LAYERS && rc == 0; i++) {
        set_layers(e, i);
        rc = sentence_encoder_embed(&e->encoder, vectors, texts, n + 1, err);
        if (rc == 0)
            add_similarities(similarity, vectors, e->background + i * width, n, width);
    }
    free(vectors);
    return rc;
}

bool reply_encoder_compare(struct reply_encoder *e, double *similarity, const char *text, const char *const *options,
                           int n)
{
    struct error err = { 0 };

    CHECK(n <= REPLY_TEXTS, "%d options", n);
    if (!e->tried)
        e->open = open_encoder(e, &err) == 0;
    e->tried = true;
    if (e->open && compare(e, similarity, text, options, n, &err))
        e->open = false;
    if (err.code)
        log_info("replies are compared by their words alone: %s", err.text);
    return e->open;
}

void reply_encoder_close(struct reply_encoder *e)
{
    if (!e->tried)
        return;
    sentence_encoder_close(&e->encoder);
    gate_model_release(&e->model);
    if (e->work.device)
        workspace_release(&e->work);
    if (e->device.driver)
        device_close(&e->device);
    free(e->background);
    *e = (struct reply_encoder){ .tried = false };
}
