#include "tests/support/ambiguate_run.h"

#include "tests/support/corpus.h"
#include "tests/support/support.h"

#include "data/base/json.h"

#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char rows[] =
    "CREATE TABLE Boat (Boat_ID INTEGER PRIMARY KEY, colour TEXT, length REAL, age INTEGER);"
    "CREATE TABLE crew (crew_id INTEGER PRIMARY KEY, wage INTEGER, rank TEXT, boat_id INTEGER, leader INTEGER);"
    "INSERT INTO Boat VALUES (1, 'red', 9.5, 3), (2, 'blue', 12, 30), (3, 'red (dark)', 7.25, 8), (4, NULL, 20, 1),"
    " (5, 'green', 11, 15), (6, 'white', 30, 40), (7, 'black', 6, 2);"
    "INSERT INTO crew VALUES (1, 50, 'Captain', 1, NULL), (2, 20, 'Cook', 1, 1), (3, 25, 'Cook', 2, 1),"
    " (4, 60, 'Captain', 5, NULL), (5, 15, 'Boy', 5, 4), (6, 18, 'Boy', 6, 4), (7, 30, 'Mate', 7, 4);";

static void write_harbour(const char *dir)
{
    sqlite3 *db = NULL;

    corpus_write(dir, 1);
    test_file(dir, "tables_synonyms.json",
              "{\"harbour_0\": {\"boat\": [\"ship\", \"SailingVessel\"], \"crew\": [\"staff\", \"team\"]}}");
    CHECK(sqlite3_open(test_file(dir, "harbour_0.sqlite", NULL), &db) == SQLITE_OK &&
              sqlite3_exec(db, rows, NULL, NULL, NULL) == SQLITE_OK,
          "cannot write a database to %s", dir);
    sqlite3_close(db);
}

int ambiguate_set_up(void **state)
{
    *state = test_dir_new();
    write_harbour(*state);
    return 0;
}

int ambiguate_tear_down(void **state)
{
    test_dir_remove(*state);
    return 0;
}

const char *ambiguate_question(const char *question, const char *sql)
{
    static char line[2048];
    json_t *o = json_pack("{ssssss}", "db_id", "harbour_0", "question", question, "query", sql);
    char *text = json_dumps(o, JSON_COMPACT);

    snprintf(line, sizeof line, "%s\n", text);
    free(text);
    json_decref(o);
    return line;
}

json_t *ambiguate_read(const char *path)
{
    struct error err = { 0 };
    json_t *all = json_array(), *record;
    struct json_reader *r = json_reader_open(path, &err);
    int rc = -1;

    while (r && (rc = json_reader_next(r, &record, &err)) > 0)
        json_array_append_new(all, record);
    if (rc < 0)
        fail_msg("%s", err.text);
    json_reader_close(r);
    return all;
}

static json_t *run(const char *dir, const char *arguments, int code, char **said)
{
    char command[8000], *output;
    const char *out = test_file(dir, "out.jsonl", NULL);

    snprintf(command, sizeof command, "ambit-data ambiguate %s -o %s", arguments, out);
    int rc = test_run(command, &output);
    if (rc != code)
        fail_msg("exit code %d: %s", rc, output);
    if (said)
        *said = output;
    else
        free(output);
    return code ? NULL : ambiguate_read(out);
}

json_t *ambiguate_run(const char *dir, const char *arguments, int code, char **said)
{
    char put[7000] = "";
    size_t n = 0;

    for (const char *p = arguments; *p && n + strlen(dir) + 2 < sizeof put; p++) {
        if (*p == '$')
            n += (size_t)snprintf(put + n, sizeof put - n, "%s", dir);
        else
            put[n++] = *p;
    }
    put[n] = 0;
    return run(dir, put, code, said);
}

json_t *ambiguate_run_shared(const char *dir, const char *arguments)
{
    return run(dir, arguments, 0, NULL);
}

const char *ambiguate_field(const json_t *records, size_t i, const char *field)
{
    return json_string_value(json_object_get(json_array_get(records, i), field));
}
