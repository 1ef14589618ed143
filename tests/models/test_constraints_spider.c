/* Turns Spider's queries into templates with tables and columns as slots. The template allows the tokens that the
 * tokenizer makes of the whole query. */
#include "data/corpora/spider.h"
#include "data/schema/schema.h"
#include "models/engine/constraint_form.h"
#include "models/text/byte_buffer.h"
#include "tests/support/tokens.h"

#include <ctype.h>
#include <string.h>

static const int32_t stop = 1 << 20; /* not a token of any text */

/* The template of a query, and the slots' lists, which contain the query's spelling of each name. */
struct blank_form {
    struct byte_buffer template;
    json_t *tables, *columns;
    int slots;
};

static bool is_column(const struct schema *s, const char *name)
{
    for (int i = 0; i < s->n_columns; i++)
        if (strcasecmp(s->columns[i].name, name) == 0)
            return true;
    return false;
}

static void add_name(struct blank_form *b, const struct schema *s, const char *text, size_t n)
{
    char name[256];
    snprintf(name, sizeof name, "%.*s", (int)n, text);
    json_t *list = schema_table_find(s, name) >= 0 ? b->tables : is_column(s, name) ? b->columns : NULL;

    if (!list) {
        byte_buffer_add(&b->template, text, n);
        return;
    }
    const char *slot = list == b->tables ? "{table}" : "{column}";
    byte_buffer_add(&b->template, slot, strlen(slot));
    json_array_append_new(list, json_string(name));
    b->slots++;
}

/* Replaces names outside of quotes by slots, and doubles braces. */
static void blank_query(struct blank_form *b, const struct schema *s, const char *query)
{
    char quote = 0;

    for (size_t n; *query; query += n) {
        n = 1;
        if (!quote)
            while (isalnum((unsigned char)query[n - 1]) && (isalnum((unsigned char)query[n]) || query[n] == '_'))
                n++;
        if (*query == quote)
            quote = 0;
        else if (!quote && (*query == '\'' || *query == '"'))
            quote = *query;
        if (!quote && isalpha((unsigned char)*query)) {
            add_name(b, s, query, n);
            continue;
        }
        if (*query == '{' || *query == '}')
            byte_buffer_add(&b->template, query, 1);
        byte_buffer_add(&b->template, query, n);
    }
}

static json_t *constraint_of(const struct schema *s, const char *query, int *n_slots)
{
    struct blank_form b = { .tables = json_array(), .columns = json_array() };

    for (int i = 0; i < s->n_tables; i++)
        json_array_append_new(b.tables, json_string(s->tables[i].name));
    for (int i = 0; i < s->n_columns; i++)
        json_array_append_new(b.columns, json_string(s->columns[i].name));
    blank_query(&b, s, query);
    json_t *o = json_pack("{s:s, s:{}}", "template", b.template.items, "slots");
    json_t *slots = json_object_get(o, "slots");
    if (strstr(b.template.items, "{table}"))
        json_object_set(slots, "table", b.tables);
    if (strstr(b.template.items, "{column}"))
        json_object_set(slots, "column", b.columns);
    json_decref(b.tables);
    json_decref(b.columns);
    byte_buffer_release(&b.template);
    *n_slots += b.slots;
    return o;
}

static int32_t step(const struct automaton_host *a, int32_t state, int32_t token)
{
    for (int32_t e = a->first[state]; e < a->first[state + 1]; e++)
        if (a->token[e] == token)
            return a->next[e];
    return -1;
}

static bool allows(const struct automaton_host *a, const struct ids *ids)
{
    int32_t state = 0;

    for (int64_t i = 0; i < ids->count && state >= 0; i++)
        state = step(a, state, ids->items[i]);
    return state >= 0 && step(a, state, stop) >= 0;
}

/* Whether the query's tokens are allowed. With an additional token they are not. */
static bool check_query(const struct tokenizer *t, const struct schema *s, const char *query, int *n_slots)
{
    struct constraint_form form;
    struct automaton_host a;
    struct error err = { 0 };
    struct ids ids = { 0 };
    int n = 0;
    json_t *o = constraint_of(s, query, n_slots);
    struct token_list *words =
        constraint_form_read(&form, o, "query", &err) ? NULL : constraint_form_encode(&form, t, &stop, 1, &n, &err);

    if (!words || automaton_build(&a, words, n, &stop, 1, &err))
        fail_msg("%s: %s", query, err.text);
    tokenizer_encode(t, query, strlen(query), 0, &ids, NULL);
    bool found = allows(&a, &ids);
    ids_push(&ids, ids.items[0]);
    assert_false(allows(&a, &ids));
    for (int i = 0; i < n; i++)
        token_list_release(words + i);
    free(words);
    ids_release(&ids);
    automaton_release(&a);
    constraint_form_release(&form);
    json_decref(o);
    return found;
}

static void check_tokenizer(const char *name, const struct schema_set *schemas, const struct spider_corpus *corpus)
{
    struct tokenizer *t = test_tokenizer(name);
    int found = 0, slots = 0;

    for (int i = 0; i < corpus->n; i++) {
        const struct spider_question *q = corpus->items + i;
        if (check_query(t, schema_find(schemas, q->db_id), q->query, &slots))
            found++;
        else
            print_message("%s\n", q->query);
    }
    print_message("%s: the tokenizer's own tokens are allowed in %d of %d queries, %d slots\n", name, found, corpus->n,
                  slots);
    assert_int_equal(found, corpus->n);
    assert_true(slots > 3 * corpus->n);
    tokenizer_close(t);
}

static void test_queries(void **state)
{
    struct schema_set schemas;
    struct spider_corpus corpus = { 0 };
    struct error err = { 0 };
    const char *path = test_shared("data/spider/tables.json");
    (void)state;

    if (!path) {
        print_message("no Spider in the shared data\n");
        skip();
    }
    assert_int_equal(schema_set_open(&schemas, path, &err), 0);
    assert_int_equal(spider_read(&corpus, test_shared("data/spider/dev.json"), &err), 0);
    check_tokenizer("bpe/llama", &schemas, &corpus);
    check_tokenizer("bpe/qwen", &schemas, &corpus);
    spider_release(&corpus);
    schema_set_close(&schemas);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_queries) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
