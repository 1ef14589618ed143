/*
 * encoder.h - the encoder that a trainer starts with: a pretrained one from a Hugging Face folder, or a new one.
 */
#ifndef TRAIN_RUN_ENCODER_H
#define TRAIN_RUN_ENCODER_H

#include "data/base/option_rows.h"
#include "models/net/bert.h"
#include "models/text/tokenizer.h"

/* Sizes of a new encoder. */
struct encoder_settings {
    int64_t hidden, layers, heads, intermediate, vocabulary, positions;
    double dropout;
};

#define ENCODER_DEFAULTS                                                                                               \
    {                                                                                                                  \
        .hidden = 128, .layers = 2, .heads = 4, .intermediate = 512, .vocabulary = 4000, .positions = 512,             \
        .dropout = 0.1                                                                                                 \
    }

/* Rows of a command's option table. `at` is the offset of the command's struct encoder_settings. */
#define ENCODER_AT(at, field) ((at) + offsetof(struct encoder_settings, field))
/* clang-format off */
#define ENCODER_OPTIONS(at) \
    INT_OPTION("encoder-hidden", ENCODER_AT(at, hidden), "N", 32, 4096, "channels", .group = "new encoder"), \
    INT_OPTION("encoder-layers", ENCODER_AT(at, layers), "N", 1, 48, "layers"), \
    INT_OPTION("encoder-heads", ENCODER_AT(at, heads), "N", 1, 64, "attention heads of at most 256 channels"), \
    INT_OPTION("encoder-intermediate", ENCODER_AT(at, intermediate), "N", 32, 16384, "feed-forward channels"), \
    INT_OPTION("encoder-vocabulary", ENCODER_AT(at, vocabulary), "N", 200, 100000, "maximum number of WordPiece entries"), \
    INT_OPTION("encoder-positions", ENCODER_AT(at, positions), "N", 64, 8192, "maximum number of tokens of a sequence"), \
    REAL_OPTION("encoder-dropout", ENCODER_AT(at, dropout), "P", 0, 0.9, "dropout")
/* clang-format on */

/* Opens the tokenizer of a folder and reads the configuration of its encoder. A BERT must have at least `segments`
 * token types. The caller closes the tokenizer. NULL with EXIT_CODE_CHECKPOINT. */
struct tokenizer *encoder_from_folder(const char *dir, int segments, struct bert_config *bert, struct error *err);
/* Trains a WordPiece vocabulary on n texts, with `unused` ids that a model may use as markers, and fills *bert from
 * the settings. The caller closes the tokenizer. NULL with EXIT_CODE_USAGE. */
struct tokenizer *encoder_from_scratch(const struct encoder_settings *s, const char *const *texts, int64_t n,
                                       int unused, struct bert_config *bert, struct error *err);

#endif
