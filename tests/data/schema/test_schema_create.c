/* Schemas from CREATE TABLE statements, as pg_dump, DuckDB, sqlite3 and mysqldump write them, and rejected texts. */
#include "tests/support/support.h"

#include "data/schema/schema.h"
#include "data/schema/schema_create.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void add(char *to, size_t size, const char *text)
{
    strncat(to, text, size - strlen(to) - 1);
}

/* Writes the schema as "table(column:type*,...)", with * for primary keys, and "from>to" for foreign keys. */
static void describe(const struct schema *s, char *to, size_t size)
{
    char part[512];

    *to = '\0';
    for (int t = 0; t < s->n_tables; t++) {
        snprintf(part, sizeof part, "%s%s%s(", t ? " " : "", s->tables[t].form == TABLE_VIEW ? "view " : "",
                 s->tables[t].name);
        add(to, size, part);
        for (int c = s->tables[t].first_column; c < s->tables[t].first_column + s->tables[t].n_columns; c++) {
            snprintf(part, sizeof part, "%s%s:%s%s", c > s->tables[t].first_column ? "," : "", s->columns[c].name,
                     column_type_name(s->columns[c].type), s->columns[c].primary ? "*" : "");
            add(to, size, part);
        }
        add(to, size, ")");
    }
    for (int k = 0; k < s->n_foreign_keys; k++) {
        const struct schema_column *a = &s->columns[s->foreign_keys[k].from], *b = &s->columns[s->foreign_keys[k].to];
        snprintf(part, sizeof part, " %s.%s>%s.%s", s->tables[a->table].name, a->name, s->tables[b->table].name,
                 b->name);
        add(to, size, part);
    }
}

static void reads(const char *sql, const char *expected)
{
    struct schema_set set = { 0 };
    struct error err = { 0 };
    char got[4096];

    if (schema_create_read(&set, sql, strlen(sql), "d", "dump.sql", &err))
        fail_msg("%s", err.text);
    describe(set.schemas, got, sizeof got);
    assert_string_equal(got, expected);
    schema_set_close(&set);
}

static void refuses(const char *sql, const char *text)
{
    struct schema_set set = { 0 };
    struct error err = { 0 };

    assert_int_equal(schema_create_read(&set, sql, strlen(sql), "d", "dump.sql", &err), -1);
    assert_int_equal(err.code, EXIT_CODE_DATA);
    if (!strstr(err.text, text))
        fail_msg("expected \"%s\", got \"%s\"", text, err.text);
    assert_int_equal(set.n, 0);
    schema_set_close(&set);
}

static void test_pg_dump(void **state)
{
    (void)state;
    reads(
        "\\restrict x'y\nSET default_tablespace = '';\n"
        "CREATE FUNCTION public.f(a integer) RETURNS integer LANGUAGE plpgsql AS $$ BEGIN CREATE TABLE nope (x int); "
        "END $$;\n"
        "CREATE TABLE public.customers (\n    customer_id integer NOT NULL,\n"
        "    \"Full \"\"Name\" character varying(50) DEFAULT 'x;y'::character varying NOT NULL,\n"
        "    city text COLLATE pg_catalog.\"C\",\n    m printing.mood,\n    tags text[] DEFAULT ARRAY['a'::text],\n"
        "    since timestamp with time zone, paid money, iv interval, price numeric(10,2), ok boolean,\n"
        "    CONSTRAINT c CHECK ((city <> 'a,b'::text))\n);\n"
        "COMMENT ON TABLE public.customers IS 'CREATE TABLE nono (a int);';\n"
        "CREATE TABLE sales.orders (order_id bigint NOT NULL, line int, customer_id integer, note text DEFAULT E'it\\'s;');\n"
        "CREATE TABLE sales.notes (order_id bigint, line int);\n"
        "CREATE TABLE public.logs (id integer, at date)\nPARTITION BY RANGE (at);\n"
        "CREATE TABLE public.logs_1 (id integer, at date);\nCREATE TABLE public.logs_2 PARTITION OF public.logs DEFAULT;\n"
        "CREATE TABLE public.child (c integer)\nINHERITS (public.logs);\n"
        "ALTER TABLE ONLY public.logs ATTACH PARTITION public.logs_1 FOR VALUES FROM ('2024-01-01') TO ('2025-01-01');\n"
        "COPY public.customers (customer_id) FROM stdin;\n1\tCREATE TABLE hm (a int);\n\\\\.\n\\.\n"
        "ALTER TABLE ONLY public.customers ALTER COLUMN customer_id SET DEFAULT nextval('s'::regclass);\n"
        "ALTER TABLE ONLY public.customers\n    ADD CONSTRAINT k PRIMARY KEY (customer_id);\n"
        "ALTER TABLE ONLY sales.orders ADD CONSTRAINT k PRIMARY KEY (order_id, line);\n"
        "ALTER TABLE ONLY sales.orders ADD CONSTRAINT f FOREIGN KEY (customer_id) REFERENCES public.customers(customer_id) "
        "ON DELETE CASCADE;\n"
        "ALTER TABLE ONLY sales.notes ADD CONSTRAINT g FOREIGN KEY (line, order_id) REFERENCES sales.orders(line, order_id);\n"
        "CREATE INDEX i ON public.customers USING btree (city);\n",
        "customers(customer_id:number*,Full \"Name:text,city:text,m:others,tags:text,since:time,paid:number,iv:time,"
        "price:number,ok:boolean) orders(order_id:number*,line:number*,customer_id:number,note:text) "
        "notes(order_id:number,line:number) logs(id:number,at:time) child(c:number,id:number,at:time) "
        "orders.customer_id>customers.customer_id notes.line>orders.line notes.order_id>orders.order_id");
}

