# Every target works on a fresh clone with Go alone; servers and Docker are used where they are.
.PHONY: build test race lint fuzz bench suite baseline examples beside image release

build:
	go build -o lockbench ./cmd/lockbench

test:
	go test ./...

# What runs goroutines against each other, under the race detector. RACE=-exec=true builds the tests
# and runs none.
RACE ?=
race:
	CGO_ENABLED=1 go test -race $(RACE) -short -timeout 10m ./bench ./faults/inject ./history ./impls/adapters ./impls/beyond ./impls/mutex ./impls/quorum \
		./impls/reentrant ./impls/rw ./locktest ./subject ./workloads
	CGO_ENABLED=1 go test -race $(RACE) -timeout 10m -run 'Stop|Suite|Refused|Directory' ./harness

lint:
	test -z "$$(gofmt -l .)" || { gofmt -l .; exit 1; }
	go mod tidy -diff
	go mod verify
	go vet ./...
	go tool staticcheck ./...

# Each fuzz target for a number of inputs. (A time, as 10s, works too; Go then now and then reports
# its own deadline as a failure.) Inputs are chosen by what they reach in the code; GUIDED= leaves
# that out and saves building every dependency once more, for runs too short to gain by it.
FUZZTIME ?= 5000x
GUIDED ?= yes
fuzz:
	@binaries=$$(mktemp -d); trap 'rm -rf "$$binaries"' EXIT; \
	grep -rHo --include='*_test.go' '^func Fuzz[A-Za-z]*' . | sed 's|/[^/]*:func | |' | while read -r p f; do \
		echo "$$p $$f"; binary=$$binaries/$$(echo "$$p" | tr / _); \
		if test -n "$(GUIDED)"; then go test -run '^$$' -fuzz "^$$f\$$" -fuzztime $(FUZZTIME) "$$p"; \
		else { test -x "$$binary" || go test -c -o "$$binary" "$$p"; } && \
			(cd "$$p" && "$$binary" -test.run '^$$' -test.fuzz "^$$f\$$" -test.fuzztime $(FUZZTIME) -test.fuzzcachedir "$$binaries/found"); \
		fi || exit 1; \
	done

# What the locks cost, measured anew on this machine (about five minutes; leave it alone meanwhile),
# and the tables of the pages.
BENCHED = set-nx-ex,token,fenced,fair,handoff,redisson,redlock,rw-lease,semaphore,redsync,redsync-normalised,redislock-normalised,rueidislock,rueidislock-normalised
bench:
	go build -o lockbench ./cmd/lockbench
	./lockbench bench --locks $(BENCHED) --clients 1,8,32 --duration 4s --server process --seed 1 --store results/baseline/bench.json || test $$? = 1 # a lock broke meanwhile
	go test ./cmd/lockbench -run Readme -update

# Released libraries before the kit, and locks beside Redis, in modules of their own. RUN=-exec=true
# builds the tests and runs none.
RUN ?=
examples:
	cd examples/libraries && go mod tidy -diff && go vet ./... && go test $(RUN) ./...
	cd examples/beside && go mod tidy -diff && go vet ./... && go test $(RUN) ./...

# The table of docs/choosing.md of locks beside Redis (five minutes; needs Debian's etcd-server,
# postgresql, zookeeper and redis-server).
beside:
	go build -o lockbench ./cmd/lockbench
	cd examples/beside && go build -o beside . && ./beside table ../../lockbench; rm -f beside

suite:
	go run ./cmd/lockbench suite

# The stored suite, and the tables of the pages, after verdicts were changed on purpose.
baseline:
	go run ./cmd/lockbench suite --store results/baseline/suite-sim.json
	go test ./cmd/lockbench -run Readme -update

# The small Redis image that the docker provider can use where no registry is reached.
image:
	scripts/redis-image.sh

# Static binaries with their checksums, one for each platform, in dist/. The Dockerfile makes an
# image of one of them.
VERSION ?= $(shell git describe --tags --always --dirty)
PLATFORMS ?= linux/amd64 linux/arm64 darwin/amd64 darwin/arm64
DIST ?= dist
TRIM ?= -trimpath
release:
	rm -f $(DIST)/lockbench-* $(DIST)/SHA256SUMS
	@for p in $(PLATFORMS); do echo "$$p"; \
		CGO_ENABLED=0 GOOS=$${p%/*} GOARCH=$${p#*/} go build $(TRIM) -ldflags '-s -w -X main.version=$(VERSION)' \
			-o "$(DIST)/lockbench-$${p%/*}-$${p#*/}" ./cmd/lockbench || exit 1; \
	done
	cd $(DIST) && sha256sum lockbench-* > SHA256SUMS
