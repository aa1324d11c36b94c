package workloads

// All returns the workloads in the order of the documentation.
func All() []*Workload {
	return []*Workload{counter, transfer, lottery, ticks, hot, spread, readMostly, nested, handoff, longHold, longReads, names}
}

// Names returns the names of all workloads, in that order.
func Names() (names []string) {
	for _, w := range All() {
		names = append(names, w.Name())
	}
	return names
}

// Find returns a workload by name.
func Find(name string) (*Workload, bool) {
	for _, w := range All() {
		if w.Name() == name {
			return w, true
		}
	}
	return nil, false
}
