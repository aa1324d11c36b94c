# Every target works on a fresh clone with Go alone; servers and Docker are used where they are.
.PHONY: build test race lint fuzz bench suite baseline image

build:
	go build -o lockbench ./cmd/lockbench

test:
	go test ./...

# What runs goroutines against each other, under the race detector.
race:
	go test -race -short -timeout 10m ./faults/... ./history/... ./impls/... ./locktest ./results/... ./workloads/...
	go test -race -timeout 10m -run 'Stop|Suite|Refused|Directory' ./harness

lint:
	test -z "$$(gofmt -l .)" || { gofmt -l .; exit 1; }
	go mod verify
	go vet ./...
	go tool staticcheck ./...

# Each fuzz target for a number of inputs. (A time, as 10s, works too; Go then now and then reports its own deadline as a failure.)
FUZZTIME ?= 5000x
fuzz:
	@grep -rHo --include='*_test.go' '^func Fuzz[A-Za-z]*' . | sed 's|/[^/]*:func | |' | while read -r p f; do \
		echo "$$p $$f"; go test -run '^$$' -fuzz "^$$f\$$" -fuzztime $(FUZZTIME) "$$p" || exit 1; \
	done

# What the locks cost, measured anew on this machine (about five minutes; leave it alone meanwhile), and the tables of the pages.
BENCHED = set-nx-ex,token,fenced,fair,handoff,redisson,redlock,rw-lease,semaphore,redsync,redsync-normalised,redislock-normalised,rueidislock,rueidislock-normalised
bench:
	go run ./cmd/lockbench bench --locks $(BENCHED) --clients 1,8,32 --duration 4s --server process --seed 1 --store results/baseline/bench.json
	go test ./cmd/lockbench -run Readme -update

suite:
	go run ./cmd/lockbench suite

# The stored suite, and the tables of the pages, after verdicts were changed on purpose.
baseline:
	go run ./cmd/lockbench suite --store results/baseline/suite-sim.json
	go test ./cmd/lockbench -run Readme -update

# The small Redis image that the docker provider can use where no registry is reached.
image:
	scripts/redis-image.sh
