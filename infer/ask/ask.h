/*
 * ask.h - ambit-infer ask: from a question to SQL and its rows, in files, at a terminal and over HTTP.
 *
 * A question passes detector, tagger, parser and dialogue in one process (pipeline.h).  Every part is optional, and the
 * output says which part is missing.  Without candidates the dialogue is about tables and columns (choose.h).  The
 * parts work on the records that the commands of their names read and write.
 */
#ifndef INFER_ASK_ASK_H
#define INFER_ASK_ASK_H

#include "data/endpoint/endpoint.h"
#include "infer/clarify/clarify.h"
#include "infer/http/http.h"

#include <stddef.h>

/* Off: no candidates are made from the detector's alternatives. */
enum ask_alternatives { ALTERNATIVES_ON, ALTERNATIVES_OFF };

struct ask_request {
    struct clarify_request clarify; /* databases, candidates, dialogue, simulation, output, id of a record */
    const char *question;           /* one question in place of the input, or NULL */
    const char *detector, *tagger, *parser, *device; /* folders, or NULL; the tagger may be "heuristic" or "detector" */
    struct endpoint_settings server;                 /* of the parser; the address is NULL for a folder */
    int parser_strategy;                             /* enum parse_strategy */
    enum ask_alternatives alternatives;
    double gate;           /* do not ask the user below this ambiguity score */
    const char *adapter;   /* file of the detector's adapter, or NULL */
    const char *retriever; /* folder of a sentence encoder, or NULL */
    double threshold;      /* of the detector; NAN: the one stored in the model */
    int64_t top, rows;     /* maximum: candidates of the parser; rows of a result */
    bool no_graph;
    bool rewrite;        /* rewrite the question for another program: no candidates, no statements */
    const char *warning; /* logged when a service listens; or NULL */
};

struct ask_counts {
    int64_t records, failed, asked, gated, regenerated;
};

/*
 * Reads records {"id", "db_id", "question"}, perhaps with "candidates", "answers" or "gold", and writes a line for
 * each. input is NULL if the request has the question.  Returns 0, or -1 with err; after a signal err has its exit
 * code.
 */
int ask_records(const struct ask_request *q, const char *input, struct ask_counts *counts, struct error *err);
/* Asks a person at the terminal.  Writes a line for each record if clarify.out names a file.  Returns 0 at the end or
 * when the user leaves, 1 after a signal, or -1 with err. */
int ask_person(const struct ask_request *q, const char *input, struct error *err);

/*
 * Serves JSON for programs and one page for people, which loads nothing from the network, over HTTP.  The server keeps
 * no session: the field "session" of a reply is the whole state.  Returns 1 after a signal, or -1 with err.
 */
int ask_serve(const struct ask_request *q, const struct http_settings *http, struct error *err);

/* The bytes of page.html, page.css and page.js, arrays that the build generates. */
extern const char ask_page_html[], ask_page_css[], ask_page_js[];
extern const size_t ask_page_html_bytes, ask_page_css_bytes, ask_page_js_bytes;

#endif
