package faults

import (
	"sync"

	"github.com/lockbench/lockbench/history"
)

// Windows collects the measured windows of a run's faults. It may be used from several goroutines.
type Windows struct {
	mu   sync.Mutex
	list []history.Window
}

// Add records a window.
func (w *Windows) Add(win history.Window) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.list = append(w.list, win)
}

// List is a copy of what was recorded, in order of recording.
func (w *Windows) List() []history.Window {
	w.mu.Lock()
	defer w.mu.Unlock()
	return append([]history.Window(nil), w.list...)
}
