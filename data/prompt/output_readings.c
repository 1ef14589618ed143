/* Part of model_output.h: readings of a question. */
#include "data/prompt/fence.h"
#include "data/prompt/list_mark.h"
#include "data/prompt/loose_json.h"
#include "data/prompt/model_output.h"
#include "data/prompt/prose.h"
#include "data/prompt/published_output.h"
#include "data/prompt/thought.h"

#include <stdio.h>
#include <stdlib.h>

/* A line of a list. */
struct reading_line {
    struct passage text; /* without its mark */
    bool marked;
    size_t indent; /* blanks before it */
};

/* A rule, a bracket, an empty list: a line without a word. */
static bool is_rule(struct passage line)
{
    size_t n = 0;

    while (n < line.n && !isalnum((unsigned char)line.at[n]) && (unsigned char)line.at[n] < 0x80)
        n++;
    return n == line.n;
}

/* <answer>, </answer> and the like, alone on a line. */
static bool is_tag(struct passage line)
{
    return line.n > 2 && *line.at == '<' && line.at[line.n - 1] == '>' && !memchr(line.at, ' ', line.n);
}

/* Without bold type or quotes around all of it. */
static struct passage without_quotes(struct passage line)
{
    static const char *const marks[][2] = { { "**", "**" }, { "__", "__" },
                                            { "*", "*" },   { "_", "_" },
                                            { "\"", "\"" }, { "'", "'" },
                                            { "`", "`" },   { "\xe2\x80\x9c", "\xe2\x80\x9d" } };

    for (int i = 0; i < ARRAY_LEN(marks); i++) {
        size_t a = strlen(marks[i][0]), b = strlen(marks[i][1]);
        if (line.n <= a + b || !passage_starts(line, marks[i][0]) || !passage_ends(line, marks[i][1]))
            continue;
        struct passage in = { line.at + a, line.n - a - b };
        if (!memmem(in.at, in.n, marks[i][0], a))
            return passage_strip(in);
    }
    return line;
}

/* Without the tags of an item around it, and without a model's sign of its end. */
static struct passage without_ends(struct passage line)
{
    static const char *const tags[][2] = { { "<li>", "</li>" },
                                           { "<reading>", "</reading>" },
                                           { "<question>", "</question>" },
                                           { "<interpretation>", "</interpretation>" } };
    const char *end = passage_ends(line, "|>") ? memmem(line.at, line.n, "<|", 2) : NULL;

    if (end || passage_ends(line, "</s>"))
        line = passage_strip((struct passage){ line.at, end ? (size_t)(end - line.at) : line.n - 4 });
    for (int i = 0; i < ARRAY_LEN(tags); i++)
        if (passage_starts(line, tags[i][0]) && passage_ends(line, tags[i][1]))
            line = passage_strip(
                (struct passage){ line.at + strlen(tags[i][0]), line.n - strlen(tags[i][0]) - strlen(tags[i][1]) });
    return line;
}

static struct reading_line read_line(struct passage line)
{
    struct reading_line r = { .indent = (size_t)(passage_lstrip(line).at - line.at) };

    line = without_ends(prose_without_blanks(passage_strip(line)));
    if (passage_starts(line, "> "))
        line = passage_strip(passage_skip(line, 2));
    bool heading = passage_starts(line, "#") && !list_label_length(line);
    if (is_rule(line) || is_tag(line) || heading || passage_starts(line, "```"))
        return r;
    r.text = list_mark_strip(without_quotes(line), &r.marked);
    if (passage_starts(r.text, "**") && !passage_ends(r.text, "**")) { /* "**1.** text", "**Reading 1:** text" */
        bool inner;
        struct passage bold = list_mark_strip(passage_skip(r.text, 2), &inner);
        r.marked = r.marked || inner;
        r.text = inner && passage_starts(bold, "**") ? passage_strip(passage_skip(bold, 2)) : r.text;
    }
    r.text = without_quotes(r.text);
    return r;
}

static bool is_introduction(struct passage text)
{
    static const char *const openings[] = { "here are",    "here is",   "here's",
                                            "sure",        "certainly", "of course",
                                            "okay",        "below are", "the following",
                                            "let me know", "i hope",    "hope this",
                                            "note:",       "note that", "the question is ambiguous" };

    for (int i = 0; i < ARRAY_LEN(openings); i++)
        if (passage_starts(text, openings[i]))
            return true;
    return passage_ends(text, ":");
}

static bool ends_sentence(struct passage text)
{
    return passage_ends(text, "?") || passage_ends(text, ".") || passage_ends(text, "!");
}

/* Adds a reading that goes on in the next line. */
static void join(struct text_items *out, struct passage more)
{
    char *last = out->items[out->n - 1], *both = NULL;

    CHECK(asprintf(&both, "%s %.*s", last, (int)more.n, more.at) >= 0, "out of memory");
    free(last);
    out->items[out->n - 1] = both;
}

/* The smallest indent of marked lines; SIZE_MAX without any. */
static size_t list_indent(struct passage text)
{
    size_t least = SIZE_MAX;
    struct passage line;

    while (passage_line(&text, &line)) {
        struct reading_line r = read_line(line);
        if (r.marked && r.text.n && r.indent < least)
            least = r.indent;
    }
    return least;
}

/* A list that is being read. */
struct reading_list {
    size_t indent; /* of its items */
    bool open;     /* the last reading may go on in the next line */
    bool item;     /* the last item is a reading, so that items within it are not */
};

