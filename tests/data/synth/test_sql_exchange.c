/* Tests of sql_exchange: the converted text and its rows in SQLite. Duplicated elements whose rows differ never give
 * the rows of the original statement. */
#include "tests/support/sql_world.h"
#include "tests/support/support.h"

#include "data/clarify/evidence.h"
#include "data/corpora/example.h"
#include "data/synth/sql_exchange.h"

#include <stdlib.h>
#include <string.h>

static const char script[] =
    "CREATE TABLE trainer (id INTEGER PRIMARY KEY, name TEXT, fee INTEGER, cost INTEGER, \"unit price\" INTEGER);"
    "CREATE TABLE coach (id INTEGER PRIMARY KEY, name TEXT, fee INTEGER, Cost INTEGER);"
    "CREATE TABLE workout (id INTEGER PRIMARY KEY, trainer_id INTEGER REFERENCES trainer(id), machine TEXT);"
    "CREATE TABLE trainer_fee (id INTEGER PRIMARY KEY REFERENCES trainer(id), fee INTEGER);"
    "CREATE TABLE bonus (name TEXT, fee INTEGER);" /* no key, but one common column name */
    "CREATE TABLE lonely (fee INTEGER);"
    "CREATE TABLE seat (hall INTEGER, number INTEGER, price INTEGER, PRIMARY KEY (hall, number));"
    "CREATE TABLE offer (hall INTEGER, number INTEGER, price INTEGER, FOREIGN KEY (hall, number) REFERENCES seat);"
    "CREATE TABLE ticket (hall INTEGER, number INTEGER, price INTEGER);"
    "CREATE TABLE fair (hall INTEGER, day INTEGER, price INTEGER, PRIMARY KEY (hall, day));"
    "CREATE TABLE duel (home INTEGER REFERENCES trainer, away INTEGER REFERENCES trainer, fee INTEGER);"
    "INSERT INTO seat VALUES (1, 1, 3), (1, 2, 4), (2, 1, 7);"
    "INSERT INTO offer VALUES (1, 1, 2), (1, 2, 3), (2, 1, 6); INSERT INTO ticket VALUES (1, 1, 8), (2, 1, 9);"
    "INSERT INTO bonus VALUES ('Bob', 1), ('Cid', 2);"
    "INSERT INTO trainer VALUES (1, 'Udo', 3, 30, 33), (2, 'Suri', 4, 40, 44), (3, 'Rik', 5, 20, 22);"
    "INSERT INTO coach VALUES (1, 'Ann', 13, 130), (2, 'Bob', 14, 140), (3, 'Cid', 15, 120);"
    "INSERT INTO workout VALUES (1, 1, 'bike'), (2, 2, 'rope'), (3, 2, 'bench');"
    "INSERT INTO trainer_fee VALUES (1, 9), (2, 7), (3, 8);";

static int set_up(void **state)
{
    return sql_world_set_up(state, sizeof(struct sql_world), script);
}

/* Returns the element named "table" or "table.column". */
static int element(const struct schema *s, const char *name)
{
    int table, column;

    assert_int_equal(example_element(s, name, &table, &column), 0);
    return column < 0 ? table : s->n_tables + column;
}

static const char *exchanged(struct sql_world *w, const char *sql, const char *from, const char *to, struct error *err)
{
    const struct schema *s = w->schemas.schemas;

    arena_reset(&w->arena, 0);
    *err = (struct error){ 0 };
    return sql_exchange(&w->arena, sql, s, element(s, from), element(s, to), err);
}

/* Returns all rows on one line. Fails if SQLite refuses the statement. */
static char *rows_of(sqlite3 *db, const char *sql)
{
    sqlite3_stmt *statement;
    char *text = NULL;
    size_t size;
    FILE *f = open_memstream(&text, &size);

    if (sqlite3_prepare_v2(db, sql, -1, &statement, NULL) != SQLITE_OK)
        fail_msg("%s: %s", sql, sqlite3_errmsg(db));
    while (sqlite3_step(statement) == SQLITE_ROW)
        for (int i = 0; i < sqlite3_column_count(statement); i++)
            fprintf(f, "%s ",
                    sqlite3_column_text(statement, i) ? (const char *)sqlite3_column_text(statement, i) : "NULL");
    sqlite3_finalize(statement);
    fclose(f);
    return text;
}

