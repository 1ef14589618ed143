#include "data/clarify/choice_memory.h"

#include "data/span/spoken.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <time.h>
#include <unistd.h>

enum { LINE_BYTES = 64 << 10, HEADS_MIN = 64 };

static bool write_stems(char words[CHOICE_TEXT_MAX], const char *text)
{
    struct spoken spoken;
    size_t n = 0;

    spoken_read(&spoken, text);
    words[0] = '\0';
    for (int i = 0; i < spoken.n && n < CHOICE_TEXT_MAX; i++) {
        const struct spoken_word *w = &spoken.words[i];
        if (!w->filler)
            n += (size_t)snprintf(words + n, CHOICE_TEXT_MAX - n, "%s%s", n ? " " : "", w->stem);
    }
    return n > 0 && n < CHOICE_TEXT_MAX;
}

/* Repeats until the words are their own stems, since "hows" has the stem "how", which is a filler. */
bool choice_words(char words[CHOICE_TEXT_MAX], const char *text)
{
    char before[CHOICE_TEXT_MAX];
    bool found = write_stems(words, text);

    do {
        memcpy(before, words, sizeof before);
        found = found && write_stems(words, before);
    } while (found && strcmp(words, before) != 0);
    json_t *valid = json_string(words); /* a long word may be cut inside a character */
    found = found && valid;
    json_decref(valid);
    return found;
}

/* The table. */

static uint64_t hash_of(const char *db_id, const char *words)
{
    return hash_bytes(hash_bytes(HASH_START, db_id, strlen(db_id) + 1), words, strlen(words));
}

static void put_in_table(struct choice_memory *m, int i)
{
    int *head = &m->heads[hash_of(m->list[i].db_id, m->list[i].words) % (uint64_t)m->n_heads];

    m->next[i] = *head;
    *head = i;
}

static void rebuild_table(struct choice_memory *m)
{
    free(m->heads);
    free(m->next);
    m->n_heads = 2 * m->cap > HEADS_MIN ? 2 * m->cap : HEADS_MIN;
    m->heads = xmalloc((size_t)m->n_heads * sizeof *m->heads);
    m->next = xmalloc(((size_t)m->cap + 1) * sizeof *m->next);
    for (int i = 0; i < m->n_heads; i++)
        m->heads[i] = -1;
    for (int i = 0; i < m->n; i++)
        put_in_table(m, i);
}

/* Takes the texts of the choice. */
static void add(struct choice_memory *m, const struct remembered_choice *c)
{
    int cap = m->cap;

    GROW(m->list, m->n, m->cap);
    m->list[m->n++] = *c;
    if (m->cap != cap || !m->heads)
        rebuild_table(m);
    else
        put_in_table(m, m->n - 1);
}

static struct remembered_choice *find(const struct choice_memory *m, const char *db_id, const char *words,
                                      const char *meant)
{
    int i = m->heads ? m->heads[hash_of(db_id, words) % (uint64_t)m->n_heads] : -1;

    for (; i >= 0; i = m->next[i]) {
        struct remembered_choice *c = &m->list[i];
        if (strcmp(c->meant, meant) == 0 && strcmp(c->words, words) == 0 && strcmp(c->db_id, db_id) == 0)
            return c;
    }
    return NULL;
}

static void release_choice(struct remembered_choice *c)
{
    free(c->db_id);
    free(c->words);
    free(c->meant);
}

static void clear(struct choice_memory *m)
{
    for (int i = 0; i < m->n; i++)
        release_choice(&m->list[i]);
    free(m->list);
    free(m->heads);
    free(m->next);
    *m = (struct choice_memory){ .path = m->path };
}

/* Reading. */

