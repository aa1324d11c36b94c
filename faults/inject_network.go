package faults

import (
	"context"
	"fmt"
	"time"
)

// impose puts a condition in force and sees to it that nothing passes it any more.
func impose(ctx context.Context, f Field, c Condition) (heal func(context.Context) error, settled bool) {
	lift := f.Proxy.Impose(c)
	ctx, cancel := context.WithTimeout(ctx, settleLimit)
	defer cancel()
	return func(context.Context) error { lift(); return nil }, f.Proxy.Settled(ctx)
}

// settleLimit bounds the wait for writes that began before a condition.
const settleLimit = time.Second

// slowNetwork delays every request and reply of all clients, and may make the links narrow.
type slowNetwork struct{}

func (slowNetwork) Name() string            { return SlowNetwork }
func (slowNetwork) Available(f Field) error { return needProxy(f) }

func (slowNetwork) Inject(ctx context.Context, f Field, s Spec) (Effect, error) {
	heal, settled := impose(ctx, f, Condition{Delay: s.By.Of(f.Lease), Rate: s.Rate})
	return Effect{Node: -1, Confirmed: settled, Note: "each way " + s.By.Of(f.Lease).String(), Heal: heal}, nil
}

// blackholeClient lets nothing pass between a client and any node.
type blackholeClient struct{}

func (blackholeClient) Name() string            { return BlackholeClient }
func (blackholeClient) Available(f Field) error { return needProxy(f) }

func (blackholeClient) Inject(ctx context.Context, f Field, s Spec) (Effect, error) {
	client := clientName(s.Client)
	heal, settled := impose(ctx, f, Condition{Client: client, BlockRequests: true, BlockReplies: true})
	return Effect{Node: -1, Client: client, Confirmed: settled, Heal: heal}, nil
}

// partitionNodes lets nothing pass between any client and a node.
type partitionNodes struct{}

func (partitionNodes) Name() string            { return PartitionNodes }
func (partitionNodes) Available(f Field) error { return needProxy(f) }

func (partitionNodes) Inject(ctx context.Context, f Field, s Spec) (Effect, error) {
	heal, settled := impose(ctx, f, Condition{Node: oneNode(s) + 1, BlockRequests: true, BlockReplies: true})
	return Effect{Node: oneNode(s), Confirmed: settled, Heal: heal}, nil
}

// cutPubSub cuts the connections that subscribe, and for as long as it lasts every connection that tries to.
type cutPubSub struct{}

func (cutPubSub) Name() string            { return CutPubSub }
func (cutPubSub) Available(f Field) error { return needProxy(f) }

func (cutPubSub) Inject(_ context.Context, f Field, s Spec) (Effect, error) {
	var removes []func()
	if s.For != (Span{}) {
		for _, command := range []string{"SUBSCRIBE", "PSUBSCRIBE", "SSUBSCRIBE"} {
			removes = append(removes, f.Proxy.Add(Rule{Request: anyOperation + " " + command, Times: -1, Do: Cut}))
		}
	}
	n := f.Proxy.CutSubscribed("")
	return Effect{Node: -1, Confirmed: n > 0, Note: fmt.Sprintf("%d connections cut", n), Heal: func(context.Context) error {
		for _, remove := range removes {
			remove()
		}
		return nil
	}}, nil
}
