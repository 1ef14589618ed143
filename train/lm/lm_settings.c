#include "train/lm/lm_settings.h"

#include "data/base/option_rows.h"

const struct lm_request lm_request_defaults = {
    .device = "auto",
    .prompt = PROMPTER_DEFAULTS,
    .seed = 42,
    .settings = {
        .train = TRAIN_INFILLER,
        .method = METHOD_LORA,
        .targets = "q,k,v,o,gate,up,down",
        .head = HEAD_NONE,
        .rank = 16,
        .alpha = 32,
        .compute = "auto",
        .hidden = 256,
        .layers = 6,
        .heads = 4,
        .kv_heads = 2,
        .intermediate = 704,
        .positions = 2048,
        .length = 8192,
        .max_valid = 100,
        .schedule = LM_COSINE,
        .select = SELECT_LOSS,
        .max_new = 512,
        .group_by_length = true,
    },
};

/* For a new model on two cores; --preset picard has rates and sizes of large models. */
const struct lm_request seq2seq_request_defaults = {
    .seq2seq = true,
    .device = "auto",
    .prompt = PROMPTER_DEFAULTS,
    .seed = 42,
    .settings = {
        .train = TRAIN_SEQ2SEQ,
        .method = METHOD_FULL,
        .compute = "auto",
        .hidden = 256,
        .layers = 4,
        .heads = 4,
        .intermediate = 704,
        .feed_forward = FEED_GATED_GELU,
        .dropout = 0.1,
        .length = 512,
        .max_valid = 100,
        .schedule = LM_COSINE,
        .select = SELECT_LOSS,
        .max_new = 256,
        .group_by_length = true,
    },
};

/* Clip ranges of DAPO (Yu et al. 2025, arXiv 2503.14476), which IntentRL was trained with. */
const struct lm_request reward_request_defaults = {
    .device = "auto",
    .prompt = PROMPTER_DEFAULTS,
    .server = ENDPOINT_DEFAULTS("lm"),
    .seed = 42,
    .settings = {
        .train = TRAIN_REWARD,
        .method = METHOD_LORA,
        .targets = "q,k,v,o,gate,up,down",
        .head = HEAD_NONE,
        .rank = 16,
        .alpha = 32,
        .compute = "auto",
        .length = 8192,
        .schedule = LM_CONSTANT,
        .select = SELECT_LOSS,
        .max_new = 256,
        .answers = 8,
        .reuse = 1,
        .program_timeout = 300,
        .clip_low = 0.2,
        .clip_high = 0.28,
    },
};

/* Models of "Disambiguate First, Parse Later" as published for Llama-3.1-8B-Instruct (section 5, appendix D, and the
 * training script), with the whole output matrix, as Unsloth trains a target lm_head. The script validates the last
 * five checkpoints; patience lets a run end five validations after its best one. */
#define DFPL_SETTINGS                                                                                                  \
    "rank: 16\n"                                                                                                       \
    "alpha: 16\n"                                                                                                      \
    "head: full\n"                                                                                                     \
    "neftune: 5\n"                                                                                                     \
    "lr: 5e-5\n"                                                                                                       \
    "schedule: cosine\n"                                                                                               \
    "warmup: 0.01\n"                                                                                                   \
    "weight-decay: 0.01\n"                                                                                             \
    "max-grad-norm: 0.3\n"                                                                                             \
    "batch: 8\n"                                                                                                       \
    "optimizer: adamw\n"                                                                                               \
    "moments: 8bit\n"                                                                                                  \
    "patience: 5\n"                                                                                                    \
    "length: 8192\n"

/* The infilling model, and the two baselines that see no existing interpretations (targets of ambit-data). */
static const char dfpl[] = DFPL_SETTINGS "epochs: 15\n", dfpl_baseline[] = DFPL_SETTINGS "epochs: 5\n";

const struct preset lm_presets[] = {
    { "dfpl", dfpl }, { "dfpl-e2e", dfpl_baseline }, { "dfpl-gold", dfpl_baseline }, { 0 }
};

/* T5 as trained for PICARD on Spider (train.json of its repository; batches of five with 410 accumulated gradients).
 * LogicalBeam uses the same trainer. */
static const char picard[] = "optimizer: adafactor\n"
                             "lr: 1e-4\n"
                             "schedule: constant\n"
                             "warmup: 0\n"
                             "weight-decay: 0\n"
                             "max-grad-norm: 1\n"
                             "batch: 2050\n"
                             "epochs: 3072\n"
                             "length: 512\n"
                             "max-valid: 0\n"
                             "eval-every: 64\n"
                             "select: exact-match\n"
                             "group-by-length: false\n";

const struct preset seq2seq_presets[] = { { "picard", picard }, { 0 } };

#define AT(field) offsetof(struct lm_request, settings.field)
#define HERE(field) offsetof(struct lm_request, field)
#define SERVER(field) HERE(server.field)