/* The text of a field, which the caller frees; or NULL. */
static char *read_text(const json_t *line, const char *field, const char *where, struct error *err)
{
    const char *text = json_get_string(line, field, where, err);

    if (!text)
        return NULL;
    size_t n = strlen(text);
    if (n > 0 && n < CHOICE_TEXT_MAX)
        return xstrdup(text);
    error_set(err, EXIT_CODE_DATA, "%s: field \"%s\": expected 1 to %d bytes, got %zu", where, field,
              CHOICE_TEXT_MAX - 1, n);
    return NULL;
}

/* Tells whether a text has the form of a date. */
static bool is_date(const char *text)
{
    static const char form[] = "dddd-dd-dd";

    for (int i = 0; i < ARRAY_LEN(form); i++)
        if (form[i] == 'd' ? text[i] < '0' || text[i] > '9' : text[i] != form[i])
            return false;
    return true;
}

static int read_date(struct remembered_choice *c, const json_t *line, const char *where, struct error *err)
{
    const char *last = json_get_string(line, "last", where, err);

    if (!last)
        return -1;
    if (!is_date(last))
        return error_set(err, EXIT_CODE_DATA, "%s: field \"last\": expected a date such as 2026-01-31, got \"%.40s\"",
                         where, last);
    memcpy(c->last, last, sizeof c->last);
    return 0;
}

/* Tells whether the words are stems already, so that a question can have them. */
static int check_words(const struct remembered_choice *c, const char *where, struct error *err)
{
    char words[CHOICE_TEXT_MAX] = "";

    if (choice_words(words, c->words) && strcmp(words, c->words) == 0)
        return 0;
    return error_set(err, EXIT_CODE_DATA,
                     "%s: field \"words\": expected words in lower case and singular, without words such as \"the\": "
                     "\"%.100s\", got \"%.100s\"",
                     where, words, c->words);
}

static int read_choice(struct remembered_choice *c, const json_t *line, const char *where, struct error *err)
{
    const double most = 1 / (1 - CHOICE_DECAY);

    *c = (struct remembered_choice){ 0 };
    if (!(c->db_id = read_text(line, "db_id", where, err)) || !(c->words = read_text(line, "words", where, err)) ||
        !(c->meant = read_text(line, "meant", where, err)) || check_words(c, where, err) ||
        json_get_int(line, "times", 0, 1LL << 53, &c->times, where, err) ||
        json_get_int(line, "otherwise", 0, 1LL << 53, &c->otherwise, where, err) ||
        json_get_real(line, "weight", 0, most, &c->weight, where, err))
        return -1;
    return read_date(c, line, where, err);
}

static int read_line(struct choice_memory *m, const json_t *line, const char *where, struct error *err)
{
    struct remembered_choice c;
    int rc = read_choice(&c, line, where, err);

    if (rc == 0 && m->n == CHOICE_MEMORY_MAX)
        rc = error_set(err, EXIT_CODE_DATA, "%s: expected at most %d choices; delete some", where, CHOICE_MEMORY_MAX);
    if (rc == 0 && find(m, c.db_id, c.words, c.meant))
        rc = error_set(err, EXIT_CODE_DATA,
                       "%s: expected each choice once, got \"%.100s\" for \"%.100s\" again; delete one of the lines",
                       where, c.meant, c.words);
    if (rc == 0)
        add(m, &c);
    else
        release_choice(&c);
    return rc;
}

static int read_lines(struct choice_memory *m, struct error *err)
{
    struct json_reader *in = json_reader_open_lines(m->path, LINE_BYTES, err);
    json_t *line;
    int rc = in ? 1 : -1;

    while (rc > 0 && (rc = json_reader_next(in, &line, err)) > 0) {
        rc = read_line(m, line, json_reader_where(in), err) ? -1 : 1;
        json_decref(line);
    }
    json_reader_close(in);
    return rc;
}

static int read_file(struct choice_memory *m, struct error *err)
{
    struct stat state;

    clear(m);
    if (stat(m->path, &state))
        return errno == ENOENT ? 0 : error_set(err, EXIT_CODE_DATA, "%s: %s", m->path, strerror(errno));
    if (!S_ISREG(state.st_mode))
        return error_set(err, EXIT_CODE_DATA, "%s: expected a plain file for the memory", m->path);
    if (state.st_size && read_lines(m, err))
        return -1;
    m->state = state;
    return 0;
}

