#include "data/prompt/list_mark.h"

#include "data/prompt/prose.h"

/* "1", "12", "A": bytes of what numbers an item; 0 without. */
static size_t number_length(struct passage p)
{
    size_t n = 0;

    while (n < p.n && n < 3 && isdigit((unsigned char)p.at[n]))
        n++;
    return n ? n : p.n > 1 && isalpha((unsigned char)*p.at) && !isalnum((unsigned char)p.at[1]);
}

/* "Reading 1:", "Interpretation B -", behind another mark "Reading:" too: bytes with the mark, 0 without. */
static size_t label_length(struct passage line, bool behind)
{
    static const char *const names[] = { "reading", "interpretation", "question", "option", "version",
                                         "meaning", "query",          "q",        "#" };
    size_t n = 0;

    for (int i = 0; i < ARRAY_LEN(names) && n == 0; i++)
        if (passage_starts(line, names[i]))
            n = strlen(names[i]);
    if (n == 0)
        return 0;
    while (n < line.n && line.at[n] == ' ')
        n++;
    size_t number = number_length(passage_skip(line, n)), begin = n;
    n += number;
    while (n < line.n && strchr("* ", line.at[n]))
        n++;
    if (*line.at == '#' && number && isdigit((unsigned char)line.at[begin]) && n > begin + number)
        return n;
    return (number || behind) && n < line.n && strchr(":.)-", line.at[n]) ? n + 1 : 0;
}

/* "1.", "(2)", "[3]", "4 -": bytes of the mark, 0 without. */
static size_t number_mark(struct passage line)
{
    size_t open = line.n && strchr("([", *line.at), n = open;

    while (n < line.n && n < open + 3 && isdigit((unsigned char)line.at[n]))
        n++;
    if (n == open || n == line.n)
        return 0;
    if (!open && line.n > n + 3 && (!memcmp(line.at + n, " - ", 3) || !memcmp(line.at + n, " \xe2\x80\x93", 4)))
        return n + (line.at[n + 1] == '-' ? 3 : 4);
    if (open && *line.at == '[')
        return line.at[n] == ']' ? n + 1 : 0;
    bool decimal = line.at[n] != ')' && n + 1 < line.n && isdigit((unsigned char)line.at[n + 1]);
    return strchr(".):", line.at[n]) && !decimal ? n + 1 : 0;
}

/* "a)", "(b)", "IV)", and before a blank "a.", "IV.": bytes of the mark, 0 without. */
static size_t letter_mark(struct passage line)
{
    size_t open = line.n && *line.at == '(', n = open;

    while (n < line.n && n < open + 4 && strchr("ivxIVX", line.at[n]))
        n++;
    if (n == open && n < line.n && isalpha((unsigned char)line.at[n]))
        n++;
    if (n == open || n + 1 >= line.n)
        return 0;
    return line.at[n] == ')' || (!open && line.at[n] == '.' && strchr(" \t", line.at[n + 1])) ? n + 1 : 0;
}

/* Whether it is a number of Chinese writing. */
static bool is_numeral(struct passage p)
{
    static const char *const numerals[] = { "\xe4\xb8\x80", "\xe4\xba\x8c", "\xe4\xb8\x89", "\xe5\x9b\x9b",
                                            "\xe4\xba\x94", "\xe5\x85\xad", "\xe4\xb8\x83", "\xe5\x85\xab",
                                            "\xe4\xb9\x9d", "\xe5\x8d\x81" };

    for (int i = 0; i < ARRAY_LEN(numerals); i++)
        if (passage_starts(p, numerals[i]))
            return true;
    return false;
}

/* Marks of East Asia: a number behind a wide parenthesis or before a wide sign, or in a circle; 0 without. */
static size_t wide_mark(struct passage line)
{
    static const char *const signs[] = { "\xe3\x80\x81", "\xef\xbc\x8e", "\xef\xbc\x9a", "\xef\xbc\x89" };
    size_t n = passage_starts(line, "\xef\xbc\x88") ? 3 : 0, open = n; /* ( */

    if (line.n > 3 && !memcmp(line.at, "\xe2\x91", 2))
        return 3;
    while (n < line.n && n < open + 3 && isdigit((unsigned char)line.at[n]))
        n++;
    while (n < open + 6 && is_numeral(passage_skip(line, n)))
        n += 3;
    for (int i = 0; n > open && i < ARRAY_LEN(signs); i++)
        if (passage_starts(passage_skip(line, n), signs[i]))
            return n + 3;
    return 0;
}

/* A bullet and the box of a task behind it; 0 without. */
static size_t bullet_length(struct passage line)
{
    static const char *const bullets[] = { "\xe2\x80\xa2", "\xe2\x97\xa6", "\xe2\x96\xaa", "\xe2\x97\x8f",
                                           "\xe2\x97\x8b", "\xe2\x96\xa0", "\xe2\x80\xa3", "\xe2\x86\x92",
                                           "\xe2\x80\x93", "\xe2\x80\x94", "\xc2\xb7" };

    for (int i = 0; i < ARRAY_LEN(bullets); i++)
        if (passage_starts(line, bullets[i]))
            return strlen(bullets[i]);
    if (line.n == 0 || !strchr("-*+", *line.at) ||
        !(line.n == 1 || strchr(" \t", line.at[1]) || (*line.at == '-' && isalpha((unsigned char)line.at[1]))))
        return 0;
    return line.n > 5 && (!memcmp(line.at + 1, " [ ] ", 5) || !strncasecmp(line.at + 1, " [x] ", 5)) ? 6 : 1;
}

size_t list_label_length(struct passage line)
{
    return label_length(line, false);
}

struct passage list_mark_strip(struct passage line, bool *marked)
{
    size_t (*const marks[])(struct passage) = { number_mark, letter_mark, wide_mark, bullet_length };
    size_t n = label_length(line, false);

    for (int i = 0; i < ARRAY_LEN(marks) && n == 0; i++)
        n = marks[i](line);
    *marked = n > 0;
    line = prose_without_blanks(passage_skip(line, n));
    struct passage bare = passage_starts(line, "**") ? passage_skip(line, 2) : line;
    size_t label = n ? label_length(bare, true) : 0;
    return label ? prose_without_blanks(passage_skip(bare, label)) : line;
}
