/*
 * parser.h - the stages of parsing over a window of records, and a parser in memory for single questions.
 *
 * A stage collects prompts, asks its model about all of them, and adds the statements of the completions to the cases.
 * The parser in memory has one model for all tasks, so that no model is loaded between two questions.
 */
#ifndef INFER_PARSE_PARSER_H
#define INFER_PARSE_PARSER_H

#include "data/base/out_file.h"
#include "data/prompt/interpretation_sql.h"
#include "infer/parse/parse_case.h"
#include "kernels/arena.h"

struct parse_stages {
    const struct parse_request *q;
    struct schema_catalog schemas;
    struct query_answers answers; /* if q->answers */
    struct out_file prompts;      /* if q->write */
    struct strings ids;           /* ids of the records so far, if q->answers or q->write */
    struct calibration select;    /* if q->calibration */
    struct column_values values;  /* values of the database of the latest case */
    const struct schema *valued;  /* schema of these values, or NULL */
    struct arena trees;           /* scratch for statements */
    struct parse_case *cases;     /* the window */
    int64_t n, cap;
};

int parse_stages_open(struct parse_stages *f, const struct parse_request *q, struct error *err);
/* Asks the models about every case of the window without error, and chooses the statements.  Returns 0, 1 after a
 * signal, or -1 with err. */
int parse_stages_run(struct parse_stages *f, struct error *err);
/* Logs the memory of each model for the window's questions; needs dry models. */
int parse_stages_measure(struct parse_stages *f, struct error *err);
/* Releases the cases of the window. */
void parse_stages_clear(struct parse_stages *f);
void parse_stages_release(struct parse_stages *f);

enum parse_search { SEARCH_GREEDY, SEARCH_BEAMS, SEARCH_DRAWS };

/* The prompts of one stage, with the case and the template that each is about. */
struct parse_stage {
    struct parse_stages *f;
    struct completer *model;
    enum parser_model role;
    enum parser_form form;
    struct ask *asks;
    struct parse_asked {
        struct parse_case *about;
        struct parse_template *of; /* or NULL: the whole case */
    } * asked;
    int64_t n, cap_asks, cap_asked;
};

/* Adds the statement of a completion: for a chat model its first statement, in the published form the text itself.  A
 * completion without a statement is noted in the record. */
void parse_stage_take(const struct parse_stage *s, struct parse_list *l, struct parse_case *c,
                      const struct asked_text *a, double logp);

/* A parser that is kept in memory and asked about one question after another, as they come.
 *
 * One model has all of its tasks, so that nothing is loaded between two questions.
 */

struct parser_settings {
    const char *model, *schema, *db, *device, *dtype;
    struct endpoint *server; /* asked in place of the model; or NULL */
    int strategy;            /* enum parse_strategy */
    int64_t k, beams, max_new, seed;
    bool no_graph;
};

struct question_parser {
    struct parse_request request;
    struct completer completer;
    struct completer_model *open;
    struct parse_stages stages;
};

/* Brings the model into memory.  The struct must not move; the strings of the settings are borrowed.  Returns -1 with
 * err. The caller closes the parser in any case; a zeroed struct may be closed. */
int parser_open(struct question_parser *p, const struct parser_settings *s, struct error *err);
void parser_close(struct question_parser *p);

/* Returns the "candidates" of a record, which may be none, as a new reference, or NULL with err; after a signal err has
 * its exit code.  again: four times as many, by a search four times as wide or by other samples. */
json_t *parser_candidates(struct question_parser *p, json_t *record, bool again, const char *where, struct error *err);

#endif
