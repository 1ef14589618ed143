/*
 * plan_records.h - training and test records of LogicalBeam's models, one for each question with gold SQL.
 *
 * Spider's training questions are split by database, its dev questions are the test.  Records of AmbiQT give two each,
 * one for each reading, on the schema string that they bring along.
 */
#ifndef DATA_PLAN_PLAN_RECORDS_H
#define DATA_PLAN_PLAN_RECORDS_H

#include "data/plan/parser_text.h"

/* How a schema of Spider is written: in its own order; as AmbiQT writes schemas, which is in random order with other
 * blanks; or so, but in train and valid without the tables that the statement does not name. */
enum plans_schema { PLANS_SCHEMA_SPIDER, PLANS_SCHEMA_AMBIQT, PLANS_SCHEMA_NAMED };

struct plans_request {
    const char *spider; /* a folder with tables.json, train_spider.json and dev.json */
    const char *ambiqt; /* a file of AmbiQT's records, or NULL */
    const char *db;     /* as in db_path.h, or NULL: whose values constraints may have */
    const char *out;
    enum parser_form form;
    enum plans_schema schema;
    double valid; /* share of the training databases */
    int64_t seed;
    bool constraints, force;
};

/*
 * Writes OUT/MODEL.train.jsonl, MODEL.valid.jsonl and MODEL.test.jsonl for each model, and MODEL.ambiqt.jsonl where
 * asked: {"id", "db_id"} and prompt and completion, or messages.  With constraints also
 * OUT/template-fill.FOLD.constraints.jsonl of all but train: what the gold template allows.  Tells on the log what
 * each fold has.  -1 with err.
 */
int plans_write(const struct plans_request *q, struct error *err);

#endif
