/* Any bytes as adapter_config.json: refused, or every rank and scale is valid. */
#include "models/io/lora.h"

#include <math.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const char *const modules[] = { "model.layers.0.self_attn.q_proj", "model.layers.1.mlp.down_proj",
                                           "lm_head" };
    struct lora_config c;
    struct error err;
    json_t *root = json_loadb((const char *)data, size, JSON_REJECT_DUPLICATES, NULL);

    if (root && lora_config_parse(&c, root, "adapter_config.json", &err) == 0) {
        CHECK(c.r > 0 && c.r <= LORA_MAX_RANK && c.dropout >= 0 && c.dropout < 1, "rank and dropout");
        for (int i = 0; i < ARRAY_LEN(modules); i++) {
            float scale = 0;
            int rank = lora_config_rank(&c, modules[i], &scale, &err);
            CHECK(rank >= -1 && rank <= LORA_MAX_RANK && isfinite(scale), "rank %d, scale %g", rank, (double)scale);
        }
        lora_config_release(&c);
    }
    json_decref(root);
    return 0;
}
