#include "data/prompt/model_output.h"

#include "data/prompt/loose_json.h"
#include "data/prompt/passage.h"
#include "data/prompt/published_output.h"

#include <stdio.h>
#include <stdlib.h>

/* The parts of a completion outside its thoughts, in order. */
struct stretches {
    struct passage *items;
    int n, cap;
    bool cut; /* a thought is not closed; n is 0 */
};

enum { MAX_STRING = 400 }; /* bytes around a tag to search for quotes */

/* Tags of DeepSeek, Qwen and others, tags that prompts request, and those of Seed-OSS, Sky-T1, Command A, Magistral,
 * Kimi and the channels of gpt-oss. */
static const struct tag {
    const char *open, *close;
} thought_tags[] = {
    { "<think>", "</think>" },
    { "<thinking>", "</thinking>" },
    { "<thought>", "</thought>" },
    { "<reasoning>", "</reasoning>" },
    { "<thoughts>", "</thoughts>" },
    { "<reason>", "</reason>" },
    { "<analysis>", "</analysis>" },
    { "<scratchpad>", "</scratchpad>" },
    { "<thought_process>", "</thought_process>" },
    { "<antThinking>", "</antThinking>" },
    { "<reflection>", "</reflection>" },
    { "<seed:think>", "</seed:think>" },
    { "<|begin_of_thought|>", "<|end_of_thought|>" },
    { "<|START_THINKING|>", "<|END_THINKING|>" },
    { "[THINK]", "[/THINK]" },
    { "\xe2\x97\x81think\xe2\x96\xb7", "\xe2\x97\x81/think\xe2\x96\xb7" },
    { "<|channel|>analysis<|message|>", "<|channel|>final<|message|>" },
};

/* A tag in a completion. */
struct tag_place {
    const char *at;
    size_t n;
    int kind; /* index in thought_tags */
    bool closes;
};

static bool is_quote(char c)
{
    return c && strchr("'\"`%", c);
}

/* The SQL quote that is open on this line before `at`; 0 without. */
static char open_quote(const char *answer, const char *at)
{
    const char *line = at;
    char quote = 0;

    while (line > answer && line[-1] != '\n' && at - line < MAX_STRING)
        line--;
    for (const char *c = line; c < at; c++)
        if (quote ? *c == quote : *c == '\'' && c > line && strchr(" (=,%", c[-1]))
            quote = quote ? 0 : *c;
    return quote;
}

/* Whether the text at `p` is inside an SQL string that closes on its line. */
static bool in_string(struct passage p, const char *answer)
{
    char quote = open_quote(answer, p.at);

    for (size_t i = 0; quote && i < p.n && i < MAX_STRING && p.at[i] != '\n'; i++)
        if (p.at[i] == quote)
            return !(i + 1 < p.n && isalnum((unsigned char)p.at[i + 1]));
    return false;
}

/* The length of the tag at p, or 0; blanks or attributes may precede its '>'. */
static size_t tag_length(struct passage p, const char *tag)
{
    enum { MAX_ATTRIBUTES = 100 };
    size_t name = strlen(tag) - 1, n = name;

    if (passage_starts(p, tag))
        return name + 1;
    if (tag[name] != '>' || p.n <= name || strncasecmp(p.at, tag, name) != 0 || !isspace((unsigned char)p.at[name]))
        return 0;
    while (n < p.n && n < name + MAX_ATTRIBUTES && !strchr("<>", p.at[n]))
        n++;
    bool ends = n < p.n && p.at[n] == '>', blank = passage_strip((struct passage){ p.at + name, n - name }).n == 0;
    return ends && (blank || memchr(p.at + name, '=', n - name)) ? n + 1 : 0;
}

/* The length of the tag at p, or 0 if the tag is quoted. */
static size_t is_here(struct passage p, const char *answer, const char *tag)
{
    size_t n = tag_length(p, tag);
    bool quoted = n && p.at > answer && is_quote(p.at[-1]) && is_quote(p.at[n]);

    return !n || quoted || in_string(p, answer) ? 0 : n;
}

