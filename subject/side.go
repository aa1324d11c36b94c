package subject

import "context"

// side is one mode of a lock.
type side struct {
	wait   func(context.Context) error         // nil: it can't wait
	try    func(context.Context) (bool, error) // nil: it can only wait
	unlock func(context.Context) error         // nil: the lock lacks the mode
}

func exclusiveSide(lock any) (s side) {
	if l, ok := lock.(Locker); ok {
		s.wait, s.unlock = l.Lock, l.Unlock
	}
	if l, ok := lock.(TryLocker); ok {
		s.try, s.unlock = l.TryLock, l.Unlock
	}
	return s
}

func sharedSide(lock any) (s side) {
	if l, ok := lock.(SharedLocker); ok {
		s.wait, s.unlock = l.RLock, l.RUnlock
	}
	if l, ok := lock.(SharedTryLocker); ok {
		s.try, s.unlock = l.TryRLock, l.RUnlock
	}
	return s
}

func (s side) exists() bool { return s.unlock != nil }
