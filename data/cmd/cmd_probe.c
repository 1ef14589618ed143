/* Part of commands.h: ambit-data probe. */
#include "data/cli/option_rows.h"
#include "data/cmd/commands.h"
#include "data/contrast/probe.h"

#include <stdio.h>

struct probe_arguments {
    const char *data;
};

static const struct probe_arguments defaults = { 0 };

#define AT(field) offsetof(struct probe_arguments, field)

static const struct option options[] = {
    STRING_OPTION("data", AT(data), "DIR", "folder with tables.json, train.jsonl, valid.jsonl, test.jsonl",
                  .required = true),
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

static enum exit_code run(const struct call *call, struct error *err)
{
    const struct probe_arguments *a = call->options;
    struct dataset d;

    int rc = dataset_read(&d, a->data, err);
    if (rc == 0)
        rc = probe_folder(&d, a->data, err);
    dataset_release(&d);
    return rc ? err->code : EXIT_CODE_OK;
}

const struct command command_probe = {
    .name = "probe",
    .summary = "measures what question or schema alone give away of a data folder's labels",
    OPTIONS(options, defaults),
    .details = "Scorers that see too little to know, measured on the test fold: a logistic regression on the words of "
               "the question, one on the words of the schema, always yes, the rule \"the question has the word and or "
               "a comma\", and the similarity of names among likely elements. A folder whose crossed examples give "
               "question or schema alone anything but chance is refused with exit code 3.",
    .examples = { "ambit-data probe --data practice", "ambit-data probe --data contrast" },
    .run = run,
};
