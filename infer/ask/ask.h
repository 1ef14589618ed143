/*
 * ask.h - from a question to SQL and its rows: detect, tag, candidates, the question that tells most, the answer.
 *
 * Every part is optional, and what is missing is said: without a detector nobody knows whether a question is ambiguous,
 * without candidates there is nothing to ask about.  All parts are in memory and work on the same records as the
 * commands of their names write and read, so that the joined answer is theirs.
 */
#ifndef INFER_ASK_ASK_H
#define INFER_ASK_ASK_H

#include "infer/clarify/clarify.h"
#include "infer/http/http.h"

#include <stddef.h>

/* Off: a detector's alternatives are asked about only where a candidate has them. */
enum ask_alternatives { ALTERNATIVES_ON, ALTERNATIVES_OFF };

struct ask_request {
    struct clarify_request clarify; /* databases, candidates, dialogue, simulation, the output and its record's id */
    const char *question;           /* alone, in place of the input; or NULL */
    const char *detector, *tagger, *parser, *device; /* folders, or NULL; a tagger may be the word "heuristic" */
    int parser_strategy;                             /* enum parse_strategy */
    enum ask_alternatives alternatives;
    double gate;           /* where ambiguity is less likely than this nobody is asked; 0: always */
    const char *adapt;     /* of the detector: an adapter's file, or NULL; and */
    const char *retriever; /* a folder that embeds sentences, or NULL */
    double threshold;      /* of the detector; NAN: the model's own */
    int64_t top, rows;     /* candidates of the parser; rows of a result that are told */
    bool no_graph;
    const char *warning; /* of a service: told when it listens; or NULL */
};

struct ask_counts {
    int64_t records, failed, asked, gated, regenerated;
};

/*
 * Records {"id", "db_id", "question"}, perhaps with "candidates", "answers" or "gold", to a line each.  input is NULL
 * where the request has the question.  0, or -1 with the signal's code when one stopped it.
 */
int ask_records(const struct ask_request *q, const char *input, struct ask_counts *counts, struct error *err);
/* The same with a person at the terminal; a line for each where clarify.out names a file.  0 when all ended or the user
 * left, 1 when a signal did; -1. */
int ask_person(const struct ask_request *q, const char *input, struct error *err);

/*
 * Ask over HTTP: JSON for programs, and one page for people that needs nothing from the network.  No session is kept:
 * what a reply has under "session" is all of it, as in clarify's server of lines.  Until a signal asks to stop: 1; -1
 * with err.
 */
int ask_serve(const struct ask_request *q, const struct http_settings *http, struct error *err);

/* page.html, which the build turns into an array. */
extern const char ask_page[];
extern const size_t ask_page_bytes;

#endif
