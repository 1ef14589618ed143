#include "data/ambiguate/substitute.h"
#include "data/cli/option_rows.h"
#include "data/cmd/commands.h"
#include "data/util/json.h"
#include "data/util/log.h"

#include <stdlib.h>
#include <string.h>

struct substitute_arguments {
    const char *out;
    int64_t copies, common, seed;
};

static const struct substitute_arguments defaults = { .out = "-", .copies = 1, .common = 100 };

#define AT(field) offsetof(struct substitute_arguments, field)

static const struct option options[] = {
    INT_OPTION("copies", AT(copies), "N", 1, 1000, "of each record, all different"),
    INT_OPTION("common", AT(common), "N", 0, 1 << 20, "words of the most records, which stay"),
    SEED_OPTION(AT(seed), "same seed, same bytes"),
    OUT_JSONL_OPTION(AT(out)),
    { 0 },
};

struct substituting {
    const struct substitute_arguments *a;
    struct lexicon lexicon;
    struct rng rng;
    struct out_file out;
    int records, copy, written;
};

/* Something to do with each record. */
typedef int (*each_fn)(struct substituting *s, json_t *record, const char *where, struct error *err);

static int for_each(struct substituting *s, const char *path, each_fn each, struct error *err)
{
    struct json_reader *in = json_reader_open(path, err);
    json_t *record;
    int rc = -1;

    s->records = 0;
    while (in && (rc = json_reader_next(in, &record, err)) > 0) {
        s->records++;
        rc = json_object_get(record, "error") ? 0 : each(s, record, json_reader_where(in), err);
        json_decref(record);
        if (rc)
            break;
    }
    json_reader_close(in);
    return rc;
}

static int count_words(struct substituting *s, json_t *record, const char *where, struct error *err)
{
    json_t *messages = json_get_array(record, "messages", where, err), *m;
    size_t i;

    if (!messages)
        return -1;
    json_array_foreach(messages, i, m)
    {
        const char *content = json_get_string(m, "content", where, err);
        if (!content || !json_get_string(m, "role", where, err))
            return -1;
        lexicon_add(&s->lexicon, content, s->records);
    }
    return 0;
}

static json_t *messages_with(struct substitution *words, const json_t *messages)
{
    json_t *done = json_array(), *m;
    size_t i;

    json_array_foreach(messages, i, m)
    {
        char *content = substitute(words, json_string_value(json_object_get(m, "content")));
        json_array_append_new(done, json_pack("{s:O, s:s}", "role", json_object_get(m, "role"), "content", content));
        free(content);
    }
    return done;
}

/* A copy of the record with an id of its own; of the rest only what was exchanged throughout. */
static int write_copy(struct substituting *s, json_t *record, const char *where, struct error *err)
{
    struct substitution words = { &s->lexicon, &s->rng, { 0 }, { 0 } };
    const char *id = json_get_string(record, "id", where, err);

    if (!id)
        return -1;
    json_t *copy = json_pack("{s:o, s:o}", "id", json_sprintf("%s-words%d", id, s->copy + 1), "messages",
                             messages_with(&words, json_object_get(record, "messages")));
    int rc = json_write_line(&s->out, copy, err);
    s->written++;
    json_decref(copy);
    substitution_release(&words);
    return rc;
}

static int substitute_all(struct substituting *s, const char *path, struct error *err)
{
    if (for_each(s, path, count_words, err))
        return -1;
    lexicon_close(&s->lexicon, (int)s->a->common);
    if (out_file_open(&s->out, s->a->out, err))
        return -1;
    for (s->copy = 0; s->copy < s->a->copies; s->copy++)
        if (for_each(s, path, write_copy, err))
            return -1;
    return out_file_commit(&s->out, err);
}

static enum exit_code run(const struct call *call, struct error *err)
{
    struct substituting s = { .a = call->options };

    s.rng.seed = (uint64_t)s.a->seed;
    int rc = strcmp(call->operands[0], "-")
                 ? substitute_all(&s, call->operands[0], err)
                 : error_set(err, EXIT_CODE_USAGE, "IN.jsonl: expected a file, which is read twice, got -");
    if (rc == 0)
        log_info("%d examples written; %d words, %d of them stay", s.written, s.lexicon.words.n, s.lexicon.n_common);
    out_file_abort(&s.out);
    lexicon_release(&s.lexicon);
    return rc ? err->code : EXIT_CODE_OK;
}

const struct command command_substitute = {
    .name = "substitute",
    .summary =
        "writes infilling examples with other words in them, so that a small model learns to look, not to recite",
    ONE_OPERAND("IN.jsonl"),
    OPTIONS(options, defaults),
    .details =
        "IN.jsonl has what ambit-data annotate writes: messages with a prompt and an answer. In each copy every word "
        "but the commonest becomes another word of the file, the same one throughout the record; capitals and plurals "
        "stay. What copies still have in common with their record is the form: which part of the prompt the answer "
        "repeats and which it replaces. A model trained from scratch on few databases learns those by heart otherwise. "
        "The output has an id and messages and is no longer true of any database: for training only.",
    .run = run,
};
