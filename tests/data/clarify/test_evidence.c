/* Evidence: invalid fields, and names that are hard to read. */
#include "tests/support/sql_world.h"
#include "tests/support/support.h"

#include "data/base/json.h"
#include "data/clarify/evidence.h"

static int set_up(void **state)
{
    return sql_world_set_up(state, sizeof(struct sql_world),
                            "CREATE TABLE singer (id INT, name TEXT); CREATE TABLE song (id INT, title TEXT);"
                            "CREATE TABLE [a.b] (e INT, [c.d] TEXT, [f::g] TEXT);");
}

#define QUESTION "\"question\":\"Whose home did the näme sell 20 of?\""
#define SPAN(start, end, label, more) "{\"start\":" #start ",\"end\":" #end ",\"label\":\"" label "\"" more "}"
#define SPANS(spans) "{" QUESTION ",\"spans\":[" spans "]}"
#define FOUND(kind, a, b)                                                                                              \
    "{" QUESTION ",\"type\":\"" kind "\",\"ambiguous\":true,\"alternatives\":[\"" a "\",\"" b "\"]}"

static void test_bad_evidence(void **state)
{
    static const char *const bad[][2] = {
        { SPANS(SPAN(6, 6, "COL", "")), "spans[0]: field \"end\": expected 7 to 35, got 6" },
        { SPANS(SPAN(35, 36, "COL", "")), "spans[0]: field \"start\": expected 0 to 34, got 35" },
        { SPANS(SPAN(6, 10, "COL", "") "," SPAN(-1, 6, "COL", "")), "spans[1]: field \"start\": expected" },
        { SPANS(SPAN(6, 36, "COL", "")), "spans[0]: field \"end\": expected 7 to 35, got 36" },
        { SPANS(SPAN(6, 10, "B-COL", "")), "expected AMB, UNK, COL or VAL, got \"B-COL\"" },
        { SPANS(SPAN(6, 10, "COL", ",\"probability\":1.5")), "\"probability\": expected 0 to 1, got 1.5" },
        { SPANS(SPAN(6, 10, "COL", ",\"alternatives\":[{\"concept\":\"song.none\"}]")), "\"song.none\" is neither" },
        { SPANS(SPAN(6, 10, "COL", ",\"alternatives\":[{\"concept\":\"none\"}]")), "\"none\" is neither" },
        { SPANS(SPAN(6, 10, "COL", ",\"alternatives\":[{\"concept\":\"ID\"}]")),
          "\"ID\" is a column of 2 tables: expected one with its table, such as \"singer.id\"" },
        { SPANS(SPAN(6, 10, "COL", ",\"alternatives\":7")), "alternatives" },
        { SPANS("7"), "spans[0]: expected an object" },
        { "{" QUESTION ",\"spans\":{}}", "spans" },
        { "{\"spans\":[]}", "question" },
        { "{\"question\":\"\",\"spans\":[" SPAN(0, 1, "COL", "") "]}", "start" },
        { FOUND("X", "singer", "song"), "type" },
        { FOUND("T", "singer", "nothing"), "alternatives[1]: \"nothing\" is neither" },
        { "{\"alternatives\":[7]}", "alternatives[0]: expected a string" },
        { "{\"alternatives\":[\"song\",\"singer\"],\"score\":2}", "\"score\": expected 0 to 1, got 2" },
        { "{\"alternatives\":[\"song\",\"song\",\"song\"]}", "alternatives: expected at most 2, got 3" },
    };
    struct sql_world *w = *state;
    for (int i = 0; i < ARRAY_LEN(bad); i++) {
        struct evidence h;
        struct error err = { 0 };
        json_t *record = json_loads(bad[i][0], 0, NULL);
        assert_non_null(record);
        if (evidence_read(&h, record, w->schemas.schemas, "record", &err) == 0)
            fail_msg("%s was taken", bad[i][0]);
        assert_int_equal(err.code, EXIT_CODE_DATA);
        assert_error(err, "record", bad[i][1]);
        evidence_release(&h);
        json_decref(record);
    }
}

#define SEVERAL(more)                                                                                                  \
    "{\"question\":\"Which title, which name?\",\"ambiguous\":true,\"alternatives\":[\"singer\",\"song\"],"            \
    "\"ambiguities\":[{\"alternatives\":[\"singer\",\"song\"]}," more "]}"
