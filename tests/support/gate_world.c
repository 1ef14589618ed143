#include "tests/support/gate_world.h"

#include "data/schema/schema_build.h"
#include "kernels/rng.h"
#include "models/text/tokenizer_train.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const struct gate_world_settings gate_world_kinds[] = {
    { ENCODE_ELEMENT, CLASSIFIER_PAIR, GATE_POOL_MEAN, F32, 0, 0, 0, 0, 0, 0 },
    { ENCODE_ELEMENT, CLASSIFIER_GAT_MEAN, GATE_POOL_SUM, F32, 0, 0, 0, 0, 0, 0 },
    { ENCODE_SCHEMA, CLASSIFIER_PAIR, GATE_POOL_MEAN, F32, 0, 0, 0, 0, 0, 0 },
    { ENCODE_SCHEMA, CLASSIFIER_GAT_MEAN, GATE_POOL_ATTENTION, F32, 0, 0, 0, 0, 0, 0 },
    { ENCODE_SCHEMA, CLASSIFIER_GAT_CAT, GATE_POOL_SUM, F32, 0, 0, 0, 0, 0, 0 },
    { ENCODE_SCHEMA, CLASSIFIER_GCN, GATE_POOL_MEAN, F32, 0, 0, 0, 0, 0, 0 },
    { ENCODE_SCHEMA, CLASSIFIER_RGCN, GATE_POOL_MEAN, F32, 0, 0, 0, 0, 0, 0 },
    { ENCODE_SCHEMA, CLASSIFIER_BERT_ONLY, GATE_POOL_MEAN, F32, 0, 0, 0, 0, 0, 0 },
    { ENCODE_ELEMENT, CLASSIFIER_PAIR, GATE_POOL_MEAN, F32, 0, 0, 1, 0, 0, 0 },
    { ENCODE_SCHEMA, CLASSIFIER_PAIR, GATE_POOL_MEAN, F32, 0, 0, 1, 0, 0, 0 },
    { ENCODE_ELEMENT, CLASSIFIER_PAIR, GATE_POOL_MEAN, F32, 0, 0, 0, 0, TEXTS_RELEVANCE, 0 },
    { ENCODE_ELEMENT, CLASSIFIER_GAT_MEAN, GATE_POOL_MEAN, F32, 0, 0, 0, GRAPH_REPRODUCTION, TEXTS_PUBLISHED, 1 },
};

enum { HOST_BYTES = 16 << 20, VOCABULARY = 400, QUESTION_WORDS = 7 };

static const char *const words[] = { "name",  "city",  "price", "weight", "author", "ship",  "school",  "river",
                                     "year",  "score", "team",  "band",   "album",  "crew",  "harbour", "teacher",
                                     "coach", "color", "size",  "budget", "rank",   "stock", "street",  "phone" };

static const char *word_of(struct rng *rng)
{
    return words[rng_below(rng, (uint32_t)ARRAY_LEN(words))];
}

static void draw_larger(struct gate_world *w)
{
    params_init(&w->model.params, &w->device, 7);
    for (int i = 0; i < w->model.params.n; i++) {
        struct param *p = &w->model.params.list[i];
        int64_t n = tensor_size(p->t);
        struct rng rng = { .seed = (uint64_t)i };
        float width = strncmp(p->name, "bert.", 5) ? 1.0f : 0.3f;
        float *x = xmalloc((size_t)n * sizeof *x);
        for (int64_t k = 0; k < n; k++)
            x[k] = (p->init_std < 0 ? 1.0f : 0.0f) + width * (rng_uniform(&rng) - 0.5f);
        param_upload(p, &w->device, x);
        free(x);
    }
}

