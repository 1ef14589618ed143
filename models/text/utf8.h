/*
 * utf8.h - encode and decode single code points of UTF-8.
 */
#ifndef MODELS_TEXT_UTF8_H
#define MODELS_TEXT_UTF8_H

#include <stdbool.h>
#include <stdint.h>

enum { UTF8_REPLACEMENT = 0xFFFD };

/* Reads the code point at text, of which n > 0 bytes are left. Returns its length in bytes. An invalid sequence is read
 * as UTF8_REPLACEMENT with *valid false. Its length is the longest prefix of a valid sequence (Unicode 3.9; Python's
 * errors="replace"). */
static inline int utf8_read(const char *text, int64_t n, uint32_t *cp, bool *valid)
{
    const unsigned char *s = (const unsigned char *)text;
    int need = s[0] < 0x80                   ? 0
               : s[0] >= 0xC2 && s[0] < 0xE0 ? 1
               : (s[0] & 0xF0) == 0xE0       ? 2
               : s[0] >= 0xF0 && s[0] < 0xF5 ? 3
                                             : -1;
    unsigned low = s[0] == 0xE0 ? 0xA0 : s[0] == 0xF0 ? 0x90 : 0x80;  /* refuses overlong forms, */
    unsigned high = s[0] == 0xED ? 0x9F : s[0] == 0xF4 ? 0x8F : 0xBF; /* surrogates and code points above U+10FFFF */
    uint32_t c = need > 0 ? s[0] & (0x3Fu >> need) : s[0];
    int i = 1;

    for (; i <= need && i < n && s[i] >= low && s[i] <= high; i++, low = 0x80, high = 0xBF)
        c = c << 6 | (s[i] & 0x3F);
    *valid = need >= 0 && i > need;
    *cp = *valid ? c : UTF8_REPLACEMENT;
    return i;
}

/* Returns whether these n bytes are an incomplete but so far valid character. */
static inline bool utf8_is_cut(const char *text, int64_t n)
{
    unsigned char lead = (unsigned char)*text;
    int whole = lead >= 0xC2 && lead < 0xE0 ? 2 : (lead & 0xF0) == 0xE0 ? 3 : lead >= 0xF0 && lead < 0xF5 ? 4 : 0;
    uint32_t cp;
    bool valid;
    return n < whole && utf8_read(text, n, &cp, &valid) == n;
}

/* Writes a code point that is not a surrogate. Returns its length in bytes, 1 to 4. */
static inline int utf8_write(char *out, uint32_t cp)
{
    if (cp < 0x80) {
        out[0] = (char)cp;
        return 1;
    }
    int n = cp < 0x800 ? 2 : cp < 0x10000 ? 3 : 4;
    for (int i = n - 1; i > 0; i--, cp >>= 6)
        out[i] = (char)(0x80 | (cp & 0x3F));
    out[0] = (char)((0xF00 >> n) | cp);
    return n;
}

static inline bool utf8_continues(char byte)
{
    return ((unsigned char)byte & 0xC0) == 0x80;
}

#endif
