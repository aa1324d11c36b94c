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
	if err := a.read(ctx, in.Ops); err != nil {
		return nil, err
	}
	if len(a.clients) > maxClients {
		return nil, fmt.Errorf("%d clients, at most %d are possible: %w", len(a.clients), maxClients, ErrAssumption)
	}
	a.tokens.seal()
	for _, k := range a.keys {
		k.sort(a)
	}
	return a, nil
}

// read adds the operations of a source. Of a long one, a batch is read while the one before it is
// added.
func (a *archive) read(ctx context.Context, src Source) error {
	const short, batch = 4096, 1024
	var op history.Operation
	var end, wrong error
	for ; a.lines < short; wrong = a.add(&op) {
		if wrong != nil {
			return wrong
		}
		if end = src.Next(&op); end != nil {
			return unlessEnd(end)
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
	return unlessEnd(end)
}

func unlessEnd(err error) error {
	if errors.Is(err, io.EOF) {
		return nil
	}
	return err
}

func (a *archive) add(in *history.Operation) error {
	a.lines++
	switch {
	case in.Call < 0:
		return a.broken(a.lines, "call %d is negative", in.Call)
	case in.Return < in.Call:
		return a.broken(a.lines, "return %d is before call %d", in.Return, in.Call)
	}
	k := a.key(in.Key)
	o := op{call: in.Call, ret: in.Return, client: a.number(in.Client), line: a.lines,
		kind: in.Op, outcome: in.Outcome, mode: in.Mode, stated: statedMode(in)}
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
	a.keepID(in.ID)
	k.add(a, &o)
	return nil
}

// keepID stores an id that is not the operation's position; in lockbench's own histories ids are
// positions.
func (a *archive) keepID(id uint64) {
	if a.ids == nil && id == uint64(a.lines) {
		return
	}
	for n := uint64(len(a.ids)) + 1; n < uint64(a.lines); n++ {
		a.ids = append(a.ids, n)
	}
	a.ids = append(a.ids, id)
}

// number returns the number of a client.
func (a *archive) number(name string) uint32 {
	n, known := a.numbers[name]
	if !known {
		n = uint32(len(a.clients))
		a.numbers[name] = n
		a.clients = append(a.clients, name)
	}
	return n
}

func (a *archive) key(name string) *keyLog {
	k := a.byName[name]
	if k == nil {
		k = &keyLog{name: name, number: len(a.keys)}
		a.keys = append(a.keys, k)
		a.byName[name] = k
	}
	return k
}

// checkToken rejects a token that was granted twice on a key. It does not apply to re-entrant
// locks, where the owner is granted again under the same token.
func (a *archive) checkToken(k *keyLog, o *op, in *history.Operation) error {
	if o.token == 0 || a.header.Kind == history.Reentrant {
		return nil
	}
	for a.grantee.len() < o.token {
		a.grantee.add(0)
	}
	last := a.grantee.at(o.token)
	if *last == uint32(k.number)+1 {
		return a.broken(a.lines, "token %q is granted a second time on key %q; a token names one grant", in.Token, in.Key)
	}
	*last = uint32(k.number) + 1
	return nil
}
