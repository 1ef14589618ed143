#include "models/pipeline/regex.h"

#include "models/pipeline/regex_spell.h"
#include "models/unicode/utf8.h"

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_HEAP_KIB = 64 << 10 }; /* of the interpreter, whose own limit is 20 GB */

#define PUBLISHED(digits)                                                                                              \
    "(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\\r\\n\\p{L}\\p{N}]?\\p{L}+|" digits                                               \
    "| ?[^\\s\\p{L}\\p{N}]+[\\r\\n]*|\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+"

const char regex_llama3[] = PUBLISHED("\\p{N}{1,3}");
const char regex_qwen2[] = PUBLISHED("\\p{N}");
const char regex_words[] = "\\p{L}+(?=s(?!\\p{L}))|\\p{L}+|\\p{N}| ?[^\\s\\p{L}\\p{N}]+|\\s+(?!\\S)|\\s+";
const char regex_gpt2[] = "'s|'t|'re|'ve|'m|'ll|'d| ?\\p{L}+| ?\\p{N}+| ?[^\\s\\p{L}\\p{N}]+|\\s+(?!\\S)|\\s+";

struct regex {
    pcre2_code *code;
    uint32_t empty; /* may match nothing */
    pcre2_match_context *limits;
};

static int compile(struct regex *r, const char *pattern, struct error *err)
{
    char *text = regex_spell(pattern, err);
    pcre2_compile_context *context = pcre2_compile_context_create(NULL);
    unsigned char why[128];
    PCRE2_SIZE at;
    int code;

    CHECK(context, "out of memory");
    pcre2_set_newline(context, PCRE2_NEWLINE_LF);
    if (text)
        r->code = pcre2_compile((PCRE2_SPTR)text, PCRE2_ZERO_TERMINATED, PCRE2_UTF | PCRE2_UCP | PCRE2_MULTILINE, &code,
                                &at, context);
    pcre2_compile_context_free(context);
    if (text && !r->code) {
        pcre2_get_error_message(code, why, sizeof why);
        error_set(err, EXIT_CODE_CHECKPOINT, "%s", (char *)why);
    }
    free(text);
    if (!r->code)
        return error_prefix(err, "pattern \"%.80s\"", pattern);
    pcre2_pattern_info(r->code, PCRE2_INFO_MATCHEMPTY, &r->empty);
    r->limits = pcre2_match_context_create(NULL);
    CHECK(r->limits, "out of memory");
    pcre2_set_heap_limit(r->limits, MAX_HEAP_KIB);
    pcre2_jit_compile(r->code, PCRE2_JIT_COMPLETE); /* where it cannot, pcre2_match interprets */
    return 0;
}

struct regex *regex_open(const char *pattern, struct error *err)
{
    if (strlen(pattern) > REGEX_MAX_PATTERN) {
        error_set(err, EXIT_CODE_CHECKPOINT, "pattern: expected at most %d bytes, got %zu", REGEX_MAX_PATTERN,
                  strlen(pattern));
        return NULL;
    }
    struct regex *r = xcalloc(1, sizeof *r);
    if (compile(r, pattern, err) == 0)
        return r;
    regex_close(r);
    return NULL;
}

void regex_close(struct regex *r)
{
    if (!r)
        return;
    pcre2_code_free(r->code);
    pcre2_match_context_free(r->limits);
    free(r);
}

void regex_search_start(struct regex_search *s, const char *text, int64_t length)
{
    *s = (struct regex_search){ .text = text, .end = length, .last = -1, .found = s->found };
    if (!s->found)
        s->found = pcre2_match_data_create(1, NULL);
    CHECK(s->found, "out of memory");
}

/* The first match at or behind s->at. */
static bool find(struct regex_search *s, const struct regex *r, int64_t *start, int64_t *stop)
{
    const PCRE2_SIZE *place = pcre2_get_ovector_pointer(s->found);
    int rc = pcre2_match(r->code, (PCRE2_SPTR)s->text, (PCRE2_SIZE)s->end, (PCRE2_SIZE)s->at, PCRE2_NO_UTF_CHECK,
                         s->found, r->limits);

    if (rc == PCRE2_ERROR_JIT_STACKLIMIT) /* the interpreter has its own, larger room */
        rc = pcre2_match(r->code, (PCRE2_SPTR)s->text, (PCRE2_SIZE)s->end, (PCRE2_SIZE)s->at,
                         PCRE2_NO_UTF_CHECK | PCRE2_NO_JIT, s->found, r->limits);
    if (rc < 0 || place[0] < (PCRE2_SIZE)s->at || place[1] < place[0]) /* a zero: more groups than were asked for */
        return false;
    *start = (int64_t)place[0];
    *stop = (int64_t)place[1];
    return true;
}

bool regex_search_next(struct regex_search *s, const struct regex *r, int64_t *start, int64_t *stop)
{
    uint32_t cp;
    bool valid;

    if (!r->empty) {
        bool found = s->at < s->end && find(s, r, start, stop) && *stop > *start;
        s->at = found ? *stop : s->end;
        return found;
    }
    while (s->at <= s->end && find(s, r, start, stop)) {
        bool again = *start == *stop && *stop == s->last;
        s->at = *stop;
        if (!again) {
            s->last = *stop;
            return true;
        }
        s->at += s->at < s->end ? utf8_read(s->text + s->at, s->end - s->at, &cp, &valid) : 1;
    }
    s->at = s->end + 1;
    return false;
}

void regex_search_end(struct regex_search *s)
{
    pcre2_match_data_free(s->found);
    s->found = NULL;
}
