/*
 * links.h - a device's own ways to the devices of other ranks: NCCL between GPUs.
 *
 * What collective.h does for bytes of the host, in the order of the device's stream.  Calls queue work and return; like
 * a transport they only copy.  A rank that is gone leaves work that never ends, so who waits asks `poll` and looks
 * after the ranks meanwhile.
 */
#ifndef KERNELS_LINKS_H
#define KERNELS_LINKS_H

#include "kernels/device.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { LINKS_NAME = 128 };

/* A module of a device may export one as `const struct links ambit_links`. */
struct links {
    /* Bytes that one rank makes and all open with.  -1 with EXIT_CODE_DEVICE where there is no library. */
    int (*name)(struct device *d, char name[LINKS_NAME], struct error *err);
    /* Begins to connect all ranks, beside the caller: a rank that never comes would be waited for without end. */
    int (*open)(struct device *d, const char name[LINKS_NAME], int rank, int size, struct error *err);
    /* 1 while they are being connected, 0 once they are, -1 when that failed. */
    int (*opened)(struct device *d, struct error *err);
    /* Work that is under way is given up, opening too.  Of links that are not open: nothing. */
    void (*close)(struct device *d);
    /* As collective_gather and collective_exchange, of device memory. */
    int (*gather)(struct device *d, void *all, const void *mine, size_t bytes, struct error *err);
    int (*exchange)(struct device *d, void *in, const void *out, size_t bytes, struct error *err);
    /* 1 while the stream has work, 0 when all is done, -1 when a link failed. */
    int (*poll)(struct device *d, struct error *err);
};

/* NULL: the device has none. */
const struct links *links_of(const struct device *d);

#ifdef __cplusplus
}
#endif
#endif