int choice_memory_open(struct choice_memory *m, const char *path, struct error *err)
{
    *m = (struct choice_memory){ .path = path };
    return read_file(m, err);
}

int choice_memory_refresh(struct choice_memory *m, struct error *err)
{
    const struct stat *was = &m->state;
    struct stat now;

    if (stat(m->path, &now))
        now = (struct stat){ 0 };
    bool same = now.st_dev == was->st_dev && now.st_ino == was->st_ino && now.st_size == was->st_size &&
                now.st_mtim.tv_sec == was->st_mtim.tv_sec && now.st_mtim.tv_nsec == was->st_mtim.tv_nsec;
    return same ? 0 : read_file(m, err);
}

void choice_memory_close(struct choice_memory *m)
{
    clear(m);
}

/* Writing. */

static int cannot(const char *path, const char *what, struct error *err)
{
    return error_set(err, EXIT_CODE_FAILURE, "%s: cannot %s: %s", path, what, strerror(errno));
}

/* Opens and locks the file, which it makes if there is none.  A writer replaces the file, so the lock counts only if
 * the path still names the locked file. */
static int lock_file(const char *path, struct error *err)
{
    struct stat locked, named;

    for (;;) {
        int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600), rc;
        if (fd < 0)
            return out_file_cannot_write(path, err);
        while ((rc = flock(fd, LOCK_EX)) && errno == EINTR)
            ;
        if (rc || fstat(fd, &locked)) {
            cannot(path, "lock", err);
            close(fd);
            return -1;
        }
        if (stat(path, &named) == 0 && named.st_dev == locked.st_dev && named.st_ino == locked.st_ino)
            return fd;
        close(fd);
    }
}

static json_t *choice_json(const struct remembered_choice *c)
{
    return json_pack("{s:s, s:s, s:s, s:I, s:I, s:f, s:s}", "db_id", c->db_id, "words", c->words, "meant", c->meant,
                     "times", (json_int_t)c->times, "otherwise", (json_int_t)c->otherwise, "weight",
                     round(c->weight * 1e6) / 1e6, "last", c->last);
}

static int write_lines(const struct choice_memory *m, struct out_file *out, struct error *err)
{
    int rc = 0;

    for (int i = 0; i < m->n && rc == 0; i++) {
        json_t *line = choice_json(&m->list[i]);
        rc = json_write_line(out, line, err);
        json_decref(line);
    }
    return rc;
}

/* Writes the file with the access rights of the locked one. */
static int write_file(struct choice_memory *m, int locked, struct error *err)
{
    struct out_file out;
    struct stat state;
    int rc = out_file_open(&out, m->path, err);

    if (rc == 0 && (fstat(locked, &state) || fchmod(out.fd, state.st_mode & 0777)))
        rc = cannot(m->path, "set the access rights", err);
    if (rc == 0)
        rc = write_lines(m, &out, err);
    if (rc == 0)
        rc = out_file_commit(&out, err);
    out_file_abort(&out);
    if (rc == 0 && stat(m->path, &m->state))
        m->state = (struct stat){ 0 };
    return rc;
}

/* A change of the memory.  Returns the number of changed choices. */
typedef int change_fn(struct choice_memory *m, const void *arg, struct error *err);

/* Reads the file under a lock, changes it and writes it.  Returns the number of changes, or -1. */
static int change(struct choice_memory *m, change_fn *fn, const void *arg, struct error *err)
{
    int fd = lock_file(m->path, err);
    int n = fd < 0 || read_file(m, err) ? -1 : fn(m, arg, err);

    if (n > 0 && write_file(m, fd, err))
        n = -1;
    if (fd >= 0)
        close(fd);
    return n;
}

/* Probabilities. */

