#include "data/span/tagging.h"

#include "data/base/log.h"
#include "data/base/report.h"
#include "data/base/table_writer.h"
#include "data/base/visible.h"
#include "data/span/problem.h"
#include "data/span/triage_words.h"

#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

void tag_answer_release(struct tag_answer *a)
{
    for (int i = 0; i < a->n_spans; i++) {
        free(a->spans[i].alternatives);
        free(a->spans[i].nearest);
    }
    free(a->spans);
    free(a->heat);
    *a = (struct tag_answer){ 0 };
}

const char *text_from_letter(const char *text, int n)
{
    for (; *text && n > 0; n--)
        for (text++; ((unsigned char)*text & 0xc0) == 0x80;)
            text++;
    return text;
}

/* Texts of sentences; quoted names come between. The openings of ambiguous and unanswerable are those of DTE (Wang et
 * al. 2023, appendix A.3). */
enum tag_text {
    TEXT_CLEAR,
    TEXT_AMBIGUOUS,
    TEXT_REFERS,
    TEXT_EITHER,
    TEXT_OR,
    TEXT_OF,
    TEXT_UNANSWERABLE,
    TEXT_UNMAPPED_TABLE,
    TEXT_UNMAPPED_DATABASE,
    TEXT_OPEN,
    TEXT_CALCULATION,
    TEXT_SCOPE,
    TEXT_CLOSEST,
    TEXT_CLOSE,
    TEXT_NEXT,
    TEXT_MORE,
    TEXT_END,
};

static const char *const texts[] = {
    [TEXT_CLEAR] = "Nothing ambiguous or unanswerable was found.",
    [TEXT_AMBIGUOUS] = "Oops, this question has multiple semantic meanings: ",
    [TEXT_REFERS] = " may refer to ",
    [TEXT_EITHER] = "either ",
    [TEXT_OR] = " or ",
    [TEXT_OF] = " of ",
    [TEXT_UNANSWERABLE] = "Sorry, we can't find an answer: ",
    [TEXT_UNMAPPED_TABLE] = " cannot be mapped to any concept of the table",
    [TEXT_UNMAPPED_DATABASE] = " cannot be mapped to any concept of the database",
    [TEXT_OPEN] = " (",
    [TEXT_CALCULATION] = "a calculation that is not defined",
    [TEXT_SCOPE] = "more than an SQL query can do",
    [TEXT_CLOSEST] = "closest: ",
    [TEXT_CLOSE] = ")",
    [TEXT_NEXT] = "; ",
    [TEXT_MORE] = ", ",
    [TEXT_END] = ".",
};

static void put_quoted(FILE *out, const char *text, size_t n)
{
    fputc('"', out);
    for (size_t i = 0; i < n; i++) {
        if (text[i] == '"')
            fputc('"', out);
        fputc(text[i], out);
    }
    fputc('"', out);
}

char *tag_concept_name(const struct tag_question *q, const struct tag_concept *c)
{
    const struct span_column *of = &q->columns[c->column];
    const char *table = of->sql_table ? of->sql_table : of->table, *column = of->sql_name ? of->sql_name : of->name;
    char *name;

    if (!table || c->kind == TAG_TABLE)
        return xstrdup(table ? table : column);
    CHECK(asprintf(&name, "%s.%s", table, column) >= 0, "no memory for a name");
    return name;
}

static void put_concept(FILE *out, const struct tag_question *q, const struct tag_concept *c)
{
    char *name = tag_concept_name(q, c);

    if (c->kind == TAG_VALUE) {
        put_quoted(out, c->value, strlen(c->value));
        fputs(texts[TEXT_OF], out);
    }
    put_quoted(out, name, strlen(name));
    free(name);
}

static void put_concepts(FILE *out, const struct tag_question *q, const struct tag_concept *list, int n,
                         enum tag_text last)
{
    for (int i = 0; i < n; i++) {
        put_concept(out, q, &list[i]);
        if (i + 1 < n)
            fputs(texts[i + 2 < n ? TEXT_MORE : last], out);
    }
}

static void put_ambiguous(FILE *out, const struct tag_question *q, const struct tag_span *s)
{
    fputs(texts[TEXT_REFERS], out);
    if (s->n_alternatives > 1)
        fputs(texts[TEXT_EITHER], out);
    put_concepts(out, q, s->alternatives, s->n_alternatives, TEXT_OR);
}

