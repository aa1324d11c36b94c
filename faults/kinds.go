package faults

import (
	"slices"

	"github.com/lockbench/lockbench/history"
	"github.com/lockbench/lockbench/impls"
)

// The names of faults. A name means the same in every world; [Kinds] describes each.
const (
	PauseClient     = "pause-client"
	CrashClient     = "crash-client"
	CancelClient    = "cancel-client"
	SkewClient      = "skew-client"
	CollideOwners   = "collide-owners"
	SlowWork        = "slow-work"
	LoseRequest     = "lose-request"
	LoseReply       = "lose-reply"
	DelayRequest    = "delay-request"
	DelayReply      = "delay-reply"
	SlowNetwork     = "slow-network"
	BlackholeClient = "blackhole-client"
	PartitionNodes  = "partition-nodes"
	IsolateServer   = "isolate-server"
	CutPubSub       = "cut-pubsub"
	KillServer      = "kill-server"
	PauseServer     = "pause-server"
	Failover        = "failover"
	JumpClock       = "jump-clock"
	DriftClock      = "drift-clock"
	FlushScripts    = "flush-scripts"
	DeleteKey       = "delete-key"
	EvictKeys       = "evict-keys"
)

// Target says what a fault affects.
type Target string

// The targets.
const (
	OneClient  Target = "client"      // Spec.Client, or one drawn from the seed
	allClients Target = "all clients" // all of them; none is drawn
	OneNode    Target = "node"        // Spec.Node, or one drawn from the seed
	allNodes   Target = "all nodes"   // Spec.Node, or all of them when it is 0
)

// layer is the part of a system in which a fault happens.
type layer string

// The layers.
const (
	InClient  layer = "client"  // the client's machine or program
	InMessage layer = "message" // a single request or reply
	inNetwork layer = "network" // the links between clients and nodes
	InServer  layer = "server"  // a node and its data
)

// Form is a set of forms of trigger.
type Form uint8

// The forms of trigger; see [Trigger].
const (
	AtStart Form = 1 << iota // no trigger: in force from the start
	AtTime
	AtMoment
	AtRequest
	AtReply

	atEvent = AtTime | AtMoment | AtRequest | AtReply
)

// placing says how the simulator's search places a fault.
type placing string

// The placings.
const (
	NotPlaced placing = ""
	atStep    placing = "at a step" // instead of the delivery of a message
	// drawn before a random schedule begins; an exhaustive search cannot place it
	BeforeSearch placing = "before the run"
)

// Limit is a world or a topology in which a kind of fault is impossible, and why.
type Limit struct {
	World    string         // sim, process, docker, url, miniredis; "" means every world
	Topology impls.Topology // "" means every topology
	Why      string
}

// Kind describes one kind of fault. Every list of faults is derived from [Kinds].
type Kind struct {
	Name             string
	About            string // one sentence
	InSim, OnServers string // what is done in the simulator, and on real servers
	On               Target
	In               layer
	At               Form   // the triggers that it accepts
	Uses             []Uses // the fields of Spec that it uses, besides target and trigger

	instant bool // it is over at once, unless Spec gives a length
	// it must not outlive the run: a stopped server cannot be closed, a blocked link cannot be
	// drained
	mustEnd bool
	Does    history.Does // what it does to what it hits
	Harms   bool         // it harms the server and its other data
	Clock   bool         // the servers must be started with clocks that can be set
	Placed  placing
	Not     []Limit

	do action
}

// Uses is a field of Spec that a fault uses, and whether it must be set.
type Uses struct {
	Field    string // for, by, rate, until
	Required bool
}

var (
	mayFor   = Uses{"for", false}
	mustFor  = Uses{"for", true}
	mayUntil = Uses{"until", false}
	mustBy   = Uses{"by", true}
	mayRate  = Uses{"rate", false}
	mustRate = Uses{"rate", true}
)

// The reasons for the limits.
var (
	notYours   = Limit{World: "url", Why: "it would harm a Redis that is not the run's own; --server process or docker has servers of its own"}
	noServers  = "there are no other servers that would replace it"
	notPair    = "there is no replica to promote"
	notSlots   = "a cluster's nodes take no keys but those of their slots, so that nothing can fill their memory"
	standalone = Limit{Topology: impls.Standalone, Why: notPair}
)

