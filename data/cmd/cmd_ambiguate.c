#include "data/ambiguate/ambiguate_write.h"
#include "data/cmd/commands.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct ambiguate_arguments {
    const char *kinds, *spider, *questions, *tables, *synonyms, *table_synonyms, *aggregates;
    const char *db, *schema_strings, *materialise, *out;
    int64_t seed;
    bool published_databases;
};

static const struct ambiguate_arguments defaults = { .kinds = "C,T,J,P" };

#define FIELD(name) offsetof(struct ambiguate_arguments, name)
static const struct option options[] = {
    { .name = "kinds",
      .type = OPTION_STRING,
      .offset = FIELD(kinds),
      .value = "LIST",
      .help = "C two columns, T two tables, J column split off too, P stored aggregate; D a column that the query uses "
              "is deleted, R replaced by two; A questions that have several readings already" },
    { .name = "spider",
      .type = OPTION_STRING,
      .offset = FIELD(spider),
      .value = "DIR",
      .help = "Spider: tables.json, and dev.json unless --questions says otherwise" },
    { .name = "questions",
      .type = OPTION_STRING,
      .offset = FIELD(questions),
      .value = "FILE",
      .help = "questions with gold SQL, JSON or JSONL, of Spider, BIRD or AMBROSIA" },
    { .name = "tables",
      .type = OPTION_STRING,
      .offset = FIELD(tables),
      .value = "FILE",
      .help = "their tables.json; read from the databases of --db without" },
    { .name = "synonyms",
      .type = OPTION_STRING,
      .offset = FIELD(synonyms),
      .value = "FILE",
      .help = "two synonyms for each column; made from WordNet and the names without" },
    { .name = "table-synonyms",
      .type = OPTION_STRING,
      .offset = FIELD(table_synonyms),
      .value = "FILE",
      .help = "the same for tables" },
    { .name = "aggregates",
      .type = OPTION_CHOICE,
      .offset = FIELD(aggregates),
      .choices = "validation|train",
      .value = "FORM",
      .help = "P as in AmbiQT's validation or training file; train for questions in a file called train*" },
    { .name = "db",
      .type = OPTION_STRING,
      .offset = FIELD(db),
      .value = "DIR",
      .help = "databases, DIR/NAME.sqlite or DIR/NAME/NAME.sqlite, for schemas and sample values" },
    { .name = "schema-strings",
      .type = OPTION_STRING,
      .offset = FIELD(schema_strings),
      .value = "FILE",
      .help = "published records whose schema strings are kept, byte for byte" },
    { .name = "materialise",
      .type = OPTION_STRING,
      .offset = FIELD(materialise),
      .value = "DIR",
      .help = "write a database for each record, and run both readings on it (needs --db)" },
    { .name = "published-databases",
      .type = OPTION_FLAG,
      .offset = FIELD(published_databases),
      .help = "those databases as the infilling paper made them, and its filter" },
    { .name = "seed",
      .type = OPTION_INT,
      .offset = FIELD(seed),
      .value = "N",
      .help = "same seed, same bytes",
      .low = 0,
      .high = 9e15 },
    { .name = "out",
      .letter = 'o',
      .type = OPTION_STRING,
      .offset = FIELD(out),
      .value = "FILE",
      .help = "JSONL to write",
      .required = true },
    { 0 },
};

/* "C,T" and so on. */
static int read_kinds(bool kinds[AMBIGUITY_KINDS], const char *list, struct error *err)
{
    for (const char *p = list; *p; p += p[1] ? 2 : 1) {
        int k = 0;
        while (k < AMBIGUITY_KINDS && *ambiguity_letter(k) != *p)
            k++;
        if (k == AMBIGUITY_KINDS || (p[1] && (p[1] != ',' || !p[2])))
            return error_set(err, EXIT_CODE_USAGE,
                             "--kinds %s: wanted letters of C, T, J, P, D, R, A with commas between", list);
        kinds[k] = true;
    }
    return 0;
}

/* Whether P takes the form of the training file. */
static bool wants_one_table(const struct ambiguate_arguments *a, const char *questions)
{
    const char *slash = strrchr(questions, '/');
    if (a->aggregates)
        return strcmp(a->aggregates, "train") == 0;
    return strncmp(slash ? slash + 1 : questions, "train", 5) == 0;
}

