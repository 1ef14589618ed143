/* A config file of any bytes sets values within their limits or gets an error with a place. */
#include "tests/support/fuzz.h"

#include "data/base/yaml.h"

#include <string.h>

struct settings {
    bool flag;
    const char *text, *choice;
    int place;
    int64_t n;
    double x, group_x;
};

#define FIELD(f) .offset = offsetof(struct settings, f)
static const struct option table[] = {
    { .name = "flag", .type = OPTION_FLAG, FIELD(flag) },
    { .name = "text", .type = OPTION_STRING, FIELD(text) },
    { .name = "choice", .type = OPTION_WORD, FIELD(choice), .choices = "a|bb|ccc" },
    { .name = "place", .type = OPTION_CHOICE, FIELD(place), .choices = "a|bb|ccc" },
    { .name = "n", .type = OPTION_INT, FIELD(n), .low = -5, .high = 5 },
    { .name = "x", .type = OPTION_REAL, FIELD(x), .low = OPTION_ABOVE_ZERO, .high = HUGE_VAL },
    { .name = "group-x", .type = OPTION_REAL, FIELD(group_x), .low = 0, .high = 1 },
    { .name = NULL },
};

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct settings s = { .choice = "a", .x = 1 };
    struct texts texts = { 0 };
    struct error err = { .code = EXIT_CODE_OK };
    int rc = yaml_read_text("fuzz", (const char *)data, size, table, &s, NULL, &texts, &err);
    CHECK(rc == 0 || (err.code == EXIT_CODE_USAGE && strncmp(err.text, "fuzz:", 5) == 0), "rc %d: %s", rc, err.text);
    CHECK(s.place >= 0 && s.place <= 2 && s.n >= -5 && s.n <= 5 && s.x > 0 && s.group_x >= 0 && s.group_x <= 1,
          "a value out of its range");
    CHECK(strcmp(s.choice, "a") == 0 || strcmp(s.choice, "bb") == 0 || strcmp(s.choice, "ccc") == 0, "'%s'", s.choice);
    texts_release(&texts);
    return 0;
}
