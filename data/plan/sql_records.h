/*
 * sql_records.h - the SQL of records in its canonical form, with every table and column that it touches.
 */
#ifndef DATA_PLAN_SQL_RECORDS_H
#define DATA_PLAN_SQL_RECORDS_H

#include "data/shard/shard.h"
#include "data/util/records.h"

struct sql_request {
    const char *schema, *db; /* one of the two: tables.json with the schema of every db_id; as in db_path.h */
    const char *out;
    enum record_form form;
    struct shard shard;
};

/* {"id", "db_id", "sql", "uses"} for each record with "query" or "sql", a string or a list.  -1 with err. */
int sql_records(const struct sql_request *q, const char *input, struct record_counts *counts, struct error *err);

#endif
