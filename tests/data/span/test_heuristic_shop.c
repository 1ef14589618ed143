/* The heuristic tagger on a database of twelve tables.  Numbers, years and quoted texts are values only of columns that
 * hold them, and a table that the question names decides between columns of one name. */
#include "data/db/schema_sqlite.h"
#include "data/span/heuristic.h"
#include "data/span/tag_source.h"
#include "data/span/tagging.h"
#include "tests/support/support.h"

#include <sqlite3.h>
#include <stdlib.h>
#include <string.h>

/* "words LABEL table.column=value|table.column; " of each span. */
static const struct {
    const char *question, *spans;
} cases[] = {
    { "Show orders and shipments from 2023.", "2023 VAL shipments.shipped_date=2023; " },
    { "Show the orders from 2023.", "2023 VAL orders.order_date=2023; " },
    { "Show the orders from 2019.", "" },
    { "What is the status of order 17?", "status COL orders.status; 17 VAL orders.order_id=17; " },
    { "What is the status of order 16?", "status COL orders.status; " },
    { "Who wrote order number 17 and 18?", "17 VAL orders.order_id=17; 18 VAL orders.order_id=18; " },
    { "status of customer 17", "status COL customers.status; 17 VAL customers.customer_id=17; " },
    { "Which product has the id 4?", "id COL products.product_id; 4 VAL products.product_id=4; " },
    { "employees 1, 2 and 30", "1 VAL employees.employee_id=1; 2 VAL employees.employee_id=2; " },
    { "Which products are over 5 kg?",
      "5 VAL products.gross_weight_kg=5; kg AMB products.gross_weight_kg|products.net_weight_kg; " },
    { "Which products are over 3 kg?", "kg AMB products.gross_weight_kg|products.net_weight_kg; " },
    { "shipments of 50kg", "50 VAL shipments.weight_kg=50; " },
    { "products over 50", "" },
    { "Show orders with a total above 1,000.", "total COL orders.total; 1,000 VAL orders.total=1000; " },
    { "Show orders with a total above 1,001.", "total COL orders.total; " },
    { "Which employees earn more than 5,200?", "" },
    { "Which employees earn 5,200?", "5,200 VAL employees.salary=5200; " },
    { "invoices with an amount of 1.234,50", "amount COL invoices.amount; 1.234,50 VAL invoices.amount=1234.5; " },
    { "products with a list price between 28 and 142",
      "list price COL products.list_price; 28 VAL products.list_price=28; 142 VAL products.list_price=142; " },
    { "order items with 10 % discount", "10 VAL order_items.discount=0.1; discount COL order_items.discount; " },
    { "Which products cost $565.20?", "565.20 VAL products.list_price=565.2; " },
    { "Show the 2nd order.", "" },
    { "List the top 5 products.", "" },
    { "List the line of the 3 largest items.", "line COL order_items.line; " },
    { "Which order items have over 12 quantity?",
      "12 VAL order_items.quantity=12; quantity COL order_items.quantity; " },
    { "List 3 names.", "names AMB categories.name|customers.name|employees.name; " },
    { "order items with a quantity not less than 12",
      "quantity COL order_items.quantity; 12 VAL order_items.quantity=12; " },
    { "orders with two invoices and 17 shipments", "" },
    { "order items with a quantity over 2 and at least 3 products",
      "quantity COL order_items.quantity; 2 VAL order_items.quantity=2; " },
    { "order items with a quantity of 3 or 12",
      "quantity COL order_items.quantity; 3 VAL order_items.quantity=3; 12 VAL order_items.quantity=12; " },
    { "stock levels with a quantity of 12", "quantity COL stock levels.quantity; " },
    { "products with a list price less than or equal to 28",
      "list price COL products.list_price; 28 VAL products.list_price=28; " },
    { "Show me 17 orders", "" },
    { "customers with more than 3 orders", "" },
    { "Which customers joined in 2021?", "joined COL customers.joined; 2021 VAL customers.joined=2021; " },
    { "Which suppliers were founded in 1998?", "founded COL suppliers.founded; 1998 VAL suppliers.founded=1998; " },
    { "Which suppliers were founded before 2000?", "founded COL suppliers.founded; " },
    { "customers with phone 2023", "phone COL customers.phone; 2023 VAL customers.phone=2023; " },
    { "warehouses with a capacity of 2023", "capacity COL warehouses.capacity; 2023 VAL warehouses.capacity=2023; " },
    { "Show everything about 90210.", "90210 VAL invoices.invoice_id=90210; " },
    { "orders of 2023-05-01", "2023-05-01 VAL orders.order_date=2023-05-01; " },
    { "orders of 2023-05-04", "" },
    { "products of type \"Tent\"", "Tent VAL products.name=Tent; " },
    { "products of type \"Tent from Oslo\"", "" },
    { "products of type \xe2\x80\x9cRoute 66 Map\xe2\x80\x9d", "Route 66 Map VAL products.name=Route 66 Map; " },
    { "products of type Route 67 Map", "" },
    { "Show the cities of all employees.", "cities AMB employees.home_city|employees.office_city; " },
    { "Show the cities of all customers.", "cities COL customers.city; " },
    { "Show each supplier's city.", "city COL suppliers.city; " },
    { "Show employees and the city of the warehouse.", "city COL warehouses.city; " },
    { "Which customers are in Paris?", "Paris VAL customers.city=Paris; " },
    { "employees whose home city is Paris",
      "home city COL employees.home_city; Paris VAL employees.home_city=Paris; " },
    { "Which home city has the employee of the office city Paris?",
      "home city COL employees.home_city; office city COL employees.office_city; Paris VAL employees.office_city=Paris; " },
    { "employees from Paris", "Paris AMB employees.home_city=Paris|employees.office_city=Paris; " },
    { "the quantity of the order items", "quantity COL order_items.quantity; " },
    { "the stock level's quantity", "quantity COL stock levels.quantity; " },
    { "Which customers have 17 orders?", "" },
    { "customers with exactly 17 orders", "" },
    { "customers with number 17 here", "17 VAL customers.customer_id=17; " },
    { "order items with 12 quantity", "12 VAL order_items.quantity=12; quantity COL order_items.quantity; " },
    { "orders of 01.05.2023", "" },
    { "orders from version 1.2.3", "" },
    { "status of order 2023", "status COL orders.status; 2023 VAL orders.order_id=2023; " },
    { "suppliers by country in 2023", "country COL suppliers.country; " },
};

