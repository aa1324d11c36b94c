package redistest

import (
	"context"
	"fmt"
	"net"
	"strings"
	"sync"

	"github.com/redis/go-redis/v9"
)

// Commands records the commands of clients in the order in which they were sent.
type Commands struct {
	mu   sync.Mutex // protects sent
	sent [][]any
}

var _ redis.Hook = (*Commands)(nil)

// Record starts recording the client's commands.
func (c *Client) Record() *Commands {
	r := &Commands{}
	c.RecordIn(r)
	return r
}

// RecordIn starts recording the client's commands together with those of others.
func (c *Client) RecordIn(r *Commands) { c.Redis.AddHook(r) }

// Take returns the commands so far, one line for each, and removes them.
func (r *Commands) Take() []string {
	var lines []string
	for _, args := range r.TakeArgs() {
		lines = append(lines, strings.TrimSpace(fmt.Sprintln(args...)))
	}
	return lines
}

// TakeArgs is Take with the arguments as they were given.
func (r *Commands) TakeArgs() [][]any {
	r.mu.Lock()
	defer r.mu.Unlock()
	sent := r.sent
	r.sent = nil
	return sent
}

func (r *Commands) add(cmds ...redis.Cmder) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, c := range cmds {
		r.sent = append(r.sent, c.Args())
	}
}

// DialHook records nothing.
func (r *Commands) DialHook(next redis.DialHook) redis.DialHook {
	return func(ctx context.Context, network, addr string) (net.Conn, error) { return next(ctx, network, addr) }
}

// ProcessHook records a command.
func (r *Commands) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		r.add(cmd)
		return next(ctx, cmd)
	}
}

// ProcessPipelineHook records the commands of a pipeline.
func (r *Commands) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(ctx context.Context, cmds []redis.Cmder) error {
		r.add(cmds...)
		return next(ctx, cmds)
	}
}

// Mark adds a command that no client sent.
func (r *Commands) Mark(args ...any) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.sent = append(r.sent, args)
}
