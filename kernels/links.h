/*
 * links.h - direct communication between the devices of different ranks: NCCL between GPUs.
 *
 * The functions are those of collective.h for device memory, in the order of the device's stream.  Calls queue work and
 * return.  Like a transport, they only copy.  Work with a dead rank never ends, so a caller that waits must use `poll`
 * and check the ranks meanwhile.
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
    /* Makes the identifier that one rank creates and all ranks open with.  Returns -1 with EXIT_CODE_DEVICE if there is
     * no library. */
    int (*name)(struct device *d, char name[LINKS_NAME], struct error *err);
    /* Begins to connect all ranks in the background, because a missing rank would block the caller forever. */
    int (*open)(struct device *d, const char name[LINKS_NAME], int rank, int size, struct error *err);
    /* Returns 1 while the ranks are being connected, 0 once they are, -1 on an error. */
    int (*opened)(struct device *d, struct error *err);
    /* Closes the links and abandons running work, including the connecting.  Does nothing if they are not open. */
    void (*close)(struct device *d);
    /* Like collective_gather and collective_exchange, for device memory. */
    int (*gather)(struct device *d, void *all, const void *mine, size_t bytes, struct error *err);
    int (*exchange)(struct device *d, void *in, const void *out, size_t bytes, struct error *err);
    /* Returns 1 while the stream has work, 0 when all work is done, -1 if a link failed. */
    int (*poll)(struct device *d, struct error *err);
};

/* Returns the links of a device, or NULL if it has none. */
const struct links *links_of(const struct device *d);

#ifdef __cplusplus
}
#endif
#endif
