#include "models/io/checksum.h"

#include <string.h>

static const uint64_t P1 = 0x9E3779B185EBCA87u, P2 = 0xC2B2AE3D27D4EB4Fu, P3 = 0x165667B19E3779F9u,
                      P4 = 0x85EBCA77C2B2AE63u, P5 = 0x27D4EB2F165667C5u;

static uint64_t rotl(uint64_t x, int n)
{
    return x << n | x >> (64 - n);
}

static uint64_t read64(const unsigned char *p)
{
    uint64_t x;
    memcpy(&x, p, sizeof x);
    return x;
}

static uint64_t mix(uint64_t lane, uint64_t input)
{
    return rotl(lane + input * P2, 31) * P1;
}

static void stripe(uint64_t lane[4], const unsigned char *p)
{
    for (int i = 0; i < 4; i++)
        lane[i] = mix(lane[i], read64(p + 8 * i));
}

void checksum_init(struct checksum *c)
{
    *c = (struct checksum){ .lane = { P1 + P2, P2, 0, -P1 } };
}

void checksum_update(struct checksum *c, const void *data, size_t bytes)
{
    const unsigned char *p = data;
    size_t have = c->total % 32, take = 32 - have;

    c->total += bytes;
    if (bytes < take) {
        if (bytes)
            memcpy(c->rest + have, p, bytes);
        return;
    }
    if (have) {
        memcpy(c->rest + have, p, take);
        stripe(c->lane, c->rest);
        p += take;
        bytes -= take;
    }
    for (; bytes >= 32; p += 32, bytes -= 32)
        stripe(c->lane, p);
    memcpy(c->rest, p, bytes);
}

static uint64_t finish(uint64_t h, const unsigned char *p, size_t bytes)
{
    uint32_t word;

    for (; bytes >= 8; p += 8, bytes -= 8)
        h = rotl(h ^ mix(0, read64(p)), 27) * P1 + P4;
    if (bytes >= 4) {
        memcpy(&word, p, sizeof word);
        h = rotl(h ^ word * P1, 23) * P2 + P3;
        p += 4;
        bytes -= 4;
    }
    for (; bytes; p++, bytes--)
        h = rotl(h ^ *p * P5, 11) * P1;
    h = (h ^ h >> 33) * P2;
    h = (h ^ h >> 29) * P3;
    return h ^ h >> 32;
}

uint64_t checksum_final(const struct checksum *c)
{
    uint64_t h = P5;

    if (c->total >= 32) {
        h = rotl(c->lane[0], 1) + rotl(c->lane[1], 7) + rotl(c->lane[2], 12) + rotl(c->lane[3], 18);
        for (int i = 0; i < 4; i++)
            h = (h ^ mix(0, c->lane[i])) * P1 + P4;
    }
    return finish(h + c->total, c->rest, c->total % 32);
}

uint64_t checksum_of(const void *data, size_t bytes)
{
    struct checksum c;
    checksum_init(&c);
    checksum_update(&c, data, bytes);
    return checksum_final(&c);
}