/* The category of an AMB or UNK span. */
static enum problem_category category_of(const struct tag_question *q, const struct tag_span *s)
{
    const char *word = text_from_letter(q->question, s->start);
    bool values = s->n_alternatives > 0;

    if (s->label == SPAN_UNK)
        return problem_of_unanswerable(word, (size_t)(text_from_letter(word, s->end - s->start) - word), s->start == 0);
    for (int i = 0; i < s->n_alternatives; i++)
        values &= s->alternatives[i].kind == TAG_VALUE;
    return values ? PROBLEM_VALUE_AMBIGUITY : PROBLEM_COLUMN_AMBIGUITY;
}

static void put_unanswerable(FILE *out, const struct tag_question *q, const struct tag_span *s)
{
    enum problem_category category = category_of(q, s);
    bool noted = category == PROBLEM_CALCULATION || category == PROBLEM_OUT_OF_SCOPE;
    bool near = s->n_nearest > 0 && category != PROBLEM_OUT_OF_SCOPE;

    fputs(texts[q->n_columns && q->columns[0].table ? TEXT_UNMAPPED_DATABASE : TEXT_UNMAPPED_TABLE], out);
    if (!noted && !near)
        return;
    fputs(texts[TEXT_OPEN], out);
    if (noted)
        fputs(texts[category == PROBLEM_CALCULATION ? TEXT_CALCULATION : TEXT_SCOPE], out);
    if (noted && near)
        fputs(texts[TEXT_NEXT], out);
    if (near) {
        fputs(texts[TEXT_CLOSEST], out);
        put_concepts(out, q, s->nearest, s->n_nearest, TEXT_MORE);
    }
    fputs(texts[TEXT_CLOSE], out);
}

/* Writes all spans of a label and returns their number. */
static int put_spans(FILE *out, const struct tag_question *q, const struct tag_answer *a, enum span_label label,
                     bool follows)
{
    int n = 0;

    for (int i = 0; i < a->n_spans; i++) {
        const struct tag_span *s = &a->spans[i];
        if (s->label != label)
            continue;
        const char *word = text_from_letter(q->question, s->start);
        if (n++)
            fputs(texts[TEXT_NEXT], out);
        else
            fprintf(out, "%s%s", follows ? " " : "", texts[label == SPAN_AMB ? TEXT_AMBIGUOUS : TEXT_UNANSWERABLE]);
        put_quoted(out, word, (size_t)(text_from_letter(word, s->end - s->start) - word));
        (label == SPAN_AMB ? put_ambiguous : put_unanswerable)(out, q, s);
    }
    if (n)
        fputs(texts[TEXT_END], out);
    return n;
}

char *tag_sentence(const struct tag_question *q, const struct tag_answer *a)
{
    char *sentence = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&sentence, &size);

    CHECK(out, "no memory for a sentence");
    int ambiguous = put_spans(out, q, a, SPAN_AMB, false);
    if (!(put_spans(out, q, a, SPAN_UNK, ambiguous > 0) + ambiguous))
        fputs(texts[TEXT_CLEAR], out);
    CHECK(fclose(out) == 0, "no memory for a sentence");
    return sentence;
}

static const char *const kinds[] = { [TAG_TABLE] = "table", [TAG_COLUMN] = "column", [TAG_VALUE] = "value" };

/* A value, shortened at a code point. */
static json_t *example_json(const char *value)
{
    const char *end = text_from_letter(value, TAG_EXAMPLE_LETTERS);
    char *cut;

    if (!*end)
        return json_string(value);
    CHECK(asprintf(&cut, "%.*s...", (int)(end - value), value) >= 0, "no memory for a value");
    json_t *text = json_string(cut);
    free(cut);
    return text;
}

/* Returns 0 if a value is not UTF-8. */
static int add_examples(json_t *list, const struct tag_question *q, const struct tag_concept *c)
{
    const struct span_column *column = &q->columns[c->column];
    int rc = 0;

    if (c->kind == TAG_VALUE)
        return json_array_append_new(list, json_string(c->value));
    for (int i = 0; i < column->n_values && i < TAG_EXAMPLES && c->kind == TAG_COLUMN; i++)
        rc |= json_array_append_new(list, example_json(column->values[i]));
    return rc;
}