static bool find_any(struct tag_place *f, struct passage p, const char *answer)
{
    for (; p.n; p = passage_skip(p, 1))
        for (int k = 0; k < ARRAY_LEN(thought_tags); k++) {
            size_t close = is_here(p, answer, thought_tags[k].close),
                   n = close ? close : is_here(p, answer, thought_tags[k].open);
            if (!n)
                continue;
            *f = (struct tag_place){ p.at, n, k, close > 0 };
            return true;
        }
    return false;
}

/* The first closing tag of this type, or of any type if kind < 0. */
static bool find_close(struct tag_place *f, struct passage p, const char *answer, int kind)
{
    for (; p.n; p = passage_skip(p, 1))
        for (int k = 0; k < ARRAY_LEN(thought_tags); k++) {
            size_t n = kind < 0 || k == kind ? is_here(p, answer, thought_tags[k].close) : 0;
            if (!n)
                continue;
            *f = (struct tag_place){ p.at, n, k, true };
            return true;
        }
    return false;
}

static void add(struct stretches *s, struct passage p)
{
    if (passage_strip(p).n == 0)
        return;
    GROW(s->items, s->n, s->cap);
    s->items[s->n++] = p;
}

static struct passage behind(struct passage p, const struct tag_place *f)
{
    return passage_skip(p, (size_t)(f->at - p.at) + f->n);
}

/* Removes thoughts. Reasoning models write them before the answer, in tags of a few spellings. The opening tag may be
 * in the prompt, so everything before an unopened closing tag is a thought. An unclosed thought means that the
 * completion was cut off, so nothing remains. A tag between quotes or backticks is ignored. Fills a zeroed struct,
 * which points into answer. */
static void stretches_read(struct stretches *s, const char *answer)
{
    struct passage rest = passage_of(answer);
    bool lacks_close[ARRAY_LEN(thought_tags)] = { false }; /* in the rest, to search only once */
    struct tag_place f, end;

    while (find_any(&f, rest, answer)) {
        struct passage before = { rest.at, (size_t)(f.at - rest.at) };
        rest = behind(rest, &f);
        if (f.closes) {
            s->n = 0;
            continue;
        }
        add(s, before);
        lacks_close[f.kind] = lacks_close[f.kind] || !find_close(&end, rest, answer, f.kind);
        if (lacks_close[f.kind] && !find_close(&end, rest, answer, -1)) {
            s->n = 0;
            s->cut = true;
            return;
        }
        rest = behind(rest, &end);
    }
    add(s, rest);
}

static void stretches_release(struct stretches *s)
{
    free(s->items);
    *s = (struct stretches){ 0 };
}

/* Whether only blanks and quotation marks precede `at` on its line. */
static bool at_line(const char *begin, const char *at)
{
    while (at > begin && strchr(" \t>", at[-1]))
        at--;
    return at == begin || at[-1] == '\n';
}

static const char *find_fence(struct passage p, const char *mark, bool line)
{
    const char *begin = p.at, *at;

    for (; (at = memmem(p.at, p.n, mark, 3)); p = passage_skip(p, (size_t)(at - p.at) + 1))
        if (!line || at_line(begin, at))
            return at;
    return NULL;
}

/* Skips the word after an opening fence: a word alone on its line, or the name of a language. */
static struct passage without_word(struct passage in)
{
    size_t n = 0;

    while (n < in.n && (isalnum((unsigned char)in.at[n]) || strchr("_-+.", in.at[n])))
        n++;
    size_t blanks = n;
    while (blanks < in.n && strchr(" \t\r", in.at[blanks]))
        blanks++;
    if (blanks == in.n || in.at[blanks] == '\n')
        return passage_skip(in, blanks);
    bool name =
        n && n < in.n && isspace((unsigned char)in.at[n]) && (passage_starts(in, "sql") || passage_starts(in, "json"));
    return name && n <= 6 ? passage_skip(in, n) : in;
}

