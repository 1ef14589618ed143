#include "data/natural/question_words.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

void word_list_read(struct word_list *w, const char *text)
{
    uint32_t words[NAME_MAX_WORDS];
    int n = words_read(text, words, NAME_MAX_WORDS);

    w->n = 0;
    for (int i = 0; i < n; i++)
        word_list_add(w, words[i]);
}

bool word_list_has(const struct word_list *w, uint32_t word)
{
    for (int i = 0; i < w->n; i++)
        if (w->list[i] == word)
            return true;
    return false;
}

void word_list_add(struct word_list *w, uint32_t word)
{
    if (!word_list_has(w, word) && w->n < NAME_MAX_WORDS)
        w->list[w->n++] = word;
}

bool question_words_read(struct cut_question *q, const char *text)
{
    *q = (struct cut_question){ .text = text };
    for (int i = 0; text[i];) {
        int begin = i;
        while (element_name_letter(text[i]))
            i++;
        if (i == begin) {
            i++;
            continue;
        }
        if (q->n == QUESTION_WORDS_MAX)
            return false;
        struct question_word *w = &q->list[q->n++];
        char *word = strndup(text + begin, (size_t)(i - begin));
        *w = (struct question_word){ .begin = begin, .end = i };
        words_read(word, &w->hash, 1);
        free(word);
    }
    return q->n > 0;
}

bool question_joined(const struct cut_question *q, int i, int k)
{
    for (; i < k; i++) {
        int gap = q->list[i].end;
        if (q->list[i + 1].begin != gap + 1 || !strchr(" -_", q->text[gap]))
            return false;
    }
    return true;
}

int question_find(const struct cut_question *q, const uint32_t *words, int n, int from)
{
    for (int i = from; n && i + n <= q->n; i++) {
        int k = 0;
        while (k < n && q->list[i + k].hash == words[k])
            k++;
        if (k == n && question_joined(q, i, i + n - 1))
            return i;
    }
    return -1;
}

bool question_says(const struct cut_question *q, uint32_t word)
{
    for (int i = 0; i < q->n; i++)
        if (q->list[i].hash == word && !q->list[i].out)
            return true;
    return false;
}

/* "a" or "an" before a word that goes becomes the one that fits the next word that stays. */
static const char *article(const struct cut_question *q, int i)
{
    const char *text = q->text + q->list[i].begin;
    int n = q->list[i].end - q->list[i].begin, next = i + 1;
    bool is_a = n == 1 && tolower((unsigned char)text[0]) == 'a', is_an = n == 2 && strncasecmp(text, "an", 2) == 0;

    while (next < q->n && q->list[next].out)
        next++;
    if ((!is_a && !is_an) || next == q->n || next == i + 1)
        return NULL;
    bool vowel = strchr("aeiouAEIOU", q->text[q->list[next].begin]) != NULL;
    bool large = isupper((unsigned char)text[0]);
    return vowel ? (large ? "An" : "an") : (large ? "A" : "a");
}

/* One word, and the text that stands behind it, or behind the words after it that go, up to the next word. */
static void write_word(const struct cut_question *q, int i, bool first, FILE *f)
{
    const struct question_word *w = &q->list[i];
    const char *fit = article(q, i);
    bool large = first && isupper((unsigned char)q->text[q->list[0].begin]);

    if (fit)
        fputs(fit, f);
    else {
        putc(large ? toupper((unsigned char)q->text[w->begin]) : q->text[w->begin], f);
        fwrite(q->text + w->begin + 1, 1, (size_t)(w->end - w->begin - 1), f);
    }
    while (i + 1 < q->n && q->list[i + 1].out)
        i++;
    int begin = q->list[i].end, end = i + 1 < q->n ? q->list[i + 1].begin : (int)strlen(q->text);
    fwrite(q->text + begin, 1, (size_t)(end - begin), f);
}

char *question_without(const struct cut_question *q)
{
    char *out = NULL;
    size_t size;
    FILE *f = open_memstream(&out, &size);
    bool first = true;

    CHECK(f, "cannot write to memory");
    fwrite(q->text, 1, (size_t)q->list[0].begin, f);
    for (int i = 0; i < q->n; i++)
        if (!q->list[i].out) {
            write_word(q, i, first, f);
            first = false;
        }
    CHECK(fclose(f) == 0, "cannot write to memory");
    return out;
}
