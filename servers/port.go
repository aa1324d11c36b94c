package servers

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"strconv"
)

// errPortTaken: somebody else has the port that we had chosen. The caller chooses another.
var errPortTaken = errors.New("port is taken")

const (
	// Ports are chosen below 32768, where Linux begins to hand out ports to clients. Clients of ours dial a killed node again
	// and again: from inside that range one of them could be given the node's own port, connect to itself, and keep the
	// node from ever coming back. A cluster node also needs port + 10000.
	firstPort     = 10000
	lastPort      = 22767
	busDistance   = 10000
	portAttempts  = 50
	startAttempts = 5
)

// freePort finds a port of 127.0.0.1 that nobody has at this moment. Which one it is has no influence on any result.
func freePort() (int, error) {
	for range portAttempts {
		port := firstPort + rand.IntN(lastPort-firstPort+1)
		if portFree(port) && portFree(port+busDistance) {
			return port, nil
		}
	}
	return 0, fmt.Errorf("no free port between %d and %d in %d attempts", firstPort, lastPort, portAttempts)
}

// portFree says whether the port can be bound now.
func portFree(port int) bool {
	l, err := net.Listen("tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(port)))
	if err != nil {
		return false
	}
	return l.Close() == nil
}
