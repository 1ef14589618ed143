/* Tests of schemas with duplicated and renamed elements. */
#include "tests/support/corpus.h"
#include "tests/support/support.h"

#include "data/schema/schema_build.h"
#include "data/synth/alter.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int set_up(void **state)
{
    *state = test_dir_new();
    return 0;
}

static int tear_down(void **state)
{
    test_dir_remove(*state);
    return 0;
}

/* Describes a schema as "table: column, column*; ..." with * after key columns, then "from>to" for each foreign key. */
static char *describe(const struct schema *s)
{
    char *text = NULL;
    size_t size;
    FILE *f = open_memstream(&text, &size);

    for (int t = 0; t < s->n_tables; t++) {
        fprintf(f, "%s%s(%s):", t ? "; " : "", s->tables[t].name, s->tables[t].text);
        for (int i = 0; i < s->tables[t].n_columns; i++) {
            const struct schema_column *c = &s->columns[s->tables[t].first_column + i];
            fprintf(f, " %s%s", c->name, c->primary ? "*" : "");
        }
    }
    for (int k = 0; k < s->n_foreign_keys; k++) {
        const struct schema_column *a = &s->columns[s->foreign_keys[k].from], *b = &s->columns[s->foreign_keys[k].to];
        fprintf(f, " | %s.%s>%s.%s", s->tables[a->table].name, a->name, s->tables[b->table].name, b->name);
    }
    fclose(f);
    return text;
}

/* Expects the description for some seed, because new elements are inserted at random places. */
static void assert_altered(const struct schema *s, const struct alteration *a, enum alter_form form, const char *wanted)
{
    char *text = NULL;
    for (uint64_t seed = 0; seed < 200; seed++) {
        struct rng rng = { .seed = seed };
        struct schema out;
        assert_int_equal(alter_schema(&out, s, a, form, "x", &rng), 0);
        free(text);
        text = describe(&out);
        schema_release(&out);
        if (strcmp(text, wanted) == 0)
            break;
    }
    assert_string_equal(text, wanted);
    free(text);
}

static struct alteration find(const struct schema *s, const struct ambiqt_record *r)
{
    struct alteration a;
    assert_int_equal(alteration_find(&a, s, r), 0);
    return a;
}

#define BOAT "boat(boat): boat_id* colour length age"
#define CREW "crew(crew member): crew_id* wage rank boat_id leader"
#define KEYS " | crew.boat_id>boat.boat_id | crew.leader>crew.crew_id"

static void schemas_are_altered(void **state)
{
    struct error err = { 0 };
    struct schema_set set;

    corpus_write(*state, 1);
    assert_int_equal(schema_set_open(&set, test_file(*state, "tables.json", NULL), &err), 0);
    const struct schema *s = &set.schemas[0];
    struct ambiqt_record r = {
        .type = SIA_COLUMN, .table = "boat", .column = "boat_id", .names = { "Hull_No", "key" }
    };
    struct alteration a = find(s, &r);
    assert_altered(s, &a, ALTER_NONE, BOAT "; " CREW KEYS);
    assert_altered(s, &a, ALTER_SECOND,
                   "boat(boat): key* colour length age; " CREW " | crew.boat_id>boat.key | crew.leader>crew.crew_id");
    assert_altered(s, &a, ALTER_BOTH,
                   "boat(boat): key* colour length hull_no* age; " CREW
                   " | crew.boat_id>boat.key | crew.boat_id>boat.hull_no | crew.leader>crew.crew_id");
    r = (struct ambiqt_record){ .type = SIA_TABLE, .table = "crew", .names = { "Staff", "ShipTeam" } };
    a = find(s, &r);
    assert_altered(s, &a, ALTER_FIRST,
                   BOAT "; staff(staff): crew_id* wage rank boat_id leader"
                        " | staff.boat_id>boat.boat_id | staff.leader>staff.crew_id");
    assert_altered(s, &a, ALTER_BOTH,
                   "shipteam(ship team): crew_id* wage rank boat_id leader; " BOAT
                   "; staff(staff): crew_id* wage rank boat_id leader | shipteam.boat_id>boat.boat_id | "
                   "staff.boat_id>boat.boat_id | shipteam.leader>shipteam.crew_id | staff.leader>staff.crew_id");
    r = (struct ambiqt_record){
        .type = SIA_JOIN, .table = "crew", .column = "wage", .key = "crew_id", .new_table = "crew_wage"
    };
    a = find(s, &r);
    assert_altered(s, &a, ALTER_BOTH,
                   BOAT "; crew_wage(crew member wage): crew_id* wage; " CREW KEYS " | crew_wage.crew_id>crew.crew_id");
    assert_altered(s, &a, ALTER_SECOND,
                   BOAT "; crew_wage(crew member wage): crew_id* wage; crew(crew member): crew_id* "
                        "rank boat_id leader" KEYS " | crew_wage.crew_id>crew.crew_id");
    bool repeated[16] = { false };
    repeated[schema_column_find(s, 1, "rank")] = repeated[schema_column_find(s, 1, "boat_id")] = true;
    r = (struct ambiqt_record){ .type = SIA_AGGREGATE,
                                .table = "crew",
                                .column = "wage",
                                .key = "crew_id",
                                .new_table = "crew_wage",
                                .new_columns = { "max_wage" },
                                .n_new_columns = 1 };
    a = find(s, &r);
    a.repeated = repeated;
    assert_altered(s, &a, ALTER_BOTH,
                   "crew_wage(crew member wage): rank boat_id max_wage; " BOAT "; " CREW
                   " | crew_wage.boat_id>boat.boat_id | crew.boat_id>boat.boat_id | "
                   "crew.leader>crew.crew_id");
    schema_set_close(&set);
}

