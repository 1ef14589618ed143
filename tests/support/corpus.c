#include "tests/support/corpus.h"

#include "tests/support/support.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Everywhere $ stands for the database's number. */
static const char schema[] =
    "{\"db_id\": \"harbour_$\", \"table_names\": [\"boat\", \"crew member\"],"
    " \"table_names_original\": [\"Boat\", \"crew\"],"
    " \"column_names\": [[-1, \"*\"], [0, \"boat id\"], [0, \"colour\"], [0, \"length\"], [0, \"age\"],"
    "  [1, \"crew id\"], [1, \"wage\"], [1, \"rank\"], [1, \"boat id\"], [1, \"leader\"]],"
    " \"column_names_original\": [[-1, \"*\"], [0, \"Boat_ID\"], [0, \"colour\"], [0, \"length\"], [0, \"age\"],"
    "  [1, \"crew_id\"], [1, \"wage\"], [1, \"rank\"], [1, \"boat_id\"], [1, \"leader\"]],"
    " \"column_types\": [\"text\", \"number\", \"text\", \"number\", \"number\", \"number\", \"number\", \"text\","
    "  \"number\", \"number\"], \"primary_keys\": [1, 5], \"foreign_keys\": [[8, 1], [9, 5]]}";

struct row {
    const char *question, *sql;
};

static const struct row rows[] = {
    { "Which colours do boats of harbour $ have?", "SELECT colour FROM Boat" },
    { "What wages are paid in harbour $?", "SELECT wage FROM crew" },
    { "How many boats over 9 metres lie in harbour $?", "SELECT count(*) FROM Boat WHERE length > 9" },
    { "How many sailors of harbour $ are captains?", "SELECT count(*) FROM crew WHERE rank = 'Captain'" },
    { "Colour and length of each boat of harbour $.", "SELECT colour, length FROM Boat" },
    { "Show wage and rank of all crew in harbour $.", "SELECT wage, rank FROM crew" },
    { "How long is the longest boat in harbour $?", "SELECT max(length) FROM Boat" },
    { "What is paid on average in harbour $?", "SELECT avg(wage) FROM crew" },
};

struct record {
    const char *file;
    int row;
    const char *original, *interpretations[2], *rest;
};

#define C_FILE "col-synonyms.train.jsonl"
#define T_FILE "tbl-synonyms.train.jsonl"
#define J_FILE "tbl-split.train.jsonl"
#define P_FILE "tbl-agg.train.jsonl"

static const struct record records[] = {
    { C_FILE,
      0,
      "select colour from boat",
      { "select hue from boat", "select paint from boat" },
      "\"extra_map\": {\"boat\": {\"colour\": [\"hue\", \"paint\"]}}" },
    { C_FILE,
      1,
      "select wage from crew",
      { "select pay from crew", "select salary from crew" },
      "\"extra_map\": {\"crew\": {\"wage\": [\"pay\", \"salary\"]}}" },
    { T_FILE,
      2,
      "select count(*) from boat where length > 9",
      { "select count(*) from ship where length > 9", "select count(*) from SailingVessel where length > 9" },
      "\"extra_table_map\": {\"boat\": [\"ship\", \"SailingVessel\"]}" },
    { T_FILE,
      3,
      "select count(*) from crew where rank = 'Captain'",
      { "select count(*) from staff where rank = 'Captain'", "select count(*) from team where rank = 'Captain'" },
      "\"extra_table_map\": {\"crew\": [\"staff\", \"team\"]}" },
    { J_FILE,
      4,
      "select colour, length from boat",
      { "select colour, length from boat",
        "select t2.colour, t1.length from boat as t1 join boat_colour as t2 on t1.boat_id = t2.boat_id" },
      "\"split_map\": {\"boat\": \"colour\"}, \"primary_key\": {\"boat\": \"boat_id\"}" },
    { J_FILE,
      5,
      "select wage, rank from crew",
      { "select wage, rank from crew",
        "select t2.wage, t1.rank from crew as t1 join crew_wage as t2 on t1.crew_id = t2.crew_id" },
      "\"split_map\": {\"crew\": \"wage\"}, \"primary_key\": {\"crew\": \"crew_id\"}" },
    { P_FILE,
      6,
      "select max(length) from boat",
      { "select max(length) from boat", "select max_length from boat_length" },
      "\"split_map\": {\"boat\": [\"max_length\", \"min_length\", \"avg_length\", \"total_length\"]}, "
      "\"primary_key\": {\"boat\": \"boat_id\"}" },
    { P_FILE,
      7,
      "select avg(wage) from crew",
      { "select avg(wage) from crew", "select avg_wage from crew_wage" },
      "\"split_map\": {\"crew\": [\"max_wage\", \"min_wage\", \"avg_wage\", \"total_wage\"]}, "
      "\"primary_key\": {\"crew\": \"crew_id\"}" },
};

static void put(FILE *f, const char *text, int number)
{
    for (; *text; text++)
        if (*text == '$')
            fprintf(f, "%d", number);
        else
            putc(*text, f);
}

static FILE *open_in(const char *dir, const char *name, const char *mode)
{
    FILE *f = fopen(test_file(dir, name, NULL), mode);
    CHECK(f, "cannot write %s/%s", dir, name);
    return f;
}

static void write_tables(const char *dir, int n)
{
    FILE *f = open_in(dir, "tables.json", "wb");
    for (int i = 0; i < n; i++) {
        fputs(i ? ",\n" : "[", f);
        put(f, schema, i);
    }
    fputs("]\n", f);
    fclose(f);
}

static void write_rows(const char *dir, const char *name, int first, int last)
{
    FILE *f = open_in(dir, name, "wb");
    for (int i = first; i < last; i++)
        for (int r = 0; r < ARRAY_LEN(rows); r++) {
            fprintf(f, "{\"db_id\": \"harbour_%d\", \"question\": \"", i);
            put(f, rows[r].question, i);
            fprintf(f, "\", \"query\": \"%s\"}\n", rows[r].sql);
        }
    fclose(f);
}

static void write_records(const char *dir, int n)
{
    for (int k = 0; k < ARRAY_LEN(records); k++) {
        const struct record *r = &records[k];
        FILE *f = open_in(dir, r->file, k % 2 ? "ab" : "wb");
        for (int i = 0; i < n; i++) {
            fprintf(f, "{\"db_id\": \"harbour_%d\", \"question\": \"", i);
            put(f, rows[r->row].question, i);
            fprintf(f, "\", \"orig_query\": \"%s\", \"query1\": \"%s\", \"query2\": \"%s\", %s}\n", r->original,
                    r->interpretations[0], r->interpretations[1], r->rest);
        }
        fclose(f);
    }
}

void corpus_write(const char *dir, int n)
{
    write_tables(dir, n);
    write_rows(dir, "train_spider.json", 0, n);
    write_rows(dir, "dev.json", 0, 1);
    write_records(dir, n);
    test_file(dir, "two_col_synonyms.json",
              "{\"harbour_0\": {\"boat\": {\"colour\": [\"hue\", \"paint\"], \"length\": [\"size\", \"extent\"]}}}");
}

void corpus_append(const char *dir, const char *name, const char *line)
{
    FILE *f = open_in(dir, name, "ab");
    fprintf(f, "%s\n", line);
    fclose(f);
}
