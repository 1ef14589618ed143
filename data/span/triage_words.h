/*
 * triage_words.h - signs of a question's kind (data/corpora/triage.h) in its words, and a classifier by keywords.
 *
 * Signs compare the question's words with the names of a schema and, if they are known, with stored values and with the
 * user's earlier questions.  Lists of words mark small talk, requests beyond SQL, knowledge from outside, vague times
 * and vague filters.  The classifier by keywords decides by a few rules on the signs; it is the baseline of a trained
 * head, which reads the same signs beside a detector's states.
 *
 * Signs also choose the words that are responsible for a kind.  Nothing fails.
 */
#ifndef DATA_SPAN_TRIAGE_WORDS_H
#define DATA_SPAN_TRIAGE_WORDS_H

#include "data/corpora/triage.h"
#include "data/schema/schema.h"
#include "data/span/tagging.h"

/* A content word is neither a function word nor a number.  It is known if a name of the schema or a stored value has
 * it, or a related word.  A word may be a value if it is capitalised or quoted. */
enum triage_sign {
    SIGN_LENGTH,       /* log of the number of words */
    SIGN_CONTENT,      /* share of content words */
    SIGN_KNOWN,        /* share of known words among the content words; 1 without content words */
    SIGN_KNOWN_SMALL,  /* the same without words that may be values */
    SIGN_UNKNOWN,      /* number of unknown content words that cannot be values, at most 8 */
    SIGN_EMPTY,        /* 1 without content words */
    SIGN_TALK,         /* share of words of small talk */
    SIGN_TALKS,        /* 1 if there is one */
    SIGN_REQUEST,      /* 1 if a word asks for more than SQL returns */
    SIGN_KNOWLEDGE,    /* 1 if a word asks for knowledge from outside */
    SIGN_PERSON,       /* share of pronouns of persons */
    SIGN_ASKS,         /* 1 if the first word is an interrogative or a verb such as "list" */
    SIGN_NUMBER,       /* 1 if there is a number */
    SIGN_MARK,         /* 1 if there is a question mark */
    SIGN_CAPITAL,      /* 1 if a word other than the first is capitalised */
    SIGN_N_KNOWN,      /* number of known words, at most 8 */
    SIGN_SHARED,       /* 1 if a word belongs to several names of columns, none of which the question has completely */
    SIGN_VALUES,       /* 1 if the stored values are known; 0: so are the next two */
    SIGN_VALUE,        /* number of words of stored values that are in no name, at most 8 */
    SIGN_STRANGE,      /* number of unknown content words that may be values, at most 8 */
    SIGN_FOLLOWS,      /* 1 if there are earlier questions; 0: so are the next three */
    SIGN_REFERS,       /* 1 if a word such as "they" refers to them */
    SIGN_CONTINUES,    /* 1 if no word is unknown or small talk */
    SIGN_BEFORE,       /* number of known words of the latest earlier question that has one, at most 8 */
    SIGN_SHARED_VALUE, /* 1 if several columns store the same words; 0 if the stored values are unknown */
    SIGN_TIME,         /* 1 if a word such as "recently" gives a time vaguely, without a number beside it */
    SIGN_AGGREGATE,    /* 1 if a word such as "top" or "large" orders or filters vaguely */
    TRIAGE_SIGNS
};

/* The reason why words are responsible for a kind. */
enum triage_reason {
    REASON_NONE,
    REASON_COLUMN,       /* no table or column has the words */
    REASON_VALUE,        /* no stored value has the words */
    REASON_REQUEST,      /* the words ask for more than SQL returns */
    REASON_KNOWLEDGE,    /* the words ask for knowledge from outside */
    REASON_TALK,         /* the words are small talk */
    REASON_SHARED,       /* the words belong to the names of several columns */
    REASON_SHARED_VALUE, /* several columns store the words */
    REASON_TIME,         /* the words give a time vaguely */
    REASON_AGGREGATE,    /* the words order or filter vaguely */
    TRIAGE_REASONS
};
/* "column", "value", "request", "knowledge", "small-talk", "shared", "shared-value", "time", "aggregate"; NULL for
 * REASON_NONE. */
const char *triage_reason_name(enum triage_reason r);
/* The kind that the reason explains.  r is not REASON_NONE. */
enum triage_kind triage_reason_kind(enum triage_reason r);

/* The words of a schema's names.  Zero-initialised, it has none. */
struct triage_names {
    struct match_word *words;
    struct triage_name *names;
    int n_words, n_names;
};
void triage_names_init(struct triage_names *n, const struct schema *s);
void triage_names_release(struct triage_names *n);

struct triage_span {
    int start, end; /* code points, as in span_record.h */
    int from, to;   /* bytes */
    enum triage_reason reason;
};

enum { TRIAGE_SPANS = 32 };

struct triage_reading {
    float signs[TRIAGE_SIGNS];
    struct triage_span spans[TRIAGE_SPANS]; /* words with a reason, in order; the first ones of a longer question */
    int n_spans;
};

/* A question.  Without values, words that may be values are never responsible for a class. */
struct triage_question {
    const char *text;
    const json_t *context;          /* list of the user's earlier questions in a dialogue, the oldest first; or NULL */
    const struct tag_value *values; /* [n_values] matches of stored values in the question */
    int n_values;
    bool has_values; /* the stored values are known */
};

/* The earlier questions of a record, its field "context", or NULL.  Returns -1 with EXIT_CODE_DATA. */
int triage_context(const json_t **context, const json_t *record, const char *where, struct error *err);

void triage_read(struct triage_reading *r, const struct triage_question *q, const struct triage_names *names);

/* The kind by keywords, and a rough confidence in its class from 0 to 1. */
enum triage_kind triage_by_keywords(const struct triage_reading *r, double *confidence);

/* The reason of the reading that explains the kind.  Without one, a reason that explains another kind of the class, or
 * REASON_NONE. */
enum triage_reason triage_main_reason(const struct triage_reading *r, enum triage_kind kind);
/* The responsible words, those of the main reason: [{"text", "start", "end", "reason"}]; a new reference. */
json_t *triage_words_json(const struct triage_reading *r, enum triage_kind kind, const char *question);
/* A sentence about class and kind for the user; the caller frees it. */
char *triage_sentence(const struct triage_reading *r, enum triage_kind kind, const char *question);

#endif
