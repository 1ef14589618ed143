/*
 * dnnl_compat.h - common names for the different interfaces of oneDNN 2 and 3.
 *
 * oneDNN 2 describes memory by a struct, oneDNN 3 by a handle.
 */
#ifndef KERNELS_CPU_DNNL_COMPAT_H
#define KERNELS_CPU_DNNL_COMPAT_H

#include <dnnl.h>

typedef dnnl_memory_desc_t desc;

/* True if a kernel on AMX tiles may run with the tile configuration of another, see gemm_dnnl.c. */
#define DNNL_STALE_TILES (DNNL_VERSION_MAJOR * 100 + DNNL_VERSION_MINOR < 301)

#if DNNL_VERSION_MAJOR >= 3

typedef const_dnnl_memory_desc_t const_desc;
#define DESC_OF(d) (d)
#define desc_strided dnnl_memory_desc_create_with_strides
#define desc_tagged dnnl_memory_desc_create_with_tag
#define desc_free(d) ((void)dnnl_memory_desc_destroy(*(d)))
#define append_sum(ops) dnnl_post_ops_append_sum((ops), 1.0f, 0, dnnl_data_type_undef)
#define append_eltwise(ops, kind, alpha) dnnl_post_ops_append_eltwise((ops), (kind), (alpha), 0)

static inline dnnl_status_t matmul_describe(dnnl_primitive_desc_t *about, dnnl_engine_t engine, desc *a, desc *b,
                                            desc *bias, desc *y, dnnl_primitive_attr_t attr)
{
    return dnnl_matmul_primitive_desc_create(about, engine, *a, *b, bias ? *bias : NULL, *y, attr);
}

#else

typedef const dnnl_memory_desc_t *const_desc;
#define DESC_OF(d) (&(d))
#define desc_strided dnnl_memory_desc_init_by_strides
#define desc_tagged dnnl_memory_desc_init_by_tag
#define desc_free(d) ((void)(d))
#define append_sum(ops) dnnl_post_ops_append_sum((ops), 1.0f)
#define append_eltwise(ops, kind, alpha) dnnl_post_ops_append_eltwise((ops), 1.0f, (kind), (alpha), 0)

static inline dnnl_status_t matmul_describe(dnnl_primitive_desc_t *about, dnnl_engine_t engine, desc *a, desc *b,
                                            desc *bias, desc *y, dnnl_primitive_attr_t attr)
{
    dnnl_matmul_desc_t matmul;
    dnnl_status_t status = dnnl_matmul_desc_init(&matmul, a, b, bias, y);

    return status == dnnl_success ? dnnl_primitive_desc_create(about, &matmul, attr, engine, NULL) : status;
}

#endif

#endif
