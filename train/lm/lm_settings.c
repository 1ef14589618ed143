#include "train/lm/lm_settings.h"

#include "data/cli/option_rows.h"

const struct lm_request lm_request_defaults = {
    .device = "auto",
    .prompt = PROMPTER_DEFAULTS,
    .seed = 42,
    .settings = {
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
        .epochs = 3,
        .batch = 8,
        .length = 8192,
        .max_valid = 100,
        .lr = 2e-4,
        .warmup = 0.03,
        .clip = 1.0,
        .schedule = LM_COSINE,
        .select = SELECT_LOSS,
        .max_new = 512,
        .group_by_length = true,
        .tokens = 16384,
    },
};

/* For a new model on two cores; --preset picard has rates and sizes of large models. */
const struct lm_request seq2seq_request_defaults = {
    .seq2seq = true,
    .device = "auto",
    .prompt = PROMPTER_DEFAULTS,
    .seed = 42,
    .settings = {
        .method = METHOD_FULL,
        .compute = "auto",
        .hidden = 256,
        .layers = 4,
        .heads = 4,
        .intermediate = 704,
        .feed_forward = FEED_GATED_GELU,
        .dropout = 0.1,
        .epochs = 3,
        .batch = 32,
        .length = 512,
        .max_valid = 100,
        .lr = 1e-3,
        .warmup = 0.03,
        .clip = 1.0,
        .schedule = LM_COSINE,
        .select = SELECT_LOSS,
        .max_new = 256,
        .group_by_length = true,
        .tokens = 16384,
    },
};

/* Clip ranges of DAPO (Yu et al. 2025, arXiv 2503.14476), which IntentRL was trained with. */
const struct lm_request reward_request_defaults = {
    .device = "auto",
    .seed = 42,
    .settings = {
        .method = METHOD_LORA,
        .targets = "q,k,v,o,gate,up,down",
        .head = HEAD_NONE,
        .rank = 16,
        .alpha = 32,
        .compute = "auto",
        .epochs = 1,
        .batch = 8,
        .length = 8192,
        .lr = 1e-5,
        .warmup = 0.03,
        .clip = 1.0,
        .schedule = LM_CONSTANT,
        .select = SELECT_LOSS,
        .max_new = 256,
        .answers = 8,
        .reuse = 1,
        .penalty = 0.25,
        .clip_low = 0.2,
        .clip_high = 0.28,
        .tokens = 16384,
        .eval_every = 100,
    },
};

/* Infilling as published for Llama-3.1-8B-Instruct (DFPL, section 5 and infilling training script), with the whole
 * output matrix, as Unsloth trains a target lm_head. */
static const char dfpl[] = "rank: 16\n"
                           "alpha: 16\n"
                           "head: full\n"
                           "neftune: 5\n"
                           "lr: 5e-5\n"
                           "schedule: cosine\n"
                           "warmup: 0.01\n"
                           "decay: 0.01\n"
                           "clip: 0.3\n"
                           "batch: 8\n"
                           "epochs: 15\n"
                           "length: 8192\n";

const struct preset lm_presets[] = { { "dfpl", dfpl }, { 0 } };

/* T5 as trained for PICARD on Spider (train.json of its repository; batches of five with 410 accumulated gradients).
 * LogicalBeam uses the same trainer. */
static const char picard[] = "optimizer: adafactor\n"
                             "lr: 1e-4\n"
                             "schedule: constant\n"
                             "warmup: 0\n"
                             "decay: 0\n"
                             "clip: 1\n"
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

/* Rows of both commands. */
/* clang-format off */
#define START_ROWS(what) \
    STRING_OPTION("base", HERE(base), "HF_DIR", what " to start from; without one, from scratch"), \
    STRING_OPTION("tokenizer", HERE(tokenizer), "DIR", "from scratch: what ambit-train tokenizer left")

#define RUN_ROWS \
    CONFIG_OPTION(HERE(config)), \
    DEVICE_OPTION(HERE(device)), \
    NO_GRAPH_OPTION(HERE(no_graph)), \
    SHARD_OPTIMIZER_OPTION(HERE(shard_optimizer)), \
    RESUME_OPTION(HERE(resume), \
                  "go on from the newest checkpoint in --out, if there is one; all other settings are there too"), \
    SEED_OPTION(HERE(seed), "of initial weights, order, noise, dropout and draws"), \
    INT_OPTION("show-samples", HERE(show_samples), "N", 0, 1e6, "print N examples token by token, then train"), \
    FLAG_OPTION("force", HERE(force), "write into a folder that holds something else"), \
    DRY_RUN_OPTION(HERE(dry_run), "check everything, print the memory estimate, train nothing"), \
    WORD_OPTION("compute", AT(compute), "TYPE", "auto|f32|bf16", "of weights and products; auto: as stored")

