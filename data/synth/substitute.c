#include "data/synth/substitute.h"

#include "data/base/log.h"
#include "data/base/record_reader.h"
#include "data/base/records.h"
#include "data/sql/sql_function.h"
#include "data/sql/sql_lex.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MIN_LETTERS = 3, MAX_LETTERS = 40, TRIES = 100 };

/* A word of a text with its position and its key in the counts. */
struct found {
    const char *at;
    int n;
    bool plural;
    char key[MAX_LETTERS + 1];
};

/* Finds the next word at or behind p. Returns false at the end of the text. */
static bool next_word(const char *p, struct found *w)
{
    for (; *p; p += w->n) {
        for (w->n = 0; isascii(p[w->n]) && isalpha((unsigned char)p[w->n]);)
            w->n++;
        w->at = p;
        if (w->n >= MIN_LETTERS && w->n <= MAX_LETTERS)
            break;
        w->n += w->n == 0;
    }
    if (!*p)
        return false;
    w->plural = w->n > MIN_LETTERS && tolower((unsigned char)p[w->n - 1]) == 's';
    int n = w->n - w->plural;
    for (int i = 0; i < n; i++)
        w->key[i] = (char)tolower((unsigned char)p[i]);
    w->key[n] = '\0';
    return true;
}

void word_counts_add(struct word_counts *l, const char *text, int record)
{
    struct found w;

    for (const char *p = text; next_word(p, &w); p = w.at + w.n) {
        int known = l->words.n, word = strings_add(&l->words, w.key);
        if (word == known) {
            GROW(l->records, known, l->cap);
            GROW(l->last, known, l->last_cap);
            l->records[word] = l->last[word] = 0;
        }
        l->records[word] += l->last[word] != record;
        l->last[word] = record;
    }
}

static int by_records(const void *a, const void *b, void *counts)
{
    const int *records = counts, x = *(const int *)a, y = *(const int *)b;
    return records[x] != records[y] ? (records[x] > records[y] ? -1 : 1) : (x > y) - (x < y);
}

static int by_number(const void *a, const void *b)
{
    int x = *(const int *)a, y = *(const int *)b;
    return (x > y) - (x < y);
}

void word_counts_close(struct word_counts *l, int max)
{
    l->common = xcalloc((size_t)l->words.n + 1, sizeof *l->common);
    for (int i = 0; i < l->words.n; i++)
        l->common[i] = i;
    qsort_r(l->common, (size_t)l->words.n, sizeof *l->common, by_records, l->records);
    l->n_common = max < l->words.n ? max : l->words.n;
    qsort(l->common, (size_t)l->n_common, sizeof *l->common, by_number);
}

void word_counts_release(struct word_counts *l)
{
    strings_release(&l->words);
    free(l->records);
    free(l->last);
    free(l->common);
    *l = (struct word_counts){ 0 };
}

/* Returns true for a key that is an SQL keyword. */
static bool is_sql(const char *key)
{
    static const char *const functions[] = { "count", "sum", "avg", "min", "max" };
    char whole[MAX_LETTERS + 2];

    for (int i = 0; i < ARRAY_LEN(functions); i++)
        if (strcmp(key, functions[i]) == 0)
            return true;
    snprintf(whole, sizeof whole, "%ss", key); /* EXISTS, whose key lacks the s */
    return sql_word_use(key) != SQL_NOT_KEYWORD || sql_word_use(whole) != SQL_NOT_KEYWORD;
}

/* Returns true if the word is part of the name of a called function. text is the whole text. */
static bool is_call(const char *text, const struct found *w)
{
    const char *begin = w->at, *end = w->at + w->n;

    while (begin > text && sql_is_name_char((unsigned char)begin[-1]))
        begin--;
    while (sql_is_name_char((unsigned char)*end))
        end++;
    if (*end != '(')
        return false;
    char *name = strndup(begin, (size_t)(end - begin));
    CHECK(name, "out of memory");
    bool found = sql_function_find(name, 1);
    free(name);
    return found;
}

static bool is_common(const struct word_counts *l, int word)
{
    return bsearch(&word, l->common, (size_t)l->n_common, sizeof *l->common, by_number);
}

/* Draws a replacement that is not common and, if possible, not yet used. */
static const char *draw(struct substitution *s)
{
    const struct word_counts *l = s->counts;
    const char *word = NULL;

    for (int try = 0; try < TRIES && (!word || strings_find(&s->taken, word) >= 0); try++) {
        int drawn = (int)rng_below(s->rng, (uint32_t)l->words.n);
        if (!is_common(l, drawn) && !is_sql(l->words.items[drawn]))
            word = l->words.items[drawn];
    }
    return word;
}

/* Returns the replacement of a word: the word itself if it is common or unknown, or if no other word is left. */
static const char *become(struct substitution *s, const char *key)
{
    const struct word_counts *l = s->counts;
    int met = strings_find(&s->words, key), known = strings_find(&l->words, key);

    if (met >= 0)
        return s->taken.items[met];
    if (known < 0 || is_common(l, known) || is_sql(key))
        return key;
    const char *word = draw(s);
    if (!word || strings_find(&s->taken, word) >= 0)
        return key;
    strings_add(&s->words, key);
    return strings_keep(&s->taken, word);
}

