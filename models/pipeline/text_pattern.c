#include "models/pipeline/text_pattern.h"

#include "data/util/json.h"
#include "models/unicode/utf8.h"

#include <stdlib.h>
#include <string.h>

void text_pattern_set(struct text_pattern *p, const char *text)
{
    struct error err;

    if (!*text) {
        p->regex = regex_open("", &err);
        CHECK(p->regex, "%s", err.text);
        return;
    }
    p->text = xstrdup(text);
    p->length = (int64_t)strlen(text);
}

int text_pattern_read(struct text_pattern *p, const json_t *o, const char *where, struct error *err)
{
    const json_t *pattern = json_get_object(o, "pattern", where, err);
    const char *text = json_string_value(json_object_get(pattern, "String"));

    if (!pattern)
        return -1;
    if (text) {
        text_pattern_set(p, text);
        return 0;
    }
    if (!(text = json_get_string(pattern, "Regex", where, err)))
        return -1;
    p->regex = regex_open(text, err);
    return p->regex ? 0 : error_prefix(err, "%s", where);
}

void text_pattern_release(struct text_pattern *p)
{
    regex_close(p->regex);
    free(p->text);
    *p = (struct text_pattern){ 0 };
}

void pattern_walk_start(struct pattern_walk *w, const struct text_pattern *p, const char *text, int64_t length)
{
    w->pattern = p;
    if (p->regex) {
        regex_search_start(&w->search, text, length);
        return;
    }
    w->search.text = text;
    w->search.at = 0;
    w->search.end = length;
}

/* The next character of its kind. */
static bool next_char(struct regex_search *s, char_test *is, int64_t *start, int64_t *stop)
{
    uint32_t cp;
    bool valid;

    while (s->at < s->end) {
        *start = s->at;
        s->at += utf8_read(s->text + s->at, s->end - s->at, &cp, &valid);
        if (is(cp)) {
            *stop = s->at;
            return true;
        }
    }
    return false;
}

bool pattern_walk_plain(struct pattern_walk *w, int64_t *start, int64_t *stop)
{
    const struct text_pattern *p = w->pattern;
    struct regex_search *s = &w->search;

    if (!p->text)
        return next_char(s, p->is, start, stop);
    const char *found = memmem(s->text + s->at, (size_t)(s->end - s->at), p->text, (size_t)p->length);
    if (!found)
        return false;
    *start = found - s->text;
    *stop = s->at = *start + p->length;
    return true;
}

void pattern_walk_end(struct pattern_walk *w)
{
    regex_search_end(&w->search);
}

int cut_behavior_read(enum cut_behavior *out, const char *name, const char *where, struct error *err)
{
    static const char *const names[] = { "Removed", "Isolated", "MergedWithPrevious", "MergedWithNext", "Contiguous" };

    for (int i = 0; i < ARRAY_LEN(names); i++)
        if (strcmp(names[i], name) == 0) {
            *out = (enum cut_behavior)i;
            return 0;
        }
    return error_set(err, EXIT_CODE_CHECKPOINT,
                     "%s: behavior: expected Removed, Isolated, MergedWithPrevious, MergedWithNext or Contiguous, got "
                     "\"%.80s\"",
                     where, name);
}

void cut_start(struct cut *c, const struct text_pattern *p, enum cut_behavior behavior, bool invert, const char *text,
               int64_t length)
{
    pattern_walk_start(&c->walk, p, text, length);
    c->behavior = behavior;
    c->invert = invert;
    c->at = 0;
    c->has_found = c->has_held = c->last_match = false;
}

/* The next match, or what lies before it. */
static bool next_segment(struct cut *c, struct segment *s)
{
    int64_t start, stop;

    if (c->has_found) {
        *s = c->found;
        c->has_found = false;
    } else if (pattern_walk_next(&c->walk, &start, &stop)) {
        *s = (struct segment){ start, stop, true };
        if (start > c->at) {
            c->found = *s;
            c->has_found = true;
            *s = (struct segment){ c->at, start, false };
        }
    } else if (c->at < c->walk.search.end) {
        *s = (struct segment){ c->at, c->walk.search.end, false };
    } else {
        return false;
    }
    c->at = s->stop;
    s->match ^= c->invert;
    return true;
}

/* Does a segment join the one that is held? */
static bool joins(const struct cut *c, const struct segment *s)
{
    switch (c->behavior) {
    case CUT_MERGED_WITH_PREVIOUS:
        return s->match && !c->last_match;
    case CUT_MERGED_WITH_NEXT:
        return !s->match && c->last_match;
    case CUT_CONTIGUOUS:
        return s->match == c->last_match;
    default:
        return false;
    }
}

bool cut_next(struct cut *c, int64_t *start, int64_t *stop)
{
    struct segment s = { 0 }, out;

    for (bool more = true; more;) {
        more = next_segment(c, &s);
        if (more && c->has_held && joins(c, &s)) {
            c->held.stop = s.stop;
            c->last_match = s.match;
            continue;
        }
        bool whole = c->has_held;
        out = c->held;
        c->held = s;
        c->has_held = more;
        c->last_match = s.match;
        if (whole && out.stop > out.start && !(out.match && c->behavior == CUT_REMOVED)) {
            *start = out.start;
            *stop = out.stop;
            return true;
        }
    }
    return false;
}

void cut_end(struct cut *c)
{
    pattern_walk_end(&c->walk);
}
