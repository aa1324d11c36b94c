package faults

// The fault vocabulary. A name means the same in every world.
const (
	PauseClient     = "pause-client"     // everything of the client stops for a while, its watchdog included
	CrashClient     = "crash-client"     // the client dies; its connections are closed by its machine
	CancelClient    = "cancel-client"    // the context of the client's call is cancelled
	SkewClient      = "skew-client"      // the client's wall clock is off by By, from the start
	CollideOwners   = "collide-owners"   // clients share an owner id that is unique only inside a process
	SlowWork        = "slow-work"        // the work inside a critical section takes For
	LoseRequest     = "lose-request"     // a request never reaches the node, and the connection is cut
	LoseReply       = "lose-reply"       // a request is applied, its reply never arrives, and the connection is cut
	DelayRequest    = "delay-request"    // a request is held back for For
	DelayReply      = "delay-reply"      // a reply is held back for For
	SlowNetwork     = "slow-network"     // every request and reply of all clients is delayed by By
	BlackholeClient = "blackhole-client" // nothing passes between the client and any node
	PartitionNodes  = "partition-nodes"  // nothing passes between any client and the node
	CutPubSub       = "cut-pubsub"       // connections that subscribe are cut
	KillServer      = "kill-server"      // the node is killed, and started again after For
	PauseServer     = "pause-server"     // the node stops for For
	Failover        = "failover"         // the primary is killed and its replica promoted
	JumpClock       = "jump-clock"       // the node's clock jumps by By
	DriftClock      = "drift-clock"      // the node's clock runs at Rate
	FlushScripts    = "flush-scripts"    // the node forgets all scripts
	DeleteKey       = "delete-key"       // somebody deletes the lock's keys
	EvictKeys       = "evict-keys"       // the node runs out of memory and evicts the lock's keys
)
