#include "kernels/cuda/cuda.cuh"

constexpr int ROWS = 4, MAX_TABLES = 4;

/* Tables and their indices, as arguments of one launch. */
template <typename T>
struct embed_tables {
    const T *rows[MAX_TABLES];
    const int *ids[MAX_TABLES];
    int n;
};

/*
 * y[t,:] = sum_i table_i[ids_i[t],:]
 *
 * Grid     one warp per row, ROWS rows per block.
 * Memory   reads n rows, writes one, 16 bytes a lane.
 * Numbers  f32 sums in table order, one rounding.
 */
template <typename T>
__global__ void __launch_bounds__(ROWS *WARP)
    embed_kernel(T *__restrict__ y, embed_tables<T> table, int64_t rows, int64_t cols)
{
    int64_t t = grid_warp();
    if (t >= rows)
        return;
    for (int64_t j = lane_id() * PACK; j < cols; j += WARP * PACK) {
        float sum[PACK] = { 0 }, v[PACK];
        /* The sum is rounded once, after all tables. */
        for (int i = 0; i < table.n; i++) {
            load_pack(v, table.rows[i] + table.ids[i][t] * cols + j, cols - j);
            for (int k = 0; k < PACK; k++)
                sum[k] += v[k];
        }
        store_pack(y + t * cols + j, sum, cols - j);
    }
}

template <typename T>
static void embed(struct ctx *c, struct tensor *y, struct tensor *const *table, struct tensor *const *ids, int n)
{
    embed_tables<T> all = {};
    int64_t rows = tensor_rows(y);
    for (int i = 0; i < n; i++) {
        all.rows[i] = data_of<T>(table[i]);
        all.ids[i] = data_of<int>(ids[i]);
    }
    all.n = n;
    LAUNCH(embed_kernel<T>, blocks_for(rows, ROWS), ROWS * WARP, 0, cuda_stream(c), data_of<T>(y), all, rows,
           tensor_cols(y));
}

extern "C" void cuda_embed(struct ctx *c, struct tensor *y, struct tensor *const *table, struct tensor *const *ids,
                           int n)
{
    CHECK(n >= 1 && n <= MAX_TABLES, "embed: %d tables", n);
    if (tensor_size(y))
        DTYPE_SWITCH(y->dtype, embed<T>(c, y, table, ids, n));
}
