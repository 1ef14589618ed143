/*
 * synonym_prompts.h - two alternative names of each table and column from a language model: prompts and completions.
 *
 * The messages are those of AmbiQT's program, word for word (Bhaskar et al., EMNLP 2023, appendix A.2;
 * github.com/testzer0/AmbiQT, prompts/two_col_synonyms.txt and two_table_synonyms.txt). One prompt asks for the columns
 * of a table, another for the table. Their ids are "DB/TABLE/columns" and "DB/TABLE/table".
 *
 * A completion passes the filter of that program if it is an object with two names for every column, or a list of two
 * names for the table. Names of tables have no blanks and quotes. Further names are ignored. Here the two names must
 * also differ from each other and from the old one. Of several completions of a prompt, the first that passes counts.
 */
#ifndef DATA_SYNTH_SYNONYM_PROMPTS_H
#define DATA_SYNTH_SYNONYM_PROMPTS_H

#include "data/corpora/spider.h"
#include "data/endpoint/endpoint.h"
#include "data/schema/schema.h"

/* The schemas to ask about. */
struct synonym_scope {
    const struct schema_set *schemas;
    const bool *used; /* [schemas->n] */
    bool columns, tables;
};

/* Writes {"id", "messages"} for each prompt; *n is their number. -1 with err. */
int synonym_prompts_write(const struct synonym_scope *scope, const char *out, int64_t *n, struct error *err);

struct synonym_counts {
    int64_t prompts, unread; /* unread: prompts without a completion that passes the filter */
};
/* Reads completions {"id", "text"} or {"id", "texts"}, as ambit-infer generate writes them, into two dictionaries.
 * Names of unread prompts are missing there. Start both as { 0 }; the caller releases them either way. -1 with
 * EXIT_CODE_DATA. */
int synonym_answers_read(struct synonyms *columns, struct synonyms *tables, const struct synonym_scope *scope,
                         const char *path, struct synonym_counts *counts, struct error *err);

/* The same from a language-model server. As in AmbiQT's program, a prompt without two usable names is asked again, at
 * most SYNONYM_TRIES times. `seed` is that of the samples. -1 with err, also after a signal. */
enum { SYNONYM_TRIES = 10 };
int synonym_answers_ask(struct synonyms *columns, struct synonyms *tables, const struct synonym_scope *scope,
                        const struct endpoint_settings *server, int64_t seed, struct synonym_counts *counts,
                        struct error *err);

#endif
