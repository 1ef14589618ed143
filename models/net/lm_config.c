#include "models/net/lm_config.h"

#include "data/base/json.h"
#include "data/base/log.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Fields that every reader reads, and fields without effect on inference and training. */
static const char *const common[] = {
    "architectures",
    "model_type",
    "vocab_size",
    "initializer_range",
    "tie_word_embeddings",
    "eos_token_id",
    "dtype",
    "torch_dtype",
    "bos_token_id",
    "pad_token_id",
    "transformers_version",
    "use_cache",
    "_name_or_path",
    "return_dict",
    "output_hidden_states",
    "output_attentions",
    "chunk_size_feed_forward",
    "id2label",
    "label2id",
    "problem_type",
    "is_decoder",
    "is_encoder_decoder",
    "add_cross_attention",
    "cross_attention_hidden_size",
    "tie_encoder_decoder",
    "finetuning_task",
    "task_specific_params",
    "tokenizer_class",
    "prefix",
    "sep_token_id",
    "decoder_start_token_id",
    "torchscript",
    "use_bfloat16",
    "tf_legacy_loss",
    "pruned_heads",
    "unsloth_fixed",
    "unsloth_version",
    NULL,
};

bool lm_config_common(const char *field)
{
    return config_named(common, field);
}

bool lm_config_harmless(const json_t *v, double number)
{
    return !v || json_is_null(v) || json_is_false(v) || (json_is_number(v) && json_number_value(v) == number);
}

int lm_config_foreign(const struct config_fields *s, const struct foreign_field *list)
{
    for (; list->name; list++)
        if (!lm_config_harmless(json_object_get(s->root, list->name), list->harmless))
            return config_refuse(s, list->name, list->harmless == 1 ? "1" : "none or false");
    return 0;
}

static bool is_foreign(const struct foreign_field *list, const char *field)
{
    while (list->name && strcmp(list->name, field))
        list++;
    return list->name != NULL;
}

void lm_config_unknown(const struct config_fields *s, const char *const *own, const struct foreign_field *foreign)
{
    const char *field;
    json_t *v;

    json_object_foreach((json_t *)(uintptr_t)s->root, field, v)
    {
        if (!lm_config_common(field) && !config_named(own, field) && !is_foreign(foreign, field) &&
            !lm_config_harmless(v, 0))
            config_unknown(s, field);
    }
}

int lm_config_dtype(const struct config_fields *s, enum dtype *out)
{
    const char *field = config_absent(s, "dtype") ? "torch_dtype" : "dtype";
    const char *name = json_string_value(json_object_get(s->root, field));

    if (config_absent(s, field))
        return 0;
    if (!name || (strcmp(name, "float32") && strcmp(name, "bfloat16") && strcmp(name, "float16")))
        return config_refuse(s, field, "\"float32\", \"bfloat16\" or \"float16\"");
    *out = strcmp(name, "float32") ? BF16 : F32;
    return 0;
}

bool lm_config_own_head(const struct safetensors *weights, const struct safetensors_entry *table)
{
    const struct safetensors_entry *head = safetensors_find(weights, "lm_head.weight");

    return head && table && !safetensors_same(weights, head, table);
}

static int add_stop(const struct config_fields *s, int vocab_size, int stops[LM_MAX_STOPS], int *n, const json_t *v)
{
    json_int_t id = json_integer_value(v);

    if (!json_is_integer(v) || id < 0 || id >= vocab_size || *n == LM_MAX_STOPS)
        return config_refuse(s, "eos_token_id", "an id of the vocabulary, or up to 16 of them");
    for (int i = 0; i < *n; i++)
        if (stops[i] == id)
            return 0;
    stops[(*n)++] = (int)id;
    return 0;
}

int lm_config_stops(const struct config_fields *s, int vocab_size, int stops[LM_MAX_STOPS], int *n)
{
    const json_t *v = json_object_get(s->root, "eos_token_id");

    if (config_absent(s, "eos_token_id"))
        return 0;
    if (!json_is_array(v))
        return add_stop(s, vocab_size, stops, n, v);
    for (size_t i = 0; i < json_array_size(v); i++)
        if (add_stop(s, vocab_size, stops, n, json_array_get(v, i)))
            return -1;
    return 0;
}

int lm_config_more_stops(const char *dir, int vocab_size, int stops[LM_MAX_STOPS], int *n, struct error *err)
{
    char *path = path_in(dir, "generation_config.json");
    json_t *root = NULL;
    int rc = 0;

    if (!access(path, F_OK)) {
        root = json_read_file(path, err);
        struct config_fields s = { root, path, err };
        rc = root ? lm_config_stops(&s, vocab_size, stops, n) : -1;
        if (!root && err)
            err->code = EXIT_CODE_CHECKPOINT;
    }
    json_decref(root);
    free(path);
    return rc;
}

json_t *lm_config_stops_json(const int *stops, int n)
{
    json_t *list = json_array();

    for (int i = 0; i < n; i++)
        json_array_append_new(list, json_integer(stops[i]));
    return list;
}
