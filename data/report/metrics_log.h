/*
 * metrics_log.h - what a training run measured, step by step: metrics.jsonl and a TensorBoard event file in one folder.
 *
 * A line is {"step":120,"phase":"relevance","loss":0.31,...}.  Steps never go back within a file, which is what lets a
 * resumed run cut off what its predecessor wrote beyond the checkpoint.  Every line is flushed as it is written.
 */
#ifndef DATA_REPORT_METRICS_LOG_H
#define DATA_REPORT_METRICS_LOG_H

#include "kernels/base.h"

#include <stdio.h>

struct metrics_log {
    FILE *lines, *events;
    char *path; /* of the lines */
};

struct metric {
    const char *name;
    double value; /* NAN and infinities are written as null, and left out of the event file */
};

/* Starts anew with step 0.  With step > 0, lines beyond that step are removed, as is a last line that was cut short,
 * and the rest is kept; with `unvalidated` lines of that step without "loss" are removed too.  The folder must exist.
 * -1 with EXIT_CODE_FAILURE, or EXIT_CODE_DATA when the lines are not ours. */
int metrics_log_open(struct metrics_log *m, const char *dir, int64_t step, bool unvalidated, struct error *err);
/* phase may be NULL; in the event file a tag is "phase/name". */
int metrics_log_write(struct metrics_log *m, int64_t step, const char *phase, const struct metric *list, int n,
                      struct error *err);
void metrics_log_close(struct metrics_log *m);

/* One metric over the steps, for a curve.  Lines without it are passed over; n may come out 0. */
struct series {
    double *step, *value;
    int n, cap;
};
int series_read(struct series *s, const char *path, const char *phase, const char *name, struct error *err);
void series_release(struct series *s);

/*
 * Event files that TensorBoard reads: scalars by tag and step.
 *
 * A file is a row of records: length (u64, little-endian), masked CRC-32C of the length, an Event in protobuf form,
 * masked CRC-32C of the event.  Only the few fields that scalars need are written.
 */
/* CRC-32C (Castagnoli) of the bytes. */
uint32_t crc32c(const void *data, size_t size);

/* The first record; from_step > 0 says that a run goes on there: what older files hold from that step on is void. */
int tf_events_start(FILE *f, double wall_time, int64_t from_step);
/* 0, or -1 when the write fails.  The tag is at most 200 bytes. */
int tf_events_scalar(FILE *f, double wall_time, int64_t step, const char *tag, float value);

#endif
