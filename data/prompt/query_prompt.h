/*
 * query_prompt.h - several SQL statements of one question, from models elsewhere: the two baselines of LogicalBeam's
 * authors, ChatGPT asked for a list and Codex asked again and again for one statement.
 *
 * The authors' forms, one example and a JSON list, two examples and SQL in braces, in words of ours: theirs are not at
 * hand.  The schema is shown with values (AmbiQT's schema_with_content).
 */
#ifndef DATA_PROMPT_QUERY_PROMPT_H
#define DATA_PROMPT_QUERY_PROMPT_H

enum query_prompt { QUERY_PROMPT_LIST, QUERY_PROMPT_ONE };

/* The caller frees. */
char *query_prompt_text(enum query_prompt p, const char *question, const char *schema);

#endif
