package main

import (
	"bytes"
	"cmp"
	"net/http"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/lockbench/lockbench/report"
	"github.com/lockbench/lockbench/report/page"
	"github.com/lockbench/lockbench/results"
)

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

// Close closes the folder.
func (b *browser) Close() error { return b.root.Close() }

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
		b.index(w)
	default:
		b.file(w, r)
	}
}

func (b *browser) index(w http.ResponseWriter) {
	all, err := storedIn(b.base)
	if err != nil {
		http.Error(w, "the folder of runs cannot be read", http.StatusInternalServerError)
		return
	}
	var text bytes.Buffer
	if err := page.Index(&text, all); err != nil {
		http.Error(w, "the index cannot be made", http.StatusInternalServerError)
		return
	}
	b.html(w, text.Bytes())
}

func (b *browser) html(w http.ResponseWriter, text []byte) {
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	_, _ = w.Write(text) // the client has gone
}

// file serves one file of a run. It makes a report that is missing.
func (b *browser) file(w http.ResponseWriter, r *http.Request) {
	name := strings.TrimPrefix(r.URL.Path, "/")
	if !filepath.IsLocal(filepath.FromSlash(name)) || hiddenPath(name) {
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
	w.Header().Set("Content-Type", contentType(name))
	http.ServeContent(w, r, "", info.ModTime(), f)
}

// hiddenPath reports whether a part of a path is hidden: a file that is being written.
func hiddenPath(name string) bool {
	return slices.ContainsFunc(strings.Split(name, "/"), func(part string) bool { return strings.HasPrefix(part, ".") })
}

// report serves the page of a record without one.
func (b *browser) report(w http.ResponseWriter, r *http.Request, dir string) {
	if info, err := b.root.Lstat(filepath.FromSlash(dir)); err != nil || !info.IsDir() {
		http.NotFound(w, r)
		return
	}
	rec, err := openRecord(filepath.Join(b.base, filepath.FromSlash(dir)))
	if err != nil {
		http.NotFound(w, r)
		return
	}
	var text bytes.Buffer
	if err := rec.write(&text, "html", ".", report.Style{}); err != nil {
		http.Error(w, "the report cannot be made", http.StatusInternalServerError)
		return
	}
	b.html(w, text.Bytes())
}

// contentType returns the media type of a run's file. Only our own pages are HTML.
func contentType(name string) string {
	types := map[string]string{".html": "text/html; charset=utf-8", ".json": "application/json", ".jsonl": "application/json", ".xml": "application/xml",
		".zst": "application/octet-stream", "": "application/octet-stream"}
	return cmp.Or(types[path.Ext(name)], "text/plain; charset=utf-8")
}
