package main

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/lockbench/lockbench/report"
	"github.com/lockbench/lockbench/report/page"
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
		RunE: func(c *cobra.Command, _ []string) error {
			host, _, err := net.SplitHostPort(addr)
			if err != nil {
				return fmt.Errorf("%w: --addr %s: want host:port, such as 127.0.0.1:8080", errUsage, addr)
			}
			if ip := net.ParseIP(host); host != "localhost" && (ip == nil || !ip.IsLoopback()) {
				return fmt.Errorf("%w: --addr %s: must be a loopback address (127.0.0.1, ::1 or localhost): the reports are shown to this machine alone", errUsage, addr)
			}
			l, err := net.Listen("tcp", addr)
			if err != nil {
				return fmt.Errorf("--addr %s: %w: %w", addr, servers.ErrMissing, err)
			}
			handler, err := newBrowser(base, l.Addr().(*net.TCPAddr).Port)
			if err != nil {
				return errors.Join(asInput(err), l.Close())
			}
			stop := serving(&http.Server{Handler: handler}, l)
			ctx, end := a.interruptible(c.Context()) // an interrupt is how serving ends, and no failure
			defer end()
			if _, err = fmt.Fprintf(a.out, "http://%s/\n", l.Addr()); err == nil {
				<-ctx.Done()
			}
			return errors.Join(err, stop(), handler.root.Close())
		},
	}
	s := c.Flags()
	s.StringVar(&base, "out", results.DefaultBase, "the folder of runs")
	s.StringVar(&addr, "addr", "127.0.0.1:0", "loopback address and port to listen on; port 0: any that is free")
	return c
}

// browser serves a folder of runs: an index and the files of each run. Its os.Root lets no path or
// link lead out of the folder.
type browser struct {
	base  string
	root  *os.Root
	hosts []string // under which it may be asked for
}

func newBrowser(base string, port int) (*browser, error) {
	root, err := os.OpenRoot(base)
	if err != nil {
		return nil, err
	}
	at := ":" + strconv.Itoa(port)
	return &browser{base: base, root: root, hosts: []string{"127.0.0.1" + at, "localhost" + at, "[::1]" + at}}, nil
}

// ServeHTTP answers GET of the index and of the files below it. It refuses other host names, with
// which a foreign page could reach it.
func (b *browser) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	h := w.Header()
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("Cross-Origin-Resource-Policy", "same-origin")
	h.Set("Cache-Control", "no-store")
	switch {
	case !slices.Contains(b.hosts, r.Host):
		http.Error(w, "this server answers to its loopback address alone", http.StatusMisdirectedRequest)
	case r.Method != http.MethodGet && r.Method != http.MethodHead:
		h.Set("Allow", "GET, HEAD")
		http.Error(w, "only to be read", http.StatusMethodNotAllowed)
	case r.URL.Path == "/":
		all, err := storedIn(b.base)
		if err != nil {
			http.Error(w, "the folder of runs cannot be read", http.StatusInternalServerError)
			return
		}
		b.html(w, "the index cannot be made", func(text io.Writer) error { return page.Index(text, all) })
	default:
		b.file(w, r)
	}
}

// html serves a page that write writes, whole or not at all.
func (b *browser) html(w http.ResponseWriter, failed string, write func(io.Writer) error) {
	var text bytes.Buffer
	if err := write(&text); err != nil {
		http.Error(w, failed, http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	_, _ = text.WriteTo(w) // the client has gone
}

// file serves one file of a run; no hidden one, which is being written. It makes a report that is
// missing.
func (b *browser) file(w http.ResponseWriter, r *http.Request) {
	name := strings.TrimPrefix(r.URL.Path, "/")
	hidden := func(part string) bool { return strings.HasPrefix(part, ".") }
	if !filepath.IsLocal(filepath.FromSlash(name)) || slices.ContainsFunc(strings.Split(name, "/"), hidden) {
		http.NotFound(w, r)
		return
	}
	f, err := b.root.Open(filepath.FromSlash(name))
	if err != nil {
		if path.Base(name) == results.ReportFile {
			b.report(w, r, path.Dir(name))
			return
		}
		http.NotFound(w, r)
		return
	}
	defer f.Close() // read only
	info, err := f.Stat()
	if err != nil || info.IsDir() {
		http.NotFound(w, r)
		return
	}
	// only our own pages are HTML
	types := map[string]string{".html": "text/html; charset=utf-8", ".json": "application/json", ".jsonl": "application/json", ".xml": "application/xml",
		".zst": "application/octet-stream", "": "application/octet-stream"}
	w.Header().Set("Content-Type", cmp.Or(types[path.Ext(name)], "text/plain; charset=utf-8"))
	http.ServeContent(w, r, "", info.ModTime(), f)
}

// report serves the page of a record without one.
func (b *browser) report(w http.ResponseWriter, r *http.Request, dir string) {
	info, err := b.root.Lstat(filepath.FromSlash(dir))
	if err != nil || !info.IsDir() {
		http.NotFound(w, r)
		return
	}
	rec, err := openRecord(filepath.Join(b.base, filepath.FromSlash(dir)))
	if err != nil {
		http.NotFound(w, r)
		return
	}
	b.html(w, "the report cannot be made", func(text io.Writer) error { return rec.write(text, "html", ".", report.Style{}) })
}