const struct remembered_choice *choice_memory_find(const struct choice_memory *m, const struct choice_options *o,
                                                   int option)
{
    return o->meant[option] ? find(m, o->db_id, o->words, o->meant[option]) : NULL;
}

/* Tells whether an earlier option has the same name. */
static bool is_repeated(const struct choice_options *o, int option)
{
    for (int i = 0; i < option; i++)
        if (o->meant[i] && o->meant[option] && strcmp(o->meant[i], o->meant[option]) == 0)
            return true;
    return false;
}

/* Probability of all options with the name of this one. */
static double mass_of(const double *p, const struct choice_options *o, int option)
{
    double mass = 0;

    for (int i = 0; i < o->n; i++)
        if (i == option || (o->meant[i] && o->meant[option] && strcmp(o->meant[i], o->meant[option]) == 0))
            mass += p[i];
    return mass;
}

static double weight_of(const struct choice_memory *m, const struct choice_options *o, int option)
{
    const struct remembered_choice *c = choice_memory_find(m, o, option);
    return c ? c->weight : 0;
}

/* An option that no candidate has keeps the probability 0, and its weight does not count. */
bool choice_memory_weigh(double *p, const struct choice_memory *m, const struct choice_options *o)
{
    double factor[CHOICE_OPTIONS_MAX], total = 0;

    CHECK(o->n <= CHOICE_OPTIONS_MAX, "%d options", o->n);
    for (int i = 0; i < o->n; i++)
        if (!is_repeated(o, i) && mass_of(p, o, i) > 0)
            total += weight_of(m, o, i);
    if (total <= 0)
        return false;
    for (int i = 0; i < o->n; i++) {
        double mass = mass_of(p, o, i);
        factor[i] = mass > 0 ? (CHOICE_CONCENTRATION * mass + weight_of(m, o, i)) / mass : 0;
    }
    for (int i = 0; i < o->n; i++)
        p[i] *= factor[i] / (CHOICE_CONCENTRATION + total);
    return true;
}

/* Learning. */

struct lesson {
    const struct choice_options *options;
    int chosen;
};

static void set_date(struct remembered_choice *c)
{
    time_t now = time(NULL);
    struct tm day;

    gmtime_r(&now, &day);
    if (strftime(c->last, sizeof c->last, "%Y-%m-%d", &day) == 0)
        memcpy(c->last, "1970-01-01", sizeof c->last);
}

/* Number of the choice that is forgotten when the memory is full: the one with the least weight, the first of equals.
 */
static int least_of(const struct choice_memory *m)
{
    int least = 0;

    for (int i = 1; i < m->n; i++)
        if (m->list[i].weight < m->list[least].weight)
            least = i;
    return least;
}

static void drop(struct choice_memory *m, int i)
{
    release_choice(&m->list[i]);
    memmove(&m->list[i], &m->list[i + 1], (size_t)(m->n - i - 1) * sizeof *m->list);
    m->n--;
}

static struct remembered_choice *take_new(struct choice_memory *m, const struct choice_options *o, int option)
{
    struct remembered_choice c = { .db_id = xstrdup(o->db_id),
                                   .words = xstrdup(o->words),
                                   .meant = xstrdup(o->meant[option]) };

    if (m->n == CHOICE_MEMORY_MAX) {
        drop(m, least_of(m));
        rebuild_table(m);
    }
    add(m, &c);
    return &m->list[m->n - 1];
}

/* The choice of another option than the chosen one; NULL: there is none, or an option before it has its name. */
static struct remembered_choice *other_choice(const struct choice_memory *m, const struct choice_options *o, int option,
                                              const char *chosen)
{
    bool other = o->meant[option] && !is_repeated(o, option) && strcmp(o->meant[option], chosen) != 0;
    return other ? find(m, o->db_id, o->words, o->meant[option]) : NULL;
}

