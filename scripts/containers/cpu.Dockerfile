# ambit for the CPU, from packages built here: docker build -f scripts/containers/cpu.Dockerfile -t ambit .
FROM debian:bookworm-slim AS build
WORKDIR /src
COPY scripts/install-deps.sh scripts/
RUN scripts/install-deps.sh --package
COPY . .
RUN cmake --preset package -DAMBIT_CUDA=OFF \
    && cmake --build --preset package \
    && cpack --preset package -B /packages

FROM debian:bookworm-slim
RUN --mount=type=bind,from=build,source=/packages,target=/packages \
    apt-get update \
    && apt-get install -y --no-install-recommends /packages/ambit_*.deb /packages/ambit-mpi_*.deb \
    && rm -rf /var/lib/apt/lists/*
WORKDIR /data
CMD ["ambit-train", "doctor"]
