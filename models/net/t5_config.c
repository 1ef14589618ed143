#include "models/net/t5_config.h"

#include "data/base/json.h"
#include "kernels/op_types.h"
#include "models/io/safetensors.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_WIDTH = 1 << 20, MAX_VOCAB = 1 << 24, MAX_LAYERS = 1000, MAX_BUCKETS = 1 << 10, MAX_DISTANCE = 1 << 13 };

/* Fields that are read here, or that have no effect here: positions have no limit. */
static const char *const own[] = {
    "d_model",
    "d_kv",
    "d_ff",
    "num_layers",
    "num_decoder_layers",
    "num_heads",
    "relative_attention_num_buckets",
    "relative_attention_max_distance",
    "dropout_rate",
    "layer_norm_epsilon",
    "initializer_factor",
    "feed_forward_proj",
    "dense_act_fn",
    "is_gated_act",
    "scale_decoder_outputs",
    "classifier_dropout",
    "n_positions",
    "output_past",
    "gradient_checkpointing",
    NULL,
};

static const struct foreign_field foreign[] = {
    { "quantization_config", 0 },
    { "tie_encoder_decoder", 0 },
    { 0 },
};

static int get_sizes(struct t5_config *c, const struct config_fields *s)
{
    if (config_int(s, "vocab_size", 2, MAX_VOCAB, &c->vocab_size) ||
        config_int(s, "d_model", 1, MAX_WIDTH, &c->d_model) || config_int(s, "d_kv", 1, HEAD_DIM_MAX, &c->d_kv) ||
        config_int(s, "d_ff", 1, MAX_WIDTH, &c->d_ff) ||
        config_int(s, "num_layers", 1, MAX_LAYERS, &c->encoder_layers) ||
        config_int(s, "num_heads", 1, MAX_WIDTH, &c->heads))
        return -1;
    c->decoder_layers = c->encoder_layers;
    return config_maybe_int(s, "num_decoder_layers", 1, MAX_LAYERS, &c->decoder_layers);
}

/* Both directions need buckets for single distances, then growing ones, which need room to grow. */
static int get_positions(struct t5_config *c, const struct config_fields *s)
{
    c->buckets = 32;
    c->max_distance = 128;
    if (config_maybe_int(s, "relative_attention_num_buckets", 4, MAX_BUCKETS, &c->buckets))
        return -1;
    if (c->buckets % 2)
        return config_refuse(s, "relative_attention_num_buckets", "an even number");
    return config_maybe_int(s, "relative_attention_max_distance", c->buckets / 2 + 1, MAX_DISTANCE, &c->max_distance);
}

static int get_feed_forward(struct t5_config *c, const struct config_fields *s)
{
    const char *kind = json_string_value(json_object_get(s->root, "feed_forward_proj"));

    if (config_absent(s, "feed_forward_proj"))
        return 0;
    if (!kind || (strcmp(kind, "relu") && strcmp(kind, "gated-gelu")))
        return config_refuse(s, "feed_forward_proj", "\"relu\" or \"gated-gelu\"");
    c->gated = strcmp(kind, "relu") != 0;
    return 0;
}

/* dense_act_fn and is_gated_act repeat feed_forward_proj. transformers uses them if they differ. */
static int check_feed_forward(const struct t5_config *c, const struct config_fields *s)
{
    const char *usual = c->gated ? "\"gelu_new\", as feed_forward_proj says" : "\"relu\", as feed_forward_proj says";
    const char *act = json_string_value(json_object_get(s->root, "dense_act_fn"));
    bool gated = c->gated;

    if (!config_absent(s, "dense_act_fn") && (!act || strcmp(act, c->gated ? "gelu_new" : "relu")))
        return config_refuse(s, "dense_act_fn", usual);
    if (config_maybe_bool(s, "is_gated_act", &gated))
        return -1;
    return gated == c->gated ? 0 : config_refuse(s, "is_gated_act", c->gated ? "true" : "false");
}

/* In older files, a tied head means that states are scaled; newer files have a field. */
static int get_scale(struct t5_config *c, const struct config_fields *s)
{
    c->scaled = true;
    return config_maybe_bool(s, "tie_word_embeddings", &c->scaled) ||
                   config_maybe_bool(s, "scale_decoder_outputs", &c->scaled)
               ? -1
               : 0;
}

static int get_tokens(struct t5_config *c, const struct config_fields *s)
{
    if (config_maybe_int(s, "pad_token_id", 0, c->vocab_size - 1, &c->start) ||
        config_maybe_int(s, "decoder_start_token_id", 0, c->vocab_size - 1, &c->start) ||
        lm_config_stops(s, c->vocab_size, c->stops, &c->n_stops))
        return -1;
    if (!c->n_stops)
        c->stops[c->n_stops++] = 1;
    return 0;
}

static int check_kind(const struct config_fields *s)
{
    const char *type = json_string_value(json_object_get(s->root, "model_type"));
    const char *architecture = json_string_value(json_array_get(json_object_get(s->root, "architectures"), 0));

    if (!type || strcmp(type, "t5"))
        return config_refuse(s, "model_type", "\"t5\"");
    if (architecture && strcmp(architecture, "T5ForConditionalGeneration") &&
        strcmp(architecture, "T5WithLMHeadModel")) /* name of the class in the first files */
        return config_refuse(s, "architectures", "T5ForConditionalGeneration");
    return 0;
}