// kinds is the table, in the order of the documentation. It is never modified.
var kinds = []Kind{
	{Name: PauseClient, About: "everything of the client stops for a while, its watchdog included",
		InSim: "none of its events is released", OnServers: "a goroutine is stopped at its connections, clock and steps; a process gets SIGSTOP",
		On: OneClient, In: InClient, At: atEvent,
		Uses: []Uses{mustFor, mayUntil}, mustEnd: true, Placed: atStep, Does: history.Hinders | history.Stops | history.HoldsReplies, do: pauseClient},
	{Name: CrashClient, About: "the client dies and its connections are closed",
		InSim: "its connections break, and its calls return an error", OnServers: "the same for a goroutine; a process gets SIGKILL",
		On: OneClient, In: InClient, At: atEvent,
		Placed: atStep, Does: history.Stops | history.Kills | history.LosesReplies, do: crashClient},
	{Name: CancelClient, About: "the context of the client's call is cancelled",
		InSim: "the context of its acquire is cancelled", OnServers: "the same",
		On: OneClient, In: InClient, At: atEvent,
		instant: true, Placed: atStep, Does: history.CancelsCall, do: cancelClient},
	{Name: SkewClient, About: "the client's wall clock is off",
		InSim: "the clock that the lock is given is off", OnServers: "the same",
		On: OneClient, In: InClient, At: AtStart,
		Uses: []Uses{mustBy}, Placed: BeforeSearch, Does: history.SkewsClient, do: skewClient},
	{Name: CollideOwners, About: "all clients share one owner id",
		InSim: "the lock is given the same owner id for each", OnServers: "the same",
		On: allClients, In: InClient, At: AtStart,
		Placed: BeforeSearch, Does: history.SharesOwner, do: collideOwners},
	{Name: SlowWork, About: "the work inside a critical section takes long",
		InSim: "the client sleeps inside, in virtual time", OnServers: "the client sleeps inside",
		On: OneClient, In: InClient, At: AtStart | AtMoment,
		Uses: []Uses{mustFor}, Placed: BeforeSearch, Does: history.SlowsWork, do: slowWork},
	{Name: LoseRequest, About: "a request never reaches the node, and the connection is cut",
		InSim: "the message is dropped, the connection breaks", OnServers: "the proxy drops it and cuts the connection",
		On: OneClient, In: InMessage, At: AtRequest,
		instant: true, Placed: atStep, Does: history.Hinders | history.LosesRequests, do: loseMessage},
	{Name: LoseReply, About: "a request is applied, its reply is lost, and the connection is cut",
		InSim: "the same, for the reply", OnServers: "the proxy passes the request, drops the reply and cuts the connection",
		On: OneClient, In: InMessage, At: AtReply,
		instant: true, Placed: atStep, Does: history.Hinders | history.LosesReplies, do: loseMessage},
	{Name: DelayRequest, About: "a request is held back",
		InSim: "the message is delivered later", OnServers: "the proxy holds it",
		On: OneClient, In: InMessage, At: AtRequest,
		Uses: []Uses{mustFor, mayUntil}, mustEnd: true, Placed: atStep, Does: history.Hinders | history.HoldsRequests, do: holdMessage},
	{Name: DelayReply, About: "a reply is held back",
		InSim: "the message is delivered later", OnServers: "the proxy holds it",
		On: OneClient, In: InMessage, At: AtReply,
		Uses: []Uses{mustFor, mayUntil}, mustEnd: true, Placed: atStep, Does: history.Hinders | history.HoldsReplies, do: holdMessage},
	{Name: SlowNetwork, About: "every request and reply of all clients is delayed, or the links are narrow",
		InSim: "each message is delivered later", OnServers: "the proxy delays each message, or limits the bytes per second",
		On: allClients, In: inNetwork, At: AtStart | atEvent,
		Uses: []Uses{mustBy, mayRate, mayFor}, mustEnd: true, Does: history.Delays, do: slowNetwork},
	{Name: BlackholeClient, About: "nothing passes between the client and any node",
		InSim: "no message is delivered; connections stay open", OnServers: "the proxy passes nothing and keeps connections open",
		On: OneClient, In: inNetwork, At: atEvent,
		Uses: []Uses{mustFor, mayUntil}, mustEnd: true, Placed: atStep, Does: history.Hinders | history.HoldsRequests | history.HoldsReplies, do: block},
	{Name: PartitionNodes, About: "nothing passes between any client and the node",
		InSim: "no message is delivered; connections stay open", OnServers: "the proxy passes nothing and keeps connections open",
		On: OneNode, In: inNetwork, At: AtStart | atEvent,
		Uses: []Uses{mayFor}, mustEnd: true, Harms: true, Placed: atStep, Does: history.Hinders | history.HoldsRequests | history.HoldsReplies, do: block},
	{Name: IsolateServer, About: "a partition: the node, with the client at whose moment it begins, cannot reach the other servers, sentinels and clients",
		InSim: "nothing: it has no sentinels", OnServers: "nothing passes between the two sides; connections stay open",
		On: OneNode, In: inNetwork, At: atEvent,
		Uses: []Uses{mustFor}, mustEnd: true, Harms: true, Does: history.Hinders | history.LosesData, do: isolateServer,
		Not: []Limit{notYours, {World: "sim", Why: "the simulator has no sentinels; --server process and docker have"}, {Topology: impls.Standalone, Why: noServers},
			{Topology: impls.Independent, Why: noServers}, {Topology: impls.Replicated, Why: noServers}, {Topology: impls.Cluster, Why: noServers}}},
	{Name: CutPubSub, About: "connections that subscribe are cut",
		InSim: "connections with a subscription break", OnServers: "the proxy cuts them",
		On: allClients, In: inNetwork, At: atEvent,
		Uses: []Uses{mayFor}, instant: true, mustEnd: true, Placed: atStep, Does: history.Hinders | history.CutsSubscriptions, do: cutSubscribers},
	{Name: KillServer, About: "the node is killed, and started again after a while",
		InSim: "connections break; what persistence did not keep is gone", OnServers: "SIGKILL, then a new process on the same data directory; in Docker the same container",
		On: OneNode, In: InServer, At: atEvent,
		Uses: []Uses{mayFor}, Harms: true, Placed: atStep, Not: []Limit{notYours}, Does: history.Hinders | history.Stops | history.Kills | history.LosesData, do: killServer},
	{Name: PauseServer, About: "the node stops for a while",
		InSim: "the node answers nothing", OnServers: "SIGSTOP; in Docker a paused container",
		On: OneNode, In: InServer, At: atEvent,
		Uses: []Uses{mustFor}, mustEnd: true, Harms: true, Placed: atStep, Not: []Limit{notYours}, Does: history.Hinders | history.Stops | history.HoldsRequests, do: pauseServer},
	{Name: Failover, About: "the primary is killed and its replica promoted, the first of several",
		InSim: "the replica has what was delivered to it", OnServers: "the primary gets SIGKILL, the replica REPLICAOF NO ONE, in a cluster CLUSTER FAILOVER TAKEOVER; with a length replication stops first",
		On: allNodes, In: InServer, At: AtStart | atEvent,
		Uses: []Uses{mayFor, mayUntil}, instant: true, Harms: true, Placed: atStep, Does: history.Stops | history.Kills | history.LosesData, do: failover,
		Not: []Limit{notYours, standalone, {Topology: impls.Independent, Why: notPair},
			{Topology: impls.Sentinel, Why: "the sentinels promote one: kill, pause or isolate the primary"}}},
	{Name: JumpClock, About: "the node's clock jumps",
		InSim: "the node's clock is set", OnServers: "a preloaded library shifts the time that the server reads",
		On: OneNode, In: InServer, At: atEvent,
		Uses: []Uses{mustBy, mayFor}, instant: true, Harms: true, Clock: true, Placed: atStep, Not: []Limit{notYours}, Does: history.MovesClock, do: jumpClock},
	{Name: DriftClock, About: "the node's clock runs fast or slow",
		InSim: "the node's clock has another rate", OnServers: "the same library changes the rate",
		On: OneNode, In: InServer, At: AtStart | atEvent,
		Uses: []Uses{mustRate, mayFor}, Harms: true, Clock: true, Not: []Limit{notYours}, Does: history.MovesClock, do: driftClock},
	{Name: FlushScripts, About: "the node forgets all scripts",
		InSim: "the scripts are gone", OnServers: "SCRIPT FLUSH",
		On: allNodes, In: InServer, At: atEvent,
		instant: true, Placed: atStep, Not: []Limit{notYours}, Does: history.ForgetsScripts, do: flushScripts},
	{Name: DeleteKey, About: "somebody deletes the lock's keys",
		InSim: "the keys are gone", OnServers: "DEL",
		On: allNodes, In: InServer, At: atEvent,
		instant: true, Placed: atStep, Does: history.LosesData, do: deleteKeys},
	{Name: EvictKeys, About: "the node runs out of memory and evicts the lock's keys",
		InSim: "the keys are gone", OnServers: "maxmemory is lowered until the server has evicted them",
		On: OneNode, In: InServer, At: atEvent,
		instant: true, Harms: true, Placed: atStep, Not: []Limit{notYours, {Topology: impls.Cluster, Why: notSlots}}, Does: history.LosesData, do: evictKeys},
}

