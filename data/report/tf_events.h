/*
 * tf_events.h - event files that TensorBoard reads: scalars by tag and step.
 *
 * A file is a row of records: length (u64, little-endian), masked CRC-32C of the length, an Event in protobuf form,
 * masked CRC-32C of the event.  Only the few fields that scalars need are written.
 */
#ifndef DATA_REPORT_TF_EVENTS_H
#define DATA_REPORT_TF_EVENTS_H

#include "kernels/base.h"

#include <stdio.h>

/* CRC-32C (Castagnoli) of the bytes. */
uint32_t crc32c(const void *data, size_t size);

/* The first record; from_step > 0 says that a run goes on there: what older files hold from that step on is void. */
int tf_events_start(FILE *f, double wall_time, int64_t from_step);
/* 0, or -1 when the write fails.  The tag is at most 200 bytes. */
int tf_events_scalar(FILE *f, double wall_time, int64_t step, const char *tag, float value);

#endif
