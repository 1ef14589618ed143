#include "data/report/tf_events.h"

#include <string.h>

uint32_t crc32c(const void *data, size_t size)
{
    static uint32_t table[256];
    const uint8_t *p = data;
    uint32_t crc = 0xffffffffu;
    if (!table[1])
        for (uint32_t i = 0; i < 256; i++) {
            uint32_t v = i;
            for (int bit = 0; bit < 8; bit++)
                v = v >> 1 ^ (v & 1 ? 0x82f63b78u : 0);
            table[i] = v;
        }
    for (size_t i = 0; i < size; i++)
        crc = crc >> 8 ^ table[(crc ^ p[i]) & 0xff];
    return ~crc;
}

/* The stored form: a checksum of data that holds checksums would otherwise be weak. */
static uint32_t masked(uint32_t crc)
{
    return (crc >> 15 | crc << 17) + 0xa282ead8u;
}

struct bytes {
    uint8_t data[512];
    size_t n;
};

static void put(struct bytes *b, const void *data, size_t n)
{
    CHECK(b->n + n <= sizeof b->data, "an event of more than %zu bytes", sizeof b->data);
    memcpy(b->data + b->n, data, n);
    b->n += n;
}

static void put_little_endian(struct bytes *b, uint64_t v, int n)
{
    for (int i = 0; i < n; i++)
        put(b, &(uint8_t){ (uint8_t)(v >> 8 * i) }, 1);
}

static void put_varint(struct bytes *b, uint64_t v)
{
    for (; v >= 0x80; v >>= 7)
        put(b, &(uint8_t){ (uint8_t)(v | 0x80) }, 1);
    put(b, &(uint8_t){ (uint8_t)v }, 1);
}

enum wire { WIRE_VARINT, WIRE_64, WIRE_BYTES, WIRE_32 = 5 };

static void put_key(struct bytes *b, unsigned field, enum wire wire)
{
    put_varint(b, field << 3 | (unsigned)wire);
}

static void put_bytes(struct bytes *b, unsigned field, const void *data, size_t n)
{
    put_key(b, field, WIRE_BYTES);
    put_varint(b, n);
    put(b, data, n);
}

/* Event.wall_time = 1, Event.step = 2 */
static void put_head(struct bytes *b, double wall_time, int64_t step)
{
    uint64_t bits;
    memcpy(&bits, &wall_time, sizeof bits);
    put_key(b, 1, WIRE_64);
    put_little_endian(b, bits, 8);
    if (step) { /* protobuf leaves zeros out */
        put_key(b, 2, WIRE_VARINT);
        put_varint(b, (uint64_t)step);
    }
}

static int write_record(FILE *f, const struct bytes *event)
{
    struct bytes head = { .n = 0 }, tail = { .n = 0 };
    put_little_endian(&head, event->n, 8);
    put_little_endian(&head, masked(crc32c(head.data, 8)), 4);
    put_little_endian(&tail, masked(crc32c(event->data, event->n)), 4);
    bool ok = fwrite(head.data, head.n, 1, f) == 1 && fwrite(event->data, event->n, 1, f) == 1 &&
              fwrite(tail.data, tail.n, 1, f) == 1;
    return ok ? 0 : -1;
}

int tf_events_start(FILE *f, double wall_time, int64_t from_step)
{
    static const char version[] = "brain.Event:2";
    struct bytes first = { .n = 0 }, again = { .n = 0 };
    put_head(&first, wall_time, 0);
    put_bytes(&first, 3, version, sizeof version - 1); /* Event.file_version */
    if (write_record(f, &first))
        return -1;
    if (from_step <= 0)
        return 0;
    static const uint8_t start[] = { 1 << 3, 1 }; /* SessionLog.status = START */
    put_head(&again, wall_time, from_step);
    put_bytes(&again, 7, start, sizeof start); /* Event.session_log */
    return write_record(f, &again);
}

int tf_events_scalar(FILE *f, double wall_time, int64_t step, const char *tag, float value)
{
    struct bytes event = { .n = 0 }, summary = { .n = 0 }, scalar = { .n = 0 };
    uint32_t bits;
    size_t n = strlen(tag);
    CHECK(n <= 200, "a tag of %zu bytes", n);
    memcpy(&bits, &value, sizeof bits);
    put_bytes(&scalar, 1, tag, n); /* Value.tag */
    put_key(&scalar, 2, WIRE_32);  /* Value.simple_value */
    put_little_endian(&scalar, bits, 4);
    put_bytes(&summary, 1, scalar.data, scalar.n); /* Summary.value */
    put_head(&event, wall_time, step);
    put_bytes(&event, 5, summary.data, summary.n); /* Event.summary */
    return write_record(f, &event);
}
