/*
 * sql_lex.h - tokens of SQL text, by SQLite's rules.
 *
 * The lexer produces all tokens at once, so that the parser can look ahead. Text that SQLite cannot read becomes one
 * TOKEN_ILLEGAL. The parser reports an illegal token when it reaches it, so that the first error in the text is the
 * one reported.
 */
#ifndef DATA_SQL_SQL_LEX_H
#define DATA_SQL_SQL_LEX_H

#include "kernels/base.h"

/* A TOKEN_NAME is plain, "x", `x` or [x]. The kind of a keyword is TOKEN_KEYWORD plus its index in SQL_KEYWORDS. */
/* clang-format off */
enum sql_token_kind {
    TOKEN_END, TOKEN_ILLEGAL, TOKEN_NAME, TOKEN_STRING, TOKEN_NUMBER, TOKEN_BLOB, TOKEN_PARAMETER, TOKEN_LEFT_PAREN,
    TOKEN_RIGHT_PAREN, TOKEN_COMMA, TOKEN_DOT, TOKEN_SEMICOLON, TOKEN_STAR, TOKEN_SLASH, TOKEN_PERCENT, TOKEN_PLUS,
    TOKEN_MINUS, TOKEN_EQUAL, TOKEN_NOT_EQUAL, TOKEN_LESS, TOKEN_LESS_EQUAL, TOKEN_GREATER, TOKEN_GREATER_EQUAL,
    TOKEN_SHIFT_LEFT, TOKEN_SHIFT_RIGHT, TOKEN_AND_BITS, TOKEN_OR_BITS, TOKEN_TILDE, TOKEN_CONCAT, TOKEN_ARROW,
    TOKEN_ARROW_TEXT, TOKEN_KEYWORD
};
/* clang-format on */

/* All keywords of SQLite's grammar. NAME: the word is also a name if the keyword does not fit. CAREFUL: like NAME, but
 * the printer quotes the word because it can be mistaken for the keyword in some places. JOIN: the word is a name, but
 * an alias only after AS. */
/* clang-format off */
#define SQL_KEYWORDS(X) \
    X(ABORT, NAME) X(ACTION, NAME) X(ADD, RESERVED) X(AFTER, NAME) X(ALL, RESERVED) X(ALTER, RESERVED) \
    X(ALWAYS, NAME) X(ANALYZE, NAME) X(AND, RESERVED) X(AS, RESERVED) X(ASC, NAME) X(ATTACH, NAME) \
    X(AUTOINCREMENT, RESERVED) X(BEFORE, NAME) X(BEGIN, NAME) X(BETWEEN, RESERVED) X(BY, NAME) X(CASCADE, NAME) \
    X(CASE, RESERVED) X(CAST, CAREFUL) X(CHECK, RESERVED) X(COLLATE, RESERVED) X(COLUMN, NAME) X(COMMIT, RESERVED) \
    X(CONFLICT, NAME) X(CONSTRAINT, RESERVED) X(CREATE, RESERVED) X(CROSS, JOIN) X(CURRENT, CAREFUL) \
    X(CURRENT_DATE, CAREFUL) X(CURRENT_TIME, CAREFUL) X(CURRENT_TIMESTAMP, CAREFUL) X(DATABASE, NAME) \
    X(DEFAULT, RESERVED) X(DEFERRABLE, RESERVED) X(DEFERRED, NAME) X(DELETE, RESERVED) X(DESC, NAME) X(DETACH, NAME) \
    X(DISTINCT, RESERVED) X(DO, NAME) X(DROP, RESERVED) X(EACH, NAME) X(ELSE, RESERVED) X(END, CAREFUL) \
    X(ESCAPE, RESERVED) X(EXCEPT, RESERVED) X(EXCLUDE, CAREFUL) X(EXCLUSIVE, NAME) X(EXISTS, RESERVED) \
    X(EXPLAIN, NAME) X(FAIL, NAME) X(FILTER, CAREFUL) X(FIRST, NAME) X(FOLLOWING, CAREFUL) X(FOR, NAME) \
    X(FOREIGN, RESERVED) X(FROM, RESERVED) X(FULL, JOIN) X(GENERATED, NAME) X(GLOB, CAREFUL) X(GROUP, RESERVED) \
    X(GROUPS, CAREFUL) X(HAVING, RESERVED) X(IF, NAME) X(IGNORE, NAME) X(IMMEDIATE, NAME) X(IN, RESERVED) \
    X(INDEX, RESERVED) X(INDEXED, CAREFUL) X(INITIALLY, NAME) X(INNER, JOIN) X(INSERT, RESERVED) X(INSTEAD, NAME) \
    X(INTERSECT, RESERVED) X(INTO, RESERVED) X(IS, RESERVED) X(ISNULL, RESERVED) X(JOIN, RESERVED) X(KEY, NAME) \
    X(LAST, NAME) X(LEFT, JOIN) X(LIKE, CAREFUL) X(LIMIT, RESERVED) X(MATCH, CAREFUL) X(MATERIALIZED, CAREFUL) \
    X(NATURAL, JOIN) X(NO, NAME) X(NOT, RESERVED) X(NOTHING, RESERVED) X(NOTNULL, RESERVED) X(NULL, RESERVED) \
    X(NULLS, CAREFUL) X(OF, NAME) X(OFFSET, CAREFUL) X(ON, RESERVED) X(OR, RESERVED) X(ORDER, RESERVED) \
    X(OTHERS, NAME) X(OUTER, JOIN) X(OVER, CAREFUL) X(PARTITION, CAREFUL) X(PLAN, NAME) X(PRAGMA, NAME) \
    X(PRECEDING, CAREFUL) X(PRIMARY, RESERVED) X(QUERY, NAME) X(RAISE, CAREFUL) X(RANGE, CAREFUL) \
    X(RECURSIVE, CAREFUL) X(REFERENCES, RESERVED) X(REGEXP, CAREFUL) X(REINDEX, NAME) X(RELEASE, NAME) \
    X(RENAME, NAME) X(REPLACE, NAME) X(RESTRICT, NAME) X(RETURNING, RESERVED) X(RIGHT, JOIN) X(ROLLBACK, NAME) \
    X(ROW, CAREFUL) X(ROWS, CAREFUL) X(SAVEPOINT, NAME) X(SELECT, RESERVED) X(SET, RESERVED) X(TABLE, RESERVED) \
    X(TEMP, NAME) X(TEMPORARY, NAME) X(THEN, RESERVED) X(TIES, NAME) X(TO, RESERVED) X(TRANSACTION, RESERVED) \
    X(TRIGGER, NAME) X(UNBOUNDED, CAREFUL) X(UNION, RESERVED) X(UNIQUE, RESERVED) X(UPDATE, RESERVED) \
    X(USING, RESERVED) X(VACUUM, NAME) X(VALUES, RESERVED) X(VIEW, NAME) X(VIRTUAL, NAME) X(WHEN, RESERVED) \
    X(WHERE, RESERVED) X(WINDOW, CAREFUL) X(WITH, CAREFUL) X(WITHOUT, NAME)
