#include "infer/lm/complete_options.h"

#include "data/util/log.h"

const struct complete_request complete_defaults = {
    .model = { .dtype = "auto" },
    .out = "-",
    .device = "auto",
    .max_new = 256,
    .batch = 32,
    .tokens = 4096,
    .top_p = 1,
};

enum exit_code complete_outcome(int rc, const struct complete_counts *counts, struct error *err)
{
    if (rc == 0)
        log_info("%lld records, %lld tokens, %lld failed", (long long)counts->records, (long long)counts->tokens,
                 (long long)counts->failed);
    return job_exit_code(rc, counts->failed, err);
}
