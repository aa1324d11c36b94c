package faults

import (
	"context"

	"github.com/lockbench/lockbench/history"
)

// The faults of clients.
const (
	PauseClient   = "pause-client"
	CrashClient   = "crash-client"
	CancelClient  = "cancel-client"
	SkewClient    = "skew-client"
	CollideOwners = "collide-owners"
	SlowWork      = "slow-work"
)

var clientKinds = []Kind{
	{Name: PauseClient, About: "everything of the client stops for a while, its watchdog included", Did: "was paused",
		InSim: "none of its events is released", OnServers: "a goroutine is stopped at its connections, clock and steps; a process gets SIGSTOP",
		On: OneClient, In: InClient, At: atEvent,
		Uses: []Uses{mustFor, mayUntil}, mustEnd: true, Placed: atStep, Does: history.Hinders | history.Stops | history.HoldsReplies,
		do: onClient(Client.Pause)},
	{Name: CrashClient, About: "the client dies and its connections are closed", Did: "crashed",
		InSim: "its connections break, and its calls return an error", OnServers: "the same for a goroutine; a process gets SIGKILL",
		On: OneClient, In: InClient, At: atEvent,
		Placed: atStep, Does: history.Stops | history.Kills | history.LosesReplies,
		do: onClient(func(c Client, ctx context.Context) (Undo, error) { return nil, c.Crash(ctx) })},
	{Name: CancelClient, About: "the context of the client's call is cancelled", Did: "had its call cancelled",
		InSim: "the context of its acquire is cancelled", OnServers: "the same",
		On: OneClient, In: InClient, At: atEvent,
		instant: true, Placed: atStep, Does: history.CancelsCall,
		do: onClient(func(c Client, ctx context.Context) (Undo, error) { return nil, c.Cancel(ctx) })},
	{Name: SkewClient, About: "the client's wall clock is off", Did: "had a wrong clock",
		InSim: "the clock that the lock is given is off", OnServers: "the same",
		On: OneClient, In: InClient, At: AtStart,
		Uses: []Uses{mustBy}, Placed: BeforeSearch, Does: history.SkewsClient, do: skewClient},
	{Name: CollideOwners, About: "all clients share one owner id", Did: "had the owner id of another client",
		InSim: "the lock is given the same owner id for each", OnServers: "the same",
		On: allClients, In: InClient, At: AtStart,
		Placed: BeforeSearch, Does: history.SharesOwner, do: collideOwners},
	{Name: SlowWork, About: "the work inside a critical section takes long", Did: "was slow at its work",
		InSim: "the client sleeps inside, in virtual time", OnServers: "the client sleeps inside",
		On: OneClient, In: InClient, At: AtStart | AtMoment,
		Uses: []Uses{mustFor}, Placed: BeforeSearch, Does: history.SlowsWork, do: slowWork},
}

// onClient does something to the client that the fault affects.
func onClient(do func(Client, context.Context) (Undo, error)) action {
	return func(ctx context.Context, at actionAt) (Undo, error) {
		c, err := at.Client(at.fault.Client)
		if err != nil {
			return nil, err
		}
		return do(c, ctx)
	}
}

func skewClient(_ context.Context, at actionAt) (Undo, error) {
	at.director.standing[at.fault.Client-1].Skew += at.by()
	at.note("clock off by %v", at.by())
	return nil, nil
}

func collideOwners(_ context.Context, at actionAt) (Undo, error) {
	for i := range at.director.standing {
		at.director.standing[i].Owner = sharedOwner
	}
	at.note("owner id %s", sharedOwner)
	return nil, nil
}

// sharedOwner is the owner id that all clients have when ids collide.
const sharedOwner = "thread-1"

// slowWork, in force from the start, makes every critical section of the client take For; at a
// moment, it lengthens that one section by For.
func slowWork(ctx context.Context, at actionAt) (Undo, error) {
	if at.fault.When.Form() == AtStart {
		work := at.fault.For.Of(at.director.cfg.Lease)
		at.director.standing[at.fault.Client-1].Work = work
		at.note("work of %v", work)
		return nil, nil
	}
	return onClient(func(c Client, _ context.Context) (Undo, error) { return c.Hold(), nil })(ctx, at)
}
