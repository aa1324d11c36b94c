package history

import "cmp"

// Server describes a Redis server of a run.
type Server struct {
	Name    string            `json:"name"`             // as in stories; of a user's server its address
	Make    string            `json:"make,omitempty"`   // Redis, Valkey, …; "" is Redis
	Version string            `json:"version"`          // of that make
	Config  map[string]string `json:"config,omitempty"` // save, appendonly, appendfsync, maxmemory, maxmemory-policy
	Image   string            `json:"image,omitempty"`  // with its digest
	PID     int               `json:"pid,omitempty"`
}

// Product returns the server's make and version: "Redis 7.0.15"; "" if it is not known.
func (s Server) Product() string {
	if s.Version == "" {
		return ""
	}
	return cmp.Or(s.Make, "Redis") + " " + s.Version
}
