/*
 * execute.h - records with SQL, and the rows that it returns: bounded, over all cores, and resumed line by line.
 *
 * A line is kept with a sum of all that it is made from, and written again only when that has changed.
 */
#ifndef DATA_EXEC_EXECUTE_H
#define DATA_EXEC_EXECUTE_H

#include "data/exec/sqlite_exec.h"
#include "data/shard/shard.h"
#include "data/util/json.h"

struct execute_request {
    const char *db, *out;
    bool python_text, resume; /* fail a text that is no UTF-8; go on with what OUT.part holds */
    enum record_form form;
    struct shard shard;
    int64_t steps;  /* of SQLite's machine for one query */
    double seconds; /* likewise */
};

/* Tells on the log how many records there were.  -1 with err, the signal's code when one stopped it. */
int execute(const struct execute_request *q, const char *input, int64_t *failed, struct error *err);

/* What JSON cannot hold becomes {"blob": hex}, {"text": hex} when it is no UTF-8, {"real": "inf"}.  NULL when memory is
 * out. */
json_t *exec_result_json(const struct exec_result *r);

#endif
