/*
 * parser.h - a parser that is kept in memory and asked about one question after another, as they come.
 *
 * One model has all of its tasks, so that nothing is loaded between two questions.
 */
#ifndef INFER_PARSE_PARSER_H
#define INFER_PARSE_PARSER_H

#include "infer/parse/parse_stages.h"

struct parser_settings {
    const char *model, *schema, *db, *device, *dtype;
    int strategy; /* enum parse_strategy */
    int64_t k, beams, max_new, seed;
    bool no_graph;
};

struct question_parser {
    struct parse_request request;
    struct answerer answerer;
    struct answerer_model *open;
    struct parse_stages stages;
};

/* Brings the model into memory.  The struct stays where it is; the settings' strings are borrowed.  -1 with err; close
 * in any case, a zeroed struct too. */
int parser_open(struct question_parser *p, const struct parser_settings *s, struct error *err);
void parser_close(struct question_parser *p);

/* What ambit-infer parse --candidates writes of a record: its "candidates", which may be none; a new reference.  again:
 * four times as many, by a search four times as wide or by other draws.  NULL with err, also the signal's when one
 * stopped it. */
json_t *parser_candidates(struct question_parser *p, json_t *record, bool again, const char *where, struct error *err);

#endif
