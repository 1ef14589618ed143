#include "data/base/text_fold.h"

#include <stdlib.h>
#include <string.h>
#include <utf8proc.h>

enum { BYTES_A_COLUMN = 8 };

static bool is_sign(utf8proc_int32_t code)
{
    return utf8proc_category(code) > UTF8PROC_CATEGORY_NO; /* an unassigned code point may be a letter */
}

int text_fold(char *to, int cap, const char *text, size_t n)
{
    const utf8proc_option_t options = UTF8PROC_STABLE | UTF8PROC_COMPOSE | UTF8PROC_CASEFOLD;
    utf8proc_int32_t codes[TEXT_FOLD_CODES + 1]; /* utf8proc writes the UTF-8 bytes and a NUL into the same array */
    utf8proc_ssize_t many =
        utf8proc_decompose((const utf8proc_uint8_t *)text, (utf8proc_ssize_t)n, codes, TEXT_FOLD_CODES, options);

    if (many < 0 || many > TEXT_FOLD_CODES)
        return -1;
    for (utf8proc_ssize_t i = 0; i < many; i++)
        if (is_sign(codes[i]))
            codes[i] = ' ';
    utf8proc_ssize_t bytes = utf8proc_reencode(codes, many, options);
    if (bytes < 0 || bytes >= cap)
        return -1;
    memcpy(to, codes, (size_t)bytes + 1);
    return (int)bytes;
}

/* Bytes of the longest beginning of text that fits into this many columns. */
static size_t fit(const char *text, int columns)
{
    size_t n = 0, max_bytes = (size_t)columns * BYTES_A_COLUMN;

    while (text[n]) {
        utf8proc_int32_t code;
        utf8proc_ssize_t bytes = utf8proc_iterate((const utf8proc_uint8_t *)text + n, -1, &code);
        columns -= bytes > 0 ? utf8proc_charwidth(code) : 1;
        bytes = bytes > 0 ? bytes : 1;
        if (columns < 0 || n + (size_t)bytes > max_bytes)
            break;
        n += (size_t)bytes;
    }
    return n;
}

const char *text_shorten(struct strings *keep, const char *text, int columns)
{
    if (!text[fit(text, columns)])
        return text;
    return strings_printf(keep, "%.*s\xe2\x80\xa6", (int)fit(text, columns - 1), text);
}

char *text_lower(const char *text)
{
    utf8proc_ssize_t n = (utf8proc_ssize_t)strlen(text), at = 0, out = 0;
    char *lower = xmalloc(4 * (size_t)n + 1); /* at most four bytes for each character */

    while (at < n) {
        utf8proc_int32_t code;
        utf8proc_ssize_t bytes = utf8proc_iterate((const utf8proc_uint8_t *)text + at, n - at, &code);
        if (bytes < 1)
            lower[out++] = text[at++];
        else
            out += utf8proc_encode_char(utf8proc_tolower(code), (utf8proc_uint8_t *)lower + out);
        at += bytes < 1 ? 0 : bytes;
    }
    lower[out] = '\0';
    return lower;
}
