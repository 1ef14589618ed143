/*
 * execute.h - run the SQL of records on all cores, with limits, and write the results as JSON lines.
 *
 * Each thread has its own connection. Results are kept in memory, within a limit, and answer later queries with the
 * same canonical text on an identical database. The column names are then those of the first text.
 *
 * Each line has a hash of its inputs, so that a resumed run rewrites only changed lines.
 */
#ifndef DATA_DB_EXECUTE_H
#define DATA_DB_EXECUTE_H

#include "data/base/json.h"
#include "data/base/shard.h"
#include "data/db/sqlite_exec.h"

struct execute_request {
    const char *db, *out;
    bool python_text, resume; /* fail texts that are not valid UTF-8; resume from OUT.part */
    enum record_format format_in;
    struct shard shard;
    int64_t steps;  /* of SQLite's virtual machine, per query */
    double seconds; /* per query */
};

/* Executes all records and logs how many there were. Returns -1 with err; its code is that of the signal if one stopped
 * the run. */
int execute(const struct execute_request *q, const char *input, int64_t *failed, struct error *err);

/* Converts a result to {"status": "ok", "columns": [...], "rows": [[...], ...]} or a status and a message. Values
 * without JSON form become {"blob": hex}, {"text": hex} (not UTF-8) or {"real": "inf"}. Returns NULL if memory is out.
 */
json_t *exec_result_json(const struct exec_result *r);

#endif
