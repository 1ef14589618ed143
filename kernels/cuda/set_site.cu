#include "kernels/cuda/cuda.cuh"

/*
 * rng[3] = site: the random numbers of later launches belong to another place of the model
 *
 * Grid     one thread.
 */
__global__ void __launch_bounds__(1) set_site_kernel(int *rng, const int *site)
{
    rng[3] = *site;
}

extern "C" void cuda_set_site(struct ctx *c, struct tensor *rng, const struct tensor *site)
{
    LAUNCH(set_site_kernel, 1, 1, 0, cuda_stream(c), data_of<int>(rng), data_of<int>(site));
}
