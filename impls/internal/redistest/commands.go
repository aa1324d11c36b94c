package redistest

import (
	"context"
	"fmt"
	"net"
	"strings"
	"sync"

	"github.com/redis/go-redis/v9"
)

// Commands remembers what a client sends, one line for each command.
type Commands struct {
	mu    sync.Mutex // protects lines
	lines []string
}

var _ redis.Hook = (*Commands)(nil)

// Record starts remembering what the client sends.
func (c *Client) Record() *Commands {
	r := &Commands{}
	c.Redis.AddHook(r)
	return r
}

// Take returns the lines so far and forgets them.
func (r *Commands) Take() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	lines := r.lines
	r.lines = nil
	return lines
}

// DialHook passes on.
func (r *Commands) DialHook(next redis.DialHook) redis.DialHook {
	return func(ctx context.Context, network, addr string) (net.Conn, error) { return next(ctx, network, addr) }
}

// ProcessHook remembers a command.
func (r *Commands) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		r.mu.Lock()
		r.lines = append(r.lines, strings.TrimSpace(fmt.Sprintln(cmd.Args()...)))
		r.mu.Unlock()
		return next(ctx, cmd)
	}
}

// ProcessPipelineHook passes on.
func (r *Commands) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return next
}
