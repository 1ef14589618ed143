/*
 * hdf5_format_impl.h - the parts of hdf5_format.h.
 */
#ifndef MODELS_CHECKPOINT_HDF5_FORMAT_IMPL_H
#define MODELS_CHECKPOINT_HDF5_FORMAT_IMPL_H

#include "models/checkpoint/hdf5_format.h"

/* Bytes that are being parsed; `ended` once more were asked for than there are. */
struct hdf5_bytes {
    const unsigned char *p;
    size_t n;
    bool ended;
};

/* hdf5_bytes.c: the next n bytes as a number, the lowest first; 0 behind the end. */
uint64_t hdf5_take(struct hdf5_bytes *b, int n);
/* An address or a length; -1 for one that no file has. */
int64_t hdf5_take_place(struct hdf5_bytes *b);
/* The next n bytes by themselves; none behind the end. */
struct hdf5_bytes hdf5_take_bytes(struct hdf5_bytes *b, size_t n);
/* Whether the next bytes are those of the text, which are then behind. */
bool hdf5_take_text(struct hdf5_bytes *b, const char *text);
/* n bytes at an address, the caller's to free; NULL where they are not in the file, or were read too often. */
unsigned char *hdf5_load(struct hdf5_file *f, int64_t at, int64_t n);

/* hdf5_format.c: a link message. */
int hdf5_link_read(struct hdf5_file *f, struct hdf5_bytes b, struct hdf5_links *links);

/* hdf5_heap.c: the links of a group that has too many for its header. */
int hdf5_heap_links(struct hdf5_file *f, int64_t heap, int64_t tree, struct hdf5_links *links);

#endif
