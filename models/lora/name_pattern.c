#include "models/lora/name_pattern.h"

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_PATTERN = 4096, MAX_STEPS = 100000, MAX_HEAP_KIB = 1024, MAX_DIGITS = 9 };

struct name_pattern {
    pcre2_code *code;
    pcre2_match_context *limits;
    pcre2_match_data *found;
    char *text; /* without what was put around it */
};

static char *joined(const char *before, const char *pattern, const char *after)
{
    size_t n = strlen(before) + strlen(pattern) + strlen(after) + 1;
    char *text = xmalloc(n);

    snprintf(text, n, "%s%s%s", before, pattern, after);
    return text;
}

static int compile(struct name_pattern *p, const char *before, const char *after, struct error *err)
{
    uint32_t options = PCRE2_UTF | PCRE2_ANCHORED | PCRE2_ENDANCHORED | PCRE2_NEVER_BACKSLASH_C;
    char *text = joined(before, p->text, after);
    unsigned char why[128];
    PCRE2_SIZE at;
    int code;

    p->code = pcre2_compile((PCRE2_SPTR)text, PCRE2_ZERO_TERMINATED, options, &code, &at, NULL);
    free(text);
    if (!p->code) {
        pcre2_get_error_message(code, why, sizeof why);
        return error_set(err, EXIT_CODE_CHECKPOINT, "pattern \"%.80s\": %s", p->text, (char *)why);
    }
    p->limits = pcre2_match_context_create(NULL);
    p->found = pcre2_match_data_create_from_pattern(p->code, NULL);
    CHECK(p->limits && p->found, "out of memory");
    pcre2_set_match_limit(p->limits, MAX_STEPS);
    pcre2_set_heap_limit(p->limits, MAX_HEAP_KIB);
    return 0;
}

struct name_pattern *name_pattern_open(const char *before, const char *pattern, const char *after, struct error *err)
{
    if (strlen(pattern) > MAX_PATTERN) {
        error_set(err, EXIT_CODE_CHECKPOINT, "pattern: expected at most %d bytes, got %zu", MAX_PATTERN,
                  strlen(pattern));
        return NULL;
    }
    struct name_pattern *p = xcalloc(1, sizeof *p);
    p->text = xstrdup(pattern);
    if (compile(p, before, after, err) == 0)
        return p;
    name_pattern_close(p);
    return NULL;
}

void name_pattern_close(struct name_pattern *p)
{
    if (!p)
        return;
    pcre2_code_free(p->code);
    pcre2_match_context_free(p->limits);
    pcre2_match_data_free(p->found);
    free(p->text);
    free(p);
}

int name_pattern_match(const struct name_pattern *p, const char *name, struct error *err)
{
    int rc = pcre2_match(p->code, (PCRE2_SPTR)name, PCRE2_ZERO_TERMINATED, 0, 0, p->found, p->limits);

    if (rc >= 0)
        return 1;
    if (rc == PCRE2_ERROR_NOMATCH)
        return 0;
    return error_set(err, EXIT_CODE_CHECKPOINT, "pattern \"%.80s\": gave up on %s after %d steps", p->text, name,
                     MAX_STEPS);
}

int name_pattern_number(const struct name_pattern *p, const char *name, int64_t *number, struct error *err)
{
    unsigned char digits[MAX_DIGITS + 1];
    PCRE2_SIZE size = sizeof digits;
    int rc = name_pattern_match(p, name, err);

    *number = -1;
    if (rc == 1 && pcre2_substring_copy_byname(p->found, (PCRE2_SPTR) "idx", digits, &size) == 0)
        *number = strtoll((char *)digits, NULL, 10);
    return rc;
}
