/*
 * option_rows.h - the rows of a table of options: one macro for each type, and the options that several commands have.
 *
 * A row reads like the usage line: name, field, value's name, limits or words, help.  The field is an offset, which
 * a table shortens by its own AT(field).  Behind the help other members of struct option may stand: .letter = 'k',
 * .required = true.
 */
#ifndef DATA_CLI_OPTION_ROWS_H
#define DATA_CLI_OPTION_ROWS_H

#include "data/cli/options.h"
#include "data/util/record_reader.h"

/* clang-format off */
#define OPTION_ROW(type_, name_, at, ...) { .name = (name_), .type = (type_), .offset = (at), __VA_ARGS__ }

#define FLAG_OPTION(name_, at, ...) OPTION_ROW(OPTION_FLAG, name_, at, .help = __VA_ARGS__)
#define STRING_OPTION(name_, at, value_, ...) \
    OPTION_ROW(OPTION_STRING, name_, at, .value = (value_), .help = __VA_ARGS__)
#define INT_OPTION(name_, at, value_, low_, high_, ...) \
    OPTION_ROW(OPTION_INT, name_, at, .value = (value_), .low = (low_), .high = (high_), .help = __VA_ARGS__)
#define REAL_OPTION(name_, at, value_, low_, high_, ...) \
    OPTION_ROW(OPTION_REAL, name_, at, .value = (value_), .low = (low_), .high = (high_), .help = __VA_ARGS__)
#define CHOICE_OPTION(name_, at, value_, words, ...) \
    OPTION_ROW(OPTION_CHOICE, name_, at, .value = (value_), .choices = (words), .help = __VA_ARGS__)
#define WORD_OPTION(name_, at, value_, words, ...) \
    OPTION_ROW(OPTION_WORD, name_, at, .value = (value_), .choices = (words), .help = __VA_ARGS__)
#define PRESET_OPTION(name_, at, value_, words, ...) \
    OPTION_ROW(OPTION_PRESET, name_, at, .value = (value_), .choices = (words), .help = __VA_ARGS__)

/* What several commands have.  Where the help differs, it is given. */
#define CONFIG_OPTION(at) \
    OPTION_ROW(OPTION_CONFIG, "config", at, .value = "F.yaml", .help = "settings; the command line overrides them", \
               .letter = 'c')
#define DB_OPTION(at, ...) \
    STRING_OPTION("db", at, "FILE|DIR", "a SQLite file, or a folder with NAME.sqlite, .db or .sqlite3" __VA_ARGS__)
#define DEVICE_OPTION(at) STRING_OPTION("device", at, "DEVICE", "auto, cpu, cuda, cuda:N or simt", .letter = 'd')
#define NO_GRAPH_OPTION(at) FLAG_OPTION("no-graph", at, "launch every kernel by itself; the same numbers, slower")
#define DRY_RUN_OPTION(at, ...) FLAG_OPTION("dry-run", at, __VA_ARGS__, .letter = 'n')
#define OUT_OPTION(at, value_, ...) STRING_OPTION("out", at, value_, __VA_ARGS__, .letter = 'o', .writes = true)
#define OUT_DIR_OPTION(at) OUT_OPTION(at, "DIR", "the folder to make", .required = true)
#define FORMAT_IN_OPTION(at) \
    CHOICE_OPTION("format-in", at, "FORM", RECORD_FORMS, "what holds the records; auto goes by name and first line")
#define LABEL_FIELD_OPTION(at) \
    STRING_OPTION("label-field", at, "FIELD[=VALUE]", \
                  "what says yes or no in own labels, in place of ambiguous; or which value of it is yes")
#define FORCE_OPTION(at) FLAG_OPTION("force", at, "replace files of the folder that hold something else")
#define OUT_JSONL_OPTION(at) OUT_OPTION(at, "FILE", "where the JSONL goes; - is standard output")
#define RESUME_OPTION(at, ...) FLAG_OPTION("resume", at, __VA_ARGS__)
#define SHARD_OPTION(at, ...) /* the grain first */ \
    OPTION_ROW(OPTION_SHARD, "shard", at, .value = "I/N", \
               .help = "only part I of N of the records, into OUT.I-of-N, for ambit-data join; slurm: the part of this " \
                       "task of a job array", .low = __VA_ARGS__)
#define SHARD_OPTIMIZER_OPTION(at) \
    FLAG_OPTION("shard-optimizer", at, "over ranks: each keeps a share of the optimizer's state; the same weights")
#define SCHEMA_OPTION(at, ...) STRING_OPTION("schema", at, "FILE", __VA_ARGS__)
#define SEED_OPTION(at, ...) INT_OPTION("seed", at, "N", 0, 9007199254740991.0, __VA_ARGS__) /* 2^53 - 1 */
/* clang-format on */

#endif
