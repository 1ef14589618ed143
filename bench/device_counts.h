/*
 * device_counts.h - the answer of the model benchmarks to `counts`: the device's work since the last `counts`.
 */
#ifndef BENCH_DEVICE_COUNTS_H
#define BENCH_DEVICE_COUNTS_H

#include "kernels/device.h"

#include <stdio.h>

/* One line: launches, replays, uploads and their bytes, downloads and their bytes, waits.  *since is set to now. */
static inline void print_counts(const struct device *d, struct device_counts *since)
{
    const struct device_counts n = d->counts, o = *since;

    printf("%lld %lld %lld %lld %lld %lld %lld\n", (long long)(n.launches - o.launches),
           (long long)(n.replays - o.replays), (long long)(n.uploads - o.uploads),
           (long long)(n.upload_bytes - o.upload_bytes), (long long)(n.downloads - o.downloads),
           (long long)(n.download_bytes - o.download_bytes), (long long)(n.syncs - o.syncs));
    *since = n;
}

#endif
