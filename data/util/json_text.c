#include "data/util/json_text.h"

#include "data/util/real_text.h"
#include "kernels/base.h"

#include <stdlib.h>
#include <string.h>

struct json_writer {
    FILE *f;
    int indent, digits;
    bool failed;
};

/* As jansson writes exponents: "1e16" for "1e+16", "3e-7" for "3e-07". */
static void put_exact(FILE *f, double x)
{
    char text[REAL_TEXT];
    char *e = strchr(real_literal(text, x), 'e');

    fprintf(f, "%.*s", (int)(e ? e - text : (ptrdiff_t)strlen(text)), text);
    if (e)
        fprintf(f, "e%ld", strtol(e + 1, NULL, 10));
}

static void put_leaf(struct json_writer *w, const json_t *value, bool exact)
{
    if (json_is_real(value) && exact)
        put_exact(w->f, json_real_value(value));
    else
        w->failed |= json_dumpf(value, w->f, JSON_ENCODE_ANY | JSON_REAL_PRECISION((size_t)w->digits)) != 0;
}

static void put_key(struct json_writer *w, const char *key)
{
    json_t *text = json_string_nocheck(key);

    CHECK(text, "no memory for a key");
    w->failed |= json_dumpf(text, w->f, JSON_ENCODE_ANY) != 0;
    json_decref(text);
}

static void put_value(struct json_writer *w, const json_t *value, int depth, bool exact);

/* What stands before item i of a list, and behind the last one. */
static void put_gap(const struct json_writer *w, size_t i, int depth)
{
    if (i)
        fputc(',', w->f);
    if (w->indent)
        fprintf(w->f, "\n%*s", w->indent * depth, "");
}

static void put_array(struct json_writer *w, const json_t *array, int depth, bool exact)
{
    size_t n = json_array_size(array);

    fputc('[', w->f);
    for (size_t i = 0; i < n; i++) {
        put_gap(w, i, depth + 1);
        put_value(w, json_array_get(array, i), depth + 1, exact);
    }
    if (n)
        put_gap(w, 0, depth);
    fputc(']', w->f);
}

static void put_object(struct json_writer *w, const json_t *object, int depth, bool exact)
{
    const char *key;
    json_t *value;
    size_t i = 0;

    fputc('{', w->f);
    json_object_foreach((json_t *)(uintptr_t)object, key, value)
    {
        put_gap(w, i++, depth + 1);
        put_key(w, key);
        fputs(w->indent ? ": " : ":", w->f);
        put_value(w, value, depth + 1, exact || strcmp(key, "result") == 0);
    }
    if (i)
        put_gap(w, 0, depth);
    fputc('}', w->f);
}

static void put_value(struct json_writer *w, const json_t *value, int depth, bool exact)
{
    if (json_is_object(value))
        put_object(w, value, depth, exact);
    else if (json_is_array(value))
        put_array(w, value, depth, exact);
    else
        put_leaf(w, value, exact);
}

bool json_put(FILE *f, const json_t *value, int indent, int digits)
{
    struct json_writer w = { .f = f, .indent = indent, .digits = digits };

    put_value(&w, value, 0, digits == JSON_EXACT);
    return !w.failed && !ferror(f);
}

char *json_text(const json_t *value, int digits)
{
    char *text = NULL;
    size_t n = 0;
    FILE *f = open_memstream(&text, &n);

    CHECK(f, "no memory for a text");
    bool whole = json_put(f, value, 0, digits);
    CHECK(fclose(f) == 0, "no memory for a text");
    if (whole)
        return text;
    free(text);
    return NULL;
}
