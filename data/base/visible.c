#include "data/base/visible.h"

#include "kernels/base.h"

#include <stdlib.h>
#include <string.h>

bool visible_is_control(uint32_t code)
{
    return code < 0x20 || (code >= 0x7f && code < 0xa0) || code == 0x61c || code == 0x200e || code == 0x200f ||
           (code >= 0x2028 && code <= 0x202e) || (code >= 0x2066 && code <= 0x2069);
}

/* Decodes the code point at p, of n bytes.  Returns its length, or 0 if the bytes are not UTF-8. */
static int code_at(const unsigned char *p, size_t n, uint32_t *code)
{
    static const uint32_t min_code[] = { 0, 0, 0x80, 0x800, 0x10000 };
    int length = *p < 0x80 ? 1 : *p < 0xc0 ? 0 : *p < 0xe0 ? 2 : *p < 0xf0 ? 3 : *p < 0xf8 ? 4 : 0;

    if (length == 0 || (size_t)length > n)
        return 0;
    *code = length == 1 ? *p : *p & (0x7fU >> length);
    for (int i = 1; i < length; i++) {
        if ((p[i] & 0xc0) != 0x80)
            return 0;
        *code = *code << 6 | (p[i] & 0x3fU);
    }
    return *code >= min_code[length] && *code <= 0x10ffff && (*code < 0xd800 || *code > 0xdfff) ? length : 0;
}

/* `kept`: control characters that are printed unchanged. */
static void put(FILE *out, const char *text, size_t n, const char *kept, bool blanks)
{
    for (size_t i = 0; i < n;) {
        uint32_t code = 0;
        int length = code_at((const unsigned char *)text + i, n - i, &code);
        bool control = length && visible_is_control(code) && !(code && code < 0x20 && strchr(kept, (int)code));
        if (!length)
            fprintf(out, "\\x%02x", (unsigned)(unsigned char)text[i]);
        else if (control && blanks && code >= '\t' && code <= '\r')
            fputc(' ', out);
        else if (control)
            fprintf(out, "\\u%04x", (unsigned)code);
        else
            fwrite(text + i, 1, (size_t)length, out);
        i += length ? (size_t)length : 1;
    }
}

void visible_put(FILE *out, const char *text, size_t n)
{
    put(out, text, n, "", true);
}

void visible_vprintf(FILE *out, const char *fmt, va_list ap)
{
    char *text;
    int n = vasprintf(&text, fmt, ap);

    CHECK(n >= 0, "no memory for a line of text");
    put(out, text, (size_t)n, "\n\t", false);
    free(text);
}

void visible_printf(FILE *out, const char *fmt, ...)
{
    va_list ap;

    va_start(ap, fmt);
    visible_vprintf(out, fmt, ap);
    va_end(ap);
}
