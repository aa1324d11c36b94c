package harness

import (
	"context"
	"errors"
	"sync"
)

// errRunGone: the run's end of the pipe is closed, and nobody is left to answer.
var errRunGone = errors.New("the run is gone")

// asker is the part of a client process that waits for the run's answers. Several goroutines of the client may ask at once: a lock's
// watchdog reaches its moments while the client is at its own.
type asker struct {
	tell func(news)
	gone chan struct{} // closed when no answer will come any more

	mu   sync.Mutex // protects what follows
	last uint64
	open map[uint64]chan answer
}

func newAsker(tell func(news)) *asker {
	return &asker{tell: tell, gone: make(chan struct{}), open: map[uint64]chan answer{}}
}

// ask tells the run something and waits until it is answered.
func (a *asker) ask(ctx context.Context, n news) (answer, error) {
	reply := make(chan answer, 1)
	a.mu.Lock()
	a.last++
	n.Ask = a.last
	a.open[n.Ask] = reply
	a.mu.Unlock()
	defer a.forget(n.Ask)
	a.tell(n)
	select {
	case got := <-reply:
		return got, nil
	case <-ctx.Done():
		return answer{}, ctx.Err()
	case <-a.gone:
		return answer{}, errRunGone
	}
}

func (a *asker) forget(id uint64) {
	a.mu.Lock()
	defer a.mu.Unlock()
	delete(a.open, id)
}

// answered wakes the one who asked, if it still waits.
func (a *asker) answered(got answer) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if reply, waits := a.open[got.To]; waits {
		reply <- got
	}
}
