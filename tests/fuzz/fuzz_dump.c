/* Fuzzes dump_repair with arbitrary bytes. The result is an error or a script; repairing the script gives the script
 * itself. */
#include "tests/support/fuzz.h"

#include "data/db/dump.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct error err = { 0 };
    char *text = fuzz_text(data, size);
    char *script = dump_repair(text, &err);
    CHECK(script || (err.code && err.text[0]), "refused without a word: %s", text);
    if (script) {
        char *again = dump_repair(script, &err);
        CHECK(again && strcmp(again, script) == 0, "%s\ngives\n%s\ngives\n%s", text, script, again ? again : err.text);
        free(again);
    }
    free(script);
    free(text);
    return 0;
}