/* Rows of several commands. */
/* clang-format off */
#define MODEL_ROWS \
    STRING_OPTION("tokenizer", HERE(tokenizer), "DIR", "folder of ambit-train tokenizer", .group = "new model"), \
    CHOICE_OPTION("initialisation", AT(initialisation), "NAME", "published|copy", \
                  "first weights: published, or for early copying"), \
    INT_OPTION("hidden", AT(hidden), "N", 8, 65536, "channels"), \
    INT_OPTION("layers", AT(layers), "N", 1, 200, "layers, of each side of an encoder-decoder"), \
    INT_OPTION("heads", AT(heads), "N", 1, 512, "attention heads"), \
    INT_OPTION("intermediate", AT(intermediate), "N", 8, 1 << 20, "feed-forward channels")

#define ADAPTER_ROWS \
    CHOICE_OPTION("method", AT(method), "HOW", "lora|full", "train low-rank adapters, or all weights"), \
    STRING_OPTION("target-modules", AT(targets), "LIST", "linear maps with adapters"), \
    CHOICE_OPTION("head", AT(head), "HOW", "none|lora|full", "train the output matrix: low-rank or full"), \
    INT_OPTION("rank", AT(rank), "N", 1, 1024, "rank of the adapters"), \
    REAL_OPTION("alpha", AT(alpha), "A", OPTION_ABOVE_ZERO, 1e6, "scale of the adapters: alpha / rank"), \
    FLAG_OPTION("rslora", AT(rslora), "scale adapters by alpha / sqrt(rank)")

#define COMPUTE_ROW \
    WORD_OPTION("compute", AT(compute), "TYPE", "auto|f32|bf16", "type of weights and products; auto: as stored")

#define OPTIMIZER_ROWS \
    CHOICE_OPTION("schedule", AT(schedule), "FORM", "cosine|linear|constant", "decay of the learning rate"), \
    CHOICE_OPTION("optimizer", AT(optimizer), "NAME", "adamw|adafactor", "optimizer"), \
    CHOICE_OPTION("moments", AT(moments), "TYPE", "f32|8bit", "storage of AdamW's moments"), \
    INT_OPTION("tokens", AT(train.tokens), "N", 1, 1 << 24, "maximum number of tokens of a micro-batch")

#define SHOW_ROW \
    INT_OPTION("show-samples", HERE(show_samples), "N", 0, 1e6, "print N training examples token by token")

#define SELECT_ROWS \
    CHOICE_OPTION("select", AT(select), "METRIC", "loss|recall|template|exact-match|execution", \
                  "metric", .group = "choice of the best checkpoint"), \
    INT_OPTION("max-valid", AT(max_valid), "N", 0, 1e9, "maximum number of records of a validation, 0: all"), \
    INT_OPTION("max-new", AT(max_new), "N", 1, 1 << 20, "maximum number of tokens of a completion"), \
    SCHEMA_OPTION(HERE(schema), "exact-match: tables.json of --valid's databases"), \
    STRING_OPTION("db", HERE(db), "FILE|DIR", "recall, execution: SQLite databases of --valid"), \
    STRING_OPTION("sqls", HERE(sqls), "FILE", "recall: SQL of interpretations, from ambit-data infilling annotate"), \
    STRING_OPTION("sql-model", HERE(sql_model), "HF_DIR", "recall: model that writes SQL which --sqls lacks"), \
    PROMPTER_OPTIONS(HERE(prompt))
/* clang-format on */

const struct option lm_request_table[] = {
    STRING_OPTION("data", HERE(data), "FILE.jsonl", "training conversations", .required = true, .group = "input"),
    STRING_OPTION("valid", HERE(valid), "FILE.jsonl", "validation conversations"),
    STRING_OPTION("chat-template", HERE(chat_template), "NAME",
                  "llama3, llama3-unsloth, chatml, chatml-bare, gemma, mistral or FILE.json"),
    INT_OPTION("length", AT(length), "N", 2, 1 << 24, "leave out conversations of more tokens"),
    OUT_OPTION(HERE(out), "DIR", "folder of checkpoints and the adapter", .required = true),
    PRESET_OPTION("preset", HERE(preset), "NAME", "dfpl|dfpl-e2e|dfpl-gold",
                  "settings of a publication, by the target of --data", .group = "settings"),
    CONFIG_OPTION(HERE(config)),
    STRING_OPTION("base", HERE(base), "HF_DIR", "language model (default: a new model)", .group = "model"),
    ADAPTER_ROWS,
    REAL_OPTION("lora-dropout", AT(lora_dropout), "P", 0, 0.9, "dropout before the adapters"),
    COMPUTE_ROW,
    MODEL_ROWS,
    INT_OPTION("groups", AT(kv_heads), "N", 1, 512, "KV heads"),
    INT_OPTION("positions", AT(positions), "N", 16, 1 << 24, "maximum number of tokens of a text"),
    TRAIN_OPTIONS(1),
    OPTIMIZER_ROWS,
    REAL_OPTION("neftune", AT(neftune), "A", 0, 1000, "noise on embeddings: A / sqrt(length * channels)"),
    FLAG_OPTION("group-by-length", AT(group_by_length), "make batches of similar length"),
    FLAG_OPTION("share-prefix", AT(share_prefix), "compute common prefixes of a micro-batch once"),
    SELECT_ROWS,
    RUN_OPTIONS,
    SHOW_ROW,
    { 0 },
};