/* Cuts the next fenced block, with the text before it, off *rest; false without one. A fence is ``` or ~~~, and the
 * word after an opening fence is skipped. A fence at the beginning of a line is closed at the beginning of a line if
 * possible, else anywhere. An unclosed block extends to the end. */
static bool fence_next(struct passage *rest, struct passage *block)
{
    const char *ticks = find_fence(*rest, "```", false), *waves = find_fence(*rest, "~~~", true);
    const char *open = ticks && (!waves || ticks < waves) ? ticks : waves, *close;

    if (!open)
        return false;
    const char *mark = open == ticks ? "```" : "~~~";
    bool line = at_line(rest->at, open);
    struct passage in = passage_skip(*rest, (size_t)(open - rest->at) + 3);
    while (in.n && *in.at == *mark) /* fences of four and more */
        in = passage_skip(in, 1);
    in = without_word(in);
    close = line ? find_fence(in, mark, true) : NULL;
    if (!close)
        close = find_fence(in, mark, false);
    *block = (struct passage){ in.at, close ? (size_t)(close - in.at) : in.n };
    *rest = close ? passage_skip(in, block->n + 3) : passage_skip(in, in.n);
    while (close && rest->n && *rest->at == *mark)
        *rest = passage_skip(*rest, 1);
    return true;
}

/* The length of an item number such as "1", "12" or "A"; 0 without. */
static size_t number_length(struct passage p)
{
    size_t n = 0;

    while (n < p.n && n < 3 && isdigit((unsigned char)p.at[n]))
        n++;
    return n ? n : p.n > 1 && isalpha((unsigned char)*p.at) && !isalnum((unsigned char)p.at[1]);
}

/* The length of a label such as "Reading 1:" or "Interpretation B -"; after another mark also "Reading:". 0 without. */
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

/* The length of a mark such as "1.", "(2)", "[3]" or "4 -"; 0 without. */
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

/* The length of a mark such as "a)", "(b)" or "IV)", or "a." and "IV." before a blank; 0 without. */
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

/* Whether it is a Chinese numeral. */
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

/* The length of an East Asian mark: a number after a wide parenthesis, before a wide sign, or in a circle; 0 without.
 */
static size_t wide_mark(struct passage line)
{
    static const char *const signs[] = { "\xe3\x80\x81", "\xef\xbc\x8e", "\xef\xbc\x9a", "\xef\xbc\x89" };
    size_t n = passage_starts(line, "\xef\xbc\x88") ? 3 : 0, open = n; /* wide ( */

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

/* The length of a bullet with an optional checkbox; 0 without. */
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

/* The length of a numbered label ("Reading 1:", "Interpretation B -", "#2"); 0 without. */
static size_t list_label_length(struct passage line)
{
    return label_length(line, false);
}

/* Skips one mark and the label after it; *marked: whether there was a mark. */
static struct passage list_mark_strip(struct passage line, bool *marked)
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

/* Interpretations of a question. */

/* A line of a list. */
struct interpretation_line {
    struct passage text; /* without its mark */
    bool marked;
    size_t indent; /* leading blanks */
};

/* Whether the line has no word: a rule, a bracket, an empty list. */
static bool is_rule(struct passage line)
{
    size_t n = 0;

    while (n < line.n && !isalnum((unsigned char)line.at[n]) && (unsigned char)line.at[n] < 0x80)
        n++;
    return n == line.n;
}

/* Whether the line is a tag such as <answer>. */
static bool is_tag(struct passage line)
{
    return line.n > 2 && *line.at == '<' && line.at[line.n - 1] == '>' && !memchr(line.at, ' ', line.n);
}

/* Removes bold type or quotes around the whole line. */
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

/* Removes the tags around an item, and a model's end token. */
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

static struct interpretation_line read_line(struct passage line)
{
    struct interpretation_line r = { .indent = (size_t)(passage_lstrip(line).at - line.at) };

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

/* Appends the next line to the last interpretation. */
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
        struct interpretation_line r = read_line(line);
        if (r.marked && r.text.n && r.indent < least)
            least = r.indent;
    }
    return least;
}