#define ADAPTER_ROWS \
    CHOICE_OPTION("method", AT(method), "HOW", "lora|full", "low-rank adapters, or every weight"), \
    STRING_OPTION("targets", AT(targets), "LIST", "maps with adapters, of q,k,v,o,gate,up,down"), \
    CHOICE_OPTION("head", AT(head), "HOW", "none|lora|full", "lora: the output matrix too, as a pair or whole"), \
    INT_OPTION("rank", AT(rank), "N", 1, 1024, "of the adapters"), \
    REAL_OPTION("alpha", AT(alpha), "A", OPTION_ABOVE_ZERO, 1e6, "adapters are scaled by alpha / rank"), \
    FLAG_OPTION("rslora", AT(rslora), "scale by alpha / sqrt(rank)")

#define SIZE_ROWS \
    INT_OPTION("hidden", AT(hidden), "N", 8, 65536, "from scratch: channels"), \
    INT_OPTION("layers", AT(layers), "N", 1, 200, "from scratch: layers; of an encoder-decoder, of each side"), \
    INT_OPTION("heads", AT(heads), "N", 1, 512, "from scratch: heads"), \
    INT_OPTION("intermediate", AT(intermediate), "N", 8, 1 << 20, "from scratch: feed-forward channels")

#define WEIGHTS_ROWS(whose) \
    CHOICE_OPTION("start", AT(start), "FORM", "published|copying", \
                  "from scratch: weights drawn as " whose "; or such that equal tokens and neighbours find each " \
                  "other, from which a small model learns early to copy")

#define STEP_ROWS \
    INT_OPTION("epochs", AT(epochs), "N", 1, 100000, "passes over the data"), \
    INT_OPTION("batch", AT(batch), "N", 1, 65536, "records of a step"), \
    INT_OPTION("max-valid", AT(max_valid), "N", 0, 1e9, "records that validation looks at, 0 for all"), \
    INT_OPTION("patience", AT(patience), "N", 0, 100000, \
               "validations without a better figure before stopping, 0: never"), \
    REAL_OPTION("lr", AT(lr), "RATE", OPTION_ABOVE_ZERO, 1, "highest learning rate"), \
    REAL_OPTION("warmup", AT(warmup), "SHARE", 0, 1, "of the steps, in which the rate rises"), \
    REAL_OPTION("decay", AT(decay), "D", 0, 1, "weight decay"), \
    REAL_OPTION("clip", AT(clip), "NORM", 0, 1e9, "largest norm of the gradient, 0: no limit"), \
    CHOICE_OPTION("schedule", AT(schedule), "FORM", "cosine|linear|constant", "how the rate falls, if it does"), \
    CHOICE_OPTION("optimizer", AT(optimizer), "NAME", "adamw|adafactor", \
                  "adafactor keeps a number for each row and column of a matrix, adamw two for each weight"), \
    CHOICE_OPTION("moments", AT(moments), "TYPE", "f32|8bit", \
                  "what adamw keeps its two numbers for each weight in; 8bit: block by block, of all but embeddings " \
                  "and small parameters"), \
    INT_OPTION("eval-every", AT(eval_every), "N", 0, 1 << 30, "steps between validations, 0: once an epoch")

/* Rows about validation. */
#define SELECT_ROWS \
    CHOICE_OPTION("select", AT(select), "FIGURE", "loss|recall|template|exact-match|execution", \
                  "what the best checkpoint is best in: loss, or what it says to --valid: readings found by " \
                  "execution, the text of a template, Spider's exact set match, results"), \
    SCHEMA_OPTION(HERE(schema), "tables.json of --valid's databases, for exact-match"), \
    DB_OPTION(HERE(db), " of --valid, for recall and execution"), \
    STRING_OPTION("sqls", HERE(sqls), "FILE", "SQL of readings, for recall: what ambit-data annotate wrote, say"), \
    STRING_OPTION("sql-model", HERE(sql_model), "HF_DIR", "model that writes the SQL that --sqls lacks, for recall"), \
    PROMPTER_OPTIONS(HERE(prompt)), \
    INT_OPTION("max-new", AT(max_new), "N", 1, 1 << 20, "most tokens of an answer in validation"), \
    FLAG_OPTION("group-by-length", AT(group_by_length), "batches of records of like length")

#define MEMORY_ROWS \
    INT_OPTION("tokens", AT(tokens), "N", 1, 1 << 24, \
               "most tokens of a micro-batch; changes memory, and the noise that is drawn"), \
    INT_OPTION("save-every", AT(save_every), "N", 0, 1e9, "steps between checkpoints, 0: at validations only")
/* clang-format on */

