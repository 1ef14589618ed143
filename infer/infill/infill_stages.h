/*
 * infill_stages.h - the stages of infilling, for the records of a window: all of them are through one before the next.
 */
#ifndef INFER_INFILL_INFILL_STAGES_H
#define INFER_INFILL_INFILL_STAGES_H

#include "data/exec/db_cache.h"
#include "data/prompt/prompter.h"
#include "data/prompt/reading_sql.h"
#include "data/score/annotate.h"
#include "infer/infill/infill.h"
#include "infer/infill/infill_case.h"

struct infill_stages {
    const struct infill_request *q;
    enum prompt_kind writes;   /* the prompts that are written instead of asked; PROMPT_KINDS: none */
    struct infill_case *cases; /* the window */
    int64_t n, cap;
    struct annotate_readings defaults, infilled; /* of the files; defaults: those of q->e2e too */
    struct annotate_readings corrected, rewrites;
    struct shots shots; /* examples of PROMPT_E2E_SHOTS */
    struct reading_sql sqls;
    struct prompter prompter;
    struct db_cache databases;
    struct python_random random; /* the published filter's, over all windows */
    struct out_file prompts;
    struct strings prompt_ids; /* of those that are written */
};

/* The files of the stages, and the one that prompts are written to.  Released by the caller either way. */
int infill_stages_open(struct infill_stages *f, const struct infill_request *q, struct error *err);
/* Takes the cases through the stages.  Where prompts are written, it ends there.  0, 1 when a signal stopped it, -1. */
int infill_stages_run(struct infill_stages *f, struct error *err);
/* The connection of a case; NULL when the case has failed. */
struct exec_db *infill_stages_database(struct infill_stages *f, struct infill_case *c);
/* Forgets the window. */
void infill_stages_clear(struct infill_stages *f);
void infill_stages_release(struct infill_stages *f);

#endif