/* The state of reading a list. */
struct interpretation_list {
    size_t indent; /* of its items */
    bool open;     /* the last interpretation may continue on the next line */
    bool item;     /* the last item is an interpretation; nested items are not */
};

static void add_line(struct text_items *out, struct interpretation_list *l, const struct interpretation_line *r)
{
    bool marks = l->indent != SIZE_MAX, within = marks && r->indent > l->indent + 1;
    bool is_interpretation = r->text.n && !passage_ends(r->text, ":") &&
                             (marks ? r->marked && !(within && l->item) : !is_introduction(r->text));

    if (marks && !r->marked && r->indent && l->open && r->text.n && out->n)
        join(out, r->text);
    else if (is_interpretation)
        text_items_add_once(out, r->text.at, r->text.n);
    if (r->marked && !within)
        l->item = is_interpretation;
    l->open = r->text.n && (is_interpretation || (l->open && !r->marked)) && !ends_sentence(r->text);
}

static void add_lines(struct text_items *out, struct passage text)
{
    struct interpretation_list l = { .indent = list_indent(text) };
    struct passage line;

    while (passage_line(&text, &line)) {
        struct interpretation_line r = read_line(line);
        add_line(out, &l, &r);
    }
}

static bool contains_any(const char *text, const char *const *words, int n)
{
    for (int i = 0; i < n; i++)
        if (strcasestr(text, words[i]))
            return true;
    return false;
}

static bool is_interpretation_field(const char *name)
{
    static const char *const words[] = { "readin", "interpr", "question", "text", "meaning" };

    if (name[strspn(name, "0123456789")] == '\0')
        return true;
    return contains_any(name, words, ARRAY_LEN(words));
}

/* Adds the strings of lists, and of fields that hold interpretations. */
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
        add_json(out, item, alone || is_interpretation_field(name));
    }
    struct passage text = passage_strip(passage_of(json_is_string(v) && wanted ? json_string_value(v) : ""));
    if (text.n)
        text_items_add_once(out, text.at, text.n);
}

/* Skips a name before a list on its line: "readings = [". */
static struct passage behind_name(struct passage rest)
{
    size_t n = 0;

    while (n + 1 < rest.n && !strchr("\n[{\"", rest.at[n]))
        n++;
    struct passage name = passage_strip((struct passage){ rest.at, n });
    bool list = n < rest.n && strchr("[{", rest.at[n]);
    return list && (passage_ends(name, "=") || passage_ends(name, ":")) ? passage_skip(rest, n) : rest;
}

/* Adds the interpretations of JSON at the beginning of a text or of a line; false without JSON. */
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

/* Skips an introduction such as "assistant: Here are the interpretations:". */
static struct passage without_role(struct passage text)
{
    static const char *const roles[] = { "system:", "assistant:" };

    struct passage bare = passage_strip(text);
    for (int i = 0; i < ARRAY_LEN(roles); i++)
        if (passage_starts(bare, roles[i]))
            return passage_skip(bare, strlen(roles[i]));
    return text;
}

static void add_interpretations(struct text_items *out, struct passage text, const char *answer)
{
    struct passage rest = text = without_role(text), block;
    int before = out->n;

    while (fence_next(&rest, &block))
        if (!read_json(out, block, answer))
            add_lines(out, block);
    if (out->n == before && !read_json(out, text, answer))
        add_lines(out, text);
}

