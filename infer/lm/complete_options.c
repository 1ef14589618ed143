#include "infer/lm/complete_options.h"

#include "data/util/log.h"
#include "data/util/stop.h"

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
    if (rc < 0)
        return err->code;
    if (rc > 0)
        return stop_exit_code();
    log_info("%lld records, %lld tokens, %lld failed", (long long)counts->records, (long long)counts->tokens,
             (long long)counts->failed);
    if (!counts->failed)
        return EXIT_CODE_OK;
    error_set(err, EXIT_CODE_RECORDS, "%lld of %lld records failed; their \"error\" says why",
              (long long)counts->failed, (long long)counts->records);
    return EXIT_CODE_RECORDS;
}
