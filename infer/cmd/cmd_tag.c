/* Part of commands.h: ambit-infer tag. */
#include "data/cli/option_rows.h"
#include "data/util/log.h"
#include "infer/cmd/commands.h"
#include "infer/tag/tag.h"

#include <math.h>
#include <string.h>

static const struct tag_request defaults = {
    .out = "-", .device = "auto", .threshold = NAN, .index_mib = 1024, .heuristic = HEURISTIC_DEFAULT
};

#define AT(field) offsetof(struct tag_request, field)

static const struct option table[] = {
    CHOICE_OPTION("strategy", AT(strategy), "HOW", "dte|eta|heuristic",
                  "a trained tagger, its links alone, or likeness of words without a model"),
    STRING_OPTION("model", AT(model), "DIR", "what ambit-train tag left; of dte and eta"),
    DEVICE_OPTION(AT(device)),
    NO_GRAPH_OPTION(AT(no_graph)),
    REAL_OPTION("threshold", AT(threshold), "P", 0, 1,
                "AMB and UNK less likely than this are not told; default: the model's"),
    SCHEMA_OPTION(AT(schema), "tables.json; records name their schema by db_id"),
    DB_OPTION(AT(db), ", in place of --schema; its values are looked up"),
    STRING_OPTION("question", AT(question), "TEXT", "one question, in place of IN.jsonl"),
    FORMAT_IN_OPTION(AT(form)),
    SHARD_OPTION(AT(shard), TAG_GROUP),
    OUT_OPTION(AT(out), "OUT.jsonl", "answers in input order; - is standard output"),
    CHOICE_OPTION("format", AT(format), "FORM", "jsonl|text|html", "JSONL, lines for people, or a page"),
    REAL_OPTION("name", AT(heuristic.name), "X", 0, 1, "a run of words as much like a column's name says it"),
    REAL_OPTION("value", AT(heuristic.value), "X", 0, 1, "a run of words as much like a value says it"),
    REAL_OPTION("margin", AT(heuristic.margin), "X", 0, 1,
                "what is less like a run than the best by more than this is no alternative"),
    REAL_OPTION("unknown", AT(heuristic.unknown), "X", 0, 1,
                "a noun phrase less like all names than this is unanswerable; 0: none is"),
    STRING_OPTION("tune", AT(tune), "FILE", "records with marked words; what does best on them sets these four"),
    INT_OPTION("index-mib", AT(index_mib), "N", 1, 4095, "maximum memory for the values of a database"),
    RESUME_OPTION(AT(resume), "go on with what a run that was stopped left in OUT.jsonl.part"),
    { 0 },
};

static enum exit_code run(const struct call *call, struct error *err)
{
    struct tag_request q = *(const struct tag_request *)call->options;
    struct tag_counts counts = { 0 };

    if (q.schema && q.db)
        return usage_error(err, "expected --schema or --db, got both");
    if (q.strategy != TAG_HEURISTIC && !q.model)
        return usage_error(err, "expected --model DIR, or --strategy heuristic, which needs none");
    if (!q.question == !call->n_operands)
        return usage_error(err, "expected either IN.jsonl or --question");
    if (q.resume && strcmp(q.out, "-") == 0)
        return usage_error(err, "--resume: expected --out FILE, a file to go on with");
    if (q.shard.count && q.format == TAG_HTML)
        return usage_error(err, "--shard: expected --format jsonl or text, got html, which is one page");
    int rc = tag(&q, q.question ? NULL : call->operands[0], &counts, err);
    if (rc == 0)
        log_info("%lld questions, %lld ambiguous, %lld unanswerable, %lld failed, %lld of an earlier run",
                 (long long)counts.records, (long long)counts.ambiguous, (long long)counts.unanswerable,
                 (long long)counts.failed, (long long)counts.resumed);
    return job_exit_code(rc, counts.failed, err);
}

static const struct file_note files[] = {
    { "OUT.jsonl.part", "lines of a run that was stopped, for --resume" },
    { 0 },
};

const struct command command_tag = {
    .name = "tag",
    .summary = "says which words of a question are ambiguous or unanswerable, and what each may refer to",
    .operands = "IN.jsonl",
    .max_operands = 1,
    OPTIONS(table, defaults),
    .details =
        "IN.jsonl holds records {\"id\", \"db_id\", \"question\"}; - is standard input.  A record may bring its columns "
        "along, {\"name\", \"type\", \"values\", \"table\"} each, and needs no --schema then; --db goes before them.  Each "
        "line of the output has \"status\" (ambiguous, unanswerable, both or none), \"problem\" (how sure that is), "
        "\"spans\" of the question, with \"start\" and \"end\" in code points, \"label\" (COL, VAL, AMB or UNK), "
        "\"probability\", \"alternatives\" (what it may refer to, with values) and \"nearest\" (what is like it, of UNK), "
        "and one sentence.\n\n"
        "Of --db the values of all texts and numbers are read once and kept in memory; a question says a value when a run "
        "of up to five of its words is the same but for letters' case and signs, or differs by a slip of the pen.  "
        "Strategy heuristic marks a number only where a column holds it.  Nothing is written next to a database.\n\n"
        "A trained tagger (--model) marks the words by its chain of tags and says what each span may mean; --strategy eta "
        "marks those words that its concepts are grounded in.  A page (--format html) shows in colour how much each word "
        "carries of what was found.  Strategy heuristic needs no model: runs of words that are like a column's name or a value are that; where they "
        "are like several they are ambiguous; a noun phrase that is like none is unanswerable.\n\n"
        "Lines are kept in OUT.jsonl.part until all are there; --resume takes those whose record, database and settings "
        "are what they were.",
    .examples = { "ambit-infer tag --model runs/tag questions.jsonl --db shop.sqlite -o tagged.jsonl",
                  "ambit-infer tag --strategy heuristic questions.jsonl --db shop.sqlite --format html -o page.html" },
    .files = files,
    .run = run,
};
