#include "infer/lm/complete_options.h"

#include "data/util/log.h"

#include <string.h>

const struct complete_request complete_defaults = {
    .model = { .dtype = "auto" },
    .out = "-",
    .device = "auto",
    .max_new = 256,
    .batch = 32,
    .tokens = 4096,
    .beams = 1,
    .top_p = 1,
    .typical_p = 1,
    .length_penalty = 1,
};

const struct file_note complete_files[] = {
    { "OUT.jsonl.part", "lines of a run that was stopped, for --resume" },
    { 0 },
};

enum exit_code complete_run(const struct call *call, complete_fn *complete, struct error *err)
{
    const struct complete_request *q = call->options;
    struct complete_counts n = { 0 };

    if (q->model.merge && !q->model.adapter)
        return usage_error(err, "--merge: expected --adapter, which it adds to the weights");
    if (q->resume && strcmp(q->out, "-") == 0)
        return usage_error(err, "--resume: expected --out FILE, a file to go on with");
    int rc = complete(q, call->operands[0], &n, err);
    if (rc == 0 && !q->model.dry)
        log_info("%lld records, %lld tokens, %lld failed, %lld of an earlier run", (long long)n.records,
                 (long long)n.tokens, (long long)n.failed, (long long)n.resumed);
    return job_exit_code(rc, n.failed, err);
}