void gate_world_open_on(struct gate_world *w, const struct gate_world_settings *s, const char *device)
{
    struct gatekeeper_config g = { .encode = s->encode,
                                   .classifier = s->classifier,
                                   .pool = s->pool,
                                   .gat_hidden = 32,
                                   .gat_layers = 2,
                                   .gat_heads = 4,
                                   .edge_types = SCHEMA_EDGE_TYPES,
                                   .pair_hidden = 32,
                                   .pair_features = GATE_PAIR_FEATURES,
                                   .linguistic = s->linguistic,
                                   .texts = s->texts,
                                   .embedder = s->embedder,
                                   .dropout = s->dropout };
    struct error err;

    *w = (struct gate_world){ 0 };
    const char *texts[2 * ARRAY_LEN(words)]; /* a word that stands once is not learnt */
    for (int i = 0; i < ARRAY_LEN(texts); i++)
        texts[i] = words[i % ARRAY_LEN(words)];
    struct tokenizer *t = tokenizer_from_words(texts, ARRAY_LEN(texts), 0, VOCABULARY, &err);
    assert_non_null(t);
    g.bert = (struct bert_config){ .vocab_size = tokenizer_vocab_size(t),
                                   .hidden_size = 64,
                                   .layers = 2,
                                   .heads = 2,
                                   .intermediate_size = 96,
                                   .max_positions = s->max_positions ? s->max_positions : 128,
                                   .type_vocab_size = 2,
                                   .activation = ACT_GELU,
                                   .layer_norm_eps = 1e-12f,
                                   .hidden_dropout = s->dropout,
                                   .attention_dropout = s->dropout };
    assert_int_equal(device_open(&w->device, device, &err), 0);
    assert_int_equal(workspace_init(&w->work, &w->device, HOST_BYTES, &err), 0);
    assert_int_equal(gate_model_init(&w->model, &w->device, &g, s->dtype, s->graph, OPTIMIZER_ADAMW, t, &err), 0);
    assert_int_equal(optim_init(&w->optim, &w->device, &w->model.params, &err), 0);
    draw_larger(w);
    gate_scorer_init(&w->scorer, &w->model, &w->work, 2048);
}

void gate_world_open(struct gate_world *w, const struct gate_world_settings *s)
{
    gate_world_open_on(w, s, "cpu");
}

void gate_world_close(struct gate_world *w)
{
    gate_scorer_release(&w->scorer);
    gate_model_release(&w->model);
    optim_release(&w->optim, &w->device);
    workspace_release(&w->work);
    device_close(&w->device);
}

static void add_table(struct schema_build *b, const char *name, struct rng *rng)
{
    char column[128];
    int t = schema_build_table(b, name, NULL), key = schema_build_column(b, t, "id", NULL, COLUMN_NUMBER);

    schema_build_primary(b, key);
    for (int i = 0; i < 3; i++) {
        snprintf(column, sizeof column, "%s_%s", word_of(rng), word_of(rng));
        schema_build_column(b, t, column, NULL, i ? COLUMN_TEXT : COLUMN_NUMBER);
    }
}

void gate_world_schema(struct schema *s, int tables, uint64_t seed)
{
    struct rng rng = { .seed = seed };
    struct schema_build b;
    char name[128];

    schema_build_init(&b, "world");
    for (int i = 0; i < tables; i++) {
        snprintf(name, sizeof name, "%s_%d", word_of(&rng), i);
        add_table(&b, name, &rng);
    }
    for (int i = 1; i < tables; i++)
        schema_build_foreign_key(&b, 4 * i + 1, 4 * (i - 1));
    schema_build_finish(&b, s);
}

void gate_question_init(struct gate_question *q, const struct gate_world *w, struct schema *schema, uint64_t seed)
{
    struct schema_input_settings settings = gate_model_input(&w->model, true);
    struct rng rng = { .seed = seed };
    struct error err;

    *q = (struct gate_question){ .schema = *schema };
    assert_int_equal(schema_input_init(&q->input, &q->schema, w->model.tokenizer, &settings, &err), 0);
    for (uint32_t i = 0, n = 1 + rng_below(&rng, QUESTION_WORDS); i < n; i++) {
        const char *word = word_of(&rng);
        size_t used = strlen(q->text);
        snprintf(q->text + used, sizeof q->text - used, "%s ", word);
        tokenizer_encode(w->model.tokenizer, word, strlen(word), 0, &q->ids, NULL);
    }
    q->item = (struct gate_item){
        .schema = &q->input, .text = q->text, .question = q->ids.items, .n_question = (int)q->ids.count
    };
}

void gate_question_release(struct gate_question *q)
{
    schema_input_release(&q->input);
    schema_release(&q->schema);
    ids_release(&q->ids);
}
