/* Templates compiled for questions: what they allow, and what SQLite says of it. */
#include "tests/support/support.h"

#include "data/corpora/ambiqt_text.h"
#include "data/corpora/spider.h"
#include "data/exec/db_path.h"
#include "data/plan/sql_template.h"
#include "data/plan/template_constraint.h"
#include "models/constraint/constraint_form.h"

#include <stdlib.h>
#include <string.h>

static bool is_value(const struct slot_texts *l)
{
    return strncmp(l->name, "string", 6) == 0 || strncmp(l->name, "pattern", 7) == 0;
}

/* How many bytes of sql a text of a slot takes, 0 when it is another; strings may be in either quotes. */
static size_t takes(const struct slot_texts *l, const char *text, const char *sql)
{
    size_t n = strlen(text);

    if (is_value(l) && (*sql == '"' || *sql == '\''))
        return strncmp(text + 1, sql + 1, n - 2) == 0 && sql[n - 1] == *sql ? n : 0;
    return strncmp(text, sql, n) == 0 ? n : 0;
}

/* Whether the parts from i on can be the rest of a statement; *far: how far into it anything came. */
static bool allows(const struct constraint_form *f, int i, const char *sql, const char **far)
{
    *far = sql > *far ? sql : *far;
    if (i == f->n_parts)
        return !*sql;
    const struct form_part *p = f->parts + i;
    if (p->list < 0)
        return strncmp(p->text, sql, p->length) == 0 && allows(f, i + 1, sql + p->length, far);
    const struct slot_texts *l = f->lists + p->list;
    for (int64_t k = 0; k < l->count; k++) {
        size_t n = takes(l, json_string_value(json_array_get(l->texts, (size_t)k)), sql);
        if (n && allows(f, i + 1, sql + n, far))
            return true;
    }
    return false;
}

static bool constraint_allows(const json_t *constraint, const char *sql, const char **far)
{
    const json_t *alternative;
    bool found = false;
    size_t i;

    json_array_foreach(json_object_get(constraint, "alternatives"), i, alternative)
    {
        struct constraint_form f;
        struct error err = { 0 };
        if (constraint_form_read(&f, alternative, "alternative", &err))
            fail_msg("%s", err.text);
        found = found || allows(&f, 0, sql, far);
        constraint_form_release(&f);
    }
    return found;
}

static void gold_of_spider_is_allowed(void **state)
{
    const char *tables = test_shared("data/spider/tables.json"), *db = getenv("WITH_DB");
    struct schema_set schemas = { 0 };
    struct spider_corpus dev;
    struct error err = { 0 };
    int allowed = 0, refused = 0;

    (void)state;
    if (!tables)
        skip();
    assert_int_equal(schema_set_open(&schemas, tables, &err), 0);
    assert_int_equal(spider_read(&dev, test_shared("data/spider/dev.json"), &err), 0);
    struct column_values values = { 0 };
    const char *have = "";
    for (int i = 0; i < dev.n; i++) {
        const struct schema *s = schema_find(&schemas, dev.items[i].db_id);
        struct template_question q = { .schema = s, .question = dev.items[i].question };
        struct template_names names;
        if (db && strcmp(have, s->db_id) != 0) {
            char *path = db_path(db, s->db_id, &err);
            column_values_release(&values);
            assert_int_equal(column_values_read(&values, s, path, &err), 0);
            free(path);
            have = s->db_id;
        }
        q.values = db ? &values : NULL;
        template_names_of_schema(&names, s);
        char *sql = ambiqt_normalize(dev.items[i].query);
        char *template = sql_template(&names, sql, SQL_TEMPLATE_INFERENCE);
        json_t *c = template_constraint(&q, template, &err);
        const char *far = sql;
        if (!c) {
            refused++;
            printf("REFUSED %s | %s | %s\n", err.text, template, sql);
        } else if (constraint_allows(c, sql, &far)) {
            allowed++;
        } else {
            printf("NOT %zu at \"%.30s\" | %s | %s | %s\n", json_array_size(json_object_get(c, "alternatives")), far,
                   sql, template, q.question);
        }
        json_decref(c);
        free(template);
        free(sql);
        template_names_release(&names);
    }
    printf("%d of %d allowed, %d refused\n", allowed, dev.n, refused);
    schema_set_close(&schemas);
    spider_release(&dev);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(gold_of_spider_is_allowed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
