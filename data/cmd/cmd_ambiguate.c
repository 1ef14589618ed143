/* Part of commands.h: ambit-data ambiguate. */
#include "data/base/log.h"
#include "data/base/option_rows.h"
#include "data/base/out_file.h"
#include "data/cmd/commands.h"
#include "data/endpoint/endpoint.h"
#include "data/synth/ambiguate_write.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct ambiguate_arguments {
    const char *kinds, *spider, *questions, *tables, *synonyms, *table_synonyms;
    const char *db, *schema_strings, *materialise, *answers, *out;
    struct endpoint_settings server; /* of the names, if it has an address */
    enum { AGGREGATES_BY_NAME = -1, AGGREGATES_VALIDATION, AGGREGATES_TRAIN } aggregates;
    enum { GENERATOR_BY_FILES = -1, GENERATOR_RESOLVED, GENERATOR_AMBIQT } generator;
    int64_t seed;
    bool published_databases, write_prompts, force;
};

static const struct ambiguate_arguments defaults = { .kinds = "C,T,J,P",
                                                     .server = ENDPOINT_DEFAULTS("lm"),
                                                     .aggregates = AGGREGATES_BY_NAME,
                                                     .generator = GENERATOR_BY_FILES };

#define AT(field) offsetof(struct ambiguate_arguments, field)
#define SERVER(field) AT(server.field)

static const struct option options[] = {
    STRING_OPTION("spider", AT(spider), "DIR", "Spider's folder: tables.json and dev.json", .group = "input"),
    STRING_OPTION("questions", AT(questions), "FILE", "questions with gold SQL, as Spider, BIRD or AMBROSIA has them"),
    SCHEMA_OPTION(AT(tables), "tables.json (default: the schemas of --db)"),
    DB_OPTION(AT(db), ""),
    STRING_OPTION("synonyms", AT(synonyms), "FILE", "two synonyms of each column (default: from WordNet)"),
    STRING_OPTION("table-synonyms", AT(table_synonyms), "FILE", "two synonyms of each table (default: from WordNet)"),
    STRING_OPTION("schema-strings", AT(schema_strings), "FILE", "published records whose schema strings are kept"),
    OUT_OPTION(AT(out), "FILE", "write the records, JSONL", .required = true),
    STRING_OPTION("materialise", AT(materialise), "DIR", "write a database for each record; requires --db",
                  .writes = true),
    FLAG_OPTION("published-databases", AT(published_databases), "write databases as the infilling paper did"),
    FORCE_OPTION(AT(force)),
    STRING_OPTION("kinds", AT(kinds), "LIST", "ambiguity types, of C, T, J, P, D, R and A", .group = "generation"),
    CHOICE_OPTION("generator", AT(generator), "HOW", "resolved|ambiqt",
                  "rewrite the parsed query, or AmbiQT's word replacement"),
    CHOICE_OPTION("aggregates", AT(aggregates), "FORM", "validation|train", "type P as in this file of AmbiQT"),
    SEED_OPTION(AT(seed), "random seed"),
    FLAG_OPTION("write-prompts", AT(write_prompts),
                "types C and T: write prompts for synonyms to --out in place of records",
                .group = "synonyms by a model"),
    STRING_OPTION("answers", AT(answers), "FILE", "completions of these prompts, whose names are used"),
    STRING_OPTION("lm", SERVER(url), "URL", ENDPOINT_URL_HELP ", which completes the prompts"),
    ENDPOINT_OPTIONS("lm", SERVER),
    { 0 },
};

/* Reads a list such as "C,T". */
static int read_kinds(bool kinds[AMBIGUATE_TYPES], const char *list, struct error *err)
{
    for (const char *p = list; *p; p += p[1] ? 2 : 1) {
        int k = 0;
        while (k < AMBIGUATE_TYPES && *ambiguity_letter(k) != *p)
            k++;
        if (k == AMBIGUATE_TYPES || (p[1] && (p[1] != ',' || !p[2])))
            return error_set(err, EXIT_CODE_USAGE,
                             "--kinds: expected letters of C, T, J, P, D, R and A, separated by commas, got '%s'",
                             list);
        kinds[k] = true;
    }
    return 0;
}

/* Whether type P has the form of the training file. */
static bool takes_one_table(const struct ambiguate_arguments *a, const char *questions)
{
    const char *slash = strrchr(questions, '/');
    if (a->aggregates != AGGREGATES_BY_NAME)
        return a->aggregates == AGGREGATES_TRAIN;
    return strncmp(slash ? slash + 1 : questions, "train", 5) == 0;
}

