/* Part of commands.h: ambit-train ablate. */
#include "data/base/log.h"
#include "data/base/option_rows.h"
#include "train/cmd/commands.h"
#include "train/detector/ablate.h"

static const struct ablate_request defaults = { .device = "auto" };

#define AT(field) offsetof(struct ablate_request, field)

static const struct option table[] = {
    STRING_OPTION("sweep", AT(sweep), "F.yaml", "rows, seeds and shared settings", .required = true, .group = "input"),
    OUT_OPTION(AT(out), "DIR", "folder of runs and tables", .required = true),
    DRY_RUN_OPTION(AT(dry_run), "print the estimated time of each row only", .group = "run"),
    DEVICE_OPTION(AT(device)),
    { 0 },
};

static enum exit_code run(const struct call *call, struct error *err)
{
    int left_out, rc = ablate(call->options, &left_out, err);

    return job_exit_code(rc, left_out, err);
}

static const struct file_note files[] = {
    { "DIR/ROW/seed-N", "a run of ambit-train gatekeeper" },
    { "DIR/linker/seed-N", "shared encoder and relevance head of the linker" },
    { "DIR/states", "cached states of frozen encoders" },
    { "DIR/ablate.json", "means and intervals" },
    { "DIR/report.html", "the same as a page" },
    { 0 },
};

const struct command command_ablate = {
    .name = "ablate",
    .summary = "compare variants of the detector over several seeds",
    OPTIONS(table, defaults),
    .details =
        "--sweep is a YAML file with settings of all rows, rows, seeds, a time limit in hours and an optional linker. "
        "A row that would exceed the limit is left out (exit code 7). Repeat the command to continue a stopped sweep. "
        "The table has means over seeds with 95 % intervals. Guide: docs/guides/adapt-and-compare.md.",
    .examples = { "ambit-train ablate --sweep examples/skadborg-mortensen.yaml -o runs/ablation --dry-run",
                  "ambit-train ablate --sweep examples/skadborg-mortensen.yaml -o runs/ablation" },
    .files = files,
    .run = run,
};
