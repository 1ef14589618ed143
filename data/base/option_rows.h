/*
 * option_rows.h - macros for the rows of an option table: one for each type, and one for each option that several
 * commands share.
 *
 * A row reads like its usage line: name, field, name of the value, limits or words, help.  The field is an offset,
 * which each table abbreviates by its own AT(field).  Further members of struct option may follow the help: .letter =
 * 'k', .required = true.
 */
#ifndef DATA_BASE_OPTION_ROWS_H
#define DATA_BASE_OPTION_ROWS_H

#include "data/base/options.h"
#include "data/base/record_reader.h"

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

/* Options that several commands share.  The help is an argument where it differs. */
#define CONFIG_HELP "YAML file with options; the command line overrides it"
#define CONFIG_OPTION(at) \
    OPTION_ROW(OPTION_CONFIG, "config", at, .value = "F.yaml", .help = CONFIG_HELP, .letter = 'c')
#define DB_OPTION(at, ...) \
    STRING_OPTION("db", at, "FILE|DIR", "SQLite file, or folder with NAME.sqlite, .db or .sqlite3" __VA_ARGS__)
#define DEVICE_HELP "compute device: auto, cpu, cuda, cuda:N or simt"
#define DEVICE_OPTION(at) STRING_OPTION("device", at, "DEVICE", DEVICE_HELP, .letter = 'd')
#define NO_GRAPH_OPTION(at) FLAG_OPTION("no-graph", at, "do not capture CUDA graphs (slower, same results)")
#define DRY_RUN_OPTION(at, ...) FLAG_OPTION("dry-run", at, __VA_ARGS__, .letter = 'n')
#define OUT_OPTION(at, value_, ...) /* begins the group "output" of every command */ \
    STRING_OPTION("out", at, value_, __VA_ARGS__, .letter = 'o', .writes = true, .group = "output")
#define OUT_DIR_OPTION(at) OUT_OPTION(at, "DIR", "output folder", .required = true)
#define FORMAT_IN_HELP "input format; auto: by file name and first line"
#define FORMAT_IN_OPTION(at) CHOICE_OPTION("format-in", at, "FORMAT", RECORD_FORMS, FORMAT_IN_HELP)
#define LABEL_FIELD_OPTION(at) \
    STRING_OPTION("label-field", at, "FIELD[=VALUE]", \
                  "label field of a custom data set (default: ambiguous); with =VALUE, the positive value")
#define FORCE_OPTION(at) FLAG_OPTION("force", at, "write to --out in spite of existing files with other contents")
#define OUT_JSONL_OPTION(at) OUT_OPTION(at, "FILE", "output file in JSONL; - is standard output")
#define RESUME_OPTION(at, ...) FLAG_OPTION("resume", at, __VA_ARGS__)
#define SHARD_OPTION(at, ...) /* the first argument is the granularity */ \
    OPTION_ROW(OPTION_SHARD, "shard", at, .value = "I/N", \
               .help = "process part I of N of the records into OUT.I-of-N (see ambit-data join); slurm: the part of " \
                       "the current job array task", .low = __VA_ARGS__)
#define SHARD_OPTIMIZER_OPTION(at) \
    FLAG_OPTION("shard-optimizer", at, "shard the optimizer state over ranks (same weights)")
#define SCHEMA_OPTION(at, ...) STRING_OPTION("schema", at, "FILE", __VA_ARGS__)
#define SEED_OPTION(at, ...) INT_OPTION("seed", at, "N", 0, 9007199254740991.0, __VA_ARGS__) /* 2^53 - 1 */
/* clang-format on */

#endif
