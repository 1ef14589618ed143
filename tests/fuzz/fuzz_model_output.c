/* Any bytes as a model's answer.  Readings and statements are each once and never empty in our way of reading, and
 * stand in the answer unless JSON's escapes or a reading of several lines changed them.  Statements on one line keep
 * their tokens. */
#include "tests/support/fuzz.h"

#include "data/prompt/model_output.h"
#include "data/prompt/yes_no.h"
#include "data/sql/sql_lex.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

typedef void parse(struct text_items *out, const char *answer, bool published);

static void check(parse *function, const char *answer, bool published, bool once)
{
    struct text_items found = { 0 };
    size_t bytes = 0;

    function(&found, answer, published);
    for (int i = 0; i < found.n; i++) {
        bytes += strlen(found.items[i]);
        CHECK(published || found.items[i][0], "item %d is empty in %s", i, answer);
        for (int k = 0; k < i && once; k++)
            CHECK(strcmp(found.items[i], found.items[k]) != 0, "%s twice in %s", found.items[i], answer);
        CHECK(function != output_sql || published || strpbrk(answer, "\\\xc2\xe2\xe3\xef") ||
                  strstr(answer, found.items[i]),
              "\"%s\" is not in \"%s\"", found.items[i], answer);
    }
    CHECK(!published || bytes <= strlen(answer), "%zu bytes of %s", bytes, answer);
    text_items_release(&found);
}

static void review(struct text_items *out, const char *answer, bool published)
{
    bool all = output_reviewed(out, answer, published);

    CHECK(!all || out->n == 0, "all candidates stay, and %d more lines, in %s", out->n, answer);
}

static void check_line(const char *text)
{
    char *line = sql_normal_line(text);
    struct sql_token a, b;

    for (int i = 0, k = 0;;) {
        i = sql_lex_next(text, i, &a);
        k = sql_lex_next(line, k, &b);
        if (a.kind <= TOKEN_ILLEGAL)
            break;
        if (a.kind == TOKEN_SEMICOLON && b.kind == TOKEN_END) /* the normal form drops those at the end */
            continue;
        CHECK(a.kind == b.kind && a.end - a.begin == b.end - b.begin &&
                  strncasecmp(text + a.begin, line + b.begin, (size_t)(a.end - a.begin)) == 0,
              "token at %d of %s is another in %s", a.begin, text, line);
    }
    free(line);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *text = fuzz_text(data, size);

    for (int published = 0; published < 2; published++) {
        check(output_interpretations, text, published, true);
        check(output_infilled, text, published, !published);
        check(review, text, published, true);
        check(output_sql, text, published, true);
    }
    CHECK(strlen(output_lacks(text, "statement")) > 0, "no reason");
    yes_no_read(text);
    check_line(text);
    free(text);
    return 0;
}
