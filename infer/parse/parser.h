/*
 * parser.h - a parser that is kept in memory and asked about one question after another, as they come.
 *
 * One model has all of its tasks, so that nothing is loaded between two questions.
 */
#ifndef INFER_PARSE_PARSER_H
#define INFER_PARSE_PARSER_H

#include "data/prompt/reading_sql.h"
#include "data/util/out_file.h"
#include "infer/parse/parse_case.h"
#include "kernels/arena.h"

struct parse_stages {
    const struct parse_request *q;
    struct schema_catalog schemas;
    struct query_answers answers; /* with q->answers */
    struct out_file prompts;      /* with q->write */
    struct strings ids;           /* of the records so far, with either */
    struct calibration select;    /* with q->calibration */
    struct column_values values;  /* of the database of the case that was asked about last */
    const struct schema *valued;  /* whose they are, or NULL */
    struct arena trees;           /* of statements that are checked */
    struct parse_case *cases;     /* the window */
    int64_t n, cap;
};

int parse_stages_open(struct parse_stages *f, const struct parse_request *q, struct error *err);
/* Asks the models about every case of the window without error, and chooses.  1 when a signal stopped it, -1. */
int parse_stages_run(struct parse_stages *f, struct error *err);
/* Tells on the log what memory each model takes for the window's questions; the models are dry ones. */
int parse_stages_measure(struct parse_stages *f, struct error *err);
/* With q->write or q->answers, of each record that is read: an id that came before is an error. */
void parse_elsewhere_read(struct parse_stages *f, struct parse_case *c);
/* Writes the prompt of a case without error. */
int parse_elsewhere_write(struct parse_stages *f, const struct parse_case *c, struct error *err);
/* Forgets the window. */
void parse_stages_clear(struct parse_stages *f);
void parse_stages_release(struct parse_stages *f);

enum parse_search { SEARCH_GREEDY, SEARCH_BEAMS, SEARCH_DRAWS };

/* What a model is asked in one stage, and about which template of which case. */
struct parse_stage {
    struct parse_stages *f;
    struct completer *model;
    enum parser_model role;
    enum parser_form form;
    struct ask *asks;
    struct parse_asked {
        struct parse_case *about;
        struct parse_template *of; /* NULL: the case as a whole */
    } * asked;
    int64_t n, cap_asks, cap_asked;
};

/* Adds the statement that a text of the stage's model says: of a chat model the first that its answer holds, in the
 * published form the text itself.  An answer without one is noted in the record. */
void parse_stage_take(const struct parse_stage *s, struct parse_list *l, struct parse_case *c,
                      const struct asked_text *a, double logp);

/* A parser that is kept in memory and asked about one question after another, as they come.
 *
 * One model has all of its tasks, so that nothing is loaded between two questions.
 */

struct parser_settings {
    const char *model, *schema, *db, *device, *dtype;
    int strategy; /* enum parse_strategy */
    int64_t k, beams, max_new, seed;
    bool no_graph;
};

struct question_parser {
    struct parse_request request;
    struct completer completer;
    struct completer_model *open;
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