static char *spans_of(struct tag_source *source, const char *question)
{
    struct tag_matches matches;
    struct tag_question q = tag_source_ask(source, question, &matches);
    struct heuristic h = HEURISTIC_DEFAULT;
    struct tag_answer a;
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);

    h.unknown = 0;
    heuristic_tag(&a, &h, &q);
    for (int i = 0; i < a.n_spans; i++) {
        const struct tag_span *s = &a.spans[i];
        const char *words = text_from_letter(question, s->start);
        fprintf(out, "%.*s %s", (int)(text_from_letter(question, s->end) - words), words, span_label_name(s->label));
        for (int k = 0; k < s->n_alternatives; k++) {
            char *name = tag_concept_name(&q, &s->alternatives[k]);
            const char *value = s->alternatives[k].value;
            fprintf(out, "%s%s%s%s", k ? "|" : " ", name, value ? "=" : "", value ? value : "");
            free(name);
        }
        fputs("; ", out);
    }
    fclose(out);
    tag_answer_release(&a);
    tag_matches_release(&matches);
    return text;
}

static void test_shop(void **state)
{
    (void)state;
    char *dir = test_dir_new(), *script = test_read("tests/data/span/shop.sql");
    const char *path = test_file(dir, "shop.sqlite", NULL);
    struct schema_set set;
    struct tag_source source;
    struct error err = { 0 };
    sqlite3 *db;

    assert_non_null(script);
    assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
    assert_int_equal(sqlite3_exec(db, script, NULL, NULL, NULL), SQLITE_OK);
    sqlite3_close(db);
    assert_int_equal(schema_set_open_sqlite(&set, path, false, &err), 0);
    assert_int_equal(tag_source_open(&source, set.schemas, path, VALUE_INDEX_BYTES, &err), 0);
    for (int i = 0; i < ARRAY_LEN(cases); i++) {
        char *spans = spans_of(&source, cases[i].question);
        if (strcmp(spans, cases[i].spans) != 0)
            print_error("%s\n    expected %s\n    got      %s\n", cases[i].question, cases[i].spans, spans);
        assert_string_equal(spans, cases[i].spans);
        free(spans);
    }
    tag_source_close(&source);
    schema_set_close(&set);
    free(script);
    test_dir_remove(dir);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_shop),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
