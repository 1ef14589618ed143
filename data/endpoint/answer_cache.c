#include "data/endpoint/answer_cache.h"

#include "data/base/json.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const char start[] = "{\"key\":\""; /* the key follows at once */

enum { HEAD = sizeof start - 1 };

static void note(struct answer_cache *c, const char *key, int64_t offset, int64_t length)
{
    int known = c->keys.n, i = strings_add(&c->keys, key);

    if (i == known)
        GROW(c->places, known, c->cap);
    c->places[i] = (struct answer_place){ offset, length };
}

/* Whether a line, which may be cut, begins as answer_cache_add() writes it. */
static bool is_own(const char *line, size_t n)
{
    if (n < HEAD + ANSWER_KEY)
        return memcmp(line, start, n < HEAD ? n : HEAD) == 0 && line[n - 1] != '\n';
    return memcmp(line, start, HEAD) == 0 && strspn(line + HEAD, "0123456789abcdef") == ANSWER_KEY - 1;
}

/* Notes the places of all whole lines.  Returns the number of bytes of these lines, or -1 with err. */
static int64_t read_places(struct answer_cache *c, FILE *f, struct error *err)
{
    char *line = NULL, key[ANSWER_KEY] = { 0 };
    size_t cap = 0;
    int64_t offset = 0;
    ssize_t n;

    while ((n = getline(&line, &cap, f)) > 0) {
        if (!is_own(line, (size_t)n)) {
            offset = error_set(err, EXIT_CODE_DATA,
                               "--cache %s: byte %lld: expected a line that --cache has written; choose another file",
                               c->path, (long long)offset);
            break;
        }
        if (line[n - 1] != '\n')
            break;
        memcpy(key, line + HEAD, ANSWER_KEY - 1);
        note(c, key, offset, n);
        offset += n;
    }
    free(line);
    return offset;
}

int answer_cache_open(struct answer_cache *c, const char *path, struct error *err)
{
    struct stat st;

    *c = (struct answer_cache){ .path = path, .fd = -1 };
    if (!path)
        return 0;
    c->fd = open(path, O_RDWR | O_APPEND | O_CREAT | O_CLOEXEC, 0600);
    if (c->fd < 0 && errno == EISDIR)
        return error_set(err, EXIT_CODE_USAGE, "--cache %s: expected a file, got a folder", path);
    if (c->fd < 0 || fstat(c->fd, &st))
        return error_set(err, EXIT_CODE_FAILURE, "--cache %s: %s", path, strerror(errno));
    if (!S_ISREG(st.st_mode))
        return error_set(err, EXIT_CODE_USAGE, "--cache %s: expected a file, got a device or a pipe", path);
    FILE *f = fdopen(dup(c->fd), "r");
    CHECK(f, "no memory for a file");
    int64_t whole = read_places(c, f, err);
    fclose(f);
    if (whole >= 0 && whole < st.st_size && ftruncate(c->fd, whole)) /* a line that a crash has cut */
        return error_set(err, EXIT_CODE_FAILURE, "--cache %s: %s", path, strerror(errno));
    return whole < 0 ? -1 : 0;
}

void answer_cache_close(struct answer_cache *c)
{
    if (c->path && c->fd >= 0)
        close(c->fd);
    strings_release(&c->keys);
    free(c->places);
    *c = (struct answer_cache){ 0 };
}

void answer_cache_key(char *key, const char *url, const json_t *request)
{
    char *text = json_dumps(request, JSON_COMPACT | JSON_SORT_KEYS);
    size_t n = text ? strlen(text) : 0;
    uint64_t a = hash_bytes(hash_bytes(HASH_START, url, strlen(url)), text, n);
    uint64_t b = hash_bytes(hash_bytes(a ^ n, text, n), url, strlen(url));

    snprintf(key, ANSWER_KEY, "%016llx%016llx", (unsigned long long)a, (unsigned long long)b);
    free(text);
}

bool answer_cache_has(const struct answer_cache *c, const char *key)
{
    return strings_find(&c->keys, key) >= 0;
}

/* Reads the line of a key as JSON; a new reference, or NULL. */
static json_t *read_line(const struct answer_cache *c, const char *key)
{
    int i = strings_find(&c->keys, key);

    if (i < 0)
        return NULL;
    const struct answer_place *p = &c->places[i];
    char *line = xmalloc((size_t)p->length);
    json_t *o = pread(c->fd, line, (size_t)p->length, p->offset) == p->length
                    ? json_loadb(line, (size_t)p->length, 0, NULL)
                    : NULL;
    free(line);
    return o;
}

bool answer_cache_find(const struct answer_cache *c, const char *key, struct endpoint_text *texts, int n)
{
    json_t *o = read_line(c, key), *list = json_object_get(o, "texts");
    bool found = json_is_array(list) && json_array_size(list) == (size_t)n;
    int read = 0;

    while (found && read < n) {
        found = endpoint_text_from_json(&texts[read], json_array_get(list, (size_t)read)) == 0;
        read += found;
    }
    for (int i = 0; i < read && !found; i++)
        endpoint_text_release(&texts[i]);
    json_decref(o);
    return found;
}

int answer_cache_add(struct answer_cache *c, const char *key, const struct endpoint_text *texts, int n,
                     struct error *err)
{
    if (!c->path)
        return 0;
    json_t *list = json_array();
    for (int i = 0; i < n; i++)
        json_array_append_new(list, endpoint_text_to_json(&texts[i]));
    json_t *o = json_pack("{s:s, s:o}", "key", key, "texts", list);
    char *text = json_text(o, JSON_EXACT), *line = NULL;
    json_decref(o);
    if (!text)
        return 0; /* a text is not UTF-8, which JSON cannot hold */
    int length = asprintf(&line, "%s\n", text);
    CHECK(length >= 0, "no memory for a line");
    bool written = write(c->fd, line, (size_t)length) == length;
    if (written)
        note(c, key, lseek(c->fd, 0, SEEK_CUR) - length, length);
    free(line);
    free(text);
    return written ? 0 : error_set(err, EXIT_CODE_FAILURE, "--cache %s: %s", c->path, strerror(errno));
}
