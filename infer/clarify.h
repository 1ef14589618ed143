/*
 * clarify.h - candidates in, the question that tells most out: one record after the other, in input order.
 *
 * A record that cannot be read carries "error" instead and the run goes on.
 */
#ifndef INFER_CLARIFY_H
#define INFER_CLARIFY_H

#include "infer/simulate.h"

struct clarify_request {
    const char *candidates, *schema, *db, *strategy, *out;
    double noise, tau, min_bits, second_cost;
    int64_t max_turns;
    const char *memory; /* "on" or "off" */
    bool simulate;      /* whole dialogues about each record's "gold", with the measures as the last line */
    double user_noise, user_unknown;
    int64_t seed;
};

struct clarify_counts {
    int64_t records, failed, asked, left_out, gold_errors;
};

int clarify(const struct clarify_request *q, struct clarify_counts *counts, struct error *err);

/* Schemas by db_id: of one tables.json, or of the SQLite files of a folder, each opened when it is first asked for:
 * DIR/ID.sqlite or DIR/ID/ID.sqlite. */
struct schema_shelf {
    struct schema_set tables;       /* of tables.json */
    const char *dir;                /* borrowed; NULL with tables.json */
    struct schema_set *sets;        /* of each file */
    struct strings ids;             /* their numbers are those of the sets */
    struct column_samples *samples; /* of each set, opened when first asked for */
};
int schema_shelf_open(struct schema_shelf *s, const char *tables, const char *dir, struct error *err);
/* NULL with EXIT_CODE_DATA naming the db_id. */
const struct schema *schema_shelf_find(struct schema_shelf *s, const char *db_id, const char *where, struct error *err);
/* A few values of each column; NULL without databases, or when the file is gone. */
struct column_samples *schema_shelf_samples(struct schema_shelf *s, const char *db_id);
void schema_shelf_close(struct schema_shelf *s);

#endif
