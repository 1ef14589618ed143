/*
 * pipeline.h - the parts that answer a question, in memory, and what they say of one record.
 */
#ifndef INFER_ASK_PIPELINE_H
#define INFER_ASK_PIPELINE_H

#include "data/exec/sqlite_exec.h"
#include "data/schema/schema.h"
#include "data/util/json.h"
#include "data/util/record_reader.h"
#include "infer/ask/ask.h"
#include "infer/clarify/session.h"
#include "infer/detect/detector.h"
#include "infer/parse/parser.h"
#include "infer/tag/tagger.h"
#include "kernels/arena.h"

#include <jansson.h>

struct alternatives_made {
    int added, raised; /* candidates that are new; those that became likelier */
};

/* Records of candidates (data/clarify/candidate_list.h) found by id, or by the question itself.
 *
 * The file is read whole; each record is kept as text, which takes a fraction of its value's memory.
 */

struct candidate_file {
    const char *path;  /* borrowed; NULL: there is none */
    json_t *lines;     /* array of texts */
    json_t *by_id;     /* numbers of lines; a question that comes alone has none: */
    json_t *questions; /* likewise by question */
};

/* The parts that answer a question, in memory, and what they say of one record.
 */

struct pipeline {
    const struct ask_request *q;
    struct session_context context;
    struct detector detector; /* zeroed where there is none, as are: */
    struct question_tagger tagger;
    struct question_parser parser;
    struct candidate_file candidates;
    struct arena trees; /* of statements that are looked at */
};

/* The struct stays where it is.  -1 with err; close in any case, a zeroed struct too. */
int pipeline_open(struct pipeline *a, const struct ask_request *q, struct error *err);
void pipeline_close(struct pipeline *a);

/* Where a record's candidates come from. */
enum candidate_origin { FROM_NOWHERE, FROM_FILE, FROM_RECORD, FROM_PARSER };
const char *candidate_origin_name(enum candidate_origin o); /* NULL of FROM_NOWHERE */

/* What is known of a question before anybody is asked. */
struct asked {
    json_t *record;              /* what a session starts with; owned, as are: */
    json_t *prediction, *marked; /* the lines of detector and tagger; NULL without */
    json_t *errors;              /* candidates of the parser that do not run; NULL: none */
    enum candidate_origin origin;
    struct alternatives_made made;
    bool gated; /* nobody is asked: most likely there is nothing to ask */
};

/* Asks all parts about a record {"question", "db_id"}, which gets the db_id of --db where it has none.  -1 with
 * EXIT_CODE_DATA; asked_release in any case. */
int pipeline_know(struct pipeline *a, struct asked *out, json_t *record, const char *where, struct error *err);
void asked_release(struct asked *k);
/* Starts the session about it; only where there are candidates.  -1 with EXIT_CODE_DATA. */
int pipeline_start(struct pipeline *a, struct session *s, const struct asked *k, const json_t *rules, const char *where,
                   struct error *err);

/* Whether a session of which the reserve has won may be given other candidates: there is a parser, and it was not done
 * before. */
bool pipeline_may_regenerate(const struct pipeline *a, const struct session *s);
/* The record of a session with other candidates than those it had, a new reference; NULL and no err where the parser
 * has no others. */
json_t *pipeline_regenerate(struct pipeline *a, const struct session *s, const char *where, struct error *err);

/* A statement's first rows, and whether there are "more"; a new reference, NULL without a database. */
json_t *pipeline_rows(struct pipeline *a, const char *db_id, const char *sql);

/* The line of what is known; s is NULL where there is no session.  Relevance of elements is part of it when asked for.
 * A new reference. */
json_t *pipeline_line(struct pipeline *a, const struct asked *k, struct session *s, bool relevance);
/* What a session says, with the rows of its statement. */
json_t *pipeline_session_line(struct pipeline *a, struct session *s, bool gated);

#endif