const struct option seq2seq_request_table[] = {
    STRING_OPTION("data", HERE(data), "FILE.jsonl", "training prompts and completions", .required = true,
                  .group = "input"),
    STRING_OPTION("valid", HERE(valid), "FILE.jsonl", "validation prompts and completions"),
    INT_OPTION("length", AT(length), "N", 2, 1 << 24,
               "maximum number of tokens of a prompt or completion; longer ones are truncated"),
    OUT_OPTION(HERE(out), "DIR", "folder of checkpoints and the model", .required = true),
    PRESET_OPTION("preset", HERE(preset), "NAME", "picard", "settings of a publication", .group = "settings"),
    CONFIG_OPTION(HERE(config)),
    STRING_OPTION("base", HERE(base), "HF_DIR", "encoder-decoder (default: a new model)", .group = "model"),
    COMPUTE_ROW,
    MODEL_ROWS,
    CHOICE_OPTION("feed-forward", AT(feed_forward), "FORM", "relu|gated-gelu", "feed-forward of T5 1.0 or 1.1"),
    REAL_OPTION("dropout", AT(dropout), "P", 0, 0.9, "dropout"),
    TRAIN_OPTIONS(1),
    OPTIMIZER_ROWS,
    FLAG_OPTION("group-by-length", AT(group_by_length), "make batches of similar length"),
    SELECT_ROWS,
    RUN_OPTIONS,
    SHOW_ROW,
    { 0 },
};

const struct option reward_request_table[] = {
    STRING_OPTION("data", HERE(data), "FILE.jsonl", "training records of ambit-data infilling annotate",
                  .required = true, .group = "input"),
    STRING_OPTION("valid", HERE(valid), "FILE.jsonl", "validation records, which choose the checkpoint"),
    STRING_OPTION("test", HERE(test), "FILE.jsonl", "test records, scored before and after training"),
    STRING_OPTION("db", HERE(db), "FILE|DIR", "SQLite databases of all records (required without --reward-program)"),
    STRING_OPTION("sqls", HERE(sqls), "FILE.jsonl", "SQL of further interpretations"),
    STRING_OPTION("chat-template", HERE(chat_template), "NAME", "llama3, llama3-unsloth, chatml or chatml-bare"),
    INT_OPTION("length", AT(length), "N", 2, 1 << 24, "leave out conversations of more tokens"),
    OUT_OPTION(HERE(out), "DIR", "folder of checkpoints and the adapter", .required = true),
    OPTION_ROW(OPTION_CONFIG, "config", HERE(config), .value = "F.yaml", .help = CONFIG_HELP, .letter = 'c',
               .group = "settings"),
    STRING_OPTION("base", HERE(base), "HF_DIR", "trained language model", .required = true, .group = "model"),
    ADAPTER_ROWS,
    COMPUTE_ROW,
    INT_OPTION("samples", AT(answers), "N", 2, BEAMS_MAX, "completions sampled for each prompt", .group = "reward"),
    INT_OPTION("max-new", AT(max_new), "N", 1, 1 << 20, "maximum number of tokens of a completion"),
    REAL_OPTION("penalty", AT(penalty), "P", 0, 100, "penalty of a wrong interpretation"),
    STRING_OPTION("reward-program", AT(program), "COMMAND",
                  "shell command that reads completions and writes their rewards as JSON lines"),
    STRING_OPTION("sql-model", HERE(sql_model), "HF_DIR", "model that writes SQL of interpretations in new words"),
    STRING_OPTION("lm", SERVER(url), "URL", ENDPOINT_URL_HELP ", in place of --sql-model"),
    ENDPOINT_OPTIONS("lm", SERVER),
    PROMPTER_OPTIONS(HERE(prompt)),
    REAL_OPTION("reward-timeout", AT(program_timeout), "SECONDS", 0.01, 86400,
                "maximum time of a start of the program"),
    CHOICE_OPTION("advantage", AT(advantage), "FORM", "scaled|plain", "advantage of GRPO or Dr. GRPO"),
    REAL_OPTION("clip-low", AT(clip_low), "E", 0, 1, "lower clip range of the probability ratio"),
    REAL_OPTION("clip-high", AT(clip_high), "E", 0, 100, "upper clip range of the probability ratio"),
    REAL_OPTION("kl", AT(kl), "W", 0, 1e6, "weight of the KL divergence from --base; LoRA only"),
    INT_OPTION("reuse", AT(reuse), "N", 1, 1024, "optimizer steps of a sampling round"),
    TRAIN_OPTIONS(1),
    OPTIMIZER_ROWS,
    INT_OPTION("max-valid", AT(max_valid), "N", 0, 1e9, "maximum number of records of a validation, 0: all"),
    RUN_OPTIONS,
    SHOW_ROW,
    { 0 },
};
