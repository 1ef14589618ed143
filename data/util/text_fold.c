#include "data/util/text_fold.h"

#include <stdlib.h>
#include <string.h>
#include <utf8proc.h>

enum { BYTES_A_PLACE = 8 };

static bool is_sign(utf8proc_int32_t letter)
{
    return utf8proc_category(letter) > UTF8PROC_CATEGORY_NO; /* one that is not assigned yet may be a letter */
}

int text_fold(char *to, int cap, const char *text, size_t n)
{
    const utf8proc_option_t options = UTF8PROC_STABLE | UTF8PROC_COMPOSE | UTF8PROC_CASEFOLD;
    utf8proc_int32_t letters[TEXT_FOLD_LETTERS + 1]; /* utf8proc writes the bytes into it, and a NUL */
    utf8proc_ssize_t many =
        utf8proc_decompose((const utf8proc_uint8_t *)text, (utf8proc_ssize_t)n, letters, TEXT_FOLD_LETTERS, options);

    if (many < 0 || many > TEXT_FOLD_LETTERS)
        return -1;
    for (utf8proc_ssize_t i = 0; i < many; i++)
        if (is_sign(letters[i]))
            letters[i] = ' ';
    utf8proc_ssize_t bytes = utf8proc_reencode(letters, many, options);
    if (bytes < 0 || bytes >= cap)
        return -1;
    memcpy(to, letters, (size_t)bytes + 1);
    return (int)bytes;
}

/* Bytes of the text that take at most so many places. */
static size_t fit(const char *text, int places)
{
    size_t n = 0, most = (size_t)places * BYTES_A_PLACE;

    while (text[n]) {
        utf8proc_int32_t letter;
        utf8proc_ssize_t bytes = utf8proc_iterate((const utf8proc_uint8_t *)text + n, -1, &letter);
        places -= bytes > 0 ? utf8proc_charwidth(letter) : 1;
        bytes = bytes > 0 ? bytes : 1;
        if (places < 0 || n + (size_t)bytes > most)
            break;
        n += (size_t)bytes;
    }
    return n;
}

const char *text_shorten(struct strings *keep, const char *text, int places)
{
    if (!text[fit(text, places)])
        return text;
    return strings_printf(keep, "%.*s\xe2\x80\xa6", (int)fit(text, places - 1), text);
}

char *text_lower(const char *text)
{
    utf8proc_ssize_t n = (utf8proc_ssize_t)strlen(text), at = 0, out = 0;
    char *lower = xmalloc(4 * (size_t)n + 1); /* four bytes a letter at most */

    while (at < n) {
        utf8proc_int32_t letter;
        utf8proc_ssize_t bytes = utf8proc_iterate((const utf8proc_uint8_t *)text + at, n - at, &letter);
        if (bytes < 1)
            lower[out++] = text[at++];
        else
            out += utf8proc_encode_char(utf8proc_tolower(letter), (utf8proc_uint8_t *)lower + out);
        at += bytes < 1 ? 0 : bytes;
    }
    lower[out] = '\0';
    return lower;
}
