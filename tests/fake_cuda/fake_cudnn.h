/*
 * fake_cudnn.h - declarations that the two parts of the fake cuDNN share: descriptors, and the state of a graph's run.
 */
#ifndef TESTS_FAKE_CUDA_FAKE_CUDNN_H
#define TESTS_FAKE_CUDA_FAKE_CUDNN_H

#include "kernels/cuda/cudnn.h"
#include "tests/fake_cuda/fake_impl.h"

#include <map>
#include <vector>

#include <string.h>

struct descriptor {
    int type;
    bool finalized;
    std::map<int, std::vector<char>> attributes;
};

inline bool has(const struct descriptor *d, int name)
{
    return d->attributes.count(name) != 0;
}

template <typename T>
std::vector<T> all(const struct descriptor *d, int name)
{
    const std::vector<char> &bytes = d->attributes.at(name);
    std::vector<T> v(bytes.size() / sizeof(T));
    memcpy(v.data(), bytes.data(), bytes.size());
    return v;
}

template <typename T>
T one(const struct descriptor *d, int name)
{
    return all<T>(d, name).at(0);
}

inline const struct descriptor *part(const struct descriptor *d, int name)
{
    return has(d, name) ? (const struct descriptor *)one<void *>(d, name) : nullptr;
}

inline bool is_set(const struct descriptor *d, int name)
{
    return has(d, name) && one<char>(d, name);
}

/* The contents of the tensors of a run. */
struct run_state {
    std::map<int64_t, char *> memory;             /* of the variant pack */
    std::map<int64_t, float> values;              /* by value */
    std::map<int64_t, std::vector<float>> inside; /* sequence, head, row and column one after the other */
    std::vector<int64_t> queries;                 /* the rows of each sequence, of whatever is written */
};

/* Operation by operation. */
void fake_cudnn_run(struct run_state *r, const struct descriptor *graph);

#endif
