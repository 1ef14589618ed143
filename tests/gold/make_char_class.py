#!/usr/bin/env python3
"""Asks the tokenizers package about every code point.

    make_char_class.py tables > models/text/char_class_table.c       (then clang-format)
    make_char_class.py blocks > tests/gold/char_blocks.txt              (test_tokenizer compares with it)

Categories come from BertNormalizer and BertPreTokenizer one option at a time; the blocks are one FNV-1a hash per 256
code points of what the whole pipeline, cased and uncased, makes of "a<code point>b".  Words come from Whitespace, combining
marks from StripAccents, numbers from Digits.  Late characters are those whose category Oniguruma, which tokenizers matches
with, knows and Python's Unicode 14 does not.
"""
import sys
import unicodedata

from tokenizers import Regex, __version__, normalizers, pre_tokenizers

CONTROL, WHITE, PUNCTUATION, CHINESE, MARK, ORDERED = 1, 2, 4, 8, 16, 32


def normalizer(**on):
    off = dict(clean_text=False, handle_chinese_chars=False, strip_accents=False, lowercase=False)
    return normalizers.BertNormalizer(**{**off, **on})


CLEAN, STRIP = normalizer(clean_text=True), normalizer(strip_accents=True)
CHINESE_ON, NFD, SPLIT = normalizer(handle_chinese_chars=True), normalizers.NFD(), pre_tokenizers.BertPreTokenizer()


def code_points():
    return (c for c in range(0x110000) if not 0xD800 <= c < 0xE000)


def bits(c):
    ch = chr(c)
    text = "a" + ch + "b"
    words = len(SPLIT.pre_tokenize_str(text))
    b = CONTROL if CLEAN.normalize_str(text) == "ab" else 0
    b |= WHITE if words == 2 else PUNCTUATION if words == 3 else 0
    b |= CHINESE if CHINESE_ON.normalize_str(text) != text else 0
    b |= MARK if STRIP.normalize_str(text) == "ab" else 0
    # U+0345 has the highest combining class, U+0334 the lowest: a class of its own moves past one of them
    moved = any(NFD.normalize_str("a" + pair) != "a" + pair for pair in ("\u0345" + ch, ch + "\u0334"))
    if not b and NFD.normalize_str(ch) == ch and moved:
        b = ORDERED
    return b


def in_ranges(points):
    """(code point, value) in order, as [first, last, value]."""
    ranges = []
    for c, v in points:
        if ranges and ranges[-1][1] == c - 1 and ranges[-1][2] == v:
            ranges[-1][1] = c
        else:
            ranges.append([c, c, v])
    return ranges


def words():
    white, accents, digits = pre_tokenizers.Whitespace(), normalizers.StripAccents(), pre_tokenizers.Digits(True)

    def word_bits(c):
        text = "a" + chr(c) + "a"
        return ((len(white.pre_tokenize_str(text)) == 1) + 2 * (accents.normalize_str(text) == "aa")
                + 4 * (len(digits.pre_tokenize_str(text)) == 3))

    print('\nconst struct char_range word_classes[] = {')
    rows = in_ranges((c, b) for c, b in ((c, word_bits(c)) for c in code_points()) if b)
    print(", ".join("{ 0x%X, 0x%X, %d }" % tuple(r) for r in rows) + "\n};")
    print("const int n_word_classes = ARRAY_LEN(word_classes);")


def late():
    new = [chr(c) for c in code_points() if unicodedata.category(chr(c)) == "Cn"]
    text, of = "".join(new), {}
    for category in "Lu Ll Lt Lm Lo Mn Mc Me Nd Nl No Pc Pd Ps Pe Pi Pf Po Sm Sc Sk So Zs Zl Zp Cc Cf Co".split():
        found = pre_tokenizers.Split(Regex(r"\p{%s}" % category), "removed", invert=True).pre_tokenize_str(text)
        of.update((ord(c), category) for piece, _ in found for c in piece)
    print('\nconst struct late_chars late_chars[] = {')
    print(", ".join('{ 0x%X, 0x%X, "%s" }' % tuple(r) for r in in_ranges(sorted(of.items()))) + "\n};")
    print("const int n_late_chars = ARRAY_LEN(late_chars);")


def table():
    names = {CONTROL: "CHAR_CONTROL", WHITE: "CHAR_WHITE", PUNCTUATION: "CHAR_PUNCTUATION", CHINESE: "CHAR_CHINESE",
             MARK: "CHAR_MARK", ORDERED: "CHAR_ORDERED"}
    ranges = []
    for c in code_points():
        b = bits(c)
        if b and ranges and ranges[-1][1] == c - 1 and ranges[-1][2] == b:
            ranges[-1][1] = c
        elif b:
            ranges.append([c, c, b])
    print("const struct char_range char_classes[] = {")
    rows = ("{ 0x%X, 0x%X, %s }" % (r[0], r[1], " | ".join(n for b, n in names.items() if r[2] & b)) for r in ranges)
    print(",\n".join(rows) + ",\n};")
    print("const int n_char_classes = ARRAY_LEN(char_classes);")


def tables():
    print(f"/* Part of char_class.h: made by tests/gold/make_char_class.py from tokenizers {__version__}; do not edit. */")
    print('#include "models/text/char_class.h"\n')
    table()
    words()
    late()


def fnv(h, data):
    for byte in data:
        h = (h ^ byte) * 0x100000001B3 & 0xFFFFFFFFFFFFFFFF
    return h


def blocks():
    pipelines = [normalizer(clean_text=True, handle_chinese_chars=True, strip_accents=None, lowercase=low)
                 for low in (True, False)]
    print(f"# tests/gold/make_char_class.py blocks, tokenizers {__version__}: first code point, hash of 256")
    for block in range(0, 0x110000, 256):
        h = 0xCBF29CE484222325
        for c in (c for c in range(block, block + 256) if not 0xD800 <= c < 0xE000):
            for p in pipelines:
                words = SPLIT.pre_tokenize_str(p.normalize_str("a" + chr(c) + "b"))
                h = fnv(h, b"\0".join(w.encode() for w, _ in words) + b"\0\0")
        print("%X %016x" % (block, h))


{"tables": tables, "blocks": blocks}[sys.argv[1]]()
