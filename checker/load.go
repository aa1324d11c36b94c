package checker

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"sync"

	"github.com/lockbench/lockbench/history"
)

// load reads the operations to their end. It needs 24 bytes of memory for each operation, 48 more
// for each grant, and the bytes of the distinct clients, keys and tokens.
func load(ctx context.Context, in Input) (*archive, error) {
	a := &archive{header: in.Header, file: in.File, numbers: map[string]uint32{}, clients: []string{""}, byName: map[string]*keyLog{}}
	if err := a.read(ctx, in.Ops); !errors.Is(err, io.EOF) {
		return nil, err
	}
	if len(a.clients) > maxClients {
		return nil, fmt.Errorf("%d clients, at most %d are possible: %w", len(a.clients), maxClients, ErrAssumption)
	}
	a.tokens.table = nil // nothing is numbered any more
	for _, k := range a.keys {
		k.sort(a)
	}
	return a, nil
}

// read adds the operations of a source, up to an error; io.EOF is its end. Of a long one, a batch is
// read while the one before it is added.
func (a *archive) read(ctx context.Context, src Source) error {
	const short, batch = 4096, 1024
	var op history.Operation
	var end, wrong error
	for ; a.lines < short; wrong = a.add(&op) {
		if wrong != nil {
			return wrong
		}
		if end = src.Next(&op); end != nil {
			return end
		}
	}
	now, next := make([]history.Operation, 0, batch), make([]history.Operation, 0, batch)
	for ; end == nil || len(now) > 0; now, next = next, now[:0] {
		var adding sync.WaitGroup
		adding.Go(func() {
			for i := 0; i < len(now) && wrong == nil; i++ {
				wrong = a.add(&now[i])
			}
		})
		for end == nil && len(next) < batch {
			if end = src.Next(&op); end == nil {
				next = append(next, op)
			}
		}
		adding.Wait()
		if wrong = cmp.Or(wrong, ctx.Err()); wrong != nil {
			return wrong
		}
	}
	return end
}

func (a *archive) add(in *history.Operation) error {
	a.lines++
	switch {
	case in.Call < 0:
		return a.broken(a.lines, "call %d is negative", in.Call)
	case in.Return < in.Call:
		return a.broken(a.lines, "return %d is before call %d", in.Return, in.Call)
	}
	k := a.byName[in.Key]
	if k == nil {
		k = &keyLog{name: in.Key, number: len(a.keys)}
		a.keys, a.byName[in.Key] = append(a.keys, k), k
	}
	client, known := a.numbers[in.Client]
	if !known {
		client = uint32(len(a.clients))
		a.numbers[in.Client], a.clients = client, append(a.clients, in.Client)
	}
	o := op{call: in.Call, ret: in.Return, client: client, line: a.lines, kind: in.Op, outcome: in.Outcome, mode: in.Mode}
	if in.ModeNamed || in.Mode == history.Shared {
		o.stated = stated(in.Mode) + 1
	}
	if in.Token != "" {
		o.token = a.tokens.number(in.Token)
	}
	switch {
	case o.granted():
		if err := a.checkToken(k, &o, in); err != nil {
			return err
		}
		h := hold{token: o.token, told: in.ValidUntil}
		if in.WasAsked() || in.Fence != 0 {
			h.rare = k.rares.add(rare{asked: in.Asked, known: in.WasAsked(), fence: in.Fence})
		}
		o.hold = k.holds.add(h)
		k.fenced = k.fenced || in.Fence != 0
	case o.renewed():
		o.detail = k.extends.add(extend{token: o.token, told: in.ValidUntil})
	case in.Op == history.Write:
		o.detail = k.writes.add(write{fence: in.Fence, read: in.Read, wrote: in.Wrote, valued: in.HasValue,
			readVersion: in.ReadVersion, version: in.Version, known: in.Versioned})
	}
	if a.ids != nil || in.ID != uint64(a.lines) { // in lockbench's own histories ids are positions
		for n := uint64(len(a.ids)) + 1; n < uint64(a.lines); n++ {
			a.ids = append(a.ids, n)
		}
		a.ids = append(a.ids, in.ID)
	}
	k.add(a, &o)
	return nil
}

// checkToken rejects a token that was granted twice on a key. It does not apply to re-entrant
// locks, where the owner is granted again under the same token.
func (a *archive) checkToken(k *keyLog, o *op, in *history.Operation) error {
	if o.token == 0 || a.header.Kind == history.Reentrant {
		return nil
	}
	for a.grantee.n < o.token {
		a.grantee.add(0)
	}
	last := a.grantee.at(o.token)
	if *last == uint32(k.number)+1 {
		return a.broken(a.lines, "token %q is granted a second time on key %q; a token names one grant", in.Token, in.Key)
	}
	*last = uint32(k.number) + 1
	return nil
}