static void add_line(struct text_items *out, struct reading_list *l, const struct reading_line *r)
{
    bool marks = l->indent != SIZE_MAX, within = marks && r->indent > l->indent + 1;
    bool is_reading = r->text.n && !passage_ends(r->text, ":") &&
                      (marks ? r->marked && !(within && l->item) : !is_introduction(r->text));

    if (marks && !r->marked && r->indent && l->open && r->text.n && out->n)
        join(out, r->text);
    else if (is_reading)
        text_items_add_once(out, r->text.at, r->text.n);
    if (r->marked && !within)
        l->item = is_reading;
    l->open = r->text.n && (is_reading || (l->open && !r->marked)) && !ends_sentence(r->text);
}

static void add_lines(struct text_items *out, struct passage text)
{
    struct reading_list l = { .indent = list_indent(text) };
    struct passage line;

    while (passage_line(&text, &line)) {
        struct reading_line r = read_line(line);
        add_line(out, &l, &r);
    }
}

static bool is_reading_field(const char *name)
{
    static const char *const words[] = { "readin", "interpr", "question", "text", "meaning" };

    if (name[strspn(name, "0123456789")] == '\0')
        return true;
    for (int i = 0; i < ARRAY_LEN(words); i++)
        if (strcasestr(name, words[i]))
            return true;
    return false;
}

/* The strings of lists, and of the fields that hold readings. */
static void add_json(struct text_items *out, const json_t *v, bool wanted)
{
    const char *name;
    json_t *item;
    size_t i;

    json_array_foreach(v, i, item)
    {
        add_json(out, item, true);
    }
    bool alone = json_object_size(v) == 1;
    json_object_foreach((json_t *)v, name, item)
    {
        add_json(out, item, alone || is_reading_field(name));
    }
    struct passage text = passage_strip(passage_of(json_is_string(v) && wanted ? json_string_value(v) : ""));
    if (text.n)
        text_items_add_once(out, text.at, text.n);
}

/* Behind what stands before a list on its line: "readings = [". */
static struct passage behind_name(struct passage rest)
{
    size_t n = 0;

    while (n + 1 < rest.n && !strchr("\n[{\"", rest.at[n]))
        n++;
    struct passage name = passage_strip((struct passage){ rest.at, n });
    bool list = n < rest.n && strchr("[{", rest.at[n]);
    return list && (passage_ends(name, "=") || passage_ends(name, ":")) ? passage_skip(rest, n) : rest;
}

/* The readings of a list or an object of JSON that a text or a line of it begins with; false where none does. */
static bool read_json(struct text_items *out, struct passage text, const char *answer)
{
    struct statement_reader r;
    int before = out->n;
    bool found = false;
    size_t used;

    statement_reader_init(&r, answer);
    for (struct passage rest = text, line; rest.n;) {
        rest = passage_lstrip(rest);
        if (out->n > before && !(rest.n && strchr("[{", *rest.at))) /* one list, or JSON Lines */
            break;
        rest = behind_name(rest);
        json_t *o = loose_json(rest, &r, &used);
        if (o)
            add_json(out, o, true);
        found = found || o;
        json_decref(o);
        rest = passage_skip(rest, o && used < rest.n ? used : 0);
        passage_line(&rest, &line);
    }
    statement_reader_release(&r);
    return found;
}

/* What comes before the list itself: "assistant: Here are the interpretations:". */
static struct passage without_role(struct passage text)
{
    static const char *const roles[] = { "system:", "assistant:" };

    struct passage bare = passage_strip(text);
    for (int i = 0; i < ARRAY_LEN(roles); i++)
        if (passage_starts(bare, roles[i]))
            return passage_skip(bare, strlen(roles[i]));
    return text;
}

static void add_readings(struct text_items *out, struct passage text, const char *answer)
{
    struct passage rest = text = without_role(text), block;
    int before = out->n;

    while (fence_next(&rest, &block))
        if (!read_json(out, block, answer))
            add_lines(out, block);
    if (out->n == before && !read_json(out, text, answer))
        add_lines(out, text);
}

void output_readings(struct text_items *out, const char *answer, bool published)
{
    struct stretches s = { 0 };

    if (published) {
        published_readings(out, answer);
        return;
    }
    stretches_read(&s, answer);
    for (int i = 0; i < s.n; i++)
        add_readings(out, s.items[i], answer);
    stretches_release(&s);
}

static bool says_covered(const char *line)
{
    return passage_starts(passage_of(line + (*line == '"')), OUTPUT_COVERED);
}

bool output_says_covered(const char *answer)
{
    struct stretches s = { 0 };
    bool says = false;

    stretches_read(&s, answer);
    for (int i = 0; i < s.n; i++)
        for (struct passage p = s.items[i]; p.n && !says; p = passage_skip(p, 1))
            says = passage_starts(p, OUTPUT_COVERED) || passage_starts(p, "no interpretation");
    stretches_release(&s);
    return says;
}

void output_infilled(struct text_items *out, const char *answer, bool published)
{
    struct text_items lines = { 0 };

    if (published) {
        published_infilled(out, answer);
        return;
    }
    output_readings(&lines, answer, false);
    for (int i = 0; i < lines.n; i++)
        if (!says_covered(lines.items[i]))
            text_items_add_once(out, lines.items[i], strlen(lines.items[i]));
    text_items_release(&lines);
}
