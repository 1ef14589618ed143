#include "models/text/byte_alphabet.h"

#include "models/text/utf8.h"

static bool stands_for_itself(int byte)
{
    return (byte >= 0x21 && byte <= 0x7E) || (byte >= 0xA1 && byte != 0xAD);
}

void byte_alphabet_init(struct byte_alphabet *a)
{
    uint16_t next = 256;

    for (int i = 0; i < BYTE_ALPHABET_END; i++)
        a->bytes[i] = -1;
    for (int b = 0; b < 256; b++) {
        a->chars[b] = stands_for_itself(b) ? (uint16_t)b : next++;
        a->bytes[a->chars[b]] = (int16_t)b;
    }
}

int64_t byte_alphabet_write(const struct byte_alphabet *a, char *out, const char *bytes, int64_t n)
{
    int64_t length = 0;

    for (int64_t i = 0; i < n; i++)
        length += utf8_write(out + length, a->chars[(unsigned char)bytes[i]]);
    return length;
}

int64_t byte_alphabet_read(const struct byte_alphabet *a, char *out, const char *text, int64_t length)
{
    int64_t n = 0;
    uint32_t cp;
    bool valid;

    for (int64_t at = 0; at < length;) {
        at += utf8_read(text + at, length - at, &cp, &valid);
        if (cp >= BYTE_ALPHABET_END || a->bytes[cp] < 0)
            return -1;
        out[n++] = (char)a->bytes[cp];
    }
    return n;
}
