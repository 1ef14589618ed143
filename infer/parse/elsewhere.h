/*
 * elsewhere.h - statements by language models outside ambit: files of prompts and completions, and servers.
 *
 * The prompts are those of query_prompt_messages(): the schema with values, one or two examples, and the question.  A
 * completion may have thoughts, prose, code fences, lists or JSON around its statements (model_output.h).
 */
#ifndef INFER_PARSE_ELSEWHERE_H
#define INFER_PARSE_ELSEWHERE_H

#include "infer/parse/parser.h"

/* With q->write or q->answers: gives the case an error if its id occurred before. */
void parse_elsewhere_read(struct parse_stages *f, struct parse_case *c);
/* Writes the prompt of a case that has no error.  Returns -1 with err. */
int parse_elsewhere_write(struct parse_stages *f, const struct parse_case *c, struct error *err);
/* Sets the plain statements of every case from the file of completions. */
void parse_elsewhere_take(struct parse_stages *f);

/*
 * Asks the server of q->models.sql about every case without error, and sets the plain statements.
 *
 * PARSE_SAMPLE asks for q->beams completions with one statement each.  The probability of a statement is that of its
 * tokens, if the server tells it, or else its share of the completions that can be read.  PARSE_LIST asks for one
 * completion with all statements, which have no probabilities.  A case without a statement gets an error.  Returns 0, 1
 * after a signal, or -1 with err.
 */
int parse_elsewhere_ask(struct parse_stages *f, struct error *err);
/* Counts the requests for the window, which endpoint_log() logs. */
int parse_elsewhere_measure(struct parse_stages *f, struct error *err);

#endif
