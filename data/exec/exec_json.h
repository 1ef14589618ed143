/* exec_json.h - a result as JSON: {"status": "ok", "columns": [name, ...], "rows": [[...], ...]}, or a status and a
 * message. */
#ifndef DATA_EXEC_EXEC_JSON_H
#define DATA_EXEC_EXEC_JSON_H

#include "data/exec/sqlite_exec.h"
#include "data/util/json.h"

/* What JSON cannot hold becomes {"blob": hex}, {"text": hex} when it is no UTF-8, {"real": "inf"}.  NULL when memory is
 * out. */
json_t *exec_result_json(const struct exec_result *r);

#endif
