#include "models/pipeline/regex_spell.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

static int refuse(struct speller *s, size_t n)
{
    return error_set(s->err, EXIT_CODE_CHECKPOINT, "\"%.*s\" is not known", (int)n, s->at);
}

static void copy(struct speller *s, size_t n)
{
    for (; n > 0 && *s->at; n--)
        putc(*s->at++, s->out);
}

/* \b and \B, by what a word is to Oniguruma */
static void put_boundary(struct speller *s)
{
    static const char *const forms[2] = { "(?:(?<=W)(?!W)|(?<!W)(?=W))", "(?:(?<=W)(?=W)|(?<!W)(?!W))" };
    char *word = NULL;
    size_t size;
    bool negated;
    FILE *out = open_memstream(&word, &size);
    struct speller inner = { .at = "\\w" };

    CHECK(out, "out of memory");
    regex_spell_class(&inner, out, false, &negated);
    CHECK(fclose(out) == 0, "out of memory");
    for (const char *p = forms[s->at[1] == 'B']; *p; p++) {
        if (*p == 'W')
            fprintf(s->out, "[%s]", word);
        else
            putc(*p, s->out);
    }
    free(word);
    s->at += 2;
}

/* Another escape than a class. */
static int put_other_escape(struct speller *s)
{
    char c = s->at[1];

    if (c == 'b' || c == 'B')
        put_boundary(s);
    else if (c == 'v') {
        fputs("\\x0B", s->out);
        s->at += 2;
    } else if (isalnum((unsigned char)c) && !strchr("tnrfaexAzZ0123456789", c))
        return refuse(s, 2);
    else
        copy(s, 2);
    return 0;
}

static int put_escape(struct speller *s)
{
    char *items = NULL;
    size_t size;
    bool negated = false;
    FILE *out = open_memstream(&items, &size);

    CHECK(out, "out of memory");
    int rc = regex_spell_class(s, out, false, &negated);
    CHECK(fclose(out) == 0, "out of memory");
    if (rc > 0)
        fprintf(s->out, "[%s%s]", negated ? "^" : "", items);
    free(items);
    return rc != 0 ? (rc < 0 ? -1 : 0) : put_other_escape(s);
}

/* "(?": kinds of groups that both know; m is what s is to PCRE2, and options alone reach to the end of what they stand
 * in only at its start. */
static int put_group(struct speller *s, bool first)
{
    static const char *const same[] = { "(?:", "(?=", "(?!", "(?>", "(?<=", "(?<!" };
    const char *p = s->at + 2;

    for (int i = 0; i < ARRAY_LEN(same); i++)
        if (strncmp(s->at, same[i], strlen(same[i])) == 0) {
            copy(s, strlen(same[i]));
            return 0;
        }
    while (*p && strchr("im-", *p))
        p++;
    if (p == s->at + 2 || (*p != ':' && !(*p == ')' && first)))
        return refuse(s, *p ? (size_t)(p + 1 - s->at) : 2);
    for (; s->at <= p; s->at++)
        putc(*s->at == 'm' ? 's' : *s->at, s->out);
    return 0;
}

/* {n,m}: a + behind it asks for more of the same, a ? behind {n} for none. */
static int put_interval(struct speller *s)
{
    char *end;
    long low = strtol(s->at + 1, &end, 10), high = low;
    bool range = *end == ',';

    if (range)
        high = isdigit((unsigned char)end[1]) ? strtol(end + 1, &end, 10) : (end++, -1);
    if (*end != '}') {
        copy(s, 1);
        return 0;
    }
    bool more = end[1] == '+', perhaps = end[1] == '?' && !range;
    if ((more && (low > 1 || high == 0)) || (perhaps && low != 1) || low > 1000 || high > 1000)
        return refuse(s, (size_t)(end + 2 - s->at));
    if (more)
        putc(low == 0 ? '*' : '+', s->out);
    else if (perhaps)
        putc('?', s->out);
    else
        fprintf(s->out, "%.*s", (int)(end + 1 - s->at), s->at);
    s->at = end + 1 + (more || perhaps);
    return 0;
}

static int put_part(struct speller *s, bool *first)
{
    bool was_first = *first;

    *first = *s->at == '(' || (was_first && *s->at == '|');
    switch (*s->at) {
    case '\\':
        return put_escape(s);
    case '[':
        return regex_spell_set(s);
    case '{':
        if (s->at[1] == ',')
            return refuse(s, 2);
        if (isdigit((unsigned char)s->at[1]))
            return put_interval(s);
        fputs("\\{", s->out);
        s->at++;
        return 0;
    case '(':
        if (s->at[1] == '?')
            return put_group(s, was_first);
        if (s->at[1] == '*')
            return refuse(s, 2);
        break;
    default:
        break;
    }
    copy(s, 1);
    return 0;
}

char *regex_spell(const char *pattern, struct error *err)
{
    char *text = NULL;
    size_t size;
    struct speller s = { .at = pattern, .out = open_memstream(&text, &size), .err = err };
    bool first = true;
    int rc = 0;

    CHECK(s.out, "out of memory");
    while (rc == 0 && *s.at)
        rc = put_part(&s, &first);
    CHECK(fclose(s.out) == 0, "out of memory");
    if (rc == 0)
        return text;
    free(text);
    return NULL;
}
