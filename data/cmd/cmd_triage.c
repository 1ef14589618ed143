/* Part of commands.h: ambit-data triage, with a mode for each step. */
#include "data/base/log.h"
#include "data/base/option_rows.h"
#include "data/base/records.h"
#include "data/base/shard.h"
#include "data/cmd/commands.h"
#include "data/corpora/triage.h"
#include "data/span/tag_databases.h"
#include "data/span/triage_words.h"
#include "data/synth/triage_make.h"

#include <stdlib.h>
#include <string.h>

/* convert */

#define AT(field) offsetof(struct triage_request, field)

static const struct triage_request convert_defaults = { 0 };

static const struct option convert_options[] = {
    CHOICE_OPTION("from", AT(corpus), "CORPUS", TRIAGE_CORPORA, "corpus whose published form IN has", .group = "input"),
    SCHEMA_OPTION(AT(tables), "tables.json with the schemas; not for triagesql, which has its own"),
    OUT_DIR_OPTION(AT(out)),
    FORCE_OPTION(AT(force)),
    { 0 },
};

static enum exit_code run_convert(const struct call *call, struct error *err)
{
    struct triage_request q = *(const struct triage_request *)call->options;
    struct triage_counts n = { 0 };

    q.in = call->operands[0];
    if (q.corpus == TRIAGE_EHRSQL && !q.tables)
        return usage_error(err, "--from ehrsql requires --schema, the tables.json of its database");
    if (q.corpus == TRIAGE_PRACTIQ && !q.tables)
        return usage_error(err, "--from practiq requires --schema, the tables.json of Spider");
    if (q.corpus == TRIAGE_TRIAGESQL && q.tables)
        return usage_error(err, "--from triagesql and --schema cannot be used together: each question has its tables");
    int rc = triage_convert(&q, &n, err);
    for (int c = 0; c < TRIAGE_CLASSES && rc == 0; c++)
        log_info("%lld %s", (long long)n.of_class[c], triage_class_name((enum triage_class)c));
    return job_exit_code(rc, 0, err);
}

static const struct file_note convert_files[] = {
    { "DIR/questions.jsonl", "a line for each question, with its class" },
    { "DIR/tables.json", "the schemas, if there are any" },
    { 0 },
};

static const struct command convert_mode = {
    .name = "convert",
    .summary = "convert public sets of answerable, ambiguous and unanswerable questions",
    ONE_OPERAND("IN"),
    OPTIONS(convert_options, convert_defaults),
    .details =
        "A class is answerable, ambiguous, unanswerable or improper. mmsql: the dialogues of MMSQL; each turn of "
        "the user is a question, with the earlier ones as context. triagesql: the questions of TriageSQL. "
        "ehrsql: a folder of EHRSQL 2024 with data.json and label.json. mini-interact: the tasks of "
        "BIRD-Interact's SQLite part; each has an ambiguous and a clear question. "
        "practiq: PRACTIQ's combined categories; each question has its edited schema of Spider.\n\n"
        "`ambit-data score --rule triage` measures predictions of these classes. Guide: "
        "docs/guides/triage.md.",
    .examples = { "ambit-data triage convert --from mmsql MMSQL_test.json --schema spider/tables.json -o mmsql",
                  "ambit-data triage convert --from ehrsql mimic_iv/test --schema mimic_iv/tables.json -o ehrsql" },
    .files = convert_files,
    .run = run_convert,
};

#undef AT

/* make */

static const struct triage_make_request make_defaults = { .questions = 7000, .seed = 1 };

#define AT(field) offsetof(struct triage_make_request, field)

static const struct option make_options[] = {
    STRING_OPTION("spans", AT(spans), "FILE", "records with marked words, of ambit-data counterfactual",
                  .required = true, .group = "input"),
    STRING_OPTION("natural", AT(natural), "DIR", "data folder of ambit-data natural"),
    CHOICE_OPTION("natural-split", AT(split), "SPLIT", "train|valid|test", "split of the data folder"),
    OUT_DIR_OPTION(AT(out)),
    FORCE_OPTION(AT(force)),
    INT_OPTION("questions", AT(questions), "N", 8, 10000000, "number of questions, if the input has enough",
               .group = "generation"),
    SEED_OPTION(AT(seed), "random seed"),
    { 0 },
};

static enum exit_code run_make(const struct call *call, struct error *err)
{
    struct triage_counts n = { 0 };
    int rc = triage_make(call->options, &n, err);

    for (int c = 0; c < TRIAGE_CLASSES && rc == 0; c++)
        log_info("%lld %s", (long long)n.of_class[c], triage_class_name((enum triage_class)c));
    return job_exit_code(rc, 0, err);
}

static const struct file_note make_files[] = {
    { "DIR/questions.jsonl", "a line for each question, with class and kind" },
    { "DIR/tables.json", "the schemas" },
    { 0 },
};

static const struct command make_mode = {
    .name = "make",
    .summary = "make training questions of all classes and kinds",
    OPTIONS(make_options, make_defaults),
    .details =
        "Questions with marked words are answerable, ambiguous or unanswerable on their edited tables. Others lose a "
        "table that they use, or are asked of another database. Requests beyond SQL, outside knowledge, small talk, "
        "questions that follow an earlier one, and vague times and filters come from templates. "
        "`ambit-train triage` reads the folder. Guide: docs/guides/train-triage.md.",
    .examples = { "ambit-data triage make --spans spans/train.jsonl --natural natural -o made",
                  "ambit-data triage make --spans spans/valid.jsonl --natural natural --natural-split valid --questions 2000 -o made-valid" },
    .files = make_files,
    .run = run_make,
};

#undef AT

/* keywords */

struct keywords_arguments {
    const char *schema, *db, *out;
    enum record_format format_in;
    struct shard shard;
};