#define PAIR(start, end, a, b)                                                                                         \
    "{\"start\":" #start ",\"end\":" #end ",\"score\":0.25,\"alternatives\":[\"" a "\",\"" b "\"]}"

/* Reads a prediction with two further ambiguities, beside a tagger's span of the second one's words. */
static void read_beside(struct evidence *h, const struct schema *s, const char *label)
{
    json_t *record =
        json_loads(SEVERAL(PAIR(6, 11, "singer.name", "song.title") "," PAIR(19, 23, "singer.id", "song.id")), 0, NULL);
    struct error err;

    json_object_set_new(record, "spans",
                        json_pack("[{s:i, s:i, s:s, s:[{s:s}]}]", "start", 13, "end", 23, "label", label,
                                  "alternatives", "concept", "name"));
    assert_int_equal(evidence_read(h, record, s, "record", &err), 0);
    json_decref(record);
}

/* Further ambiguities of a prediction are spans, unless the tagger has an AMB span of the same words. */
static void test_further_ambiguities(void **state)
{
    static const char *const bad[][2] = {
        { SEVERAL("7"), "ambiguities[1]: expected an object" },
        { SEVERAL(PAIR(6, 99, "singer.name", "song.title")),
          "ambiguities[1]: field \"end\": expected 7 to 24, got 99" },
        { SEVERAL(PAIR(6, 11, "singer.name", "song.none")), "ambiguities[1]: \"song.none\" is neither" },
        { SEVERAL("{\"alternatives\":[7,8],\"start\":0,\"end\":2}"), "ambiguities[1]" },
        { "{\"question\":\"?\",\"alternatives\":[],\"ambiguities\":7}", "ambiguities" },
    };
    struct sql_world *w = *state;
    const struct schema *s = w->schemas.schemas;
    struct error err = { 0 };
    struct evidence h;

    read_beside(&h, s, "COL");
    assert_int_equal(h.n_spans, 3);
    assert_int_equal(h.spans[2].label, SPAN_AMB);
    evidence_release(&h);
    read_beside(&h, s, "AMB");
    assert_int_equal(h.n_spans, 2);
    assert_string_equal(h.spans[1].words, "title");
    assert_int_equal(h.spans[1].label, SPAN_AMB);
    assert_float_equal(h.spans[1].probability, 0.25, 0);
    assert_int_equal(h.spans[1].n_elements, 2);
    assert_int_equal(h.n_found, 2);
    evidence_release(&h);
    for (int i = 0; i < ARRAY_LEN(bad); i++) {
        json_t *record = json_loads(bad[i][0], 0, NULL);
        if (evidence_read(&h, record, s, "record", &err) == 0)
            fail_msg("%s was taken", bad[i][0]);
        assert_error(err, "record", bad[i][1]);
        evidence_release(&h);
        json_decref(record);
    }
}

static void test_names_with_dots_and_colons(void **state)
{
    static const char *const names[] = { "a.b.c.d", "a.b", "a.b.c.d::20 of", "a.b.f::g", "c.d", "E", "F::g", "e::7" };
    static const int columns[] = { 1, -1, 1, 2, 1, 0, 2, 0 };
    struct sql_world *w = *state;
    const struct schema *s = w->schemas.schemas;
    int table = schema_table_find(s, "a.b");
    for (int i = 0; i < ARRAY_LEN(names); i++) {
        struct evidence h;
        struct error err = { 0 };
        json_t *record = json_pack("{s:[s]}", "alternatives", names[i]);
        if (evidence_read(&h, record, s, "record", &err))
            fail_msg("%s: %s", names[i], err.text);
        int first = s->n_tables + s->tables[table].first_column;
        assert_int_equal(h.found[0], columns[i] < 0 ? table : first + columns[i]);
        assert_true(h.score == 1);
        evidence_release(&h);
        json_decref(record);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_bad_evidence),
        cmocka_unit_test(test_further_ambiguities),
        cmocka_unit_test(test_names_with_dots_and_colons),
    };
    return cmocka_run_group_tests(tests, set_up, sql_world_tear_down);
}
