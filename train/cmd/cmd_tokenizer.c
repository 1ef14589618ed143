/* Part of commands.h: ambit-train tokenizer. */
#include "data/base/json.h"
#include "data/base/log.h"
#include "data/base/option_rows.h"
#include "data/base/out_file.h"
#include "data/base/records.h"
#include "kernels/base.h"
#include "models/text/chat.h"
#include "models/text/tokenizer_train.h"
#include "train/cmd/commands.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* The training texts of a vocabulary. */

/* Start as { 0 }. */
struct text_list {
    char **items;
    int64_t n, cap;
};

/* ---- texts ---- */

static void add(struct text_list *t, const char *text)
{
    GROW(t->items, t->n, t->cap);
    t->items[t->n++] = xstrdup(text);
}

/* Adds one field of a record or message. Returns 1 if it exists, 0 if not, -1 if it is no string. */
static int add_field(struct text_list *t, const json_t *o, const char *field, const char *where, struct error *err)
{
    if (!json_object_get(o, field))
        return 0;
    const char *text = json_get_string(o, field, where, err);
    if (!text)
        return -1;
    add(t, text);
    return 1;
}

/* A record_fn. */
static int add_record(void *list, json_t *record, const char *where, struct error *err)
{
    struct text_list *t = list;
    static const char *const fields[] = { "text", "prompt", "completion" };
    const json_t *messages = json_object_get(record, "messages"), *o;
    int found = 0, rc;
    size_t i;

    if (messages && !json_get_array(record, "messages", where, err))
        return -1;
    json_array_foreach(messages, i, o)
    {
        if ((rc = add_field(t, o, "content", where, err)) < 0)
            return -1;
        found += rc;
    }
    for (i = 0; i < ARRAY_LEN(fields); i++) {
        if ((rc = add_field(t, record, fields[i], where, err)) < 0)
            return -1;
        found += rc;
    }
    return found ? 0 : error_set(err, EXIT_CODE_DATA, "%s: no messages, text, prompt or completion in it", where);
}

static int read_lines(struct text_list *t, const char *path, struct error *err)
{
    FILE *f = fopen(path, "rbe");
    char *line = NULL;
    size_t cap = 0;
    ssize_t n;
    int rc = f ? 0 : error_set(err, EXIT_CODE_DATA, "%s: %s", path, strerror(errno));

    while (rc == 0 && (n = getline(&line, &cap, f)) > 0) {
        if (memchr(line, '\0', (size_t)n))
            rc = error_set(err, EXIT_CODE_DATA, "%s: line %lld: expected text, got a zero byte", path,
                           (long long)t->n + 1);
        else
            add(t, line);
    }
    if (rc == 0 && ferror(f))
        rc = error_set(err, EXIT_CODE_DATA, "%s: %s", path, strerror(errno));
    if (f)
        fclose(f);
    free(line);
    return rc;
}

static bool is_records(const char *path)
{
    return record_file_ends(path, ".jsonl") || record_file_ends(path, ".json");
}

/* Appends the texts of a file. Records (.jsonl, .json, also compressed) have one text in each message's content and
 * in each of the fields "text", "prompt", "completion". In other files every line is a text, with its line break, as
 * in Hugging Face tokenizers. -1 with EXIT_CODE_DATA if the file cannot be read, a record has no text, or a line
 * holds a zero byte. */
static int text_list_read(struct text_list *t, const char *path, struct error *err)
{
    return is_records(path) ? records_each_as_is(path, RECORDS_AUTO, add_record, t, err) : read_lines(t, path, err);
}

static void text_list_release(struct text_list *t)
{
    for (int64_t i = 0; i < t->n; i++)
        free(t->items[i]);
    free(t->items);
    *t = (struct text_list){ 0 };
}

/* ---- the command ---- */

enum { MAX_FILES = 10000, MAX_SPECIALS = 256 };

struct tokenizer_options {
    enum bpe_preset split;
    const char *special, *out;
    int64_t vocab;
    bool force;
};

