package results

// Node describes one Redis server of a run.
type Node struct {
	Name    string            `json:"name"`
	Version string            `json:"version"`          // redis_version
	Config  map[string]string `json:"config,omitempty"` // save, appendonly, appendfsync, maxmemory, maxmemory-policy
	Image   string            `json:"image,omitempty"`  // with its digest
	PID     int               `json:"pid,omitempty"`
}
