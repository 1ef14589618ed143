#include "data/base/metrics_log.h"

#include "data/base/json.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

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

/* The stored form of a checksum.  CRCs of data that contains CRCs would be weak otherwise. */
static uint32_t masked(uint32_t crc)
{
    return (crc >> 15 | crc << 17) + 0xa282ead8u;
}

struct bytes {
    uint8_t *data;
    size_t n, cap;
};

static void put(struct bytes *b, const void *data, size_t n)
{
    if (b->n + n > b->cap) {
        b->cap = 2 * (b->n + n) + 64;
        b->data = xrealloc(b->data, b->cap);
    }
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

static void put_text(struct bytes *b, unsigned field, const char *text)
{
    put_bytes(b, field, text, strlen(text));
}

static void put_double(struct bytes *b, unsigned field, double value)
{
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    put_key(b, field, WIRE_64);
    put_little_endian(b, bits, 8);
}

/* Writes a message as a field of another one, and empties it. */
static void put_message(struct bytes *b, unsigned field, struct bytes *message)
{
    put_bytes(b, field, message->data, message->n);
    free(message->data);
    *message = (struct bytes){ 0 };
}

/* Writes Event.wall_time = 1 and Event.step = 2. */
static void put_head(struct bytes *b, double wall_time, int64_t step)
{
    put_double(b, 1, wall_time);
    if (step) { /* protobuf omits zeros */
        put_key(b, 2, WIRE_VARINT);
        put_varint(b, (uint64_t)step);
    }
}

/* Writes the event and frees it. */
static int write_record(FILE *f, struct bytes *event)
{
    struct bytes head = { 0 }, tail = { 0 };
    put_little_endian(&head, event->n, 8);
    put_little_endian(&head, masked(crc32c(head.data, 8)), 4);
    put_little_endian(&tail, masked(crc32c(event->data, event->n)), 4);
    bool ok = fwrite(head.data, head.n, 1, f) == 1 && fwrite(event->data, event->n, 1, f) == 1 &&
              fwrite(tail.data, tail.n, 1, f) == 1;
    free(head.data);
    free(tail.data);
    free(event->data);
    return ok ? 0 : -1;
}

int tf_events_start(FILE *f, double wall_time, int64_t from_step)
{
    struct bytes first = { 0 }, again = { 0 };
    put_head(&first, wall_time, 0);
    put_text(&first, 3, "brain.Event:2"); /* Event.file_version */
    if (write_record(f, &first))
        return -1;
    if (from_step <= 0)
        return 0;
    static const uint8_t start[] = { 1 << 3, 1 }; /* SessionLog.status = START */
    put_head(&again, wall_time, from_step);
    put_bytes(&again, 7, start, sizeof start); /* Event.session_log */
    return write_record(f, &again);
}

/* Writes an event with one Summary.Value, and frees the value. */
static int write_summary(FILE *f, double wall_time, int64_t step, struct bytes *value)
{
    struct bytes event = { 0 }, summary = { 0 };
    put_message(&summary, 1, value); /* Summary.value */
    put_head(&event, wall_time, step);
    put_message(&event, 5, &summary); /* Event.summary */
    return write_record(f, &event);
}

int tf_events_scalar(FILE *f, double wall_time, int64_t step, const char *tag, float number)
{
    struct bytes value = { 0 };
    uint32_t bits;
    memcpy(&bits, &number, sizeof bits);
    put_text(&value, 1, tag);    /* Value.tag */
    put_key(&value, 2, WIRE_32); /* Value.simple_value */
    put_little_endian(&value, bits, 4);
    return write_summary(f, wall_time, step, &value);
}

/* Writes an event of TensorBoard's plugin for hyperparameters: HParamsPluginData with one field. */
static int write_hparams(FILE *f, double wall_time, const char *tag, unsigned field, struct bytes *info)
{
    struct bytes content = { 0 }, plugin = { 0 }, metadata = { 0 }, value = { 0 };
    put_message(&content, field, info);
    put_text(&plugin, 1, "hparams");    /* PluginData.plugin_name */
    put_message(&plugin, 2, &content);  /* PluginData.content */
    put_message(&metadata, 1, &plugin); /* SummaryMetadata.plugin_data */
    put_text(&value, 1, tag);           /* Value.tag */
    put_message(&value, 9, &metadata);  /* Value.metadata */
    return write_summary(f, wall_time, 0, &value);
}

/* A google.protobuf.Value; a real number that is not finite and null have no value. */
static bool put_value(struct bytes *b, const json_t *v)
{
    if (json_is_string(v))
        put_text(b, 3, json_string_value(v)); /* Value.string_value */
    else if (json_is_number(v))
        put_double(b, 2, json_number_value(v)); /* Value.number_value */
    else if (json_is_boolean(v))
        put(b, (const uint8_t[]){ 4 << 3 | WIRE_VARINT, json_is_true(v) }, 2); /* Value.bool_value */
    return b->n > 0;
}

int tf_events_settings(FILE *f, double wall_time, const json_t *settings)
{
    struct bytes info = { 0 };
    const char *name;
    json_t *v;
    json_object_foreach((json_t *)(uintptr_t)settings, name, v)
    {
        struct bytes entry = { 0 }, value = { 0 };
        if (!put_value(&value, v))
            continue;
        put_text(&entry, 1, name);
        put_message(&entry, 2, &value);
        put_message(&info, 1, &entry); /* SessionStartInfo.hparams, a map */
    }
    put_double(&info, 5, wall_time);                                              /* SessionStartInfo.start_time_secs */
    return write_hparams(f, wall_time, "_hparams_/session_start_info", 3, &info); /* session_start_info */
}

int tf_events_end(FILE *f, double wall_time)
{
    struct bytes info = { 0 };
    put(&info, (const uint8_t[]){ 1 << 3 | WIRE_VARINT, 1 }, 2); /* SessionEndInfo.status: success */
    put_double(&info, 2, wall_time);                             /* SessionEndInfo.end_time_secs */
    return write_hparams(f, wall_time, "_hparams_/session_end_info", 4, &info);
}

static double wall_time(void)
{
    struct timespec t;
    clock_gettime(CLOCK_REALTIME, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static int cannot_write(struct error *err, const char *path)
{
    return error_set(err, EXIT_CODE_FAILURE, "%s: cannot write: %s", path, strerror(errno));
}

/* Finds the end of the last line up to `step`, and the seconds in that line.  With `unvalidated`, lines of that step
 * without a loss are excluded. */
static int find_end(FILE *f, struct metrics_log *m, int64_t step, bool unvalidated, long *end, struct error *err)
{
    char *line = NULL;
    size_t cap = 0;
    ssize_t n;
    int rc = 0;
    *end = 0;
    for (int64_t number = 1; rc == 0 && (n = getline(&line, &cap, f)) > 0 && line[n - 1] == '\n'; number++) {
        char where[512];
        int64_t at;
        json_t *o = json_loadb(line, (size_t)n, JSON_REJECT_DUPLICATES, NULL);
        snprintf(where, sizeof where, "%s: line %lld", m->path, (long long)number);
        rc = json_get_int(o, "step", 0, INT64_MAX, &at, where, err);
        bool over = rc == 0 && (at > step || (at == step && unvalidated && !json_object_get(o, "loss")));
        const json_t *seconds = json_object_get(o, "seconds");
        if (!over && json_is_number(seconds))
            m->seconds = json_number_value(seconds);
        json_decref(o);
        if (over)
            break;
        *end += (long)n;
    }
    free(line);
    return rc;
}

static int cut_lines(struct metrics_log *m, int64_t step, bool unvalidated, struct error *err)
{
    const char *path = m->path;
    struct stat st;
    long end = 0;
    int rc = 0;
    FILE *f = fopen(path, "rbe");
    if (!f)
        return errno == ENOENT ? 0 : error_set(err, EXIT_CODE_FAILURE, "%s: %s", path, strerror(errno));
    if (fstat(fileno(f), &st) || !S_ISREG(st.st_mode))
        rc = error_set(err, EXIT_CODE_DATA, "%s: expected a regular file", path);
    else if (step > 0)
        rc = find_end(f, m, step, unvalidated, &end, err);
    fclose(f);
    if (rc == 0 && truncate(path, end))
        rc = cannot_write(err, path);
    return rc;
}

static FILE *open_events(const char *dir, int64_t step)
{
    char host[128] = "host", path[4096];
    gethostname(host, sizeof host - 1);
    for (char *c = host; *c; c++)
        *c = *c == '/' ? '-' : *c;
    int n = snprintf(path, sizeof path, "%s/events.out.tfevents.%lld.%s.%ld.0", dir, (long long)time(NULL), host,
                     (long)getpid());
    FILE *f = n < (int)sizeof path ? fopen(path, "wbe") : NULL;
    if (f && tf_events_start(f, wall_time(), step > 0 ? step + 1 : 0)) {
        fclose(f);
        f = NULL;
    }
    return f;
}

int metrics_log_open(struct metrics_log *m, const char *dir, int64_t step, bool unvalidated, struct error *err)
{
    size_t size = strlen(dir) + sizeof "/metrics.jsonl";
    *m = (struct metrics_log){ .path = xmalloc(size) };
    snprintf(m->path, size, "%s/metrics.jsonl", dir);
    if (cut_lines(m, step, unvalidated, err))
        goto fail;
    m->lines = fopen(m->path, "abe");
    m->events = m->lines ? open_events(dir, step) : NULL;
    if (m->events)
        return 0;
    cannot_write(err, m->lines ? dir : m->path);
fail:
    metrics_log_close(m);
    return -1;
}

static int write_line(FILE *f, int64_t step, const char *phase, const struct metric *list, int n)
{
    json_t *o = json_object();
    int bad = json_object_set_new(o, "step", json_integer(step));
    if (phase)
        bad |= json_object_set_new(o, "phase", json_string(phase));
    for (int i = 0; i < n; i++)
        bad |= json_object_set_new(o, list[i].name, json_finite(list[i].value));
    CHECK(!bad, "a metric's name is not UTF-8, or memory is out");
    bad = json_dumpf(o, f, JSON_COMPACT | JSON_REAL_PRECISION(9)) || putc('\n', f) == EOF || fflush(f);
    json_decref(o);
    return bad ? -1 : 0;
}

static int write_events(FILE *f, int64_t step, const char *phase, const struct metric *list, int n)
{
    char tag[200];
    double now = wall_time();
    for (int i = 0; i < n; i++) {
        snprintf(tag, sizeof tag, "%s%s%s", phase ? phase : "", phase ? "/" : "", list[i].name);
        if (isfinite(list[i].value) && tf_events_scalar(f, now, step, tag, (float)list[i].value))
            return -1;
    }
    return fflush(f);
}

int metrics_log_write(struct metrics_log *m, int64_t step, const char *phase, const struct metric *list, int n,
                      struct error *err)
{
    if (write_line(m->lines, step, phase, list, n) || write_events(m->events, step, phase, list, n))
        return cannot_write(err, m->path);
    return 0;
}

int metrics_log_settings(struct metrics_log *m, const json_t *settings, struct error *err)
{
    return tf_events_settings(m->events, wall_time(), settings) || fflush(m->events) ? cannot_write(err, m->path) : 0;
}

/* Writes the numbers of an object and of the objects in it, with their names joined by slashes. */
static int write_numbers(FILE *f, int64_t step, const char *prefix, const json_t *o)
{
    const char *name;
    json_t *v;
    char tag[400];

    json_object_foreach((json_t *)(uintptr_t)o, name, v)
    {
        snprintf(tag, sizeof tag, "%s/%s", prefix, name);
        if (json_is_object(v) && strlen(tag) < sizeof tag / 2 && write_numbers(f, step, tag, v))
            return -1;
        if (json_is_number(v) && tf_events_scalar(f, wall_time(), step, tag, (float)json_number_value(v)))
            return -1;
    }
    return 0;
}

int metrics_log_test(struct metrics_log *m, int64_t step, const json_t *metrics, struct error *err)
{
    return write_numbers(m->events, step, "test", metrics) || fflush(m->events) ? cannot_write(err, m->path) : 0;
}

int metrics_log_end(struct metrics_log *m, struct error *err)
{
    return tf_events_end(m->events, wall_time()) || fflush(m->events) ? cannot_write(err, m->path) : 0;
}

void metrics_log_close(struct metrics_log *m)
{
    if (m->lines)
        fclose(m->lines);
    if (m->events)
        fclose(m->events);
    free(m->path);
    *m = (struct metrics_log){ 0 };
}

static bool of_phase(const json_t *o, const char *phase)
{
    const char *p = json_string_value(json_object_get(o, "phase"));
    return phase ? p && strcmp(p, phase) == 0 : !p;
}

static void series_add(struct series *s, double step, double value)
{
    if (s->n == s->cap) {
        s->cap = s->cap ? 2 * s->cap : 256;
        s->step = xrealloc(s->step, (size_t)s->cap * sizeof *s->step);
        s->value = xrealloc(s->value, (size_t)s->cap * sizeof *s->value);
    }
    s->step[s->n] = step;
    s->value[s->n++] = value;
}

int series_read(struct series *s, const char *path, const char *phase, const char *name, struct error *err)
{
    json_t *o;
    int rc;
    *s = (struct series){ 0 };
    struct json_reader *r = json_reader_open(path, err);
    if (!r)
        return -1;
    while ((rc = json_reader_next(r, &o, err)) > 0) {
        const json_t *v = json_object_get(o, name);
        if (json_is_number(v) && of_phase(o, phase))
            series_add(s, json_number_value(json_object_get(o, "step")), json_number_value(v));
        json_decref(o);
    }
    json_reader_close(r);
    if (rc)
        series_release(s);
    return rc;
}

void series_release(struct series *s)
{
    free(s->step);
    free(s->value);
    *s = (struct series){ 0 };
}
