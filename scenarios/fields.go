package scenarios

// Field is a field of a scenario file, as lists show it.
type Field struct {
	Path    string `json:"field"` // "lease", "faults.for", "faults.when.moment"
	Type    string `json:"type"`
	Default string `json:"default,omitempty"` // "" for one that must be given
	About   string `json:"about"`
}

// Fields lists the fields of a scenario file, in the order in which they are explained.
func Fields() []Field {
	return []Field{
		{"name", "text", "", "letters and digits, joined by hyphens; at most 64"},
		{"about", "text", "none", "one sentence: what it does and what that shows"},
		{"workload", "text", "", "what the clients do: 'lockbench list workloads' has them"},
		{"topology", "text", "the lock's own", "standalone, replicated (a primary and a replica), independent (masters that know nothing of each other) cluster (three masters) or sentinel (a primary, two replicas and three sentinels)"},
		{"nodes", "whole number", "5", "how many independent masters, at most 9"},
		{"clients", "whole number", "", "how many clients, 1 to 1024"},
		{"ops", "whole number", "until duration", "rounds of each client; ops or duration must be given"},
		{"duration", "span", "until ops are done", "after it no new round begins"},
		{"warmup", "span", "0s", "goes before duration, and is not measured"},
		{"lease", "span, not in leases", "", "the lock's lease, more than 0"},
		{"think", "span", "0s", "the work inside the critical section"},
		{"pause", "span", "0s", "between two rounds of a client"},
		{"keep", "span", "0s", "for the workload ticks: how long a client keeps the lock when its job is done"},
		{"wait", "span", "0s: one try", "how long an acquire waits"},
		{"poll", "span", "10ms", "between two tries of a waiter, for locks that poll"},
		{"rate", "number", "closed loop", "rounds per second of all clients together"},
		{"pace", "text", "constant", "how the rounds of a rate are spaced: constant, poisson or ramp"},
		{"keys", "whole number", "1", "how many keys, for workloads with several"},
		{"readers", "whole number", "each reads and writes", "how many clients, the first, only read, while the others only write: for read-mostly and long-reads"},
		{"permits", "whole number", "1", "how many may hold a semaphore"},
		{"amounts", "two whole numbers", "[100, 10]", "payment and remittance of the workload transfer"},
		{"persistence", "text", "none", "what the servers write to disk: none, everysec or always"},
		{"maxmemory", "whole number", "no limit", "bytes that a server may use before it evicts keys (allkeys-lru)"},
		{"minreplicas", "whole number", "none", "replicas that a primary must have heard of within a second to take writes, at most 2 (min-replicas-to-write)"},
		{"downafter", "span", "1s", "how long a primary must be silent for the sentinels to replace it"},
		{"slo", "list of texts", "none", "limits such as acquire.p99 <= 20ms; exit 2 when one is missed"},
		{"faults", "list", "none", "what goes wrong; each has the fields that follow"},
		{"faults.fault", "text", "", "its name; 'lockbench list faults' has them"},
		{"faults.client", "whole number", "the first that comes to the trigger, or drawn", "the client that it is done to, from 1"},
		{"faults.node", "whole number", "drawn", "the node that it is done to, from 1"},
		{"faults.when", "mapping", "from the start", "its trigger, if its kind needs one: exactly one of the five that follow, and nth"},
		{"faults.when.moment", "text", "none", "a step of a client: calling, granted, refused, entered, before-release, released"},
		{"faults.when.request", "text", "none", "an operation (acquire, extend, use, release, any) and, if one is meant, a command or *w for all that write; before it leaves the client"},
		{"faults.when.reply", "text", "none", "the same, before the client sees the reply"},
		{"faults.when.after", "span", "none", "a time after the start, more than 0"},
		{"faults.when.within", "span", "none", "the latest of the times from which one is drawn"},
		{"faults.when.nth", "whole number", "1", "which match of the moment, request or reply, counted by each client"},
		{"faults.for", "span", "at once, or for ever", "how long it lasts"},
		{"faults.until", "text", "none", "other-entered: after for it lasts until another client is in its critical section, ten leases at most"},
		{"faults.by", "span", "0s", "how far a clock is off or jumps, or how much longer a message takes"},
		{"faults.rate", "number", "no limit", "the speed of a clock (1 is right; 0.01 to 100), or bytes per second"},
		{"faults.times", "whole number", "1", "how often it happens at the same trigger"},
	}
}
