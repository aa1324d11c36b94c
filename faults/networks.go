package faults

import (
	"context"
	"fmt"

	"github.com/lockbench/lockbench/history"
	"github.com/lockbench/lockbench/impls"
)

// The faults of the links between clients and nodes.
const (
	SlowNetwork     = "slow-network"
	BlackholeClient = "blackhole-client"
	PartitionNodes  = "partition-nodes"
	IsolateServer   = "isolate-server"
	CutPubSub       = "cut-pubsub"
)

// noOthers is why a node cannot be isolated.
const noOthers = "there are no other servers that would replace it"

var networkKinds = []Kind{
	{Name: SlowNetwork, About: "every request and reply of all clients is delayed, or the links are narrow", Did: "was slow",
		InSim: "each message is delivered later", OnServers: "the proxy delays each message, or limits the bytes per second",
		On: allClients, In: inNetwork, At: AtStart | atEvent,
		Uses: []Uses{mustBy, mayRate, mayFor}, mustEnd: true, Does: history.Delays, do: slowNetwork},
	{Name: BlackholeClient, About: "nothing passes between the client and any node", Did: "was cut off from all nodes",
		InSim: "no message is delivered; connections stay open", OnServers: "the proxy passes nothing and keeps connections open",
		On: OneClient, In: inNetwork, At: atEvent,
		Uses: []Uses{mustFor, mayUntil}, mustEnd: true, Placed: atStep, Does: history.Hinders | history.HoldsRequests | history.HoldsReplies, do: block},
	{Name: PartitionNodes, About: "nothing passes between any client and the node", Did: "was cut off from all clients",
		InSim: "no message is delivered; connections stay open", OnServers: "the proxy passes nothing and keeps connections open",
		On: OneNode, In: inNetwork, At: AtStart | atEvent,
		Uses: []Uses{mayFor}, mustEnd: true, Harms: true, Placed: atStep, Does: history.Hinders | history.HoldsRequests | history.HoldsReplies, do: block},
	{Name: IsolateServer, About: "a partition: the node, with the client at whose moment it begins, cannot reach the other servers, sentinels and clients", Did: "was cut off from the other servers",
		InSim: "nothing: it has no sentinels", OnServers: "nothing passes between the two sides; connections stay open",
		On: OneNode, In: inNetwork, Own: true, Away: true, At: atEvent,
		Uses: []Uses{mustFor}, mustEnd: true, Harms: true, Does: history.Hinders | history.LosesData, do: isolateServer,
		Not: map[impls.Topology]string{impls.Standalone: noOthers,
			impls.Independent: noOthers, impls.Replicated: noOthers, impls.Cluster: noOthers}},
	{Name: CutPubSub, About: "connections that subscribe are cut", Did: "had its subscriptions cut",
		InSim: "connections with a subscription break", OnServers: "the proxy cuts them",
		On: allClients, In: inNetwork, At: atEvent,
		Uses: []Uses{mayFor}, instant: true, mustEnd: true, Placed: atStep, Does: history.Hinders | history.CutsSubscriptions, do: cutSubscribers},
}

func slowNetwork(ctx context.Context, at actionAt) (Undo, error) {
	rate := ""
	if at.fault.Rate > 0 {
		rate = fmt.Sprintf(", %g bytes a second", at.fault.Rate)
	}
	at.note("each way %v%s", at.by(), rate)
	return at.Slow(ctx, at.by(), at.fault.Rate)
}

// block blocks all messages between a client and all nodes, or between all clients and a node.
func block(ctx context.Context, at actionAt) (Undo, error) {
	if at.fault.kind.On == OneNode {
		return at.Block(ctx, All, at.one())
	}
	return at.Block(ctx, at.fault.Client, All)
}

// isolateServer cuts a node off, with the client at whose moment it begins.
func isolateServer(ctx context.Context, at actionAt) (Undo, error) {
	if at.fault.Client > 0 {
		at.note("with %s", ClientName(at.fault.Client))
	}
	return at.Isolate(ctx, at.one(), at.fault.Client)
}

func cutSubscribers(ctx context.Context, at actionAt) (Undo, error) {
	n, undo, err := at.CutSubscribers(ctx, at.fault.lasts())
	at.note("%d connections cut", n)
	if err == nil && n == 0 {
		err = fmt.Errorf("%w: no connection subscribes", ErrNothing)
	}
	return undo, err
}
