#include "models/text/char_class.h"

#include <utf8proc.h>

static const struct char_range *find(const struct char_range *ranges, int n, uint32_t cp)
{
    while (n > 0) {
        const struct char_range *middle = ranges + n / 2;
        if (cp < middle->first) {
            n /= 2;
        } else if (cp > middle->last) {
            n -= n / 2 + 1;
            ranges = middle + 1;
        } else {
            return middle;
        }
    }
    return NULL;
}

unsigned char_class(uint32_t cp)
{
    const struct char_range *r = find(char_classes, n_char_classes, cp);
    return r ? r->bits : 0;
}

/* Scripts with decompositions newer than Unicode 9: Tulu-Tigalari, Dives Akuru, Todhri, Gurung Khema, Kirat Rai. */
static bool decomposes_too_late(uint32_t cp)
{
    static const struct char_range late[] = { { 0x105C0, 0x105FF, 0 },
                                              { 0x11380, 0x113FF, 0 },
                                              { 0x11900, 0x1195F, 0 },
                                              { 0x16100, 0x1613F, 0 },
                                              { 0x16D40, 0x16D7F, 0 } };
    return cp >= late[0].first && find(late, ARRAY_LEN(late), cp);
}

static int decompose(uint32_t *out, int cap, uint32_t cp, utf8proc_option_t options)
{
    utf8proc_int32_t parts[CHAR_MAX_COMPATIBLE];
    utf8proc_ssize_t n = utf8proc_decompose_char((utf8proc_int32_t)cp, parts, cap, options, NULL);

    CHECK(n <= cap, "U+%04X decomposes into %d code points", cp, (int)n);
    for (int i = 0; i < n; i++)
        out[i] = (uint32_t)parts[i];
    if (n >= 1)
        return (int)n;
    out[0] = cp;
    return 1;
}

int char_decompose(uint32_t out[CHAR_MAX_DECOMPOSED], uint32_t cp)
{
    out[0] = cp;
    return decomposes_too_late(cp) ? 1 : decompose(out, CHAR_MAX_DECOMPOSED, cp, UTF8PROC_DECOMPOSE);
}

int char_decompose_compatible(uint32_t out[CHAR_MAX_COMPATIBLE], uint32_t cp)
{
    /* compatibility mappings of Unicode 10 to 17 */
    static const struct char_range late[] = { { 0x32FF, 0x32FF, 0 },   { 0xA7F1, 0xA7F4, 0 },   { 0xAB69, 0xAB69, 0 },
                                              { 0x10781, 0x107BA, 0 }, { 0x1CCD6, 0x1CCF9, 0 }, { 0x1E030, 0x1E06D, 0 },
                                              { 0x1F16C, 0x1F16C, 0 }, { 0x1FBF0, 0x1FBF9, 0 } };

    out[0] = cp;
    if (decomposes_too_late(cp) || find(late, ARRAY_LEN(late), cp))
        return 1;
    return decompose(out, CHAR_MAX_COMPATIBLE, cp, UTF8PROC_DECOMPOSE | UTF8PROC_COMPAT);
}

int char_combining_class(uint32_t cp)
{
    return utf8proc_get_property((utf8proc_int32_t)cp)->combining_class;
}

uint32_t char_compose(uint32_t a, uint32_t b)
{
    utf8proc_int32_t pair[2] = { (utf8proc_int32_t)a, (utf8proc_int32_t)b };

    if (b == 0x11A7) /* U+11A7 precedes the first Hangul final consonant; utf8proc would drop it */
        return 0;
    if (utf8proc_normalize_utf32(pair, 2, UTF8PROC_COMPOSE | UTF8PROC_STABLE) != 1)
        return 0;
    return decomposes_too_late((uint32_t)pair[0]) ? 0 : (uint32_t)pair[0];
}

/* Case pairs of Unicode 15 to 17, which older versions of utf8proc lack. `bits` is the distance to the lower case. */
static const struct char_range late_capitals[] = {
    { 0x1C89, 0x1C89, 1 },      { 0xA7CB, 0xA7CB, 0x264u - 0xA7CBu },
    { 0xA7CC, 0xA7CC, 1 },      { 0xA7CE, 0xA7CE, 1 },
    { 0xA7D2, 0xA7D2, 1 },      { 0xA7D4, 0xA7D4, 1 },
    { 0xA7DA, 0xA7DA, 1 },      { 0xA7DC, 0xA7DC, 0x19Bu - 0xA7DCu },
    { 0x10D50, 0x10D65, 0x20 }, { 0x16EA0, 0x16EB8, 0x1B },
};

int char_lower(uint32_t out[2], uint32_t cp)
{
    if (cp == 0x130) { /* capital I with dot above: the only character with a lower case of two code points */
        out[0] = 'i';
        out[1] = 0x307;
        return 2;
    }
    const struct char_range *late =
        cp >= late_capitals[0].first ? find(late_capitals, ARRAY_LEN(late_capitals), cp) : NULL;
    out[0] = late ? cp + late->bits : (uint32_t)utf8proc_tolower((utf8proc_int32_t)cp);
    return 1;
}

unsigned char_word_class(uint32_t cp)
{
    if (cp >= '0' && cp <= '9')
        return CHAR_WORD | CHAR_NUMERIC;
    if (cp < 128)
        return (cp | 0x20) - 'a' < 26 || cp == '_' ? CHAR_WORD : 0;
    const struct char_range *r = find(word_classes, n_word_classes, cp);
    return r ? r->bits : 0;
}