const struct option lm_request_table[] = {
    START_ROWS("the language model"),
    STRING_OPTION("data", HERE(data), "FILE.jsonl", "conversations to learn from", .required = true),
    STRING_OPTION("valid", HERE(valid), "FILE.jsonl", "conversations that choose the checkpoint"),
    OUT_OPTION(HERE(out), "DIR", "where checkpoints and the adapter go", .required = true),
    PRESET_OPTION("preset", HERE(preset), "NAME", "dfpl", "published settings, which the rest overrides"),
    STRING_OPTION("chat-template", HERE(chat_template), "NAME",
                  "llama3, llama3-unsloth, chatml, chatml-bare, gemma, mistral or a file.json instead of the folder's"),
    RUN_ROWS,
    ADAPTER_ROWS,
    REAL_OPTION("lora-dropout", AT(lora_dropout), "P", 0, 0.9, "dropout before the adapters"),
    REAL_OPTION("neftune", AT(neftune), "A", 0, 1000, "noise on embeddings, A / sqrt(length channels)"),
    SIZE_ROWS,
    INT_OPTION("groups", AT(kv_heads), "N", 1, 512, "from scratch: heads of keys and values"),
    INT_OPTION("positions", AT(positions), "N", 16, 1 << 24, "from scratch: longest text"),
    WEIGHTS_ROWS("Llama's"),
    STEP_ROWS,
    SELECT_ROWS,
    INT_OPTION("length", AT(length), "N", 2, 1 << 24, "longer conversations are left out"),
    FLAG_OPTION("share-prefix", AT(share_prefix), "compute what the texts of a micro-batch begin with in common once"),
    MEMORY_ROWS,
    { 0 },
};

const struct option seq2seq_request_table[] = {
    START_ROWS("the encoder-decoder"),
    STRING_OPTION("data", HERE(data), "FILE.jsonl", "prompts and completions to learn from", .required = true),
    STRING_OPTION("valid", HERE(valid), "FILE.jsonl", "those that choose the checkpoint"),
    OUT_OPTION(HERE(out), "DIR", "where checkpoints and the model go", .required = true),
    PRESET_OPTION("preset", HERE(preset), "NAME", "picard", "published settings, which the rest overrides"),
    RUN_ROWS,
    SIZE_ROWS,
    CHOICE_OPTION("feed-forward", AT(feed_forward), "FORM", "relu|gated-gelu", "from scratch: of T5 1.0, or 1.1"),
    REAL_OPTION("dropout", AT(dropout), "P", 0, 0.9, "from scratch; a model to start from has its own"),
    WEIGHTS_ROWS("T5's"),
    STEP_ROWS,
    SELECT_ROWS,
    INT_OPTION("length", AT(length), "N", 2, 1 << 24, "most tokens of a prompt, and of a completion; the rest is cut"),
    MEMORY_ROWS,
    { 0 },
};

const struct option reward_request_table[] = {
    STRING_OPTION("base", HERE(base), "HF_DIR", "the language model to start from, which infills already",
                  .required = true),
    STRING_OPTION("data", HERE(data), "FILE.jsonl", "records of ambit-data annotate to draw answers to",
                  .required = true),
    STRING_OPTION("valid", HERE(valid), "FILE.jsonl", "those whose reward chooses the checkpoint"),
    STRING_OPTION("test", HERE(test), "FILE.jsonl", "those that are told the reward of, before and after"),
    DB_OPTION(HERE(db), " of all of them", .required = true),
    STRING_OPTION("sqls", HERE(sqls), "FILE.jsonl", "SQL of readings, beside that of the records themselves"),
    OUT_OPTION(HERE(out), "DIR", "where checkpoints and the adapter go", .required = true),
    STRING_OPTION("chat-template", HERE(chat_template), "NAME",
                  "llama3, llama3-unsloth, chatml or chatml-bare instead of the folder's own"),
    RUN_ROWS,
    INT_OPTION("answers", AT(answers), "N", 2, BEAMS_MAX, "drawn to each prompt"),
    REAL_OPTION("price", AT(penalty), "P", 0, 100, "of a wrong reading, where all that are missing are worth 1"),
    CHOICE_OPTION("advantage", AT(advantage), "FORM", "scaled|plain",
                  "what is learnt of an answer's worth beside the others' of its prompt: in their deviations (GRPO), "
                  "or as it is (Dr. GRPO), so that small differences stay small"),
    REAL_OPTION("clip-low", AT(clip_low), "E", 0, 1, "no more is learnt of a token that is less likely by this share"),
    REAL_OPTION("clip-high", AT(clip_high), "E", 0, 100, "or more likely by this one, than when it was drawn"),
    INT_OPTION("reuse", AT(reuse), "N", 1, 1024, "steps that learn from what was drawn at once"),
    REAL_OPTION("kl", AT(kl), "W", 0, 1e6, "weight of the divergence from the model to start from; LoRA alone has it"),
    INT_OPTION("max-new", AT(max_new), "N", 1, 1 << 20, "most tokens of an answer"),
    ADAPTER_ROWS,
    STEP_ROWS,
    INT_OPTION("length", AT(length), "N", 2, 1 << 24, "longer conversations are left out"),
    MEMORY_ROWS,
    { 0 },
};
