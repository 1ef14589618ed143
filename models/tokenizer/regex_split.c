#include "models/tokenizer/regex_split.h"

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_HEAP_KIB = 64 << 10 }; /* of the interpreter, whose own limit is 20 GB */

#define PUBLISHED(digits)                                                                                              \
    "(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\\r\\n\\p{L}\\p{N}]?\\p{L}+|" digits                                               \
    "| ?[^\\s\\p{L}\\p{N}]+[\\r\\n]*|\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+"

const char regex_llama3[] = PUBLISHED("\\p{N}{1,3}");
const char regex_qwen2[] = PUBLISHED("\\p{N}");

struct regex {
    pcre2_code *code;
    pcre2_match_context *limits;
    char *pattern;
};

/* Letters and numbers of Unicode 15 to 17. */
#define LATE_LETTERS                                                                                                   \
    "\\x{1C89}\\x{1C8A}\\x{A7CB}-\\x{A7CD}\\x{A7DA}-\\x{A7DC}\\x{105C0}-\\x{105F3}\\x{10D4A}-\\x{10D65}"               \
    "\\x{10D6F}-\\x{10D85}\\x{10EC2}-\\x{10EC4}\\x{1123F}\\x{11240}\\x{11380}-\\x{11389}\\x{1138B}\\x{1138E}"          \
    "\\x{11390}-\\x{113B5}\\x{113B7}\\x{113D1}\\x{113D3}\\x{11BC0}-\\x{11BE0}\\x{11F02}\\x{11F04}-\\x{11F10}"          \
    "\\x{11F12}-\\x{11F33}\\x{1342F}\\x{13441}-\\x{13446}\\x{13460}-\\x{143FA}\\x{16100}-\\x{1611D}"                   \
    "\\x{16D40}-\\x{16D6C}\\x{18CFF}\\x{1B132}\\x{1B155}\\x{1DF25}-\\x{1DF2A}\\x{1E030}-\\x{1E06D}"                    \
    "\\x{1E4D0}-\\x{1E4EB}\\x{1E5D0}-\\x{1E5ED}\\x{1E5F0}\\x{2B739}\\x{2EBF0}-\\x{2EE5D}\\x{31350}-\\x{323AF}"
#define LATE_NUMBERS                                                                                                   \
    "\\x{10D40}-\\x{10D49}\\x{116D0}-\\x{116E3}\\x{11BF0}-\\x{11BF9}\\x{11F50}-\\x{11F59}\\x{16130}-\\x{16139}"        \
    "\\x{16D70}-\\x{16D79}\\x{1CCF0}-\\x{1CCF9}\\x{1D2C0}-\\x{1D2D3}\\x{1E4F0}-\\x{1E4F9}\\x{1E5F1}-\\x{1E5FA}"
#define NOT_WHITE                                                                                                      \
    "\\x{0}-\\x{8}\\x{E}-\\x{1F}!-\\x{84}\\x{86}-\\x{9F}\\x{A1}-\\x{167F}\\x{1681}-\\x{1FFF}\\x{200B}-\\x{2027}"       \
    "\\x{202A}-\\x{202E}\\x{2030}-\\x{205E}\\x{2060}-\\x{2FFF}\\x{3001}-\\x{10FFFF}"

/* What stands for a class of tokenizers' inside of brackets. */
static const struct {
    const char *class, *items;
} spellings[] = {
    { "\\s", "\\p{Z}\\t-\\r\\x{85}" },
    { "\\S", NOT_WHITE },
    { "\\p{L}", "\\p{L}" LATE_LETTERS },
    { "\\p{N}", "\\p{N}" LATE_NUMBERS },
};

/* Writes the class or escaped character at p, and returns its bytes. */
static size_t put_escape(FILE *out, const char *p, bool brackets)
{
    for (int i = 0; i < ARRAY_LEN(spellings); i++) {
        size_t n = strlen(spellings[i].class);
        if (strncmp(p, spellings[i].class, n) == 0) {
            fprintf(out, brackets ? "%s" : "[%s]", spellings[i].items);
            return n;
        }
    }
    size_t n = p[1] ? 2 : 1;
    fwrite(p, 1, n, out);
    return n;
}

/* The pattern as PCRE2 has to be told; the caller frees. */
static char *respelled(const char *pattern)
{
    char *text = NULL;
    size_t size;
    FILE *out = open_memstream(&text, &size);
    const char *bracket = NULL;

    CHECK(out, "out of memory");
    for (const char *p = pattern; *p;) {
        if (*p == '\\') {
            p += put_escape(out, p, bracket != NULL);
            continue;
        }
        if (!bracket && *p == '[')
            bracket = p + 1 + (p[1] == '^');
        else if (*p == ']' && p != bracket) /* which is plain where it comes first */
            bracket = NULL;
        putc(*p++, out);
    }
    CHECK(fclose(out) == 0, "out of memory");
    return text;
}

static int compile(struct regex *r, struct error *err)
{
    char *text = respelled(r->pattern);
    unsigned char why[128];
    PCRE2_SIZE at;
    uint32_t empty = 0;
    int code;

    r->code = pcre2_compile((PCRE2_SPTR)text, PCRE2_ZERO_TERMINATED, PCRE2_UTF | PCRE2_UCP, &code, &at, NULL);
    free(text);
    if (!r->code) {
        pcre2_get_error_message(code, why, sizeof why);
        return error_set(err, EXIT_CODE_CHECKPOINT, "pattern \"%.80s\": %s", r->pattern, (char *)why);
    }
    pcre2_pattern_info(r->code, PCRE2_INFO_MATCHEMPTY, &empty);
    if (empty)
        return error_set(err, EXIT_CODE_CHECKPOINT, "pattern \"%.80s\" matches the empty text", r->pattern);
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
    r->pattern = xstrdup(pattern);
    if (compile(r, err) == 0)
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
    free(r->pattern);
    free(r);
}

const char *regex_pattern(const struct regex *r)
{
    return r->pattern;
}

void regex_walk_start(struct regex_walk *w, const struct regex *r, const char *text, int64_t at, int64_t end)
{
    *w = (struct regex_walk){ .regex = r, .text = text, .at = at, .end = end, .start = at, .stop = at };
    w->found = pcre2_match_data_create(1, NULL);
    CHECK(w->found, "out of memory");
}

/* The next match, or an empty one at the end. */
static void find(struct regex_walk *w)
{
    const PCRE2_SIZE *place = pcre2_get_ovector_pointer(w->found);
    /* a zero: more groups than were asked for */
    int rc = pcre2_match(w->regex->code, (PCRE2_SPTR)w->text, (PCRE2_SIZE)w->end, (PCRE2_SIZE)w->at, PCRE2_NO_UTF_CHECK,
                         w->found, w->regex->limits);
    bool good = rc >= 0 && place[0] >= (PCRE2_SIZE)w->at && place[1] > place[0];

    w->start = good ? (int64_t)place[0] : w->end;
    w->stop = good ? (int64_t)place[1] : w->end;
}

bool regex_walk_next(struct regex_walk *w, int64_t *start, int64_t *stop)
{
    if (w->at == w->end)
        return false;
    if (w->at == w->stop)
        find(w);
    *start = w->at;
    *stop = w->at = w->at < w->start ? w->start : w->stop;
    return true;
}

void regex_walk_end(struct regex_walk *w)
{
    pcre2_match_data_free(w->found);
    w->found = NULL;
}