int t5_config_parse(struct t5_config *c, const json_t *root, const char *where, struct error *err)
{
    struct config_fields s = { root, where, err };
    bool tied = c->tied;

    *c = (struct t5_config){ .tied = tied, .layer_norm_eps = 1e-6f, .dropout = 0.1f, .initializer_factor = 1 };
    if (!json_is_object(root))
        return error_set(err, EXIT_CODE_CHECKPOINT, "%s: not a JSON object", where);
    if (check_kind(&s) || lm_config_foreign(&s, foreign) || get_sizes(c, &s) || get_positions(c, &s) ||
        get_feed_forward(c, &s) || check_feed_forward(c, &s) || get_scale(c, &s) || get_tokens(c, &s) ||
        lm_config_dtype(&s, &c->dtype) || config_maybe_real(&s, "layer_norm_epsilon", 1e-30, 1, &c->layer_norm_eps) ||
        config_maybe_real(&s, "dropout_rate", 0, 0.999, &c->dropout) ||
        config_maybe_real(&s, "initializer_factor", 0, 1e3, &c->initializer_factor))
        return -1;
    lm_config_unknown(&s, own, foreign);
    return 0;
}

/* The embedding table has several names. Under the head's name it is the head, unless the head differs. */
static int get_tied(struct t5_config *c, const char *dir, struct error *err)
{
    static const char *const names[] = { "shared.weight", "encoder.embed_tokens.weight",
                                         "decoder.embed_tokens.weight" };
    const struct safetensors_entry *table = NULL, *e;
    struct safetensors s;
    int rc = 0;

    if (safetensors_open(&s, dir, err))
        return -1;
    for (int i = 0; i < ARRAY_LEN(names) && rc == 0; i++) {
        if (!(e = safetensors_find(&s, names[i])))
            continue;
        if (table && !safetensors_same(&s, table, e))
            rc = error_set(err, EXIT_CODE_CHECKPOINT, "%s: %s: expected the numbers of %s", s.path, e->name,
                           table->name);
        table = table ? table : e;
    }
    c->tied = !lm_config_own_head(&s, table);
    safetensors_close(&s);
    return rc;
}

bool t5_config_is(const char *dir)
{
    char *path;
    struct error err;
    json_t *root = config_open(dir, "config.json", &path, &err);
    const char *type = json_string_value(json_object_get(root, "model_type"));
    bool is = (type && !strcmp(type, "t5")) || json_is_true(json_object_get(root, "is_encoder_decoder"));

    json_decref(root);
    free(path);
    return is;
}

int t5_config_read(struct t5_config *c, const char *dir, struct error *err)
{
    char *path;
    json_t *root = config_open(dir, "config.json", &path, err);

    *c = (struct t5_config){ 0 };
    int rc = root ? t5_config_parse(c, root, path, err) : -1;

    if (rc == 0 && (rc = lm_config_more_stops(dir, c->vocab_size, c->stops, &c->n_stops, err)) == 0)
        rc = get_tied(c, dir, err);
    json_decref(root);
    free(path);
    return rc;
}

static void set_rest(json_t *o, const struct t5_config *c, enum dtype stored)
{
    json_object_set_new(o, "layer_norm_epsilon", config_short_real(c->layer_norm_eps));
    json_object_set_new(o, "dropout_rate", config_short_real(c->dropout));
    json_object_set_new(o, "initializer_factor", config_short_real(c->initializer_factor));
    json_object_set_new(o, "eos_token_id", lm_config_stops_json(c->stops, c->n_stops));
    json_object_set_new(o, "torch_dtype", json_string(stored == BF16 ? "bfloat16" : "float32"));
}

int t5_config_write(const struct t5_config *c, const char *dir, enum dtype stored, struct error *err)
{
    char *path = path_in(dir, "config.json");
    json_t *o =
        json_pack("{s:[s], s:s, s:b, s:i, s:i, s:i, s:i, s:i, s:i, s:i, s:i, s:i, s:s, s:b, s:b, s:i, s:i}",
                  "architectures", "T5ForConditionalGeneration", "model_type", "t5", "is_encoder_decoder", true,
                  "vocab_size", c->vocab_size, "d_model", c->d_model, "d_kv", c->d_kv, "d_ff", c->d_ff, "num_layers",
                  c->encoder_layers, "num_decoder_layers", c->decoder_layers, "num_heads", c->heads,
                  "relative_attention_num_buckets", c->buckets, "relative_attention_max_distance", c->max_distance,
                  "feed_forward_proj", c->gated ? "gated-gelu" : "relu", "tie_word_embeddings", c->scaled,
                  "scale_decoder_outputs", c->scaled, "decoder_start_token_id", c->start, "pad_token_id", c->start);

    set_rest(o, c, stored);
    int rc = json_write_file(path, o, err);
    json_decref(o);
    free(path);
    return rc;
}

int t5_bucket(const struct t5_config *c, int ahead, bool causal)
{
    int buckets = causal ? c->buckets : c->buckets / 2, exact = buckets / 2, bucket;
    int distance = causal && ahead > 0 ? 0 : abs(ahead);

    if (distance < exact) {
        bucket = distance;
    } else { /* step by step in f32, as in transformers */
        float share = logf((float)distance / (float)exact) / (float)log((double)c->max_distance / exact);
        bucket = exact + (int)(share * (float)(buckets - exact));
    }
    bucket = bucket < buckets ? bucket : buckets - 1;
    return !causal && ahead > 0 ? buckets + bucket : bucket;
}
