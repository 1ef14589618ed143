/*
 * cudnn.h - the part of cuDNN's backend that library_attention.cu calls.
 *
 * The library is opened at run time if a user has it, so neither it nor its headers are needed to build.  The values
 * are those of cuDNN's own header, which version 9 keeps; names lack its prefixes.
 */
#ifndef KERNELS_CUDA_CUDNN_H
#define KERNELS_CUDA_CUDNN_H

#include <stdint.h>

typedef struct cudnnContext *cudnnHandle_t;
typedef void *cudnnBackendDescriptor_t;

enum cudnn_type { CUDNN_FLOAT = 0, CUDNN_INT32 = 4, CUDNN_BFLOAT16 = 9, CUDNN_BOOLEAN = 11 };

enum cudnn_descriptor {
    CUDNN_POINTWISE = 0,
    CUDNN_ENGINECFG = 3,
    CUDNN_ENGINEHEUR = 4,
    CUDNN_EXECUTION_PLAN = 5,
    CUDNN_OPERATION_POINTWISE = 13,
    CUDNN_OPERATIONGRAPH = 15,
    CUDNN_VARIANT_PACK = 16,
    CUDNN_TENSOR = 17,
    CUDNN_MATMUL = 18,
    CUDNN_OPERATION_MATMUL = 19,
    CUDNN_REDUCTION = 21,
    CUDNN_OPERATION_REDUCTION = 22
};

/* The type of an attribute's elements. */
enum cudnn_element {
    CUDNN_OF_HANDLE = 0,
    CUDNN_OF_DATA_TYPE = 1,
    CUDNN_OF_BOOLEAN = 2,
    CUDNN_OF_INT64 = 3,
    CUDNN_OF_DOUBLE = 5,
    CUDNN_OF_VOID_PTR = 6,
    CUDNN_OF_HEUR_MODE = 8,
    CUDNN_OF_POINTWISE_MODE = 14,
    CUDNN_OF_DESCRIPTOR = 15,
    CUDNN_OF_REDUCTION_OPERATOR = 18
};

enum cudnn_pointwise_mode {
    CUDNN_ADD = 0,
    CUDNN_MUL = 1,
    CUDNN_DIV = 6,
    CUDNN_SUB = 9,
    CUDNN_EXP = 13,
    CUDNN_LOG = 15,
    CUDNN_CMP_GE = 303,
    CUDNN_CMP_LT = 304,
    CUDNN_LOGICAL_AND = 400,
    CUDNN_GEN_INDEX = 501,
    CUDNN_BINARY_SELECT = 601
};
enum cudnn_reduction { CUDNN_REDUCE_ADD = 0, CUDNN_REDUCE_MAX = 3 };
enum cudnn_heuristic { CUDNN_HEUR_MODE_A = 3 };

enum cudnn_attribute {
    CUDNN_POINTWISE_MODE = 0,
    CUDNN_POINTWISE_MATH_PREC = 1,
    CUDNN_POINTWISE_AXIS = 9,
    CUDNN_ENGINEHEUR_MODE = 200,
    CUDNN_ENGINEHEUR_OPERATION_GRAPH = 201,
    CUDNN_ENGINEHEUR_RESULTS = 202,
    CUDNN_EXECUTION_PLAN_HANDLE = 400,
    CUDNN_EXECUTION_PLAN_ENGINE_CONFIG = 401,
    CUDNN_EXECUTION_PLAN_WORKSPACE_SIZE = 402,
    CUDNN_OPERATION_POINTWISE_PW = 750,
    CUDNN_OPERATION_POINTWISE_X = 751,
    CUDNN_OPERATION_POINTWISE_B = 752,
    CUDNN_OPERATION_POINTWISE_Y = 753,
    CUDNN_OPERATION_POINTWISE_T = 758,
    CUDNN_OPERATIONGRAPH_HANDLE = 800,
    CUDNN_OPERATIONGRAPH_OPS = 801,
    CUDNN_TENSOR_BYTE_ALIGNMENT = 900,
    CUDNN_TENSOR_DATA_TYPE = 901,
    CUDNN_TENSOR_DIMENSIONS = 902,
    CUDNN_TENSOR_STRIDES = 903,
    CUDNN_TENSOR_UNIQUE_ID = 906,
    CUDNN_TENSOR_IS_VIRTUAL = 907,
    CUDNN_TENSOR_IS_BY_VALUE = 908,
    CUDNN_TENSOR_RAGGED_OFFSET = 913,
    CUDNN_VARIANT_PACK_UNIQUE_IDS = 1000,
    CUDNN_VARIANT_PACK_DATA_POINTERS = 1001,
    CUDNN_VARIANT_PACK_WORKSPACE = 1003,
    CUDNN_MATMUL_COMP_TYPE = 1500,
    CUDNN_MATMUL_PADDING_VALUE = 1503,
    CUDNN_OPERATION_MATMUL_A = 1520,
    CUDNN_OPERATION_MATMUL_B = 1521,
    CUDNN_OPERATION_MATMUL_C = 1522,
    CUDNN_OPERATION_MATMUL_DESC = 1523,
    CUDNN_OPERATION_MATMUL_M_OVERRIDE = 1525,
    CUDNN_OPERATION_MATMUL_N_OVERRIDE = 1526,
    CUDNN_OPERATION_MATMUL_K_OVERRIDE = 1527,
    CUDNN_REDUCTION_OPERATOR = 1600,
    CUDNN_REDUCTION_COMP_TYPE = 1601,
    CUDNN_OPERATION_REDUCTION_X = 1610,
    CUDNN_OPERATION_REDUCTION_Y = 1611,
    CUDNN_OPERATION_REDUCTION_DESC = 1612
};

/* The functions, without their prefix cudnn; 0 is success. */
struct cudnn {
    int (*Create)(cudnnHandle_t *handle);
    int (*Destroy)(cudnnHandle_t handle);
    int (*SetStream)(cudnnHandle_t handle, void *stream);
    int (*BackendCreateDescriptor)(int type, cudnnBackendDescriptor_t *d);
    int (*BackendDestroyDescriptor)(cudnnBackendDescriptor_t d);
    int (*BackendFinalize)(cudnnBackendDescriptor_t d);
    int (*BackendSetAttribute)(cudnnBackendDescriptor_t d, int name, int type, int64_t n, const void *elements);
    int (*BackendGetAttribute)(cudnnBackendDescriptor_t d, int name, int type, int64_t most, int64_t *n,
                               void *elements);
    int (*BackendExecute)(cudnnHandle_t handle, cudnnBackendDescriptor_t plan, cudnnBackendDescriptor_t pack);
};

#endif
