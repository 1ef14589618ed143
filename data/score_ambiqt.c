#include "data/score.h"

enum exit_code score_ambiqt(const struct score_request *q, struct error *err)
{
    error_set(err, EXIT_CODE_USAGE, "--rule ambiqt: %s", q->pred);
    return err->code;
}
