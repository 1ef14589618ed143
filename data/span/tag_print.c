/* Part of tag_write.h: lines for people. */
#include "data/span/tag_write.h"

#include "data/console/visible.h"
#include "data/util/log.h"

#include <string.h>

static const char *text_of(const json_t *o, const char *field)
{
    const char *text = json_string_value(json_object_get(o, field));
    return text ? text : "";
}

static int int_of(const json_t *o, const char *field)
{
    return (int)json_integer_value(json_object_get(o, field));
}

static void put_plain(FILE *out, const char *text, const char *end)
{
    visible_put(out, text, (size_t)(end - text));
}

static void put_text(FILE *out, const char *text)
{
    visible_put(out, text, strlen(text));
}

static const char *colour_of(const char *label)
{
    static const char *const colours[] = { "COL", "\033[34m", "VAL", "\033[32m", "AMB", "\033[1;33m" };

    for (int i = 0; i < ARRAY_LEN(colours); i += 2)
        if (strcmp(colours[i], label) == 0)
            return colours[i + 1];
    return "\033[1;31m";
}

static void put_question(FILE *out, const json_t *line)
{
    const char *at = text_of(line, "question");
    bool paint = log_may_colour(out);
    const json_t *span;
    int place = 0;
    size_t i;

    json_array_foreach(json_object_get(line, "spans"), i, span)
    {
        int start = int_of(span, "start"), end = int_of(span, "end");
        const char *label = text_of(span, "label"), *from = text_from_letter(at, start - place);
        put_plain(out, at, from);
        at = text_from_letter(from, end - start);
        place = end;
        fputs(paint ? colour_of(label) : "[", out);
        put_plain(out, from, at);
        if (paint)
            fputs("\033[0m", out);
        else
            fprintf(out, "|%s]", label);
    }
    put_text(out, at);
    fputc('\n', out);
}

static void put_concepts(FILE *out, const json_t *list)
{
    const json_t *c, *value;
    size_t i, k;

    json_array_foreach(list, i, c)
    {
        fputs("        ", out);
        put_text(out, text_of(c, "concept"));
        json_array_foreach(json_object_get(c, "values"), k, value)
        {
            fputs(k ? ", " : ": ", out);
            put_text(out, json_string_value(value));
        }
        fputc('\n', out);
    }
}

static void put_span(FILE *out, const json_t *span)
{
    fputs("      ", out);
    put_text(out, text_of(span, "text"));
    fprintf(out, ", %s, %.0f %%\n", text_of(span, "label"),
            100 * json_number_value(json_object_get(span, "probability")));
    put_concepts(out, json_object_get(span, "alternatives"));
}

void tag_print_text(FILE *out, const json_t *line)
{
    const json_t *error = json_object_get(line, "error"), *span;
    size_t i;

    if (error) {
        fputs("error: ", out);
        put_text(out, json_string_value(error));
        fputs("\n\n", out);
        return;
    }
    put_question(out, line);
    fputs("    ", out);
    put_text(out, text_of(line, "sentence"));
    fputc('\n', out);
    json_array_foreach(json_object_get(line, "spans"), i, span)
    {
        put_span(out, span);
    }
    fputc('\n', out);
}