/* Columns of views come from the list, from the comment of sqlite3 or from the names in SELECT. */
static void test_views(void **state)
{
    (void)state;
    reads(
        "CREATE TABLE t (a INTEGER, \"b c\" TEXT, d DATE); CREATE TABLE u (a TEXT, e REAL);"
        "CREATE VIEW one (x, d) AS SELECT a, d FROM t;"
        "CREATE VIEW two AS WITH w AS (SELECT 1 AS z FROM t) SELECT DISTINCT t.\"b c\", count(*) AS n, sum(e) total, "
        "( SELECT max(x.a) AS max FROM t x) AS top, CASE WHEN a = 1 THEN ',' END AS ca FROM t, u WITH NO DATA;"
        "CREATE VIEW three AS SELECT a + 1 FROM t\n/* three(\"a + 1\",e) */;"
        "CREATE MATERIALIZED VIEW four AS SELECT a FROM t UNION SELECT b FROM u;"
        "CREATE VIEW five AS SELECT a + 1 FROM t; CREATE VIEW six AS SELECT * FROM t; CREATE VIEW seven AS SELECT NOT a "
        "FROM t /* other(a) */;",
        "t(a:number,b c:text,d:time) u(a:text,e:number) view one(x:text,d:time) view two(b c:text,n:text,total:text,"
        "top:text,ca:text) view three(a + 1:text,e:number) view four(a:text)");
}

static void test_sqlite(void **state)
{
    (void)state;
    reads(
        "CREATE TABLE sqlite_sequence(name,seq);\n"
        "CREATE TABLE IF NOT EXISTS \"order\" (id INTEGER PRIMARY KEY AUTOINCREMENT, [customer id] INT REFERENCES Customer, "
        "key TEXT DEFAULT 'a''b', `index` VARCHAR(20) CHECK (key IN ('x', 'y')), total AS (1 + 2) STORED, w);\n"
        "CREATE TABLE customer(id INTEGER PRIMARY KEY) WITHOUT ROWID;\n"
        "CREATE TRIGGER tr AFTER INSERT ON customer BEGIN UPDATE x SET a = 1; SELECT 'CREATE TABLE'; END;\n"
        "CREATE VIRTUAL TABLE docs USING fts5(title, body)\n/* docs(title,body) */;\n"
        "CREATE TABLE IF NOT EXISTS 'docs_data'(id INTEGER PRIMARY KEY, block BLOB);\n-- 'not closed",
        "order(id:number*,customer id:number,key:text,index:text,total:text,w:text) customer(id:number*) "
        "docs(title:text,body:text) order.customer id>customer.id");
}

static void test_duckdb_and_mysql(void **state)
{
    (void)state;
    reads(
        "CREATE TABLE customers(id INTEGER PRIMARY KEY, s STRUCT(a INTEGER, b VARCHAR[]), m MAP(VARCHAR, INTEGER), h "
        "HUGEINT, mo ENUM('a', 'b'));\nCREATE TABLE o(id BIGINT, c INTEGER, FOREIGN KEY (c) REFERENCES customers(id), "
        "UNIQUE(id), PRIMARY KEY(id));",
        "customers(id:number*,s:others,m:others,h:number,mo:text) o(id:number*,c:number) o.c>customers.id");
    reads(
        "-- MySQL dump 10.13\n/*!40101 SET NAMES utf8 */;\nDROP TABLE IF EXISTS `a`;\n"
        "CREATE TABLE `a` (\n  `id` int unsigned NOT NULL AUTO_INCREMENT,\n  `b` varchar(9) CHARACTER SET utf8 COMMENT "
        "'it\\'s, (',\n  PRIMARY KEY (`id`),\n  UNIQUE KEY `u` (`b`(4)),\n  KEY `k` (`b`),\n  CONSTRAINT `f` FOREIGN KEY "
        "(`id`) REFERENCES `c` (`id`)\n) ENGINE=InnoDB;\n# a comment's\nINSERT INTO `a` VALUES (1,'it\\'s; CREATE TABLE');\n"
        "CREATE TABLE c LIKE a;\n",
        "a(id:number*,b:text) c(id:number,b:text) a.id>c.id");
}

