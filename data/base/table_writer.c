#include "data/base/table_writer.h"

#include "data/base/json.h"
#include "data/base/record_reader.h"

#include <stdlib.h>
#include <string.h>

enum { DIGITS = 9, WORD = 16 };

void table_put_text(FILE *out, const char *text)
{
    if (!strpbrk(text, ",\"\r\n")) {
        fputs(text, out);
        return;
    }
    fputc('"', out);
    for (; *text; text++) {
        if (*text == '"')
            fputc('"', out);
        fputc(*text, out);
    }
    fputc('"', out);
}

void table_put(FILE *out, const json_t *value)
{
    char *text = !value || json_is_null(value) || json_is_string(value) ? NULL : json_text(value, DIGITS);

    if (text)
        table_put_text(out, text);
    else if (json_is_string(value))
        table_put_text(out, json_string_value(value));
    free(text);
}

int format_of_ending(const char *words, const char *name)
{
    char ending[WORD];

    for (int i = 0; *words; i++) {
        int n = (int)strcspn(words, "|");
        snprintf(ending, sizeof ending, ".%.*s", n, words);
        if (record_file_ends(name, ending))
            return i;
        words += n + (words[n] == '|');
    }
    return -1;
}