// Kinds lists the vocabulary in the order of the documentation.
func Kinds() []Kind { return slices.Clone(kinds) }

// FindKind returns the kind of fault with this name; ok is false if there is none.
func FindKind(name string) (Kind, bool) {
	for i := range kinds {
		if kinds[i].Name == name {
			return kinds[i], true
		}
	}
	return Kind{}, false
}

// Describe fills in what the faults do, by their names, in windows that don't say: those of records
// that others wrote.
func Describe(windows []history.Window) {
	for i := range windows {
		if w := &windows[i]; w.Does == 0 {
			kind, _ := FindKind(w.Fault)
			w.Does = kind.Does
		}
	}
}

// Names lists, in the order of the table, the faults that satisfy is.
func Names(is func(Kind) bool) (names []string) {
	for _, k := range kinds {
		if is(k) {
			names = append(names, k.Name)
		}
	}
	return names
}

// Refusal returns why a fault of this kind is impossible in a world and on a topology; "" when no
// limit is known.
func (k Kind) Refusal(world string, t impls.Topology) string {
	for _, l := range k.Not {
		if (l.World == "" || l.World == world) && (l.Topology == "" || l.Topology == t) {
			return l.Why
		}
	}
	return ""
}

// NeedsProxy reports whether, on real servers, clients must dial through a proxy for the fault.
func (k Kind) NeedsProxy() bool { return k.In == InMessage || k.In == inNetwork }

// OnNode reports whether the fault is done to nodes.
func (k Kind) OnNode() bool { return k.On == OneNode || k.On == allNodes }