/* Copies of a renamed column get the new name too. */
static void other_elements_are_renamed(void **state)
{
    struct error err = { 0 };
    struct schema_set set;

    corpus_write(*state, 1);
    assert_int_equal(schema_set_open(&set, test_file(*state, "tables.json", NULL), &err), 0);
    const struct schema *s = &set.schemas[0];
    const char *renamed[16] = { NULL, "SailorGroup" };
    renamed[s->n_tables + schema_column_find(s, 1, "wage")] = "Pay";
    renamed[s->n_tables + schema_column_find(s, 0, "boat_id")] = "hull";
    struct ambiqt_record r = { .type = SIA_COLUMN, .table = "boat", .column = "age", .names = { "years", "old" } };
    struct alteration a = find(s, &r);
    a.renamed = renamed;
    assert_altered(s, &a, ALTER_BOTH,
                   "boat(boat): hull* colour length old years; sailorgroup(sailor group): crew_id* pay rank boat_id "
                   "leader | sailorgroup.boat_id>boat.hull | sailorgroup.leader>sailorgroup.crew_id");
    r = (struct ambiqt_record){ .type = SIA_TABLE, .table = "boat", .names = { "ship", "vessel" } };
    a = find(s, &r);
    a.renamed = renamed;
    assert_altered(s, &a, ALTER_BOTH,
                   "ship(ship): hull* colour length age; sailorgroup(sailor group): crew_id* pay rank boat_id leader; "
                   "vessel(vessel): hull* colour length age | sailorgroup.boat_id>ship.hull | "
                   "sailorgroup.boat_id>vessel.hull | sailorgroup.leader>sailorgroup.crew_id");
    schema_set_close(&set);
}

static void unusable_names_are_refused(void **state)
{
    static const struct ambiqt_record bad[] = {
        { .type = SIA_COLUMN, .table = "boat", .column = "colour", .names = { "hue", "Length" } },
        { .type = SIA_COLUMN, .table = "boat", .column = "colour", .names = { "hue", "HUE" } },
        { .type = SIA_COLUMN, .table = "boat", .column = "colour", .names = { "hue", "a.b" } },
        { .type = SIA_COLUMN, .table = "boat", .column = "colour", .names = { "", "b" } },
        { .type = SIA_TABLE, .table = "boat", .names = { "Crew", "ship" } },
        { .type = SIA_JOIN, .table = "boat", .column = "colour", .key = "boat_id", .new_table = "crew" },
    };
    struct error err = { 0 };
    struct schema_set set;
    struct schema out;
    struct rng rng = { 0 };

    corpus_write(*state, 1);
    assert_int_equal(schema_set_open(&set, test_file(*state, "tables.json", NULL), &err), 0);
    for (int i = 0; i < ARRAY_LEN(bad); i++) {
        struct alteration a = find(&set.schemas[0], &bad[i]);
        assert_int_equal(alter_schema(&out, &set.schemas[0], &a, ALTER_BOTH, "x", &rng), -1);
    }
    const struct ambiqt_record absent = { .type = SIA_COLUMN, .table = "boat", .column = "wage" };
    struct alteration a;
    assert_int_equal(alteration_find(&a, &set.schemas[0], &absent), -1);
    schema_set_close(&set);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(schemas_are_altered, set_up, tear_down),
        cmocka_unit_test_setup_teardown(other_elements_are_renamed, set_up, tear_down),
        cmocka_unit_test_setup_teardown(unusable_names_are_refused, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