/* NULL if a name is not UTF-8, as in the functions below. */
static json_t *concept_json(const struct tag_question *q, const struct tag_concept *c)
{
    char *name = tag_concept_name(q, c);
    json_t *values = json_array();
    json_t *o = add_examples(values, q, c) ? NULL
                                           : json_pack("{s:s, s:s, s:f, s:O}", "concept", name, "type", kinds[c->kind],
                                                       "score", c->score, "values", values);
    json_decref(values);
    free(name);
    return o;
}

static json_t *concepts_json(const struct tag_question *q, const struct tag_concept *list, int n)
{
    json_t *all = json_array();

    for (int i = 0; i < n; i++)
        if (json_array_append_new(all, concept_json(q, &list[i]))) {
            json_decref(all);
            return NULL;
        }
    return all;
}

static json_t *span_json(const struct tag_question *q, const struct tag_span *s)
{
    const char *word = text_from_letter(q->question, s->start);
    size_t n = (size_t)(text_from_letter(word, s->end - s->start) - word);
    bool problem = s->label == SPAN_AMB || s->label == SPAN_UNK;

    return json_pack("{s:i, s:i, s:o, s:s, s:f, s:o, s:o, s:s*}", "start", s->start, "end", s->end, "text",
                     json_stringn(word, n), "label", span_label_name(s->label), "probability", s->probability,
                     "alternatives", concepts_json(q, s->alternatives, s->n_alternatives), "nearest",
                     concepts_json(q, s->nearest, s->n_nearest), "category",
                     problem ? problem_category_name(category_of(q, s)) : NULL);
}

static json_t *spans_json(const struct tag_question *q, const struct tag_answer *a)
{
    json_t *all = json_array();

    for (int i = 0; i < a->n_spans; i++)
        if (json_array_append_new(all, span_json(q, &a->spans[i]))) {
            json_decref(all);
            return NULL;
        }
    return all;
}

static json_t *status_json(const struct tag_answer *a)
{
    bool found[SPAN_LABELS] = { false };
    json_t *status = json_array();

    for (int i = 0; i < a->n_spans; i++)
        found[a->spans[i].label] = true;
    if (found[SPAN_AMB])
        json_array_append_new(status, json_string("ambiguous"));
    if (found[SPAN_UNK])
        json_array_append_new(status, json_string("unanswerable"));
    return status;
}

static double problem_of(const struct tag_answer *a)
{
    double most = a->problem;

    for (int i = 0; i < a->n_spans; i++)
        if ((a->spans[i].label == SPAN_AMB || a->spans[i].label == SPAN_UNK) && a->spans[i].probability > most)
            most = a->spans[i].probability;
    return most;
}

static json_t *heat_json(const struct tag_answer *a)
{
    json_t *all = a->heat ? json_array() : NULL;

    for (int i = 0; all && i < a->n_heat; i++)
        json_array_append_new(all, json_pack("{s:i, s:i, s:f}", "start", a->heat[i].start, "end", a->heat[i].end,
                                             "score", a->heat[i].score));
    return all;
}

/* The reason for which ambiguous or unanswerable words are responsible.  A quantity is a column that is missing. */
static enum triage_reason reason_of(const struct tag_question *q, const struct tag_span *s)
{
    static const enum triage_reason reasons[PROBLEM_CATEGORIES] = {
        [PROBLEM_COLUMN_AMBIGUITY] = REASON_SHARED,    [PROBLEM_VALUE_AMBIGUITY] = REASON_SHARED_VALUE,
        [PROBLEM_COLUMN_UNANSWERABLE] = REASON_COLUMN, [PROBLEM_VALUE_UNANSWERABLE] = REASON_VALUE,
        [PROBLEM_CALCULATION] = REASON_COLUMN,         [PROBLEM_OUT_OF_SCOPE] = REASON_REQUEST,
    };

    return reasons[category_of(q, s)];
}

/* The kind of the first ambiguous or unanswerable words.  Unanswerable words decide, because an answer of the user
 * about the other words would not help. */
static enum triage_kind kind_of_answer(const struct tag_question *q, const struct tag_answer *a)
{
    enum triage_kind kind = KIND_ANSWERABLE;

