package servers

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"strconv"
)

// ErrPortTaken is returned when a server does not start, or start again after a kill, because
// another process listens on its port.
var ErrPortTaken = errors.New("port is taken")

const (
	// Ports are below 32768, where Linux's ephemeral ports begin: a client that keeps dialling a
	// killed node from an ephemeral port could get the node's port, connect to itself, and prevent
	// the restart. A cluster node also needs port + 10000.
	firstPort     = 10000
	lastPort      = 22767
	busDistance   = 10000
	portAttempts  = 50
	startAttempts = 5
)

// freePort returns a port of 127.0.0.1 that is free now.
func freePort() (int, error) {
	for range portAttempts {
		port := firstPort + rand.IntN(lastPort-firstPort+1)
		if portFree(port) && portFree(port+busDistance) {
			return port, nil
		}
	}
	return 0, fmt.Errorf("no free port between %d and %d in %d attempts", firstPort, lastPort, portAttempts)
}

func portFree(port int) bool {
	l, err := net.Listen("tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(port)))
	if err != nil {
		return false
	}
	return l.Close() == nil
}
