#include "train/lm/reward_program.h"

#include "data/base/json.h"
#include "data/base/subprocess.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The lines of the program's input. The caller frees. */
static char *input_lines(const struct reward_input *list, int n, size_t *size)
{
    char *text = NULL;
    FILE *out = open_memstream(&text, size);

    CHECK(out, "out of memory");
    for (int i = 0; i < n; i++) {
        json_t *line = json_pack("{s:O, s:o}", "record", list[i].record, "text", json_message(list[i].text));
        CHECK(line && json_dumpf(line, out, JSON_COMPACT) == 0, "a completion is no JSON");
        fputc('\n', out);
        json_decref(line);
    }
    CHECK(fclose(out) == 0, "out of memory");
    return text;
}

static int count_lines(const struct subprocess *p)
{
    int n = 0;

    for (size_t i = 0; i < p->size; i++)
        n += p->output[i] == '\n';
    return n + (p->size && p->output[p->size - 1] != '\n');
}

static int read_reward(double *value, const char *line, size_t size, const char *where, struct error *err)
{
    json_t *o = json_loadb(line, size, 0, NULL);
    const json_t *reward = json_object_get(o, "reward");
    double x = json_number_value(reward);
    int rc = 0;

    if (!json_is_number(reward) || !(fabs(x) <= REWARD_MAX))
        rc = error_set(err, EXIT_CODE_DATA, "%s: expected {\"reward\": a number from %g to %g}, got %.*s%s", where,
                       -REWARD_MAX, REWARD_MAX, size < 100 ? (int)size : 100, line, size > 100 ? "..." : "");
    *value = x;
    json_decref(o);
    return rc;
}

static int read_lines(struct reward *rewards, int n, const struct subprocess *p, struct error *err)
{
    char where[64];
    const char *line = p->output, *end = p->output + p->size;

    for (int i = 0; i < n; i++) {
        snprintf(where, sizeof where, "--reward-program: line %d of its output", i + 1);
        if (line == end)
            return error_set(err, EXIT_CODE_DATA, "%s: expected a line for each of %d completions, got %d", where, n,
                             i);
        const char *stop = memchr(line, '\n', (size_t)(end - line));
        size_t size = (size_t)((stop ? stop : end) - line);
        rewards[i] = (struct reward){ .recall = NAN, .precision = NAN };
        if (read_reward(&rewards[i].value, line, size, where, err))
            return -1;
        line = stop ? stop + 1 : end;
    }
    if (line != end)
        return error_set(err, EXIT_CODE_DATA,
                         "--reward-program: line %d of its output: expected the end after %d lines", n + 1, n);
    return 0;
}

int reward_by_program(struct reward_judge *j, struct reward *rewards, const struct reward_input *list, int n,
                      struct error *err)
{
    struct subprocess p = { .command = j->program, .seconds = j->timeout, .max_output = (size_t)n * REWARD_MAX_LINE };
    size_t size;
    char *text = input_lines(list, n, &size);
    int rc = subprocess_filter(&p, text, size, err);

    if (rc)
        error_prefix(err, "--reward-program: after line %d of its output, of %d", count_lines(&p), n);
    else
        rc = read_lines(rewards, n, &p, err);
    subprocess_release(&p);
    free(text);
    return rc;
}
