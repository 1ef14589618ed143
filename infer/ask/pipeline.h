/*
 * pipeline.h - detector, tagger, parser and candidates in memory, and their results for one question.
 *
 * The pipeline owns its parts.  A struct asked holds the results for one question; pipeline_start() turns it into a
 * dialogue (session.h).
 */
#ifndef INFER_ASK_PIPELINE_H
#define INFER_ASK_PIPELINE_H

#include "data/base/json.h"
#include "data/base/record_reader.h"
#include "data/db/sqlite_exec.h"
#include "data/schema/schema.h"
#include "infer/ask/ask.h"
#include "infer/ask/choose.h"
#include "infer/clarify/session.h"
#include "infer/detect/detector.h"
#include "infer/parse/parser.h"
#include "infer/tag/tagger.h"
#include "kernels/arena.h"

#include <jansson.h>

struct alternatives_made {
    int added, raised; /* number of new candidates, and of those with a higher probability */
};

/* A file of records with candidates (data/eval/candidate_list.h), found by id or by question.  Records are kept as
 * text, which takes a fraction of the memory of their values. */
struct candidate_file {
    const char *path;  /* borrowed; NULL: no file */
    json_t *lines;     /* array of records as texts */
    json_t *by_id;     /* index of a line by id */
    json_t *questions; /* index of a line by question, for a question without id */
};

/* The parts of ambit-infer ask.  Parts that the request does not name are zeroed. */
struct pipeline {
    const struct ask_request *q;
    struct session_context context;
    struct detector detector; /* zeroed if there is none */
    struct question_tagger tagger;
    bool tags;                   /* there is a tagger beside the detector */
    struct tag_databases values; /* for the detector, if there is no tagger with them */
    struct endpoint *server;     /* of the parser, or NULL */
    struct question_parser parser;
    bool parses; /* there is a parser */
    struct candidate_file candidates;
    struct arena trees; /* scratch for statements */
};

/* Opens the parts of the request.  The struct must not move.  Returns -1 with err.  The caller closes the pipeline in
 * any case; a zeroed struct may be closed. */
int pipeline_open(struct pipeline *a, const struct ask_request *q, struct error *err);
void pipeline_close(struct pipeline *a);

/* Origin of the candidates of a record. */
enum candidate_origin { FROM_NOWHERE, FROM_FILE, FROM_RECORD, FROM_PARSER, FROM_ELEMENTS };
const char *candidate_origin_name(enum candidate_origin o); /* NULL for FROM_NOWHERE and FROM_ELEMENTS */

/* Results of the pipeline for one question, before the user is asked.  Owns its values. */
struct asked {
    json_t *record;              /* record for the session */
    json_t *prediction, *marked; /* lines of detector and tagger; or NULL */
    json_t *errors;              /* candidates of the parser that do not run; or NULL */
    enum candidate_origin origin;
    struct alternatives_made made;
    struct choose_outcome outcome; /* of a question without candidates about which nothing can be asked */
    bool gated;                    /* the user is not asked: the ambiguity score is below --gate */
};

/* Runs all parts on a record {"question", "db_id"}.  A record without db_id gets the one of --db.  Returns -1 with
 * EXIT_CODE_DATA.  The caller calls asked_release() in any case. */
int pipeline_know(struct pipeline *a, struct asked *out, json_t *record, const char *where, struct error *err);
void asked_release(struct asked *k);
/* Returns one sentence about the question: the detector's if it predicts ambiguity or refuses the question.  Else it is
 * the tagger's if it found something or there is no detector, and the detector's if not.  Returns NULL if there is
 * neither. */
const char *asked_sentence(const struct asked *k);
/* Starts the session of a question with candidates.  Returns -1 with EXIT_CODE_DATA. */
int pipeline_start(struct pipeline *a, struct session *s, const struct asked *k, const json_t *rules, const char *where,
                   struct error *err);

/* Replaces a session that has ended by the one about the next choice of elements, if there is one.  Passes over choices
 * for which no question is left of the dialogue's maximum.  Returns 1, 0, or -1 with EXIT_CODE_DATA. */
int pipeline_next_choice(struct pipeline *a, struct session *s, const char *where, struct error *err);
/* Tells whether an escalated session may get other candidates: there is a parser, and it has not been done before. */
bool pipeline_may_regenerate(const struct pipeline *a, const struct session *s);
/* Returns the record of a session with new candidates of the parser as a new reference.  Returns NULL, with err, or
 * without err where the parser has no others. */
json_t *pipeline_regenerate(struct pipeline *a, const struct session *s, const char *where, struct error *err);

/* Returns the first max rows of a statement, and whether they are "truncated", as a new reference; NULL without a
 * database. */
json_t *pipeline_rows(struct pipeline *a, const char *db_id, const char *sql, int64_t max);

/* Returns the output line of a question as a new reference.  s is NULL if there is no session.  relevance: include the
 * relevance of elements. */
json_t *pipeline_line(struct pipeline *a, const struct asked *k, struct session *s, bool relevance);
/* Returns the state of a session, with the rows of its best statement, as a new reference. */
json_t *pipeline_session_line(struct pipeline *a, struct session *s, bool gated);

#endif
