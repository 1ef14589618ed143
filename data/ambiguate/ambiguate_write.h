/*
 * ambiguate_write.h - `ambit-data ambiguate`: records of the asked kinds, in order of kinds and questions, to a file.
 */
#ifndef DATA_AMBIGUATE_AMBIGUATE_WRITE_H
#define DATA_AMBIGUATE_AMBIGUATE_WRITE_H

#include "data/ambiguate/ambiguate_make.h"

#include <stdio.h>

struct ambiguate_options {
    bool kinds[AMBIGUITY_KINDS];
    const char *db;             /* databases that values and copies come from, or NULL */
    const char *schema_strings; /* a published file whose schema texts stay, or NULL */
    const char *materialise;    /* folder of databases to write, or NULL; needs db */
    bool force;                 /* replace those that hold something else */
    bool published_databases;   /* in the form of the infilling paper */
    uint64_t seed;
    const char *out;
};

/* What the records of one kind are. */
struct ambiguate_counts {
    int records, kept_texts;
    int without_database; /* "error" says so: no values, nothing materialised */
    int differ, coincide, failed;
    int left_out[AMBIGUITY_FAULTS];
    int found, kept; /* by the published filter: whose database is found again, and that stay after all of it */
};

/* -1 on bad input or a file that cannot be written; nothing is left behind then but databases. */
int ambiguate_write(struct ambiguate_counts counts[AMBIGUITY_KINDS], struct ambiguate_input *in,
                    const struct ambiguate_options *o, struct error *err);

#endif