    for (int i = 0; i < a->n_spans; i++) {
        const struct tag_span *s = &a->spans[i];
        if (s->label == SPAN_UNK)
            return triage_reason_kind(reason_of(q, s));
        if (s->label == SPAN_AMB && kind == KIND_ANSWERABLE)
            kind = triage_reason_kind(reason_of(q, s));
    }
    return kind;
}

static json_t *responsible_json(const struct tag_question *q, const struct tag_span *s)
{
    const char *word = text_from_letter(q->question, s->start);
    size_t n = (size_t)(text_from_letter(word, s->end - s->start) - word);

    return json_pack("{s:o, s:i, s:i, s:s}", "text", json_stringn(word, n), "start", s->start, "end", s->end, "reason",
                     triage_reason_name(reason_of(q, s)));
}

/* Class and kind in the form of the detector's head, without probabilities. */
static json_t *triage_json(const struct tag_question *q, const struct tag_answer *a, const char *sentence)
{
    enum triage_kind kind = kind_of_answer(q, a);
    enum triage_class class = triage_kind_class(kind);
    enum span_label label = class == TRIAGE_UNANSWERABLE ? SPAN_UNK : SPAN_AMB;
    json_t *words = json_array();

    for (int i = 0; i < a->n_spans; i++)
        if (a->spans[i].label == label)
            json_array_append_new(words, responsible_json(q, &a->spans[i]));
    return json_pack("{s:s, s:s, s:o, s:s}", "class", triage_class_name(class), "kind", triage_kind_name(kind), "words",
                     words, "sentence", sentence);
}

json_t *tag_json(const json_t *id, const char *db_id, const struct tag_question *q, const struct tag_answer *a)
{
    char *sentence = tag_sentence(q, a);
    json_t *o = json_pack("{s:O*, s:s*, s:s, s:o, s:f, s:o, s:s, s:o, s:o*}", "id", id, "db_id", db_id, "question",
                          q->question, "status", status_json(a), "problem", problem_of(a), "spans", spans_json(q, a),
                          "sentence", sentence, "triage", triage_json(q, a, sentence), "heat", heat_json(a));
    free(sentence);
    return o;
}

/* Text output. */

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

static void print_question(FILE *out, const json_t *line)
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

static void print_concepts(FILE *out, const json_t *list)
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

static void print_span(FILE *out, const json_t *span)
{
    fputs("      ", out);
    put_text(out, text_of(span, "text"));
    fprintf(out, ", %s, %.0f %%\n", text_of(span, "label"),
            100 * json_number_value(json_object_get(span, "probability")));
    print_concepts(out, json_object_get(span, "alternatives"));
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
    print_question(out, line);
    fputs("    ", out);
    put_text(out, text_of(line, "sentence"));
    fputc('\n', out);
    json_array_foreach(json_object_get(line, "spans"), i, span)
    {
        print_span(out, span);
    }
    fputc('\n', out);
}

/* The concepts that are closest to an UNK span, in brackets. */
static void print_closest(FILE *out, const json_t *span)
{
    const json_t *list = json_object_get(span, "nearest"), *c;
    size_t i;

    if (!json_array_size(list) || strcmp(text_of(span, "category"), problem_category_name(PROBLEM_OUT_OF_SCOPE)) == 0)
        return;
    fprintf(out, "%s%s", texts[TEXT_OPEN], texts[TEXT_CLOSEST]);
    json_array_foreach(list, i, c)
    {
        fprintf(out, "%s\"", i ? texts[TEXT_MORE] : "");
        put_text(out, text_of(c, "concept"));
        fputc('"', out);
    }
    fputs(texts[TEXT_CLOSE], out);
}

void tag_print_unanswerable(FILE *out, const json_t *line)
{
    const json_t *span;
    int n = 0;
    size_t i;

    json_array_foreach(json_object_get(line, "spans"), i, span)
    {
        if (strcmp(text_of(span, "label"), span_label_name(SPAN_UNK)) != 0)
            continue;
        fprintf(out, "%s%s\"", n ? "" : "    ", texts[n ? TEXT_NEXT : TEXT_UNANSWERABLE]);
        n++;
        put_text(out, text_of(span, "text"));
        fprintf(out, "\"%s", texts[TEXT_UNMAPPED_DATABASE]);
        print_closest(out, span);
    }
    fputs(n ? ".\n" : "", out);
}