void output_interpretations(struct text_items *out, const char *answer, bool published)
{
    struct stretches s = { 0 };

    if (published) {
        published_interpretations(out, answer);
        return;
    }
    stretches_read(&s, answer);
    for (int i = 0; i < s.n; i++)
        add_interpretations(out, s.items[i], answer);
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
    output_interpretations(&lines, answer, false);
    for (int i = 0; i < lines.n; i++)
        if (!says_covered(lines.items[i]))
            text_items_add_once(out, lines.items[i], strlen(lines.items[i]));
    text_items_release(&lines);
}

/* Judgements about a list of candidates. */
enum verdict { NO_VERDICT, ALL_CORRECT, NONE_CORRECT };

/* The judgement in a line that is no interpretation. */
static enum verdict verdict_of(const char *line)
{
    static const char *const bad[] = { "none of", "incorrect", "not correct", "inaccurate", "not accurate" };
    static const char *const good[] = { "missing",  "correct", "covered", "accurate",   "duplicate",
                                        "no other", "no more", "no new",  "no further", "additional" };
    struct passage text = passage_strip(passage_of(line));

    while (text.n && ispunct((unsigned char)text.at[text.n - 1]))
        text.n--;
    if ((text.n == 4 && passage_starts(text, "none")) || (text.n == 3 && passage_starts(text, "n/a")))
        return NONE_CORRECT;
    if (!strcasestr(line, "interpretation"))
        return NO_VERDICT;
    return contains_any(line, bad, ARRAY_LEN(bad))     ? NONE_CORRECT
           : contains_any(line, good, ARRAY_LEN(good)) ? ALL_CORRECT
                                                       : NO_VERDICT;
}

bool output_reviewed(struct text_items *out, const char *answer, bool published)
{
    struct text_items lines = { 0 };
    bool all = false;

    output_interpretations(&lines, answer, published);
    for (int i = 0; i < lines.n; i++) {
        enum verdict verdict = published ? NO_VERDICT : verdict_of(lines.items[i]);
        if (verdict == NO_VERDICT)
            text_items_add_once(out, lines.items[i], strlen(lines.items[i]));
        all = all || verdict == ALL_CORRECT;
    }
    text_items_release(&lines);
    return all && out->n == 0;
}

enum { MAX_NESTED = 3 }; /* maximum depth of completions within strings */

void text_items_add(struct text_items *t, const char *text, size_t length)
{
    GROW(t->items, t->n, t->cap);
    t->items[t->n] = strndup(text, length);
    CHECK(t->items[t->n], "out of memory");
    t->n++;
}

void text_items_add_once(struct text_items *t, const char *text, size_t length)
{
    for (int i = 0; i < t->n; i++)
        if (strlen(t->items[i]) == length && memcmp(t->items[i], text, length) == 0)
            return;
    text_items_add(t, text, length);
}

void text_items_release(struct text_items *t)
{
    for (int i = 0; i < t->n; i++)
        free(t->items[i]);
    free(t->items);
    *t = (struct text_items){ 0 };
}

/* A completion, or a string in it, that is searched for SQL. */
struct sql_answer {
    struct text_items *out;
    struct statement_reader reader;
    int depth;
};

static void read_text(struct sql_answer *a, struct passage text, bool trusted);

/* Whether the field describes a statement. */
static bool is_talk(const char *field)
{
    static const char *const words[] = { "think", "thought", "reason",   "expla",   "rationale", "comment",
                                         "descr", "note",    "question", "readin",  "interpr",   "meaning",
                                         "title", "label",   "intent",   "analysis" };
    return contains_any(field, words, ARRAY_LEN(words));
}

/* Whether the field holds a statement. */
static bool is_code(const char *field)
{
    static const char *const words[] = { "sql", "quer", "statement", "code", "answer" };
    return contains_any(field, words, ARRAY_LEN(words));
}

