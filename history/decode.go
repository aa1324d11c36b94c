package history

import "slices"

// Bits for the fields that a line has.
const (
	hasID = 1 << iota
	hasClient
	hasOp
	hasKey
	hasCall
	hasReturn
	hasOutcome
	hasRead
	hasWrote
	hasMode
	hasAsked
	hasToken
	hasUntil
	hasFence
	hasErr
	hasReadVersion
	hasVersion
)

// operation reads one operation line into op, which it overwrites.
func (s *scanner) operation(op *Operation) {
	*op = Operation{}
	var has int
	s.record("an operation", func(name []byte) {
		bit := s.operationField(op, name)
		s.once(has&bit == 0, name)
		has |= bit
	})
	if s.msg == "" {
		s.checkOperation(op, has)
	}
}

func (s *scanner) operationField(op *Operation, name []byte) int {
	switch string(name) {
	case "id":
		op.ID = s.unsigned()
		return hasID
	case "client":
		op.Client = s.intern(s.text())
		return hasClient
	case "op":
		op.Op = Op(s.word(opNames[1:], "one of acquire, extend, release, use, write, lost") + 1)
		return hasOp
	case "key":
		op.Key = s.intern(s.text())
		return hasKey
	case "mode":
		op.Mode = Mode(s.word(modeNames[:], "exclusive or shared"))
		return hasMode
	case "asked":
		op.SetAsked(s.instant())
		return hasAsked
	case "call":
		op.Call = s.instant()
		return hasCall
	case "return":
		op.Return = s.instant()
		return hasReturn
	case "outcome":
		op.Outcome = Outcome(s.word(outcomeNames[:], "one of ok, busy, not_held, lost, rejected, fail, unknown"))
		return hasOutcome
	case "token":
		op.Token = s.intern(s.text())
		return hasToken
	case "valid_until":
		op.ValidUntil = s.integer()
		return hasUntil
	case "fence":
		op.Fence = s.unsigned()
		return hasFence
	case "read":
		op.Read = s.integer()
		return hasRead
	case "wrote":
		op.Wrote = s.integer()
		return hasWrote
	case "read_version":
		op.ReadVersion = s.unsigned()
		return hasReadVersion
	case "version":
		op.Version = s.unsigned()
		return hasVersion
	case "err":
		op.Err = s.intern(s.text())
		return hasErr
	}
	s.skip(0)
	return 0
}

// outcomesOf returns the outcomes that an operation can have, also as text for messages.
func outcomesOf(op Op) (allowed []Outcome, what string) {
	switch op {
	case Acquire:
		return []Outcome{OK, Busy, Fail, Unknown}, "ok, busy, fail or unknown"
	case Extend:
		return []Outcome{OK, NotHeld, LostHold, Fail, Unknown}, "ok, not_held, lost, fail or unknown"
	case Release:
		return []Outcome{OK, NotHeld, LostHold, Fail, Unknown}, "ok, not_held, lost, fail or unknown"
	case Write:
		return []Outcome{OK, Rejected, Fail, Unknown}, "ok, rejected, fail or unknown"
	}
	return []Outcome{None, OK, Fail, Unknown}, "none"
}

// checkOperation validates one line by itself.
func (s *scanner) checkOperation(op *Operation, has int) {
	for _, field := range []struct {
		bit  int
		name string
	}{{hasClient, "client"}, {hasOp, "op"}, {hasKey, "key"}, {hasCall, "call"}, {hasReturn, "return"}} {
		if has&field.bit == 0 {
			s.failLine("expected the field %q", field.name)
			return
		}
	}
	if op.Client == "" {
		s.failLine("expected the name of a client, found an empty one")
	}
	if op.Return < op.Call {
		s.failLine("return %d is before call %d", op.Return, op.Call)
	}
	if op.ValidUntil < 0 {
		s.failLine("expected valid_until of at least 0, found %d", op.ValidUntil)
	}
	if has&(hasRead|hasWrote) == hasRead || has&(hasRead|hasWrote) == hasWrote {
		s.failLine("expected read and wrote together: the value read before and the value stored")
	}
	if has&(hasReadVersion|hasVersion) == hasVersion {
		s.failLine("expected read_version with version: the version of the store that the client had read")
	}
	if has&hasVersion != 0 && op.Version <= op.ReadVersion {
		s.failLine("expected version above read_version %d, found %d: the store counts up", op.ReadVersion, op.Version)
	}
	if op.WasAsked() && op.Op == Acquire && (op.Asked < op.Call || op.Asked > op.Return) {
		s.failLine("expected asked between call %d and return %d, found %d", op.Call, op.Return, op.Asked)
	}
	op.ModeNamed = has&hasMode != 0 && op.Op != Acquire && op.Mode == Exclusive
	op.HasValue = has&hasRead != 0
	op.Versioned = has&hasReadVersion != 0
	if allowed, what := outcomesOf(op.Op); !slices.Contains(allowed, op.Outcome) {
		s.failLine("expected the outcome of %s to be %s, found %q", op.Op, what, op.Outcome)
	}
}

// header reads the header line of a history.
func (s *scanner) header() (h Header) {
	s.headerLine(operationsSchema, s.fields(&h))
	if h.Kind == "" {
		s.failLine("expected the field \"kind\" in the header: mutex, reentrant, rw or semaphore")
	}
	if h.Permits == 0 {
		h.Permits = 1
	}
	if h.Lease > 0 && h.Drift > h.Lease { // a lease without an end loses nothing to drift
		s.failLine("drift %d is more than the lease %d", h.Drift, h.Lease)
	}
	return h
}

// headerLine reads a header line: its schema, and with field the fields besides.
func (s *scanner) headerLine(schema string, field func(name []byte)) {
	found := false
	s.record("the header", func(name []byte) {
		if string(name) != "schema" {
			field(name)
			return
		}
		found = true
		s.peek()
		start := s.at
		if text := string(s.text()); s.msg == "" && text != schema && text != previous[schema] {
			s.at = start
			s.fail(start, "expected the schema %q, found %s", schema, s.found())
		}
	})
	if !found {
		s.failLine("expected a header line with \"schema\":%q first", schema)
	}
}
