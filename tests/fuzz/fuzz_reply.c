/* Words that a user types in answer to a question: an option that the question has, or why they are none. */
#include "tests/support/fuzz.h"

#include "infer/clarify/reply_words.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const struct question q = { .text = "Which one?",
                                       .options = { "home city of employees", "office city of employees",
                                                    "number of employees (such as 'a', 2)", "2" },
                                       .names = { "home city of employees", "office city of employees",
                                                  "number of employees", "2" },
                                       .n = 4 };
    char *text = fuzz_text(data, size);

    for (int open = 0; open < 2; open++) {
        struct reply r = reply_read(text, open ? &q : NULL, NULL);
        CHECK(memchr(r.why, 0, sizeof r.why), "a reason without end");
        CHECK((r.kind == REPLY_UNCLEAR) == (r.why[0] != 0), "kind %d says \"%s\"", (int)r.kind, r.why);
        if (r.kind == REPLY_ANSWER && r.answer.kind == ANSWER_VALUE)
            CHECK(open && r.answer.value >= 0 && r.answer.value < q.n, "option %d", r.answer.value);
    }
    free(text);
    return 0;
}