/* Reads a field value or an element. talk: strings are no statements, but objects may hold some. */
static void read_sql_json(struct sql_answer *a, const json_t *v, bool trusted, bool talk)
{
    const char *field;
    json_t *item;
    size_t i;

    json_array_foreach(v, i, item)
    {
        read_sql_json(a, item, trusted, talk);
    }
    json_object_foreach((json_t *)v, field, item)
    {
        bool code = is_code(field), nested = json_is_object(item) || json_is_array(item);
        read_sql_json(a, item, code || (nested && !is_talk(field)), !code && is_talk(field));
    }
    if (json_is_string(v) && !talk && a->depth < MAX_NESTED)
        read_text(a, passage_of(json_string_value(v)), trusted);
}

/* Reads the statements in lists and objects; false without any. */
static bool read_containers(struct sql_answer *a, struct passage text)
{
    int before = a->out->n;
    size_t used = 1;

    for (; text.n && a->reader.work > 0; text = passage_skip(text, used)) {
        const char *at = text.at;
        while (at < text.at + text.n && !strchr("[{", *at))
            at++;
        text = passage_skip(text, (size_t)(at - text.at));
        if (text.n == 0)
            break;
        json_t *o = loose_json(text, &a->reader, &used);
        if (o)
            read_sql_json(a, o, true, false);
        json_decref(o);
        used = used < text.n ? used : text.n;
    }
    return a->out->n > before;
}

/* Reads a text that is one JSON string: "SELECT ...\n...". */
static bool read_string(struct sql_answer *a, struct passage text)
{
    int before = a->out->n;

    text = passage_strip(text);
    if (text.n < 2 || *text.at != '"' || text.at[text.n - 1] != '"')
        return false;
    json_t *v = json_loadb(text.at, text.n, JSON_DECODE_ANY, NULL);
    read_sql_json(a, v, true, false);
    json_decref(v);
    return a->out->n > before;
}

/* Reads the JSON in a text, else the fenced blocks, else the text itself. */
static void read_text(struct sql_answer *a, struct passage text, bool trusted)
{
    struct passage rest = text, block, stripped = passage_strip(text);
    int before = a->out->n;

    a->depth++;
    bool first = stripped.n && strchr("[{\"", *stripped.at);
    if (!(first && (read_string(a, text) || read_containers(a, text))))
        while (fence_next(&rest, &block))
            if (!read_containers(a, block))
                statements_find(a->out, &a->reader, block, true);
    if (a->out->n == before && !read_containers(a, text))
        statements_find(a->out, &a->reader, text, trusted);
    a->depth--;
}

void output_sql(struct text_items *out, const char *answer, bool published)
{
    struct sql_answer a = { .out = out };
    struct stretches s = { 0 };

    if (published) {
        published_sql(out, answer);
        return;
    }
    stretches_read(&s, answer);
    statement_reader_init(&a.reader, answer);
    for (int i = 0; i < s.n; i++)
        read_text(&a, s.items[i], false);
    statement_reader_release(&a.reader);
    stretches_release(&s);
}

char *output_answer(const char *answer)
{
    struct stretches s = { 0 };
    char *text = NULL;
    size_t size;
    FILE *f = open_memstream(&text, &size);

    CHECK(f, "out of memory");
    stretches_read(&s, answer);
    for (int i = 0; i < s.n; i++) {
        struct passage p = passage_strip(s.items[i]);
        fprintf(f, "%s%.*s", i ? "\n" : "", (int)p.n, p.at);
    }
    CHECK(fclose(f) == 0, "out of memory");
    stretches_release(&s);
    return text;
}

const char *output_lacks(const char *answer, const char *what)
{
    static _Thread_local char text[120];
    struct stretches s = { 0 };

    stretches_read(&s, answer);
    if (s.cut)
        snprintf(text, sizeof text, "the answer breaks off in its thought and holds no %s", what);
    else
        snprintf(text, sizeof text, "the answer %sholds no %s", s.n ? "" : "is empty and ", what);
    stretches_release(&s);
    return text;
}
