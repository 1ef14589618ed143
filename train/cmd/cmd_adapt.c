/* Part of commands.h: ambit-train adapt. */
#include "data/cli/option_rows.h"
#include "models/embed/schema_finder.h"
#include "train/adapt/adapt.h"
#include "train/cmd/commands.h"

#include <stdlib.h>

static const struct adapt_request defaults = {
    .device = "auto",
    .set = { .method = ADAPT_LINEAR, .pull = 0.01 },
    .tokens = 16384,
    .seed = 1,
    .elements = SCHEMA_SEARCH_ELEMENTS,
};

#define AT(field) offsetof(struct adapt_request, field)

static const struct option table[] = {
    STRING_OPTION("support", AT(support), "FILE", "4 to 48 questions with labels; with --draws any number to draw from",
                  .required = true),
    DB_OPTION(AT(db), ", of the questions"),
    SCHEMA_OPTION(AT(schema), "tables.json, in place of --db"),
    FORMAT_IN_OPTION(AT(form)),
    LABEL_FIELD_OPTION(AT(label_field)),
    OUT_OPTION(AT(out), "DIR", "where the adapter goes; not with --draws"),
    CHOICE_OPTION(
        "method", AT(set.method), "WHAT", ADAPT_WORDS,
        "what is adapted beside temperature and shift: nothing, the last linear maps, the last layer too, LoRA "
        "on the encoder's last layer; with --draws this one and those before it"),
    STRING_OPTION("queries", AT(queries), "FILE", "other questions with labels, to say what it brought"),
    INT_OPTION("draws", AT(draws), "N", 0, 100000,
               "draw so often 4, 12, 24 and 48 of the support and say what each brings"),
    INT_OPTION("steps", AT(set.steps), "N", 0, 10000,
               "most steps; how many is found by leaving out; 0: the method's, 30, of lora 8"),
    INT_OPTION("parts", AT(set.parts), "N", 0, 48,
               "parts that are left out in turn, 2 at least, of one question where there are no more questions; 0: the "
               "method's, 12, of lora 4"),
    REAL_OPTION("lr", AT(set.lr), "X", 0, 10, "rate of Adam; 0: the method's"),
    REAL_OPTION("pull", AT(set.pull), "X", 0, 1000, "how strongly parameters are pulled to the base's"),
    SEED_OPTION(AT(seed), "of draws, halves and LoRA's first values"),
    INT_OPTION("tokens", AT(tokens), "N", 64, 1048576, "most tokens encoded at once"),
    INT_OPTION("elements", AT(elements), "N", 0, 1 << 24, SCHEMA_SEARCH_HELP),
    STRING_OPTION("retriever", AT(retriever), "HF_DIR", RETRIEVER_HELP),
    DEVICE_OPTION(AT(device)),
    NO_GRAPH_OPTION(AT(no_graph)),
    FLAG_OPTION("json", AT(json), "with --draws: print one JSON object"),
    { 0 },
};

static enum exit_code run(const struct call *call, struct error *err)
{
    struct adapt_request q = *(const struct adapt_request *)call->options;

    if (!q.db == !q.schema)
        return error_set(err, EXIT_CODE_USAGE, "expected either --db or --schema"), err->code;
    if (!q.draws == !q.out)
        return error_set(err, EXIT_CODE_USAGE, "expected either --out or --draws"), err->code;
    if (q.set.parts == 1)
        return usage_error(err, "--parts: expected 0 or at least 2, got 1");
    if (q.json && !q.draws)
        return error_set(err, EXIT_CODE_USAGE, "--json: expected --draws"), err->code;
    if (q.elements && q.elements < SCHEMA_SEARCH_MIN)
        return usage_error(err, "--elements: expected 0 or at least %d, got %lld", SCHEMA_SEARCH_MIN,
                           (long long)q.elements);
    if (q.retriever && !q.elements)
        return usage_error(err, RETRIEVER_UNUSED);
    char *own = call->n_operands ? NULL : gate_model_default("RUN", err);
    if (!call->n_operands && !own)
        return err->code;
    q.run = own ? own : call->operands[0];
    int rc = adapt(&q, err);
    free(own);
    return rc ? err->code : EXIT_CODE_OK;
}

static const struct file_note files[] = {
    { "DIR/ambit.h5", "the adapter: what detect --adapt and evaluate --adapt read" },
    { 0 },
};

const struct command command_adapt = {
    .name = "adapt",
    .summary = "fits a finished detector to a few labelled questions, and says what such fits bring",
    .operands = "[RUN]",
    .max_operands = 1,
    OPTIONS(table, defaults),
    .details =
        "RUN is what ambit-train gatekeeper or export --format detector left, or without it the detector that comes with "
        "ambit; it stays as it is.  The adapter is a small file that names its base by "
        "a hash and is refused beside any other.  What is learnt is pulled to the base's values and ends where the "
        "questions that are left out in turn cost least, which may be before the first step; temperature and shift of "
        "the scores are fitted to what was left out.\n\n"
        "With --draws nothing is written: 4, 12, 24 and 48 questions are drawn so often, of one database at a time, each "
        "method is fitted to them, and other questions of the database are asked: those of --queries, or half of the "
        "support.  Printed are the mean, 5 % and 95 % over draws.  Support and queries that share a question are refused.",
    .examples = { "ambit-train adapt runs/gate --support labels.csv --db shop.sqlite -o shop.adapter",
                  "ambit-train adapt runs/gate --support labels.jsonl --schema tables.json --draws 50 --method layer" },
    .files = files,
    .run = run,
};
