/*
 * sql_line.h - a statement on one line, for records that hold one statement a line.
 *
 * The text is copied token by token, so that comments go, a line comment swallows nothing, and strings and quoted names
 * stay byte for byte, line ends in them included.
 */
#ifndef DATA_SQL_SQL_LINE_H
#define DATA_SQL_SQL_LINE_H

/* The same tokens; one blank stands where there were blanks, line ends or comments.  From the first byte on that is no
 * SQL, the rest is copied with blanks for line ends.  The caller frees. */
char *sql_one_line(const char *sql);

/* The same in AmbiQT's normal form (ambiqt_normalize), but for quoted text, which stays: lower case, no semicolon at
 * the end, no blank before a comma, inside parentheses or behind the name of an aggregate.  The caller frees. */
char *sql_normal_line(const char *sql);

#endif
