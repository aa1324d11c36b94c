package inject

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/lockbench/lockbench/faults"
	"github.com/lockbench/lockbench/servers"
)

// settleLimit is the longest wait for writes that began before a condition.
const settleLimit = time.Second

var (
	errNoProxy    = fmt.Errorf("%w: no proxy between clients and nodes", servers.ErrMissing)
	errNotSettled = errors.New("what was being written when it began had not been written a second later")
)

// impose puts a condition in force and waits until nothing that it forbids can still pass.
func (w *World) impose(ctx context.Context, c condition) (faults.Undo, error) {
	if w.proxy == nil {
		return nil, errNoProxy
	}
	lift := w.proxy.impose(c)
	undo := func(context.Context) error { lift(); return nil }
	ctx, cancel := context.WithTimeout(ctx, settleLimit)
	defer cancel()
	if !w.proxy.settled(ctx) {
		return undo, errNotSettled
	}
	return undo, nil
}

func (w *World) Block(ctx context.Context, client, node int) (faults.Undo, error) {
	return w.impose(ctx, condition{Client: client, Node: node, Block: true})
}

func (w *World) Isolate(ctx context.Context, node, client int) (faults.Undo, error) {
	s := w.cfg.Servers.Sentinels()
	if s == nil {
		return nil, fmt.Errorf("isolate node %d: %w: no other servers would miss it", node+1, servers.ErrRefused)
	}
	heal := s.Isolate(node, client)
	lift, err := w.impose(ctx, condition{Client: client, Node: node, Apart: true, Block: true})
	return func(ctx context.Context) error {
		heal()
		if lift == nil {
			return nil
		}
		return lift(ctx)
	}, err
}

func (w *World) Slow(ctx context.Context, delay time.Duration, bytesPerSecond float64) (faults.Undo, error) {
	return w.impose(ctx, condition{Client: faults.All, Node: faults.All, Delay: delay, Rate: bytesPerSecond})
}

func (w *World) CutSubscribers(ctx context.Context, stay bool) (cut int, undo faults.Undo, err error) {
	if w.proxy == nil {
		return 0, nil, errNoProxy
	}
	if stay {
		undo, err = w.impose(ctx, condition{Client: faults.All, Node: faults.All, NoSubscribers: true})
	}
	return w.proxy.cutSubscribed(), undo, err
}
