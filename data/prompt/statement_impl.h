/*
 * statement_impl.h - what the parts of statement.h share: a text and the tokens of the statement that is being read.
 */
#ifndef DATA_PROMPT_STATEMENT_IMPL_H
#define DATA_PROMPT_STATEMENT_IMPL_H

#include "data/prompt/statement.h"
#include "data/sql/sql_lex.h"

/* Why a statement reads no further. */
enum statement_stop {
    STOP_END,       /* of the text */
    STOP_SEMICOLON, /* one that is a token */
    STOP_NEXT,      /* another statement, or prose behind an empty line */
    STOP_CLOSER,    /* what closes something around it: ) } ] </tag> */
    STOP_SENTENCE,  /* a full stop */
    STOP_ILLEGAL    /* no SQL token */
};

struct statement_scan {
    struct statement_reader *r;
    const char *text;    /* with blanks for all blanks of Unicode; ends with '\0' */
    const char *written; /* the same bytes as they came */
    int n;
    bool trusted;
    bool cell;                /* it stands in a row of a table of Markdown, whose bars end it */
    struct sql_token *tokens; /* [n_tokens] of the statement, and the one that stops it behind them */
    int n_tokens, cap;
    enum statement_stop stop;
};

/* A statement as far as it was read. */
struct statement_extent {
    int begin, end;
    bool parsed; /* it is a statement to SQL's grammar */
    bool cut;    /* prose followed on the same line */
};

/* Reads the statement that begins at byte `begin`; the tokens are those of it. */
struct statement_extent statement_read(struct statement_scan *s, int begin);
/* Whether a word that `before` is the beginning of its line may begin a statement there: behind marks or a label. */
bool statement_may_begin(struct passage before);
/* Whether WITH at byte `begin` is followed by a name and AS. */
bool statement_is_with(const char *text, int begin);

#endif
