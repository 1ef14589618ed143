/* Part of tag_write.h: a page. */
#include "data/span/tag_write.h"

#include "data/report/report.h"

#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static const double LEAST_HEAT = 0.05;

/* Labels differ by the line below, and not in colour alone. */
const char tag_html_head[] =
    "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><title>Questions and what their words mean</title>\n"
    "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'\">\n"
    "<meta name=\"viewport\" content=\"width=device-width\">\n"
    "<style>\n"
    ":root{color-scheme:light dark;--text:#222;--ground:#fff;--faint:#666;--rule:#ccc;--col:#36c;--val:#1a7f1a;"
    "--amb:#b35c00;--unk:#c22}\n"
    "@media(prefers-color-scheme:dark){:root{--text:#eee;--ground:#18181b;--faint:#aaa;--rule:#444;--col:#7ab0ff;"
    "--val:#6c6;--amb:#fa3;--unk:#ff7b7b}}\n"
    "body{font:16px/1.5 system-ui,sans-serif;max-width:60em;margin:2em auto;padding:0 1em;color:var(--text);"
    "background:var(--ground);overflow-wrap:break-word}\n"
    "section{overflow-x:auto;border-top:1px solid var(--rule);padding:.4em 0 .8em}p{margin:.4em 0}\n"
    ".q{font-size:1.25em;line-height:1.7}.q span{padding:.1em 0}\n"
    ".COL{border-bottom:3px solid var(--col)}.VAL{border-bottom:3px dotted var(--val)}\n"
    ".AMB{border-bottom:4px double var(--amb);font-weight:bold}.UNK{border-bottom:3px dashed "
    "var(--unk);font-weight:bold}\n"
    "table{border-collapse:collapse;font-size:.9em}td,th{padding:.1em 1em .1em 0;text-align:left;vertical-align:top}\n"
    ".v,.id{color:var(--faint)}.error{color:var(--unk)}\n"
    "</style></head><body>\n"
    "<p class=\"id\"><span class=\"COL\">a column</span>, <span class=\"VAL\">a value</span>, <span class=\"AMB\">several "
    "meanings</span>, <span class=\"UNK\">nothing that is there</span>; of a trained tagger, the redder the ground, the "
    "more a word carries.</p>\n";
const char tag_html_foot[] = "</body></html>\n";

static void put_field(FILE *out, const json_t *o, const char *field)
{
    const json_t *v = json_object_get(o, field);

    if (json_is_integer(v))
        fprintf(out, "%lld", (long long)json_integer_value(v));
    else if (json_is_string(v))
        html_text(out, json_string_value(v));
}

static int edge_of(const json_t *part, const char *field)
{
    return (int)json_integer_value(json_object_get(part, field));
}

/* The part of the list that has the place, or NULL; *next becomes the next edge behind the place, if that is nearer. */
static const json_t *part_at(const json_t *list, int place, int *next)
{
    const json_t *part, *found = NULL;
    size_t i;

    json_array_foreach(list, i, part)
    {
        int start = edge_of(part, "start"), end = edge_of(part, "end");
        if (start <= place && place < end)
            found = part;
        if (start > place && start < *next)
            *next = start;
        if (end > place && end < *next)
            *next = end;
    }
    return found;
}

/* A question's words are told apart by their share of its greatest score, but noise stays pale. */
static double greatest_heat(const json_t *heats)
{
    const json_t *heat;
    double most = LEAST_HEAT;
    size_t i;

    json_array_foreach(heats, i, heat)
    {
        most = fmax(most, json_number_value(json_object_get(heat, "score")));
    }
    return most;
}

/* In pieces that lie in one span and one word of the heat each. */
static void put_question(FILE *out, const json_t *line)
{
    const json_t *spans = json_object_get(line, "spans"), *heats = json_object_get(line, "heat");
    const char *text = json_string_value(json_object_get(line, "question")), *at = text ? text : "";
    double most = greatest_heat(heats);

    fputs("<p class=\"q\">", out);
    for (int place = 0, next; *at; place = next) {
        next = INT_MAX;
        const json_t *span = part_at(spans, place, &next), *heat = part_at(heats, place, &next);
        const char *label = json_string_value(json_object_get(span, "label"));
        const char *end = next == INT_MAX ? at + strlen(at) : text_from_letter(at, next - place);
        char *piece = strndup(at, (size_t)(end - at));
        fprintf(out, "<span class=\"%s\"", label ? label : "");
        if (heat)
            fprintf(out, " style=\"background:rgba(255,80,0,%.3f)\"",
                    0.6 * json_number_value(json_object_get(heat, "score")) / most);
        fputc('>', out);
        html_text(out, piece);
        fputs("</span>", out);
        free(piece);
        at = end;
    }
    fputs("</p>\n", out);
}

static void put_values(FILE *out, const json_t *values)
{
    const json_t *v;
    size_t i;

    fputs("<td class=\"v\">", out);
    json_array_foreach(values, i, v)
    {
        fputs(i ? ", " : "", out);
        html_text(out, json_string_value(v));
    }
    fputs("</td>", out);
}

static void put_concepts(FILE *out, const json_t *span, const char *list, const char *note)
{
    const json_t *c;
    size_t i;

    json_array_foreach(json_object_get(span, list), i, c)
    {
        fputs("<tr><td></td><td>", out);
        fputs(note, out);
        put_field(out, c, "concept");
        fprintf(out, "</td><td>%.2f</td>", json_number_value(json_object_get(c, "score")));
        put_values(out, json_object_get(c, "values"));
        fputs("</tr>\n", out);
    }
}

static void put_span(FILE *out, const json_t *span)
{
    fputs("<tr><th>", out);
    put_field(out, span, "text");
    fputs("</th><th>", out);
    put_field(out, span, "label");
    fprintf(out, "</th><th>%.0f&nbsp;%%</th></tr>\n", 100 * json_number_value(json_object_get(span, "probability")));
    put_concepts(out, span, "alternatives", "");
    put_concepts(out, span, "nearest", "closest: ");
}

void tag_print_html(FILE *out, const json_t *line)
{
    const json_t *spans = json_object_get(line, "spans"), *span;
    bool failed = json_object_get(line, "error") != NULL;
    size_t i;

    fputs("<section><p class=\"id\">", out);
    put_field(out, line, "id");
    fputs(json_object_get(line, "db_id") ? " in " : "", out);
    put_field(out, line, "db_id");
    fputs("</p>", out);
    put_question(out, line);
    fprintf(out, "<p class=\"%s\">", failed ? "error" : "s");
    put_field(out, line, failed ? "error" : "sentence");
    fputs("</p>\n<table>", out);
    json_array_foreach(spans, i, span)
    {
        put_span(out, span);
    }
    fputs("</table></section>\n", out);
}