static const struct keywords_arguments keywords_defaults = { .out = "-" };

#define AT(field) offsetof(struct keywords_arguments, field)

static const struct option keywords_options[] = {
    DB_OPTION(AT(db), ", in place of --schema; values are looked up there", .group = "input"),
    SCHEMA_OPTION(AT(schema), "tables.json with the schema of every db_id, or CREATE TABLE statements"),
    FORMAT_IN_OPTION(AT(format_in)),
    SHARD_OPTION(AT(shard), 1),
    OUT_JSONL_OPTION(AT(out)),
    { 0 },
};

/* The databases of the questions, and the names of the latest question's schema. */
struct keyword_run {
    struct tag_databases databases;
    const struct schema *schema; /* whose names these are; NULL: there was none */
    int64_t serial;
    struct triage_names names;
    int64_t of_class[TRIAGE_CLASSES];
};

static void read_names(struct keyword_run *k, const struct schema *s)
{
    if (k->schema == s && k->serial == s->serial)
        return;
    triage_names_release(&k->names);
    triage_names_init(&k->names, s);
    k->schema = s;
    k->serial = s->serial;
}

/* Reads the question, with stored values if there is a database. */
static int read_question(struct keyword_run *k, struct triage_reading *r, const json_t *record, const char *where,
                         struct error *err)
{
    struct triage_question q = { .text = json_get_string(record, "question", where, err) };
    const char *db_id = q.text ? json_get_string(record, "db_id", where, err) : NULL;
    struct tag_database *d = db_id ? tag_databases_find(&k->databases, db_id, where, err) : NULL;
    struct tag_source *source = d && d->path ? tag_database_source(&k->databases, d, err) : NULL;
    struct tag_matches matches = { 0 };

    if (!d || (d->path && !source) || triage_context(&q.context, record, where, err))
        return -1;
    read_names(k, d->schema);
    if (source) {
        struct tag_question found = tag_source_ask(source, q.text, &matches);
        q.values = found.values;
        q.n_values = found.n_values;
        q.has_values = true;
    }
    triage_read(r, &q, &k->names);
    tag_matches_release(&matches);
    tag_databases_trim(&k->databases);
    return 0;
}

/* A record_line_fn. */
static int keywords_line(void *user, json_t *record, json_t *line, const char *where, struct error *bad)
{
    struct keyword_run *k = user;

    schema_catalog_name(&k->databases.schemas, record);
    struct triage_reading r;
    double confidence;

    if (read_question(k, &r, record, where, bad))
        return -1;
    const char *question = json_string_value(json_object_get(record, "question"));
    enum triage_kind kind = triage_by_keywords(&r, &confidence);
    enum triage_class class = triage_kind_class(kind);
    char *sentence = triage_sentence(&r, kind, question);
    json_t *fields = json_pack("{s:s, s:{s:s, s:s, s:f, s:o, s:s}}", "question", question, "triage", "class",
                               triage_class_name(class), "kind", triage_kind_name(kind), "confidence", confidence,
                               "words", triage_words_json(&r, kind, question), "sentence", sentence);
    free(sentence);
    json_object_update(line, fields);
    json_decref(fields);
    k->of_class[class]++;
    return 0;
}

enum { VALUE_MIB = 512 };

static enum exit_code run_keywords(const struct call *call, struct error *err)
{
    const struct keywords_arguments *a = call->options;
    struct record_counts counts = { 0 };
    struct keyword_run k = { 0 };

    if (!a->schema == !a->db)
        return usage_error(err, "expected either --schema or --db");
    int rc = tag_databases_open(&k.databases, a->schema, a->db, (int64_t)VALUE_MIB << 20, err);
    if (rc == 0)
        rc =
            records_to_lines(call->operands[0], a->format_in, &a->shard.range, a->out, keywords_line, &k, &counts, err);
    triage_names_release(&k.names);
    tag_databases_close(&k.databases);
    for (int c = 0; c < TRIAGE_CLASSES && rc == 0; c++)
        log_info("%lld %s", (long long)k.of_class[c], triage_class_name((enum triage_class)c));
    return job_exit_code(rc, counts.failed, err);
}

static const struct command keywords_mode = {
    .name = "keywords",
    .summary = "predict class and kind of questions by their words, without a model",
    ONE_OPERAND("IN.jsonl"),
    OPTIONS(keywords_options, keywords_defaults),
    .details =
        "Read records {\"id\", \"db_id\", \"question\"} and write {\"id\", \"triage\": {\"class\", \"kind\", \"confidence\", \"words\", "
        "\"sentence\"}}. The words of a question are compared with the names of the schema and with stored "
        "values; lists mark small talk, requests beyond SQL, outside knowledge, vague times and vague filters. It is a baseline for "
        "`ambit-infer detect`. Guide: docs/guides/triage.md.",
    .examples = { "ambit-data triage keywords questions.jsonl --schema tables.json -o predicted.jsonl",
                  "ambit-data triage keywords questions.jsonl --db databases -o predicted.jsonl" },
    .run = run_keywords,
};

static const struct command *const modes[] = { &convert_mode, &make_mode, &keywords_mode, NULL };

const struct command command_triage = {
    .name = "triage",
    .summary = "sort questions into answerable, ambiguous, unanswerable and improper ones",
    .details =
        "`convert` reads public sets of such questions, `make` makes some for training, `keywords` predicts classes without a model. `MODE --help` "
        "has the details of a mode. Guide: docs/guides/triage.md.",
    .examples = { "ambit-data triage convert --from mmsql MMSQL_test.json --schema spider/tables.json -o mmsql",
                  "ambit-data triage keywords mmsql/questions.jsonl --schema mmsql/tables.json -o predicted.jsonl" },
    .modes = modes,
};