static int learn(struct choice_memory *m, const void *arg, struct error *err)
{
    const struct lesson *l = arg;
    const struct choice_options *o = l->options;
    const char *meant = o->meant[l->chosen];
    int64_t otherwise = 0;

    (void)err;
    for (int i = 0; i < o->n; i++) {
        struct remembered_choice *other = other_choice(m, o, i, meant);
        if (!other)
            continue;
        other->weight *= CHOICE_DECAY;
        other->otherwise++;
        otherwise += other->times;
    }
    struct remembered_choice *c = find(m, o->db_id, o->words, meant);
    if (!c) {
        c = take_new(m, o, l->chosen);
        c->otherwise = otherwise;
    }
    c->weight = CHOICE_DECAY * c->weight + 1;
    c->times++;
    set_date(c);
    return 1;
}

/* Takes the newest answer out of a weight. */
static double without_newest(double weight)
{
    double before = weight / CHOICE_DECAY, most = 1 / (1 - CHOICE_DECAY);

    return before < most ? before : most;
}

static int unlearn(struct choice_memory *m, const void *arg, struct error *err)
{
    const struct lesson *l = arg;
    const struct choice_options *o = l->options;
    const char *meant = o->meant[l->chosen];
    struct remembered_choice *c = find(m, o->db_id, o->words, meant), *other;
    bool newest = c && c->weight >= 1;

    (void)err;
    if (!c || c->times == 0)
        return 0;
    for (int i = 0; i < o->n; i++)
        if ((other = other_choice(m, o, i, meant))) {
            other->otherwise -= other->otherwise > 0;
            other->weight = newest ? without_newest(other->weight) : other->weight;
        }
    c->weight = newest ? without_newest(c->weight - 1) : c->weight;
    if (--c->times == 0) {
        drop(m, (int)(c - m->list));
        rebuild_table(m);
    }
    return 1;
}

static bool is_short(const char *text)
{
    return text[0] && strlen(text) < CHOICE_TEXT_MAX;
}

int choice_memory_learn(struct choice_memory *m, const struct choice_options *o, int option, struct error *err)
{
    const struct lesson lesson = { o, option };

    if (!o->meant[option] || !is_short(o->meant[option]) || !is_short(o->db_id) || !is_short(o->words))
        return 0;
    return change(m, learn, &lesson, err) < 0 ? -1 : 0;
}

int choice_memory_unlearn(struct choice_memory *m, const struct choice_options *o, int option, struct error *err)
{
    const struct lesson lesson = { o, option };

    return o->meant[option] && change(m, unlearn, &lesson, err) < 0 ? -1 : 0;
}

bool choice_filter_has(const struct choice_filter *f, const struct remembered_choice *c)
{
    return (!f->db_id || strcmp(f->db_id, c->db_id) == 0) && (!f->words || strcmp(f->words, c->words) == 0) &&
           (!f->meant || strcmp(f->meant, c->meant) == 0);
}

static int delete_some(struct choice_memory *m, const void *arg, struct error *err)
{
    const struct choice_filter *f = arg;
    int kept = 0, n = m->n;

    (void)err;
    for (int i = 0; i < n; i++)
        if (choice_filter_has(f, &m->list[i]))
            release_choice(&m->list[i]);
        else
            m->list[kept++] = m->list[i];
    m->n = kept;
    rebuild_table(m);
    return n - kept;
}

int choice_memory_delete(struct choice_memory *m, const struct choice_filter *f, struct error *err)
{
    return change(m, delete_some, f, err);
}

json_t *remembered_choice_json(const struct remembered_choice *c)
{
    char sentence[2 * CHOICE_TEXT_MAX + 64];

    snprintf(sentence, sizeof sentence, "Last time you meant %s by \"%s\".", c->meant, c->words);
    return json_pack("{s:s, s:s, s:I, s:I, s:s, s:s}", "words", c->words, "meant", c->meant, "times",
                     (json_int_t)c->times, "otherwise", (json_int_t)c->otherwise, "last", c->last, "sentence",
                     sentence);
}
