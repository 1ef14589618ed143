/* parse_stages_impl.h - what the parts of parse_stages.h share. */
#ifndef INFER_PARSE_PARSE_STAGES_IMPL_H
#define INFER_PARSE_PARSE_STAGES_IMPL_H

#include "data/plan/schema_text.h"
#include "data/plan/template_constraint.h"
#include "infer/parse/parse_stages.h"

enum parse_search { SEARCH_GREEDY, SEARCH_BEAMS, SEARCH_DRAWS };

/* What a model is asked in one stage, and about which template of which case. */
struct parse_stage {
    struct parse_stages *f;
    struct answerer *model;
    enum parser_model role;
    enum parser_form form;
    struct ask *asks;
    struct parse_asked {
        struct parse_case *about;
        struct parse_template *of; /* NULL: the case as a whole */
    } * asked;
    int64_t n, cap_asks, cap_asked;
};

/* The model is brought into memory.  -1 with err; closed by the caller after an error too. */
int parse_stage_open(struct parse_stage *s, struct parse_stages *f, struct answerer *model, enum parser_model role,
                     enum parse_search search, int answers, struct error *err);
/* Adds a prompt; the newest ask, whose opening or constraint may be set, is good until the next call. */
struct ask *parse_stage_add(struct parse_stage *s, struct parse_case *c, struct parse_template *t);
/* The same about another text of the schema than the case's. */
struct ask *parse_stage_show(struct parse_stage *s, struct parse_case *c, const char *schema);
/* Takes the newest back. */
void parse_stage_drop(struct parse_stage *s);
/* Asks all of them. */
int parse_stage_run(struct parse_stage *s, struct error *err);
void parse_stage_close(struct parse_stage *s);

/* Adds the statement that a text of the stage's model says: of a chat model the first that its answer holds, in the
 * published form the text itself.  An answer without one is noted in the record. */
void parse_stage_take(const struct parse_stage *s, struct parse_list *l, struct parse_case *c,
                      const struct asked_text *a, double logp);

/* "db_id | " in the published form, where models repeat it, else "". */
const char *parse_stage_name(const struct parse_stage *s, const struct parse_case *c, const char **bar);
/* Notes in the record what went wrong with a text or a plan. */
void parse_case_note(struct parse_case *c, const char *field, const char *text, const char *why);

/* Makes statements of every template of the window: by beams, bound to what the template allows in PARSE_LOGICAL_BEAM.
 * A template that nothing fits, or that allows too much, has an error instead. */
int parse_fill(struct parse_stages *f, struct error *err);
/* The same as published, or, in PARSE_SINGLE_STAGE, statements for the plans near each case's own.  1 when a signal
 * stopped it. */
int parse_published(struct parse_stages *f, struct error *err);
/* Makes PARSE_ODIN's statements the plain ones of every case, by their log p given the whole schema.  1 when a signal
 * stopped it. */
int parse_odin(struct parse_stages *f, struct error *err);
/* Makes the statements of the answers the plain ones of every case. */
void parse_elsewhere_take(struct parse_stages *f);

#endif