/* Prints them, and whether every record has what was asked for. */
static bool print_counts(const struct ambiguate_counts counts[AMBIGUITY_KINDS], const struct ambiguate_options *o,
                         FILE *f)
{
    int read = 0, found = 0, kept = 0, without = 0;

    for (int k = 0; k < AMBIGUITY_KINDS; k++) {
        const struct ambiguate_counts *c = &counts[k];
        if (!o->kinds[k])
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

static int check(const struct ambiguate_arguments *a, struct error *err)
{
    if (!a->spider && (!a->questions || !(a->tables || a->db)))
        return error_set(err, EXIT_CODE_USAGE,
                         "wanted --spider DIR, or --questions FILE and --tables FILE or --db DIR");
    if (a->materialise && !a->db)
        return error_set(err, EXIT_CODE_USAGE, "--materialise: wanted --db DIR too, the databases to copy");
    if (a->published_databases && !a->materialise)
        return error_set(err, EXIT_CODE_USAGE, "--published-databases: wanted --materialise DIR too");
    return 0;
}

static enum exit_code make_records(const struct ambiguate_arguments *a, const struct ambiguate_files *files,
                                   struct error *err)
{
    struct ambiguate_options o = { .db = a->db,
                                   .schema_strings = a->schema_strings,
                                   .materialise = a->materialise,
                                   .published_databases = a->published_databases,
                                   .seed = (uint64_t)a->seed,
                                   .out = a->out };
    struct ambiguate_counts counts[AMBIGUITY_KINDS];
    struct ambiguate_input in;
    bool complete = true;

    if (read_kinds(o.kinds, a->kinds, err))
        return err->code;
    for (int k = SIA_KINDS; k < AMBIGUITY_KINDS && a->published_databases; k++)
        if (o.kinds[k]) {
            error_set(err, EXIT_CODE_USAGE, "--published-databases: only for kinds C, T, J, P, not %s",
                      ambiguity_letter(k));
            return err->code;
        }
    int rc = ambiguate_input_read(&in, files, err);
    in.one_table = wants_one_table(a, files->questions);
    if (rc == 0)
        rc = ambiguate_write(counts, &in, &o, err);
    if (rc == 0)
        complete = print_counts(counts, &o, strcmp(o.out, "-") == 0 ? stderr : stdout);
    ambiguate_input_release(&in);
    return rc ? err->code : complete ? EXIT_CODE_OK : EXIT_CODE_RECORDS;
}

/* What is named, else a file in Spider's folder; the caller frees. */
static char *path_of(const char *named, const char *folder, const char *name)
{
    char *path = NULL;

    if (named || !folder)
        return named ? xstrdup(named) : NULL;
    CHECK(asprintf(&path, "%s/%s", folder, name) >= 0, "cannot format a path in %s", folder);
    return path;
}

static enum exit_code run(const void *arguments, char *const *operands, int n_operands, struct error *err)
{
    const struct ambiguate_arguments *a = arguments;

    (void)operands;
    (void)n_operands;
    if (check(a, err))
        return err->code;
    char *questions = path_of(a->questions, a->spider, "dev.json"),
         *tables = path_of(a->tables, a->spider, "tables.json");
    const struct ambiguate_files files = { questions, tables, a->db, a->synonyms, a->table_synonyms };
    enum exit_code code = make_records(a, &files, err);
    free(questions);
    free(tables);
    return code;
}

const struct command command_ambiguate = {
    .name = "ambiguate",
    .summary = "turns questions with gold SQL into ambiguous ones of AmbiQT's four kinds, or unanswerable ones",
    .options = options,
    .defaults = &defaults,
    .size = sizeof defaults,
    .details =
        "Records have AmbiQT's published fields, beside them id, kind and synonym_source: file, wordnet or morphology. "
        "Spider's dev.json and train_spider.json with AmbiQT's two dictionaries give AmbiQT's own records.\n\n"
        "A question is {\"db_id\", \"question\", \"query\"} as Spider has it, with \"SQL\" as BIRD has it, whose "
        "\"evidence\" and \"question_id\" are kept, or AMBROSIA's {\"db\", \"question\", \"gold_queries\"}. Of "
        "AMBROSIA only questions with one reading are altered; the others are kind A: query1, query2 and so on, and "
        "\"interpretations\".\n\n"
        "Kinds D and R change a column that the query uses and the question speaks of, as counterfactuals for a "
        "tagger: D deletes it, so that nothing answers the question (\"deleted_map\"; no query1, query2), R replaces "
        "it by two that a modifier tells apart (\"extra_map\").\n\n"
        "--materialise writes real databases in which both readings run: db_file names a record's, coincide says that "
        "both give the same rows there, materialise_error what SQLite said of a reading that does not run.",
    .run = run,
};
