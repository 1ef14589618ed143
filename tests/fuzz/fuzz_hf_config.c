/* Any bytes as config.json: refused, or every number is within its bounds. */
#include "tests/support/fuzz.h"

#include "models/hf/hf_config.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct hf_config c;
    struct error err;
    json_t *root = json_loadb((const char *)data, size, JSON_REJECT_DUPLICATES, NULL);

    if (root && hf_config_parse(&c, root, "config.json", &err) == 0) {
        const struct bert_config *b = &c.bert;
        CHECK(b->vocab_size > 0 && b->layers > 0 && b->heads > 0 && b->hidden_size % b->heads == 0, "sizes");
        CHECK(b->hidden_size / b->heads >= 1 && b->hidden_size / b->heads <= HEAD_DIM_MAX, "heads");
        CHECK(b->hidden_size > 0 && b->intermediate_size > 0 && b->max_positions > 0 && b->type_vocab_size > 0,
              "sizes");
        CHECK(b->layer_norm_eps > 0 && b->hidden_dropout >= 0 && b->hidden_dropout < 1, "reals");
        CHECK(b->attention_dropout >= 0 && b->attention_dropout < 1 && c.classifier_dropout < 1, "reals");
        CHECK(c.pad_token_id >= 0 && c.pad_token_id < b->vocab_size && c.n_labels > 0, "labels");
        CHECK(memchr(c.architecture, 0, sizeof c.architecture) && memchr(c.problem_type, 0, sizeof c.problem_type),
              "texts");
    }
    json_decref(root);
    return 0;
}
