# ambit for NVIDIA GPUs, from packages built here: docker build -f scripts/containers/cuda.Dockerfile -t ambit-cuda .
# To run it, the host needs a driver for CUDA 13 (580 or newer) and NVIDIA's container toolkit: docker run --gpus all.
FROM debian:bookworm-slim AS nvidia
RUN apt-get update \
    && apt-get install -y --no-install-recommends ca-certificates \
    && rm -rf /var/lib/apt/lists/*
ADD https://developer.download.nvidia.com/compute/cuda/repos/debian12/x86_64/cuda-keyring_1.1-1_all.deb /keyring.deb
RUN dpkg -i /keyring.deb && rm /keyring.deb

FROM nvidia AS build
RUN apt-get update \
    && apt-get install -y --no-install-recommends cuda-nvcc-13-0 cuda-cudart-dev-13-0 libcublas-dev-13-0
WORKDIR /src
COPY scripts/install-deps.sh scripts/
RUN scripts/install-deps.sh --package
COPY . .
RUN PATH=/usr/local/cuda-13.0/bin:$PATH cmake --preset package -DAMBIT_CUDA=ON \
    && cmake --build --preset package \
    && cpack --preset package -B /packages

FROM nvidia
RUN --mount=type=bind,from=build,source=/packages,target=/packages \
    apt-get update \
    && apt-get install -y --no-install-recommends /packages/ambit_*.deb /packages/ambit-mpi_*.deb /packages/ambit-cuda_*.deb libcublas-13-0 \
    && rm -rf /var/lib/apt/lists/*
ENV NVIDIA_VISIBLE_DEVICES=all NVIDIA_DRIVER_CAPABILITIES=compute,utility
WORKDIR /data
CMD ["ambit-train", "doctor"]
