package faults

import (
	"context"

	"github.com/lockbench/lockbench/history"
)

// The faults of single messages.
const (
	LoseRequest  = "lose-request"
	LoseReply    = "lose-reply"
	DelayRequest = "delay-request"
	DelayReply   = "delay-reply"
)

var messageKinds = []Kind{
	{Name: LoseRequest, About: "a request never reaches the node, and the connection is cut", Did: "lost a request",
		InSim: "the message is dropped, the connection breaks", OnServers: "the proxy drops it and cuts the connection",
		On: OneClient, In: InMessage, At: AtRequest,
		instant: true, Placed: atStep, Does: history.Hinders | history.LosesRequests, do: loseMessage},
	{Name: LoseReply, About: "a request is applied, its reply is lost, and the connection is cut", Did: "lost a reply",
		InSim: "the same, for the reply", OnServers: "the proxy passes the request, drops the reply and cuts the connection",
		On: OneClient, In: InMessage, At: AtReply,
		instant: true, Placed: atStep, Does: history.Hinders | history.LosesReplies, do: loseMessage},
	{Name: DelayRequest, About: "a request is held back", Did: "had a request delayed",
		InSim: "the message is delivered later", OnServers: "the proxy holds it",
		On: OneClient, In: InMessage, At: AtRequest,
		Uses: []Uses{mustFor, mayUntil}, mustEnd: true, Placed: atStep, Does: history.Hinders | history.HoldsRequests, do: holdMessage},
	{Name: DelayReply, About: "a reply is held back", Did: "had a reply delayed",
		InSim: "the message is delivered later", OnServers: "the proxy holds it",
		On: OneClient, In: InMessage, At: AtReply,
		Uses: []Uses{mustFor, mayUntil}, mustEnd: true, Placed: atStep, Does: history.Hinders | history.HoldsReplies, do: holdMessage},
}

// loseMessage loses the message. In a replayed schedule the loss is a step of its own.
func loseMessage(_ context.Context, at actionAt) (Undo, error) {
	if at.fault.message != nil {
		at.fault.message.Lose()
	}
	return nil, nil
}

func holdMessage(_ context.Context, at actionAt) (Undo, error) {
	if at.fault.message == nil {
		return nil, nil
	}
	return at.fault.message.Hold(), nil
}