/* Whether AmbiQT's own generator is selected, by name or by its files. */
static bool takes_ambiqt(const struct ambiguate_arguments *a)
{
    if (a->generator != GENERATOR_BY_FILES)
        return a->generator == GENERATOR_AMBIQT;
    return a->synonyms || a->table_synonyms || a->schema_strings || a->published_databases;
}

/* Prints ", 3 left out (an interpretation fails 2, name in use 1)". */
static void print_rejected(const int *rejected, FILE *f)
{
    int all = 0, said = 0;

    for (int i = 0; i < AMBIGUITY_FAULTS; i++)
        all += rejected[i];
    if (all == 0)
        return;
    fprintf(f, ", %d left out (", all);
    for (int i = 0; i < AMBIGUITY_FAULTS; i++)
        if (rejected[i])
            fprintf(f, "%s%s %d", said++ ? ", " : "", ambiguity_fault_text((enum ambiguity_fault)i), rejected[i]);
    putc(')', f);
}

/* Prints the counts. Returns whether every record has a database. */
static bool print_counts(const struct ambiguate_counts counts[AMBIGUATE_TYPES], const struct ambiguate_options *o,
                         FILE *f)
{
    int read = 0, found = 0, kept = 0, without = 0;

    for (int k = 0; k < AMBIGUATE_TYPES; k++) {
        const struct ambiguate_counts *c = &counts[k];
        if (!o->types[k])
            continue;
        fprintf(f, "%s: %d records", ambiguity_letter(k), c->records);
        if (o->schema_strings)
            fprintf(f, ", %d with published schema strings", c->kept_texts);
        if (c->without_database)
            fprintf(f, ", %d without a database", c->without_database);
        if (o->materialise)
            fprintf(f, ", results differ %d, coincide %d, a reading fails %d", c->differ, c->coincide, c->failed);
        if (o->published_databases)
            fprintf(f, ", published filter keeps %d", c->kept);
        print_rejected(c->rejected, f);
        putc('\n', f);
        read += c->records;
        found += c->found;
        kept += c->kept;
        without += c->without_database;
    }
    if (o->published_databases)
        fprintf(f, "published filter: %d -> %d -> %d\n", read, found, kept);
    return without == 0;
}

/* Checks the options of synonyms by a model. */
static int check_model(const struct ambiguate_arguments *a, struct error *err)
{
    const char *by = a->write_prompts ? "write-prompts" : a->answers ? "answers" : a->server.url ? "lm" : NULL;
    const char *other = a->write_prompts && a->answers          ? "answers"
                        : a->write_prompts && a->materialise    ? "materialise"
                        : a->write_prompts && a->schema_strings ? "schema-strings"
                        : a->server.url && strcmp(by, "lm")     ? "lm"
                        : a->synonyms                           ? "synonyms"
                        : a->table_synonyms                     ? "table-synonyms"
                                                                : NULL;

    if (by && other)
        return error_set(err, EXIT_CODE_USAGE, "--%s and --%s cannot be used together", by, other);
    return endpoint_check(&a->server, err);
}

/* Takes the names of tables and columns from completions, if the options have any. */
static int read_names(struct ambiguate_input *in, const struct ambiguate_arguments *a,
                      const bool types[AMBIGUATE_TYPES], struct synonym_counts *names, struct error *err)
{
    const struct synonym_answers from = { a->answers, a->server, a->seed };

    if (!a->answers && !a->server.url)
        return 0;
    if (ambiguate_answers(in, types, &from, names, err))
        return -1;
    log_info("%lld prompts, %lld without a completion that passes the filter", (long long)names->prompts,
             (long long)names->unread);
    return 0;
}

static int check(const struct ambiguate_arguments *a, struct error *err)
{
    if (!a->spider && (!a->questions || !(a->tables || a->db)))
        return error_set(err, EXIT_CODE_USAGE,
                         "expected --spider DIR, or --questions FILE and --schema FILE or --db DIR");
    if (a->materialise && !a->db)
        return error_set(err, EXIT_CODE_USAGE, "--materialise requires --db DIR, the databases to copy");
    if (a->published_databases && !a->materialise)
        return error_set(err, EXIT_CODE_USAGE, "--published-databases requires --materialise DIR");
    return check_model(a, err);
}

/* Writes prompts in place of records. */
static enum exit_code make_prompts(const struct ambiguate_arguments *a, const struct ambiguate_files *files,
                                   struct error *err)
{
    bool types[AMBIGUATE_TYPES] = { false };
    struct ambiguate_input in;
    int64_t n = 0;

