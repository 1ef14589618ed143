/* Part of commands.h: ambit-data probe. */
#include "data/cli/option_rows.h"
#include "data/cmd/commands.h"
#include "data/contrast/probe.h"
#include "data/span/span_probe.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

struct probe_arguments {
    const char *data;
};

static const struct probe_arguments defaults = { 0 };

#define AT(field) offsetof(struct probe_arguments, field)

static const struct option options[] = {
    STRING_OPTION("data", AT(data), "DIR",
                  "folder with train.jsonl, test.jsonl and, of a detector, tables.json, valid.jsonl", .required = true),
    { 0 },
};

static int probe_folder(const struct dataset *d, const char *dir, struct error *err)
{
    int n = 0;

    for (int set = 0; set < PROBE_SETS; set++) {
        struct probe_report r;
        probe_run(&r, d, (enum probe_set)set);
        n += r.n;
        if (r.n)
            probe_print(&r, (enum probe_set)set, stdout);
        if (set == PROBE_CROSSED && probe_check(&r, err))
            return error_prefix(err, "%s", dir);
    }
    return n ? 0 : error_set(err, EXIT_CODE_DATA, "%s/test.jsonl: holds no examples", dir);
}

/* Records with marked words bring their tables along. */
static bool has_file(const char *dir, const char *name)
{
    char *path = path_in(dir, name);
    bool there = access(path, F_OK) == 0;

    free(path);
    return there;
}

static int probe_dataset(const char *dir, struct error *err)
{
    struct dataset d;

    int rc = dataset_read(&d, dir, err);
    if (rc == 0)
        rc = probe_folder(&d, dir, err);
    dataset_release(&d);
    return rc;
}

static enum exit_code run(const struct call *call, struct error *err)
{
    const struct probe_arguments *a = call->options;
    bool spans = has_file(a->data, "train.jsonl") && !has_file(a->data, "tables.json");

    int rc = spans ? span_probe_folder(a->data, stdout, err) : probe_dataset(a->data, err);
    return rc ? err->code : EXIT_CODE_OK;
}

const struct command command_probe = {
    .name = "probe",
    .summary = "measures what question or schema alone give away of a data folder's labels",
    OPTIONS(options, defaults),
    .details = "Scorers that see too little to know, measured on the test fold: a logistic regression on the words of "
               "the question, one on the words of the schema, always yes, the rule \"the question has the word and or "
               "a comma\", and the similarity of names among likely elements. A folder whose crossed examples give "
               "question or schema alone anything but chance is refused with exit code 3.\n\n"
               "A folder without tables.json, as `ambit-data counterfactual` writes it, is measured by what question, "
               "table and edit alone give away of AMB and UNK: refused beyond .50 +- .02.",
    .examples = { "ambit-data probe --data practice", "ambit-data probe --data contrast" },
    .run = run,
};
