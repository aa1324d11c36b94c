package redistest

import (
	"context"
	"fmt"
	"net"
	"strings"
	"sync"

	"github.com/redis/go-redis/v9"
)

// Commands remembers what clients send, in the order in which it was sent.
type Commands struct {
	mu   sync.Mutex // protects sent
	sent [][]any
}

var _ redis.Hook = (*Commands)(nil)

// Record starts remembering what the client sends.
func (c *Client) Record() *Commands {
	r := &Commands{}
	c.RecordIn(r)
	return r
}

// RecordIn starts remembering what the client sends together with what others send.
func (c *Client) RecordIn(r *Commands) { c.Redis.AddHook(r) }

// Take returns the commands so far, one line for each, and forgets them.
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

// DialHook passes on.
func (r *Commands) DialHook(next redis.DialHook) redis.DialHook {
	return func(ctx context.Context, network, addr string) (net.Conn, error) { return next(ctx, network, addr) }
}

// ProcessHook remembers a command.
func (r *Commands) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		r.add(cmd)
		return next(ctx, cmd)
	}
}

// ProcessPipelineHook remembers the commands of a pipeline.
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
