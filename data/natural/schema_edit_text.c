/* Part of schema_edit.h: what a question says of an edit, and questions that say one of its two names. */
#include "data/natural/schema_edit_impl.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

enum { STEM = 4 /* letters by which "ship", "shipped" and "shipping" are one word */ };

static bool is_letter(char c)
{
    return isalnum((unsigned char)c) || (unsigned char)c >= 0x80;
}

/* Letters behind the n that a word has, as far as they are its plural ending; -1 where the text has another word. */
static int plural_ending(const char *text)
{
    int n = text[0] == 's' || text[0] == 'S' ? 1 : strncasecmp(text, "es", 2) == 0 ? 2 : 0;

    return is_letter(text[n]) ? -1 : n;
}

/* Bytes of text that the phrase takes there; 0 where it does not stand there. */
static int stands_at(const char *text, const char *words)
{
    size_t n = strlen(words);

    if (strncasecmp(text, words, n) == 0) {
        int more = plural_ending(text + n);
        if (more >= 0)
            return (int)n + more;
    }
    if (n > 1 && words[n - 1] == 's' && strncasecmp(text, words, n - 1) == 0 && !is_letter(text[n - 1]))
        return (int)n - 1;
    if (n > 1 && words[n - 1] == 'y' && strncasecmp(text, words, n - 1) == 0 &&
        strncasecmp(text + n - 1, "ies", 3) == 0 && !is_letter(text[n + 2]))
        return (int)n + 2;
    return 0;
}

int edit_mentions(const char *text, const char *words, int *at)
{
    int n = 0;

    for (const char *p = text; *p; p++)
        if ((p == text || !is_letter(p[-1])) && stands_at(p, words) && n++ == 0 && at)
            *at = (int)(p - text);
    return n;
}

static bool same_stem(const char *a, size_t n, const char *b, size_t m)
{
    size_t shorter = n < m ? n : m;

    if (strncasecmp(a, b, shorter < STEM ? shorter : STEM) != 0)
        return false;
    return shorter >= STEM || n == m;
}

static bool says_word(const char *text, const char *word, size_t n)
{
    for (const char *p = text; *p;) {
        size_t length = 0;
        while (is_letter(p[length]))
            length++;
        if (length && same_stem(p, length, word, n))
            return true;
        p += length ? length : 1;
    }
    return false;
}

/* A word of the name that is no word of the head. */
static bool says_own(const char *text, const char *name, const char *head)
{
    static const char *const little[] = { "of", "at", "by", "id", "to", "the", "in", "and" };

    for (const char *w = name; *w;) {
        size_t n = strcspn(w, " ");
        bool own = !says_word(head, w, n);
        for (int i = 0; i < ARRAY_LEN(little); i++)
            own = own && !(strlen(little[i]) == n && strncmp(w, little[i], n) == 0);
        if (own && says_word(text, w, n))
            return true;
        w += n + (w[n] == ' ');
    }
    return false;
}

bool edit_says_member(const char *text, const struct edit *e)
{
    for (int i = 0; i < 2; i++)
        if ((e->names[i] && says_own(text, e->names[i], e->head)) ||
            (e->phrases[i] && says_own(text, e->phrases[i], e->head)))
            return true;
    return false;
}

static bool is_vowel(char c)
{
    return c && strchr("aeiouAEIOU", c) != NULL;
}

/* The text before the phrase, whose last word may be an article that no longer fits. */
static int article_end(const char *text, int at, const char *phrase, const char **article)
{
    *article = "";
    if (at >= 3 && strncasecmp(text + at - 3, " a ", 3) == 0 && is_vowel(phrase[0])) {
        *article = "an ";
        return at - 2;
    }
    if (at >= 4 && strncasecmp(text + at - 4, " an ", 4) == 0 && !is_vowel(phrase[0])) {
        *article = "a ";
        return at - 3;
    }
    return at;
}

/* The phrase with the head as the question has it, in its number and spelling. */
static void put_phrase(FILE *f, const char *phrase, const char *head, const char *said, int n)
{
    const char *inside = strstr(phrase, head);

    if (inside)
        fprintf(f, "%.*s%.*s%s", (int)(inside - phrase), phrase, n, said, inside + strlen(head));
    else
        fputs(phrase, f);
}

const char *edit_say(struct edit_database *d, const char *text, const struct edit *e, int which)
{
    char said[1024], article_text[8];
    const char *article;
    int at;

    if (!e->phrases[which] || edit_mentions(text, e->head, &at) != 1)
        return NULL;
    int n = stands_at(text + at, e->head), before = article_end(text, at, e->phrases[which], &article);
    snprintf(article_text, sizeof article_text, "%s", article);
    FILE *f = fmemopen(said, sizeof said, "w");
    CHECK(f, "cannot write to memory");
    fprintf(f, "%.*s%s", before, text, article_text);
    put_phrase(f, e->phrases[which], e->head, text + at, n);
    fputs(text + at + n, f);
    if (fclose(f) || strlen(said) + 1 >= sizeof said)
        return NULL;
    if (at == 0)
        said[0] = (char)toupper((unsigned char)said[0]);
    return strings_keep(&d->text, said);
}