    if (read_kinds(types, a->kinds, err))
        return err->code;
    if (!types[SIA_COLUMN] && !types[SIA_TABLE])
        return usage_error(err, "--write-prompts: expected --kinds with C or T, got %s", a->kinds);
    int rc = ambiguate_input_read(&in, files, err);
    if (rc == 0)
        rc = ambiguate_prompts(&in, types, a->out, &n, err);
    if (rc == 0)
        log_info("%lld prompts", (long long)n);
    ambiguate_input_release(&in);
    return rc ? err->code : EXIT_CODE_OK;
}

static enum exit_code make_records(const struct ambiguate_arguments *a, const struct ambiguate_files *files,
                                   struct error *err)
{
    struct ambiguate_options o = { .db = a->db,
                                   .schema_strings = a->schema_strings,
                                   .materialise = a->materialise,
                                   .published_databases = a->published_databases,
                                   .force = a->force,
                                   .seed = (uint64_t)a->seed,
                                   .out = a->out };
    FILE *summary = strcmp(o.out, "-") == 0 || same_path(o.out, "/dev/stdout") ? stderr : stdout;
    struct ambiguate_counts counts[AMBIGUATE_TYPES];
    struct ambiguate_input in;
    struct synonym_counts names = { 0 };
    bool complete = true;

    if (read_kinds(o.types, a->kinds, err))
        return err->code;
    for (int k = AMBIQT_TYPES; k < AMBIGUATE_TYPES && a->published_databases; k++)
        if (o.types[k]) {
            error_set(err, EXIT_CODE_USAGE, "--published-databases: expected --kinds of C, T, J and P, got %s",
                      ambiguity_letter(k));
            return err->code;
        }
    int rc = ambiguate_input_read(&in, files, err);
    if (rc == 0)
        rc = read_names(&in, a, o.types, &names, err);
    in.one_table = takes_one_table(a, files->questions);
    in.as_ambiqt = takes_ambiqt(a);
    if (rc == 0 && in.as_ambiqt && a->generator == GENERATOR_BY_FILES)
        log_info(
            "types C, T, J and P follow AmbiQT's published program, including its bugs; use --generator resolved for statements that run");
    if (rc == 0)
        rc = ambiguate_write(counts, &in, &o, err);
    if (rc == 0)
        complete = print_counts(counts, &o, summary);
    ambiguate_input_release(&in);
    return rc ? err->code : complete && names.unread == 0 ? EXIT_CODE_OK : EXIT_CODE_RECORDS;
}

/* The named file, else a file in Spider's folder; the caller frees. */
static char *path_of(const char *named, const char *folder, const char *name)
{
    char *path = NULL;

    if (named || !folder)
        return named ? xstrdup(named) : NULL;
    CHECK(asprintf(&path, "%s/%s", folder, name) >= 0, "cannot format a path in %s", folder);
    return path;
}

static enum exit_code run(const struct call *call, struct error *err)
{
    const struct ambiguate_arguments *a = call->options;

    if (check(a, err))
        return err->code;
    char *questions = path_of(a->questions, a->spider, "dev.json"),
         *tables = path_of(a->tables, a->spider, "tables.json");
    const struct ambiguate_files files = { questions, tables, a->db, a->synonyms, a->table_synonyms };
    enum exit_code code = a->write_prompts ? make_prompts(a, &files, err) : make_records(a, &files, err);
    free(questions);
    free(tables);
    return code;
}

const struct command command_ambiguate = {
    .name = "ambiguate",
    .summary = "make questions ambiguous or unanswerable by editing their schemas",
    OPTIONS(options, defaults),
    .details = "Each question with gold SQL becomes records in AmbiQT's form, with one statement for each "
               "interpretation. The types are C (two columns), T (two tables), J (a column also in a split-off "
               "table), P (a stored aggregate), D (a deleted column), R (a column replaced by two) and A (a "
               "question that AMBROSIA already calls ambiguous).\n\n"
               "A record is rejected if an interpretation fails on its schema; the summary counts the reasons. "
               "AmbiQT's dictionaries, --schema-strings and --published-databases select --generator ambiqt, which "
               "reproduces the published program.\n\n"
               "--write-prompts writes {\"id\", \"messages\"} for the synonyms of all tables and columns of the "
               "questions' databases, in the words of AmbiQT's program. --answers reads {\"id\", \"text\"} or "
               "{\"id\", \"texts\"}. --lm asks a language-model server, up to ten times for a prompt. A prompt "
               "without two usable names is listed, and the exit code is 7.\n\n"
               "Guide: docs/guides/make-data.md.",
    .examples = { "ambit-data ambiguate --questions questions.jsonl --db databases -o ambiguous.jsonl",
                  "ambit-data ambiguate --spider spider --db databases --materialise altered -o made.jsonl" },
    .run = run,
};
