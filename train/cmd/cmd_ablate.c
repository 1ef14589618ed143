/* Part of commands.h: ambit-train ablate. */
#include "data/cli/option_rows.h"
#include "data/util/log.h"
#include "train/ablate/ablate.h"
#include "train/cmd/commands.h"

static const struct ablate_request defaults = { .device = "auto" };

#define AT(field) offsetof(struct ablate_request, field)

static const struct option table[] = {
    STRING_OPTION("plan", AT(plan), "F.yaml", "rows, seeds and what all rows share", .required = true),
    OUT_OPTION(AT(out), "DIR", "where runs and tables go", .required = true),
    DEVICE_OPTION(AT(device)),
    DRY_RUN_OPTION(AT(dry_run), "tell how long each row will take, train nothing"),
    { 0 },
};

static enum exit_code run(const struct call *call, struct error *err)
{
    int left_out, rc = ablate(call->options, &left_out, err);

    return job_exit_code(rc, left_out, err);
}

static const struct file_note files[] = {
    { "DIR/ROW/seed-N", "a run of ambit-train gatekeeper" },
    { "DIR/linker/seed-N", "encoder and relevance that rows share, where the plan has a linker" },
    { "DIR/states", "states of frozen encoders, for all rows" },
    { "DIR/ablate.json", "means and intervals" },
    { "DIR/report.html", "the same as a table" },
    { 0 },
};

const struct command command_ablate = {
    .name = "ablate",
    .summary = "trains the variants of a plan with several seeds, and tells what each reached",
    OPTIONS(table, defaults),
    .details =
        "The plan has settings: options of ambit-train gatekeeper that all rows have; rows: for each name the options that "
        "it has beside, and published, a text that stands beside its figures; seeds: [1, 2, 3]; hours: the most for one "
        "training.  With linker: {...} one run for each seed trains encoder and relevance alone, and all rows with encode: "
        "element and embedder: linker take these.\n\n"
        "Beforehand a few steps of each row tell how long it will take; one that would take longer than hours is left out "
        "(exit code 7).  A run that is finished is not trained again, one that was stopped goes on: give the same command "
        "again.  Printed are means over seeds on the test fold's crossed slice with 95 % intervals, and below them what "
        "needs no training.",
    .examples = { "ambit-train ablate --plan examples/thesis.yaml -o runs/thesis --dry-run",
                  "ambit-train ablate --plan examples/thesis.yaml -o runs/thesis" },
    .files = files,
    .run = run,
};
