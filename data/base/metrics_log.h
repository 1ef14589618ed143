/*
 * metrics_log.h - metrics of a training run by step: metrics.jsonl and a TensorBoard event file in one folder.
 *
 * A line is {"step":120,"phase":"relevance","loss":0.31,...}.  Steps never decrease within a file.  A resumed run can
 * therefore remove the lines beyond its checkpoint.  Every line is flushed at once.
 *
 * The caller closes logs and releases series.
 */
#ifndef DATA_BASE_METRICS_LOG_H
#define DATA_BASE_METRICS_LOG_H

#include "kernels/base.h"

#include <jansson.h>
#include <stdio.h>

struct metrics_log {
    FILE *lines, *events;
    char *path;     /* path of metrics.jsonl */
    double seconds; /* the field "seconds" of the last line that was kept; 0: none */
};

struct metric {
    const char *name;
    double value; /* NAN and infinities are written as null and omitted from the event file */
};

/* With step 0, starts a new log.  With step > 0, keeps the complete lines up to that step; with `unvalidated`, lines of
 * that step without "loss" are removed too.  The folder must exist.  -1 with EXIT_CODE_FAILURE, or with EXIT_CODE_DATA
 * if the file is not a metrics log. */
int metrics_log_open(struct metrics_log *m, const char *dir, int64_t step, bool unvalidated, struct error *err);
/* phase may be NULL.  Tags of the event file are "phase/name". */
int metrics_log_write(struct metrics_log *m, int64_t step, const char *phase, const struct metric *list, int n,
                      struct error *err);
/* For TensorBoard alone, on its page HPARAMS: the settings of the run, an object of numbers, flags and texts; and the
 * successful end of the run. */
int metrics_log_settings(struct metrics_log *m, const json_t *settings, struct error *err);
int metrics_log_end(struct metrics_log *m, struct error *err);
/* For TensorBoard alone: the numbers of an object and of the objects in it, with tags such as "test/contrast/ap".  The
 * lines do not have them, because a resumed run computes them again. */
int metrics_log_test(struct metrics_log *m, int64_t step, const json_t *metrics, struct error *err);
void metrics_log_close(struct metrics_log *m);

/* The values of one metric by step, for a curve.  Lines without the metric are skipped; n may be 0. */
struct series {
    double *step, *value;
    int n, cap;
};
int series_read(struct series *s, const char *path, const char *phase, const char *name, struct error *err);
void series_release(struct series *s);

/*
 * TensorBoard event files with scalars by tag and step.
 *
 * A file is a sequence of records: length (u64, little-endian), masked CRC-32C of the length, an Event in protobuf
 * format, masked CRC-32C of the event.  Only the fields that scalars and hyperparameters need are written.
 */
/* CRC-32C (Castagnoli) of the bytes. */
uint32_t crc32c(const void *data, size_t size);

/* Writes the first record. from_step > 0 marks a resumed run: values of older files from that step on are void. */
int tf_events_start(FILE *f, double wall_time, int64_t from_step);
/* Writes a scalar.  0, or -1 if the write fails. */
int tf_events_scalar(FILE *f, double wall_time, int64_t step, const char *tag, float number);
/* Writes the hyperparameters of a session, and its successful end.  Values that are null are omitted. */
int tf_events_settings(FILE *f, double wall_time, const json_t *settings);
int tf_events_end(FILE *f, double wall_time);

#endif
