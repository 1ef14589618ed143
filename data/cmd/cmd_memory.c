/* Part of commands.h: ambit-data memory. */
#include "data/base/log.h"
#include "data/base/option_rows.h"
#include "data/base/visible.h"
#include "data/clarify/memory_labels.h"
#include "data/cmd/commands.h"

#include <stdio.h>

struct memory_request {
    struct choice_filter filter;
    bool deletes;
    const char *labels, *db, *schema; /* file of labelled questions, or NULL; a database or tables.json for them */
};

static const struct memory_request defaults = { .deletes = false };

#define AT(field) offsetof(struct memory_request, field)

static const struct option options[] = {
    STRING_OPTION("db-id", AT(filter.db_id), "ID", "choices about this database (default: all)", .group = "choices"),
    STRING_OPTION("words", AT(filter.words), "TEXT", "choices of these words (default: all)"),
    STRING_OPTION("meant", AT(filter.meant), "NAME", "choices of this table, table.column or option (default: all)"),
    FLAG_OPTION("delete", AT(deletes), "delete the choices instead of listing them"),
    STRING_OPTION("labels", AT(labels), "FILE.jsonl", "write labelled questions of the choices for ambit-train adapt",
                  .writes = true, .group = "labels"),
    DB_OPTION(AT(db), " of the choices"),
    SCHEMA_OPTION(AT(schema), "tables.json, in place of --db"),
    { 0 },
};

static void print_choice(const struct remembered_choice *c)
{
    visible_printf(stdout, "%s: \"%s\" meant %s %lld times and something else %lld times, last on %s (weight %.3g)\n",
                   c->db_id, c->words, c->meant, (long long)c->times, (long long)c->otherwise, c->last, c->weight);
}

static void list_choices(const struct choice_memory *m, const struct choice_filter *f)
{
    for (int i = 0; i < m->n; i++)
        if (choice_filter_has(f, &m->list[i]))
            print_choice(&m->list[i]);
}

static int delete_choices(struct choice_memory *m, const struct choice_filter *f, struct error *err)
{
    int n = choice_memory_delete(m, f, err);

    if (n >= 0)
        log_info("%d choices deleted, %d left", n, m->n);
    return n < 0 ? -1 : 0;
}

/* Writes labelled questions. */
static int write_labels(const struct choice_memory *m, const struct memory_request *q, const struct choice_filter *f,
                        struct error *err)
{
    struct schema_catalog schemas = { 0 };
    struct out_file out = { 0 };
    int n = schema_catalog_open(&schemas, q->schema, q->db, err) || out_file_open(&out, q->labels, err)
                ? -1
                : memory_labels_write(&out, m, f, &schemas, err);

    if (n == 0)
        n = error_set(err, EXIT_CODE_DATA, "%s: expected a choice of a table or column, found none", m->path);
    if (n > 0 && out_file_commit(&out, err) == 0)
        log_info("%d questions; ambit-train adapt takes them with --support", n);
    else
        n = -1;
    out_file_abort(&out);
    schema_catalog_close(&schemas);
    return n < 0 ? -1 : 0;
}

static int use_memory(const struct memory_request *q, const char *path, struct error *err)
{
    char words[CHOICE_TEXT_MAX];
    struct choice_filter filter = q->filter;
    struct choice_memory m;
    int rc = choice_memory_open(&m, path, err);

    if (rc == 0 && !m.state.st_ino)
        rc = error_set(err, EXIT_CODE_DATA, "%s: No such file or directory", path);
    if (filter.words)
        filter.words = choice_words(words, filter.words) ? words : "";
    if (rc == 0 && q->deletes)
        rc = delete_choices(&m, &filter, err);
    else if (rc == 0 && q->labels)
        rc = write_labels(&m, q, &filter, err);
    else if (rc == 0)
        list_choices(&m, &filter);
    choice_memory_close(&m);
    return rc;
}

static enum exit_code run(const struct call *call, struct error *err)
{
    const struct memory_request *q = call->options;
    bool filtered = q->filter.db_id || q->filter.words || q->filter.meant;

    if (q->deletes && !filtered)
        return usage_error(err,
                           "--delete: expected --db-id, --words or --meant; remove the file to delete all choices");
    if (q->labels ? q->deletes || !q->db == !q->schema : q->db || q->schema)
        return usage_error(err, "--labels: expected --db or --schema, and not --delete");
    return job_exit_code(use_memory(q, call->operands[0], err), 0, err);
}

const struct command command_memory = {
    .name = "memory",
    .summary = "list, delete or label the choices of a user that --memory of ask and clarify keeps",
    ONE_OPERAND("FILE"),
    OPTIONS(options, defaults),
    .details = "Words are compared by their stems. The file has one choice a line, as JSON, and may be edited while no "
               "other program writes it. Guide: docs/guides/memory.md.",
    .examples = { "ambit-data memory shop.memory --words address --delete",
                  "ambit-data memory shop.memory --db shop.sqlite --labels labels.jsonl" },
    .run = run,
};