/* Tables. */

const char tag_table_head[] = "id,db_id,question,span,label,probability,concepts,sentence,error\n";

/* The names of the columns that a span may mean, separated by "; ".  The caller owns the reference. */
static json_t *concept_names(const json_t *span)
{
    const json_t *list = json_object_get(span, "alternatives");
    json_t *names = json_string("");
    const json_t *c;
    size_t i;

    json_array_foreach(list, i, c)
    {
        json_t *longer = json_sprintf("%s%s%s", json_string_value(names), i ? "; " : "", text_of(c, "concept"));
        json_decref(names);
        names = longer;
    }
    return names;
}

static void print_row(FILE *out, const json_t *line, const json_t *span)
{
    json_t *concepts = concept_names(span);
    const json_t *cells[] = { json_object_get(line, "id"),
                              json_object_get(line, "db_id"),
                              json_object_get(line, "question"),
                              json_object_get(span, "text"),
                              json_object_get(span, "label"),
                              json_object_get(span, "probability"),
                              concepts,
                              json_object_get(line, "sentence"),
                              json_object_get(line, "error") };

    for (int i = 0; i < ARRAY_LEN(cells); i++) {
        if (i)
            fputc(',', out);
        table_put(out, cells[i]);
    }
    fputc('\n', out);
    json_decref(concepts);
}

void tag_print_rows(FILE *out, const json_t *line)
{
    const json_t *spans = json_object_get(line, "spans"), *span;
    size_t i;

    if (!json_array_size(spans))
        print_row(out, line, NULL);
    json_array_foreach(spans, i, span)
    {
        print_row(out, line, span);
    }
}

/* HTML output. */

static const double LEAST_HEAT = 0.05;

/* Labels also differ by the line below, not by colour alone. */
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
    "h1{font-size:1.3em}section{overflow-x:auto;border-top:1px solid var(--rule);padding:.4em 0 .8em}p{margin:.4em 0}\n"
    ".q{font-size:1.25em;line-height:1.7}.q span{padding:.1em 0}\n"
    ".COL{border-bottom:3px solid var(--col)}.VAL{border-bottom:3px dotted var(--val)}\n"
    ".AMB{border-bottom:4px double var(--amb);font-weight:bold}.UNK{border-bottom:3px dashed "
    "var(--unk);font-weight:bold}\n"
    "table{border-collapse:collapse;font-size:.9em}td,th{padding:.1em 1em .1em 0;text-align:left;vertical-align:top}\n"
    ".v,.id{color:var(--faint)}.error{color:var(--unk)}\n"
    "</style></head><body><main>\n<h1>Questions and what their words mean</h1>\n"
    "<p class=\"id\"><span class=\"COL\">a column</span>, <span class=\"VAL\">a value</span>, <span class=\"AMB\">several "
    "meanings</span>, <span class=\"UNK\">nothing that is there</span>; of a trained tagger, the redder the ground, the "
    "more a word carries.</p>\n";
const char tag_html_foot[] = "</main></body></html>\n";

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

/* The item of the list at a position, or NULL; *next moves to the next edge after the position, if that is nearer. */
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

/* The greatest weight of a question's words; noise stays pale. */
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

/* Writes pieces that lie in one span and one weighted word each. */
static void html_question(FILE *out, const json_t *line)
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

static void html_concepts(FILE *out, const json_t *span, const char *list, const char *note)
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

static void html_span(FILE *out, const json_t *span)
{
    fputs("<tr><th>", out);
    put_field(out, span, "text");
    fputs("</th><th>", out);
    put_field(out, span, "label");
    fprintf(out, "</th><th>%.0f&nbsp;%%</th></tr>\n", 100 * json_number_value(json_object_get(span, "probability")));
    html_concepts(out, span, "alternatives", "");
    html_concepts(out, span, "nearest", "closest: ");
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
    html_question(out, line);
    fprintf(out, "<p class=\"%s\">", failed ? "error" : "s");
    put_field(out, line, failed ? "error" : "sentence");
    fputs("</p>\n<table>", out);
    json_array_foreach(spans, i, span)
    {
        html_span(out, span);
    }
    fputs("</table></section>\n", out);
}