static const struct tokenizer_options defaults = { .split = BPE_LLAMA3 };

#define AT(field) offsetof(struct tokenizer_options, field)

static const struct option table[] = {
    OUT_DIR_OPTION(AT(out)),
    FORCE_OPTION(AT(force)),
    INT_OPTION("vocab", AT(vocab), "N", 1, 1000000, "tokens, with special ones", .required = true,
               .group = "vocabulary"),
    CHOICE_OPTION("split", AT(split), "KIND", "llama3|qwen2|words", "splitting rules and chat tokens"),
    STRING_OPTION("special", AT(special), "TOKENS", "further special tokens, separated by commas"),
    { 0 },
};

/* Splits the list at commas, in place. */
static int split_list(char *list, const char *parts[MAX_SPECIALS], struct error *err)
{
    int n = 0;

    for (char *part; list && (part = strsep(&list, ",")); n++) {
        if (n == MAX_SPECIALS)
            return error_set(err, EXIT_CODE_USAGE, "--special: more than %d tokens", MAX_SPECIALS);
        parts[n] = part;
    }
    return n;
}

static int learn(const struct tokenizer_options *o, const struct text_list *texts, const char *dir, struct error *err)
{
    const char *specials[MAX_SPECIALS];
    bool llama3 = o->split == BPE_LLAMA3;
    char *list = o->special ? xstrdup(o->special) : NULL;
    struct bpe_options plan = { .preset = o->split,
                                .vocab_size = (int32_t)o->vocab,
                                .specials = specials,
                                .n_specials = split_list(list, specials, err) };
    struct tokenizer *t =
        plan.n_specials < 0 ? NULL : tokenizer_from_bytes((const char *const *)texts->items, texts->n, &plan, err);
    int rc = t && tokenizer_save(t, dir, err) == 0 ? chat_write(dir, llama3 ? "llama3-bare" : "chatml-bare", err) : -1;

    if (rc == 0)
        log_info("%s: %d tokens, from %lld texts", o->out, (int)tokenizer_vocab_size(t), (long long)texts->n);
    tokenizer_close(t);
    free(list);
    return rc;
}

static enum exit_code run(const struct call *call, struct error *err)
{
    const struct tokenizer_options *o = call->options;
    struct text_list texts = { 0 };
    struct out_folder out = { 0 };
    int rc = 0;

    for (int i = 0; i < call->n_operands && rc == 0; i++)
        rc = text_list_read(&texts, call->operands[i], err);
    if (rc == 0)
        rc = out_folder_open(&out, o->out, err) || learn(o, &texts, out.tmp, err) ? -1 : 0;
    if (rc == 0)
        rc = out_folder_commit(&out, o->force, err);
    out_folder_abort(&out);
    text_list_release(&texts);
    return rc ? err->code : EXIT_CODE_OK;
}

static const struct file_note files[] = {
    { "DIR/tokenizer.json, DIR/tokenizer_config.json, DIR/special_tokens_map.json",
      "the vocabulary in Hugging Face format" },
    { "DIR/chat_template.jinja", "the chat template" },
    { 0 },
};

const struct command command_tokenizer = {
    .name = "tokenizer",
    .summary = "train a byte-level BPE vocabulary for a new language model",
    .operands = "FILE...",
    .min_operands = 1,
    .max_operands = MAX_FILES,
    OPTIONS(table, defaults),
    .details =
        "FILE holds records (.jsonl, .json, also compressed), whose messages, text, prompt and completion are used, "
        "or one text in each line. The merges are those of BpeTrainer in Hugging Face tokenizers, and transformers "
        "opens the result. Guide: docs/guides/train-language-model.md.",
    .examples = { "ambit-train tokenizer train.jsonl --vocab 8192 -o vocabulary",
                  "ambit-train tokenizer notes.txt --vocab 4096 --split qwen2 --special '<|pad|>' -o vocabulary" },
    .files = files,
    .run = run,
};
