package locktest

import (
	"context"
	"net"
	"runtime/pprof"
	"slices"
	"time"
)

// line delays replies: each leaves it a delay after it entered, however many are queued.
type line struct {
	in, out net.Conn
	way     chan reply
	arrived chan struct{} // has a value once a reply has entered
}

// reply are bytes that have arrived together, or the end of the connection.
type reply struct {
	at   time.Time
	data []byte
	end  bool
	tell func() // called before it is passed on; nil for none
}

// onTheWay is how many replies a line can queue.
const onTheWay = 1 << 10

func newLine() *line {
	l := &line{way: make(chan reply, onTheWay), arrived: make(chan struct{}, 1)}
	l.in, l.out = net.Pipe()
	return l
}

// send puts a reply on the line. With an error it is the last.
func (l *line) send(at time.Time, data []byte, err error, tell func()) {
	if len(data) > 0 || err != nil {
		l.way <- reply{at, slices.Clone(data), err != nil, tell}
	}
	select {
	case l.arrived <- struct{}{}:
	default:
	}
	if err != nil {
		close(l.way)
	}
}

// expect discards the replies that have arrived so far.
func (l *line) expect() {
	select {
	case <-l.arrived:
	default:
	}
}

// deliver hands the replies to the reader, each a delay after it was sent, until the last.
func (l *line) deliver(delay func() time.Duration) {
	pprof.SetGoroutineLabels(context.Background()) // it is the kit's, not the lock's
	for r := range l.way {
		if r.tell != nil { // here, so that the server's next replies are read meanwhile: it may write to this connection while it serves another
			r.tell()
		}
		if d := delay(); d > 0 && !r.end {
			time.Sleep(time.Until(r.at.Add(d)))
		}
		if len(r.data) > 0 { // a pipe keeps a writer of nothing as well until somebody reads
			_, _ = l.in.Write(r.data) // fails when the client has closed its end
		}
		if r.end {
			_ = l.in.Close()
		}
	}
}