static const struct {
    const char *sql, *from, *to, *expected;
} said[] = {
    { "select fee from trainer", "trainer.fee", "trainer.cost", "SELECT cost FROM trainer" },
    { "SELECT T1.name FROM trainer AS T1 ORDER BY T1.fee DESC LIMIT 1", "trainer.fee", "trainer.cost",
      "SELECT T1.name FROM trainer AS T1 ORDER BY T1.cost DESC LIMIT 1" },
    { "SELECT * FROM trainer ORDER BY cost", "trainer.cost", "trainer.fee", "SELECT * FROM trainer ORDER BY fee" },
    { "SELECT name, cost AS fee FROM trainer ORDER BY fee", "trainer.cost", "trainer.fee",
      "SELECT name, fee AS fee FROM trainer ORDER BY fee" },
    { "SELECT fee FROM trainer", "trainer.fee", "trainer.unit price", "SELECT \"unit price\" FROM trainer" },
    { "SELECT name FROM trainer WHERE fee = (SELECT max(fee) FROM trainer)", "trainer.fee", "trainer.cost",
      "SELECT name FROM trainer WHERE cost = (SELECT MAX(cost) FROM trainer)" },
    { "SELECT fee + 1 FROM (SELECT fee FROM trainer WHERE id > 1) AS x", "trainer.fee", "trainer.cost",
      "SELECT cost + 1 FROM (SELECT cost FROM trainer WHERE id > 1) AS x" },
    { "SELECT name FROM trainer GROUP BY name HAVING sum(fee) > 4 UNION SELECT name FROM trainer WHERE fee < 4",
      "trainer.fee", "trainer.cost",
      "SELECT name FROM trainer GROUP BY name HAVING SUM(cost) > 4 UNION SELECT name FROM trainer WHERE cost < 4" },
    { "SELECT name, cost FROM trainer WHERE trainer.fee > 3", "trainer", "coach",
      "SELECT name, Cost FROM coach WHERE coach.fee > 3" },
    { "SELECT t.name FROM trainer AS t WHERE t.id IN (SELECT id FROM trainer WHERE fee > 3)", "trainer", "coach",
      "SELECT t.name FROM coach AS t WHERE t.id IN (SELECT id FROM coach WHERE fee > 3)" },
    { "SELECT trainer.* FROM trainer WHERE fee > 3", "trainer", "coach",
      NULL }, /* trainer has a column that coach lacks */
    { "SELECT coach.* FROM coach WHERE fee > 13", "coach", "trainer", "SELECT trainer.* FROM trainer WHERE fee > 13" },
    { "SELECT fee FROM trainer WHERE name = 'Udo'", "trainer.fee", "trainer_fee.fee",
      "SELECT trainer_fee.fee FROM trainer JOIN trainer_fee ON trainer.id = trainer_fee.id WHERE trainer.name = 'Udo'" },
    { "SELECT machine FROM workout AS w JOIN trainer AS t ON w.trainer_id = t.id ORDER BY fee", "trainer.fee",
      "trainer_fee.fee",
      "SELECT w.machine FROM workout AS w JOIN trainer AS t ON w.trainer_id = t.id JOIN trainer_fee ON t.id = "
      "trainer_fee.id ORDER BY trainer_fee.fee" },
    { "SELECT T2.fee FROM trainer AS T1 JOIN trainer_fee AS T2 ON T1.id = T2.id", "trainer_fee.fee", "trainer.fee",
      "SELECT T1.fee FROM trainer AS T1" },
    { "SELECT T1.name, T2.fee FROM trainer_fee AS T2 JOIN trainer AS T1 ON T1.id = T2.id ORDER BY T2.fee",
      "trainer_fee.fee", "trainer.fee", "SELECT T1.name, T1.fee FROM trainer AS T1 ORDER BY T1.fee" },
    { "SELECT T2.fee FROM trainer AS T1 JOIN trainer_fee AS T2 ON T1.id = T2.id WHERE T2.id > 1", "trainer_fee.fee",
      "trainer.fee", "SELECT T1.fee FROM trainer AS T1 JOIN trainer_fee AS T2 ON T1.id = T2.id WHERE T2.id > 1" },
    { "SELECT price FROM seat", "seat.price", "offer.price",
      "SELECT offer.price FROM seat JOIN offer ON seat.hall = offer.hall AND seat.number = offer.number" },
    { "SELECT price FROM seat", "seat.price", "ticket.price",
      "SELECT ticket.price FROM seat JOIN ticket ON seat.hall = ticket.hall AND seat.number = ticket.number" },
    { "SELECT fee FROM coach", "coach.fee", "bonus.fee",
      "SELECT bonus.fee FROM coach JOIN bonus ON coach.name = bonus.name" },
    { "SELECT name FROM trainer WHERE id IN (SELECT id FROM trainer WHERE fee > 4)", "trainer.fee", "trainer_fee.fee",
      "SELECT name FROM trainer WHERE id IN (SELECT trainer.id FROM trainer JOIN trainer_fee ON trainer.id = "
      "trainer_fee.id WHERE trainer_fee.fee > 4)" },
};