static void put_word(FILE *out, const struct found *w, const char *key)
{
    bool capital = isupper((unsigned char)*w->at);

    putc(capital ? toupper((unsigned char)*key) : *key, out);
    fputs(key + 1, out);
    if (w->plural)
        putc('s', out);
}

char *substitute(struct substitution *s, const char *text)
{
    const char *whole = text;
    struct found w;
    char *done = NULL;
    size_t n;
    FILE *out = open_memstream(&done, &n);

    CHECK(out, "out of memory");
    for (; next_word(text, &w); text = w.at + w.n) {
        fwrite(text, 1, (size_t)(w.at - text), out);
        const char *word = is_call(whole, &w) ? w.key : become(s, w.key);
        if (word == w.key)
            fwrite(w.at, 1, (size_t)w.n, out);
        else
            put_word(out, &w, word);
    }
    fputs(text, out);
    CHECK(!fclose(out), "out of memory");
    return done;
}

void substitution_release(struct substitution *s)
{
    strings_release(&s->words);
    strings_release(&s->taken);
}

struct substitute_job {
    const struct substitute_request *q;
    struct word_counts counts;
    struct rng rng;
    struct out_file out;
    int records, copy, written;
};

static const char *const sides[] = { "prompt", "completion" };

static int count_pair(struct substitute_job *s, const json_t *record, const char *where, struct error *err)
{
    for (int i = 0; i < ARRAY_LEN(sides); i++) {
        const char *text = json_get_string(record, sides[i], where, err);
        if (!text)
            return -1;
        word_counts_add(&s->counts, text, s->records);
    }
    return 0;
}

static int count_words(void *job, json_t *record, const char *where, struct error *err)
{
    struct substitute_job *s = job;
    json_t *messages, *m;
    size_t i;

    s->records++;
    if (json_object_get(record, "error"))
        return 0;
    if (json_object_get(record, "prompt"))
        return count_pair(s, record, where, err);
    if (!(messages = json_get_array(record, "messages", where, err)))
        return -1;
    json_array_foreach(messages, i, m)
    {
        const char *content = json_get_string(m, "content", where, err);
        if (!content || !json_get_string(m, "role", where, err))
            return -1;
        word_counts_add(&s->counts, content, s->records);
    }
    return 0;
}

static json_t *messages_with(struct substitution *words, const json_t *messages)
{
    json_t *done = json_array(), *m;
    size_t i;

    json_array_foreach(messages, i, m)
    {
        char *content = substitute(words, json_string_value(json_object_get(m, "content")));
        json_array_append_new(done, json_pack("{s:O, s:s}", "role", json_object_get(m, "role"), "content", content));
        free(content);
    }
    return done;
}

static void set_pair(struct substitution *words, json_t *copy, const json_t *record)
{
    for (int i = 0; i < ARRAY_LEN(sides); i++) {
        char *text = substitute(words, json_string_value(json_object_get(record, sides[i])));
        json_object_set_new(copy, sides[i], json_string(text));
        free(text);
    }
}

/* Writes a copy with an id of its own and only the fields whose words were replaced. */
static int write_copy(void *job, json_t *record, const char *where, struct error *err)
{
    struct substitute_job *s = job;
    struct substitution words = { &s->counts, &s->rng, { 0 }, { 0 } };
    char id[RECORD_ID_TEXT];

    (void)where;
    if (json_object_get(record, "error"))
        return 0;
    json_t *copy = json_pack("{s:o}", "id", json_sprintf("%s-words%d", record_id_text(record, id), s->copy + 1));
    if (json_object_get(record, "prompt"))
        set_pair(&words, copy, record);
    else
        json_object_set_new(copy, "messages", messages_with(&words, json_object_get(record, "messages")));
    int rc = json_write_line(&s->out, copy, err);
    s->written++;
    json_decref(copy);
    substitution_release(&words);
    return rc;
}

static int substitute_all(struct substitute_job *s, const char *path, struct error *err)
{
    if (records_each_as_is(path, s->q->format_in, count_words, s, err))
        return -1;
    word_counts_close(&s->counts, (int)s->q->common);
    if (out_file_open(&s->out, s->q->out, err))
        return -1;
    for (s->copy = 0; s->copy < s->q->copies; s->copy++)
        if (records_each(path, s->q->format_in, write_copy, s, err))
            return -1;
    return out_file_commit(&s->out, err);
}

int substitute_write(const struct substitute_request *q, const char *path, struct error *err)
{
    struct substitute_job s = { .q = q, .rng = { .seed = (uint64_t)q->seed } };
    int rc = substitute_all(&s, path, err);

    if (rc == 0)
        log_info("wrote %d examples; %d of %d words were never replaced", s.written, s.counts.n_common,
                 s.counts.words.n);
    out_file_abort(&s.out);
    word_counts_release(&s.counts);
    return rc;
}
