package faults

// Target is what a fault is done to.
type Target string

// The targets.
const (
	OneClient  Target = "client"      // Spec.Client, or one drawn from the seed
	AllClients Target = "all clients" // no choice to be made
	OneNode    Target = "node"        // Spec.Node, or one drawn from the seed
	AllNodes   Target = "all nodes"   // Spec.Node, or all of them when it is 0
)

// Kind is what is known of a fault by its name: for lists, and for finding a plan that makes no sense before it is run.
type Kind struct {
	Name      string
	About     string // one sentence
	On        Target
	FromStart bool   // may be in force from the start, without a trigger
	OnlyStart bool   // cannot strike later than the start
	Uses      []Uses // the fields of Spec that mean something to it, beyond target and trigger
}

// Uses is a field that a fault uses, and whether it must be set.
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

// Kinds lists the vocabulary in the order of the documentation.
func Kinds() []Kind {
	return []Kind{
		{Name: PauseClient, About: "everything of the client stops for a while, its watchdog included", On: OneClient, Uses: []Uses{mustFor, mayUntil}},
		{Name: CrashClient, About: "the client dies and its connections are closed", On: OneClient},
		{Name: CancelClient, About: "the context of the client's call is cancelled", On: OneClient},
		{Name: SkewClient, About: "the client's wall clock is off", On: OneClient, FromStart: true, OnlyStart: true, Uses: []Uses{mustBy}},
		{Name: CollideOwners, About: "all clients share one owner id", On: AllClients, FromStart: true, OnlyStart: true},
		{Name: SlowWork, About: "the work inside a critical section takes long", On: OneClient, FromStart: true, Uses: []Uses{mustFor}},
		{Name: LoseRequest, About: "a request never reaches the node, and the connection is cut", On: OneClient},
		{Name: LoseReply, About: "a request is applied, its reply is lost, and the connection is cut", On: OneClient},
		{Name: DelayRequest, About: "a request is held back", On: OneClient, Uses: []Uses{mustFor, mayUntil}},
		{Name: DelayReply, About: "a reply is held back", On: OneClient, Uses: []Uses{mustFor, mayUntil}},
		{Name: SlowNetwork, About: "every request and reply of all clients is delayed, or the links are narrow", On: AllClients, FromStart: true,
			Uses: []Uses{mustBy, mayRate, mayFor}},
		{Name: BlackholeClient, About: "nothing passes between the client and any node", On: OneClient, Uses: []Uses{mustFor, mayUntil}},
		{Name: PartitionNodes, About: "nothing passes between any client and the node", On: OneNode, FromStart: true, Uses: []Uses{mayFor}},
		{Name: CutPubSub, About: "connections that subscribe are cut", On: AllClients, Uses: []Uses{mayFor}},
		{Name: KillServer, About: "the node is killed, and started again after a while", On: OneNode, Uses: []Uses{mayFor}},
		{Name: PauseServer, About: "the node stops for a while", On: OneNode, Uses: []Uses{mustFor}},
		{Name: Failover, About: "the primary is killed and its replica promoted", On: AllNodes, FromStart: true, Uses: []Uses{mayFor, mayUntil}},
		{Name: JumpClock, About: "the node's clock jumps", On: OneNode, Uses: []Uses{mustBy, mayFor}},
		{Name: DriftClock, About: "the node's clock runs fast or slow", On: OneNode, FromStart: true, Uses: []Uses{mustRate, mayFor}},
		{Name: FlushScripts, About: "the node forgets all scripts", On: AllNodes},
		{Name: DeleteKey, About: "somebody deletes the lock's keys", On: AllNodes},
		{Name: EvictKeys, About: "the node runs out of memory and evicts the lock's keys", On: OneNode},
	}
}

// OfOneClient tells a fault that is done to one client.
func (s Spec) OfOneClient() bool {
	k, _ := FindKind(s.Fault)
	return k.On == OneClient
}

// FindKind looks a fault up by its name.
func FindKind(name string) (Kind, bool) {
	for _, k := range Kinds() {
		if k.Name == name {
			return k, true
		}
	}
	return Kind{}, false
}
