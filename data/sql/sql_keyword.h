/*
 * sql_keyword.h - the ten keywords of SQL that are concepts of a question in DTE (Wang et al. 2023): aggregates and
 * comparisons.
 */
#ifndef DATA_SQL_SQL_KEYWORD_H
#define DATA_SQL_SQL_KEYWORD_H

/* clang-format off */
enum sql_keyword {
    SQL_KEYWORD_MAX, SQL_KEYWORD_MIN, SQL_KEYWORD_COUNT, SQL_KEYWORD_SUM, SQL_KEYWORD_AVG,
    SQL_KEYWORD_GREATER, SQL_KEYWORD_LESS, SQL_KEYWORD_EQUAL, SQL_KEYWORD_GREATER_EQUAL, SQL_KEYWORD_LESS_EQUAL,
    SQL_KEYWORDS
};
/* clang-format on */

/* Returns "MAX" to "<=". */
const char *sql_keyword_name(enum sql_keyword keyword);
/* Returns the keyword with this name in any case, or -1. "==" is "=". */
int sql_keyword_find(const char *name);

#endif
