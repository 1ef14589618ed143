#include "models/pipeline/charsmap.h"

#include "models/unicode/utf8.h"

#include <stdlib.h>
#include <string.h>

static int digit(char c)
{
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    const char *at = c ? strchr(digits, c) : NULL;

    return at ? (int)(at - digits) : -1;
}

/* Writes n / 4 * 3 bytes at most; how many, or -1 when the text is not padded base64. */
static int64_t decode(unsigned char *out, const char *text, size_t n)
{
    size_t digits = n;
    uint32_t bits = 0;
    int64_t made = 0;

    while (digits > 0 && n - digits < 2 && text[digits - 1] == '=')
        digits--;
    if (n % 4)
        return -1;
    for (size_t i = 0; i < digits; i++) {
        int d = digit(text[i]);
        if (d < 0)
            return -1;
        bits = bits << 6 | (uint32_t)d;
        if (i % 4)
            out[made++] = (unsigned char)(bits >> (6 - 2 * (i % 4)));
    }
    return made;
}

static uint32_t word(const unsigned char *b)
{
    return b[0] | (uint32_t)b[1] << 8 | (uint32_t)b[2] << 16 | (uint32_t)b[3] << 24;
}

static int read_texts(struct charsmap *m, const unsigned char *bytes, uint32_t n, struct error *err)
{
    uint32_t cp, at = 0;
    bool valid = true;

    m->texts = xmalloc((size_t)n + 1);
    memcpy(m->texts, bytes, n);
    m->texts[n] = '\0';
    m->n_texts = n;
    while (at < n && valid)
        at += (uint32_t)utf8_read(m->texts + at, n - at, &cp, &valid);
    if (!valid)
        return error_set(err, EXIT_CODE_CHECKPOINT, "its texts are not UTF-8");
    for (at = 0; at < n; at += (uint32_t)strlen(m->texts + at) + 1)
        if ((int64_t)strlen(m->texts + at) > m->longest)
            m->longest = (int64_t)strlen(m->texts + at);
    return 0;
}

static int read_table(struct charsmap *m, const unsigned char *bytes, int64_t n, struct error *err)
{
    uint32_t size = n >= 4 ? word(bytes) : 0;

    if (size == 0 || size % 4 || size > n - 4)
        return error_set(err, EXIT_CODE_CHECKPOINT, "expected a table of 4 bytes or more a unit, got %u of %lld bytes",
                         size, (long long)n);
    m->n_units = size / 4;
    m->units = xmalloc(size);
    for (uint32_t i = 0; i < m->n_units; i++)
        m->units[i] = word(bytes + 4 + (size_t)4 * i);
    return read_texts(m, bytes + 4 + size, (uint32_t)(n - 4 - size), err);
}

int charsmap_read(struct charsmap *m, const char *base64, struct error *err)
{
    size_t n = strlen(base64);

    if (n > CHARSMAP_MAX_BYTES)
        return error_set(err, EXIT_CODE_CHECKPOINT, "expected at most %d bytes, got %zu", CHARSMAP_MAX_BYTES, n);
    unsigned char *bytes = xmalloc(n + 1);
    int64_t made = decode(bytes, base64, n);
    int rc = made < 0 ? error_set(err, EXIT_CODE_CHECKPOINT, "not base64") : read_table(m, bytes, made, err);
    free(bytes);
    for (int c = 1; c < 128 && rc == 0; c++)
        m->ascii[c] = charsmap_find(m, &(char){ (char)c }, 1);
    return rc;
}

void charsmap_release(struct charsmap *m)
{
    free(m->units);
    free(m->texts);
    *m = (struct charsmap){ 0 };
}

int64_t charsmap_growth(const struct charsmap *m)
{
    int64_t most = m->longest / 2 + 1; /* what is no byte of ASCII takes two or more */

    for (int c = 1; c < 128; c++)
        if (m->ascii[c] && (int64_t)strlen(m->ascii[c]) > most)
            most = (int64_t)strlen(m->ascii[c]);
    return most;
}

/* Where the children of a unit begin, to be combined with their bytes. */
static uint32_t offset(uint32_t unit)
{
    return (unit >> 10) << ((unit & 1u << 9) >> 6);
}

const char *charsmap_find(const struct charsmap *m, const char *text, int64_t n)
{
    uint32_t at = offset(m->units[0]);

    for (int64_t i = 0; i < n && text[i]; i++) {
        unsigned char byte = (unsigned char)text[i];
        at ^= byte;
        if (at >= m->n_units || (m->units[at] & (1u << 31 | 0xFF)) != byte)
            return NULL;
        uint32_t unit = m->units[at];
        at ^= offset(unit);
        if (unit >> 8 & 1) {
            uint32_t place = at < m->n_units ? m->units[at] & ~(1u << 31) : m->n_texts;
            return place < m->n_texts && !utf8_continues(m->texts[place]) ? m->texts + place : NULL;
        }
    }
    return NULL;
}
