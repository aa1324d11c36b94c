package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"

	"github.com/spf13/cobra"

	"github.com/lockbench/lockbench/results"
	"github.com/lockbench/lockbench/servers"
)

func newServe(a *app) *cobra.Command {
	var base, addr string
	c := &cobra.Command{
		Use:   "serve",
		Short: "Show the runs that were kept in a browser",
		Long: "serve lists the folder of runs on a page and shows the report of each, on this machine alone: it listens on loopback, and refuses\n" +
			"requests under another host name. It ends with an interrupt.",
		Example: "  lockbench serve --addr 127.0.0.1:8080",
		Args:    nothing,
		RunE:    func(c *cobra.Command, _ []string) error { return a.serve(c.Context(), base, addr) },
	}
	s := c.Flags()
	s.StringVar(&base, "out", results.DefaultBase, "the folder of runs")
	s.StringVar(&addr, "addr", "127.0.0.1:0", "loopback address and port to listen on; port 0: any that is free")
	return c
}

// serve serves until it is interrupted.
func (a *app) serve(ctx context.Context, base, addr string) error {
	l, err := listenLoopback(addr)
	if err != nil {
		return err
	}
	handler, err := newBrowser(base, l.Addr().(*net.TCPAddr).Port)
	if err != nil {
		return errors.Join(asInput(err), l.Close())
	}
	stop := serving(&http.Server{Handler: handler}, l)
	ctx, end := a.interruptible(ctx) // an interrupt is how serving ends, and no failure
	defer end()
	if _, err = fmt.Fprintf(a.out, "http://%s/\n", l.Addr()); err == nil {
		<-ctx.Done()
	}
	return errors.Join(err, stop(), handler.Close())
}

// listenLoopback listens on an address of this machine's loopback, and on no other.
func listenLoopback(addr string) (net.Listener, error) {
	host, _, err := net.SplitHostPort(addr)
	if err != nil {
		return nil, fmt.Errorf("%w: --addr %s: want host:port, such as 127.0.0.1:8080", errUsage, addr)
	}
	ip := net.ParseIP(host)
	if host != "localhost" && (ip == nil || !ip.IsLoopback()) {
		return nil, fmt.Errorf("%w: --addr %s: must be a loopback address (127.0.0.1, ::1 or localhost): the reports are shown to this machine alone", errUsage, addr)
	}
	l, err := net.Listen("tcp", addr)
	if err != nil {
		return nil, fmt.Errorf("--addr %s: %w: %w", addr, servers.ErrMissing, err)
	}
	return l, nil
}
