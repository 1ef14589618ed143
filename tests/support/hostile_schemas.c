#include "tests/support/hostile_schemas.h"

#include "kernels/base.h"

#include <stdio.h>

static const char *const scripts[HOSTILE_SCHEMAS - 1] = {
    "CREATE TABLE \"two words\"(\"first name\" TEXT, \"last-name\" INT PRIMARY KEY);"
    "CREATE TABLE b(x INT REFERENCES \"two words\"(\"last-name\"), \"first name\" TEXT);",
    "CREATE TABLE \"select\"(\"from\" INT PRIMARY KEY, \"where\" TEXT, \"group\" INT);"
    "CREATE TABLE \"order\"(\"from\" INT REFERENCES \"select\", \"join\" TEXT, \"on\" INT);",
    "CREATE TABLE \"a\"\"b\"(\"c\"\"d\" INT PRIMARY KEY, \"it's\" TEXT, \"`\" INT, \"[x]\" INT);"
    "CREATE TABLE \"'\"(\"''\" INT REFERENCES \"a\"\"b\");",
    "CREATE TABLE \"line\nbreak\"(\"tab\there\" INT PRIMARY KEY, \"\r\n\" TEXT); CREATE TABLE n(m INT REFERENCES \"line\nbreak\");",
    "CREATE TABLE \"😀\"(\"🎤 name\" TEXT, \"é\" INT PRIMARY KEY); CREATE TABLE Ünï(\"é\" INT REFERENCES \"😀\", \"É\" TEXT);",
    "CREATE TABLE \"\"(\"\" INT PRIMARY KEY, \" \" TEXT); CREATE TABLE \" \"(a INT REFERENCES \"\");",
    "CREATE TABLE t1(t1 INT PRIMARY KEY, t2 TEXT); CREATE TABLE t2(t1 INT REFERENCES t1, \"t1.t2\" TEXT);",
    "CREATE TABLE \"{x}\"(\"{y}\" INT PRIMARY KEY, \"}}{{\" TEXT); CREATE TABLE \"%s%n\"(\"%d\" INT REFERENCES \"{x}\");",
    "CREATE TABLE \"table\"(\"column\" INT PRIMARY KEY, \"string\" TEXT, number INT);"
    "CREATE TABLE \"column\"(\"table\" INT REFERENCES \"table\", \"string\" TEXT);",
    "CREATE TABLE \"1st\"(\"2nd\" INT PRIMARY KEY, \"3.5\" TEXT, \"-1\" INT); CREATE TABLE \"7\"(\"7\" INT REFERENCES \"1st\");",
    "CREATE TABLE a(name TEXT, id INT); CREATE TABLE b(Name TEXT, ID INT); CREATE TABLE c(NAME TEXT, Id INT);",
    "CREATE TABLE person(id INT PRIMARY KEY, boss INT REFERENCES person(id), rowid TEXT, oid INT);",
    "CREATE TABLE a(x INT); CREATE TABLE b(y INT);",
    "CREATE TABLE a(x INT PRIMARY KEY); CREATE TABLE b(x INT REFERENCES a, y INT); CREATE VIEW v AS SELECT x + 1 AS "
    "\"x + 1\", count(*) FROM a;",
    "CREATE TABLE count(count INT, sum INT PRIMARY KEY); CREATE TABLE avg(min INT REFERENCES count(sum));",
    "CREATE TABLE \"a;b\"(\"--\" INT PRIMARY KEY, \"/*\" TEXT); CREATE TABLE \"*\"(\"*\" INT REFERENCES \"a;b\");",
    "CREATE TABLE aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
    "(b INT PRIMARY KEY); CREATE TABLE c(d INT);",
    "CREATE TABLE cast(\"end\" INT PRIMARY KEY, \"case\" INT, \"like\" TEXT, glob TEXT, \"null\" INT, \"true\" INT);"
    "CREATE TABLE \"left\"(\"natural\" INT REFERENCES cast, \"cross\" TEXT, over INT, filter INT);",
    "CREATE VIRTUAL TABLE notes USING fts5(title, body); CREATE TABLE o(title TEXT);",
};

const char hostile_question[] = "Who has \"a'b\" or 'c\"d', {x} 😀 first name of 12?";
const char *const hostile_templates[HOSTILE_TEMPLATES] = {
    "select column from table",
    "select distinct column, count(column) from table where column = string group by column having count(column) > number",
    "select column from table where column like string or column between number and number order by column desc limit number",
    "select column, count(distinct column) from table as t1 join table as t2 on column = column group by column",
    "select column from table join table on column = column where column != string",
    "select column from table as t1 join table as t2 where column > number",
    "select column from table where column in (select column from table where column = string) and column > number",
    "select column from table intersect select column from table as t1 join table as t2 on column = column",
    "select count(column) from (select column from table union select column from table)",
    "select avg(column) - min(column) from table as t1 join table as t2 on column = column and column = column",
};

/* A thousand columns, twice. */
static char *wide_script(void)
{
    char *script = NULL;
    size_t size;
    FILE *out = open_memstream(&script, &size);

    for (int t = 0; t < 2; t++) {
        fprintf(out, "CREATE TABLE wide%d(", t);
        for (int c = 0; c < 1000; c++)
            fprintf(out, "%s\"column %d\" INT", c ? ", " : "", c);
        fputs(");", out);
    }
    fputs("CREATE TABLE narrow(id INT PRIMARY KEY);", out);
    fclose(out);
    return script;
}

char *hostile_script(int i)
{
    return i < HOSTILE_SCHEMAS - 1 ? xstrdup(scripts[i]) : wide_script();
}