static void statements_name_the_other_element(void **state)
{
    struct sql_world *w = *state;
    struct error err;

    for (int i = 0; i < ARRAY_LEN(said); i++) {
        const char *text = exchanged(w, said[i].sql, said[i].from, said[i].to, &err);
        if (!said[i].expected) {
            assert_non_null(text); /* the statement runs and returns the rows of the other table */
            continue;
        }
        if (!text)
            fail_msg("%s: %s", said[i].sql, err.text);
        assert_string_equal(text, said[i].expected);
    }
}

static void they_run_and_give_other_rows(void **state)
{
    struct sql_world *w = *state;
    struct error err;

    for (int i = 0; i < ARRAY_LEN(said); i++) {
        const char *text = exchanged(w, said[i].sql, said[i].from, said[i].to, &err);
        char *before = rows_of(w->db, said[i].sql), *after = rows_of(w->db, text);
        if (strcmp(before, after) == 0)
            fail_msg("%s and %s: both give %s", said[i].sql, text, after);
        free(before);
        free(after);
    }
}

static const struct {
    const char *sql, *from, *to, *why;
} refused[] = {
    { "SELECT name FROM trainer", "trainer.fee", "trainer.cost",
      "expected a statement with exactly one of the two elements" },
    { "SELECT fee, cost FROM trainer", "trainer.fee", "trainer.cost",
      "expected a statement with exactly one of the two elements" },
    { "SELECT * FROM trainer", "trainer.fee", "trainer.cost",
      "expected a statement with exactly one of the two elements" },
    { "SELECT fee FROM trainer", "trainer.fee", "coach", "expected a statement with exactly one of the two elements" },
    { "SELECT name FROM trainer JOIN workout ON trainer.id = trainer_id", "trainer", "trainer_fee",
      "trainer_fee lacks a column" },
    { "SELECT fee FROM trainer", "trainer.fee", "lonely.fee", "lonely has no key in common" },
    { "SELECT * FROM trainer WHERE fee > 3", "trainer.fee", "trainer_fee.fee", "trainer_fee cannot be joined" },
    { "SELECT price FROM seat", "seat.price", "fair.price",
      "fair has no key in common" }, /* fair has only half of each of two keys */
    { "SELECT fee FROM trainer", "trainer.fee", "duel.fee", "duel has no key in common" }, /* by home or by away */
    { "SELECT fee FROM", "trainer.fee", "trainer.cost", "expected a table" },
    { "SELECT missing FROM trainer", "trainer.fee", "trainer.cost", "no column" },
};

static void others_are_refused(void **state)
{
    struct sql_world *w = *state;
    struct error err;

    for (int i = 0; i < ARRAY_LEN(refused); i++) {
        const char *text = exchanged(w, refused[i].sql, refused[i].from, refused[i].to, &err);
        if (text)
            fail_msg("%s became %s", refused[i].sql, text);
        assert_error(err, refused[i].why);
    }
}

/* A small arena gives an error, and nothing is written past its end. */
static void memory_is_bounded(void **state)
{
    struct sql_world *w = *state;
    const struct schema *s = w->schemas.schemas;
    int from = element(s, "trainer.fee"), to = element(s, "trainer_fee.fee");
    struct error err = { 0 };
    int made = 0;

    for (size_t size = 256; size < 64 << 10; size += 512) {
        struct arena small;
        assert_int_equal(arena_init(&small, size, &err), 0);
        made += sql_exchange(&small, said[12].sql, s, from, to, &err) != NULL;
        arena_release(&small);
    }
    assert_true(made > 0);
    assert_int_equal(err.code, EXIT_CODE_MEMORY);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(statements_name_the_other_element),
        cmocka_unit_test(they_run_and_give_other_rows),
        cmocka_unit_test(others_are_refused),
        cmocka_unit_test(memory_is_bounded),
    };
    return cmocka_run_group_tests(tests, set_up, sql_world_tear_down);
}