/* clang-format on */

#define SQL_KEYWORD_TOKEN(word, use) WORD_##word,
enum sql_keyword_token { WORDS_BEFORE = TOKEN_KEYWORD - 1, SQL_KEYWORDS(SQL_KEYWORD_TOKEN) WORDS_END };
#undef SQL_KEYWORD_TOKEN

enum sql_keyword_use { SQL_NOT_KEYWORD, SQL_KEYWORD_NAME, SQL_KEYWORD_CAREFUL, SQL_KEYWORD_JOIN, SQL_KEYWORD_RESERVED };

struct sql_token {
    int kind; /* enum sql_token_kind or enum sql_keyword_token */
    int begin, end;
};

/* Returns all tokens; the last is TOKEN_END or TOKEN_ILLEGAL. The caller frees the array. */
struct sql_token *sql_lex(const char *text, int *n);
/* Finds the first token that begins at or after byte `at`, skipping white space and comments. Returns its end. */
int sql_lex_next(const char *text, int at, struct sql_token *t);

/* Sets EXIT_CODE_DATA and "SQL at line 2, column 7", followed by the formatted text. Lines and columns start at 1;
 * columns count characters. Returns -1. */
int sql_error(struct error *err, const char *text, int begin, const char *fmt, ...)
    __attribute__((format(printf, 4, 5)));

/* Returns the role of a token in the grammar. */
enum sql_keyword_use sql_keyword_use(int token_kind);
/* Returns the role of a word by its spelling, in any case. */
enum sql_keyword_use sql_word_use(const char *word);
/* Returns a keyword in capitals. */
const char *sql_keyword_text(int token_kind);

/* Letters, digits, _, $ and every byte above ASCII are name characters. A name cannot start with a digit or $. */
bool sql_is_name_char(unsigned char c);

/* Writes a statement on one line, in AmbiQT's normal form (ambiqt_normalize): lower case, no final semicolon, no blank
 * before a comma, inside parentheses or after the name of an aggregate. White space and comments between tokens become
 * one blank. Quoted text is copied byte for byte, line ends included. After the first illegal token, the rest is copied
 * with blanks for line ends. The caller frees the text. */
char *sql_normal_line(const char *sql);

#endif