static void test_refused(void **state)
{
    (void)state;
    refuses("", "dump.sql: expected a tables.json or CREATE TABLE statements, got neither");
    refuses("id,question\n1,hello", "expected a tables.json or CREATE TABLE statements");
    refuses("\n\nCREATE TABLE t (a 'b", "dump.sql: line 3: the text or name that begins with ' is not closed");
    refuses("/* x", "line 1: the comment is not closed");
    refuses("/*/", "line 1: the comment is not closed");
    refuses("CREATE TABLE t (a $x$ b $x", "begins with $ is not closed");
    refuses("CREATE TABLE t (a int, A text);", "line 1: the table t has two columns A");
    refuses("CREATE TABLE s.t (a int);\nCREATE TABLE r.T (a int);", "line 2: the table T is created twice");
    refuses("CREATE TABLE t (a int", "expected ',' or ')', got the end of the statement");
    refuses("CREATE TABLE t (a int, , b int);", "expected a column or a constraint, got ','");
    refuses("CREATE TABLE t (a int, PRIMARY KEY (b));", "the primary key of t names the column b");
    refuses("CREATE TABLE t (a int) INHERITS (u);", "expected a table that was created before, got u");
    refuses("CREATE TABLE t (LIKE t);", "expected a table that was created before, got t");
    refuses("CREATE TABLE t (a int); ALTER TABLE t RENAME COLUMN a TO b;", "expected the final schema");
    refuses("CREATE TABLE t (a int); ALTER TABLE t DROP COLUMN a;", "expected the final schema");
    refuses("CREATE TABLE t (\"\xff\" int);", "expected a name in UTF-8, got other bytes");
    refuses("CREATE TABLE \"\" (a int);", "got an empty one");
    refuses("CREATE TABLE t (a int); DROP TABLE t;", "got neither");
}

/* Refuses a text of a head, a part that is repeated n times with its number, and a tail. */
static void refuses_repeated(const char *head, const char *part, int n, const char *tail, const char *expected)
{
    char *text = NULL;
    size_t size;
    FILE *f = open_memstream(&text, &size);

    fputs(head, f);
    for (int i = 0; i < n; i++)
        fprintf(f, part, i);
    fputs(tail, f);
    fclose(f);
    refuses(text, expected);
    free(text);
}

static void test_limits(void **state)
{
    (void)state;
    refuses_repeated("CREATE TABLE t (", "c%d,", CREATE_MAX_TABLE_COLUMNS + 1, "", "at most 4096 columns of a table");
    refuses_repeated("CREATE TABLE t (a,", "(", CREATE_MAX_TOKENS, "", "expected a statement of at most");
    refuses_repeated("CREATE TABLE ", "x", CREATE_MAX_NAME + 1, " (a);", "expected a name of at most 512 bytes");
    refuses_repeated("", "CREATE TABLE t%d (a);", CREATE_MAX_TABLES + 1, "", "expected at most 20000 tables");
    refuses_repeated("CREATE TABLE t (a", " REFERENCES t", CREATE_MAX_KEYS + 1, ");",
                     "expected at most 50000 foreign keys");
}

static void test_db_id(void **state)
{
    char *dir = test_dir_new();
    struct schema_set set;
    struct error err = { 0 };

    (void)state;
    assert_int_equal(schema_set_open(&set, test_file(dir, "shop.v2.sql", "  CREATE TABLE t (a int);"), &err), 0);
    assert_non_null(schema_find(&set, "shop.v2"));
    schema_set_close(&set);
    assert_int_equal(schema_set_open(&set, test_file(dir, "no", "x"), &err), -1);
    assert_non_null(strstr(err.text, "/no: expected a tables.json or CREATE TABLE statements"));
    schema_set_close(&set);
    test_dir_remove(dir);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_pg_dump), cmocka_unit_test(test_views),
        cmocka_unit_test(test_sqlite),  cmocka_unit_test(test_duckdb_and_mysql),
        cmocka_unit_test(test_refused), cmocka_unit_test(test_limits),
        cmocka_unit_test(test_db_id),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
