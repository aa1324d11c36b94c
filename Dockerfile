# An image of one static binary and nothing else, made from what `make release` leaves:
#   make release && docker build -t lockbench -f Dockerfile dist
#   docker run --rm lockbench                            # the suite, in the simulator
#   docker run --rm lockbench run --lock set-nx-ex --scenario pause-holder --server sim
FROM scratch
# The classic builder knows no TARGETARCH; give it with --build-arg TARGETARCH=arm64 there.
ARG TARGETARCH=amd64
COPY lockbench-linux-${TARGETARCH} /usr/bin/lockbench
# Runs are kept in /data/results/runs; mount a folder there, or name one with --out.
WORKDIR /data
ENTRYPOINT ["/usr/bin/lockbench"]
CMD ["suite", "--server", "sim"]
