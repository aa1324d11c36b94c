package servers

import (
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"strings"
	"sync"

	"github.com/lockbench/lockbench/history"
	"github.com/lockbench/lockbench/impls"
	"github.com/lockbench/lockbench/internal/resp"
)

// Servers that lockbench starts record what they execute in their append-only files (Spec.Log).
// Redis writes to the file in the order of execution, before it replies, and in terms of effects:
// SET with an absolute expiry, what a script wrote between MULTI and EXEC, DEL when a lease ends or
// a key is evicted. What changed nothing is not there. So the file survives the death of the server
// and of lockbench, and no client waits for its reader.
//
// A file that is to be no persistence is moved away before its server is started again. Those of a
// deployment are read by its [Log].

const (
	logDir      = "appendonlydir" // the default of appenddirname
	logManifest = "appendonly.aof.manifest"
)

// logArgs are the settings of a server whose append-only file is a record. The base of a new file
// has commands, too, and there are no rewrites, but for that of a replica after it has copied its
// primary.
var logArgs = []string{"--auto-aof-rewrite-percentage", "0", "--aof-use-rdb-preamble", "no"}

// Entry is one step of a node's log.
type Entry struct {
	// Effect is history.Restarted, history.Promoted or history.Demoted; "" for commands.
	Effect string
	// Commands are executed as one step, each with its name. Of an effect, they make the data with
	// which the node goes on, and Kept reports that it goes on with all that it had.
	Commands [][]string
	Kept     bool
}

// Log reads what the nodes of a deployment have executed. A replicated pair is one node, the
// primary of the moment. Of servers that sentinels watch each is one, with what it copies from its
// primary.
type Log struct {
	nodes []*nodeLog
}

func (f *fleet) Log() *Log {
	if f.logs == nil {
		return nil
	}
	return &Log{nodes: f.logs}
}

// Nodes returns the number of nodes.
func (l *Log) Nodes() int { return len(l.nodes) }

// nodeLog is the files of one node in the order in which it wrote them.
type nodeLog struct {
	copies bool // the server may copy another, and then begins a new file by itself

	mu    sync.Mutex // guards parts
	parts []logPart

	// The reader's.
	part  int      // index of the part that is read
	file  *os.File // of the part; nil before it is opened
	at    int64    // how much of the file was read
	words resp.Requests
	multi [][]string // since MULTI; nil outside
}

// logPart is a part of an append-only file, written by one server while clients knew it as the
// node.
type logPart struct {
	effect string // how it begins; "" for the first
	kept   bool   // it goes on with the data, and in the file, of the part before
	dir    string // of the append-only file
	// before has, of a promotion, the files that make the data with which the part begins, the last
	// up to from. Open, they can be read even if the server is started anew meanwhile.
	before []*os.File
	from   int64  // where in the last file the part begins
	to     int64  // where it ends; -1: not yet
	end    string // the file in which it ends; "": not yet
}

func (n *node) logDir() string { return filepath.Join(n.dataDir(), logDir) }

// restartLog prepares the log of a machine, if clients know it as a node, for the start of its
// server, which is dead. It moves the file away from a server that is to lose its data.
func (f *fleet) restartLog(n *node, log *nodeLog) error {
	if f.logs == nil {
		return nil
	}
	dir, kept := n.logDir(), f.spec.Persistence != impls.PersistNone
	if !kept {
		away := dir
		for number := 1; ; number++ {
			away = fmt.Sprintf("%s.%d", dir, number)
			if _, err := os.Stat(away); err != nil {
				break
			}
		}
		if err := os.Rename(dir, away); err != nil {
			return err
		}
		if log != nil {
			log.mu.Lock()
			for i := range log.parts {
				if log.parts[i].dir == dir {
					log.parts[i].dir = away
				}
			}
			log.mu.Unlock()
		}
	}
	if log == nil {
		return nil
	}
	return log.begin(logPart{effect: history.Restarted, kept: kept, dir: dir})
}

// begin starts a part and ends the one before, whose server is dead or has lost its role. It comes
// before the new server executes anything.
func (n *nodeLog) begin(p logPart) error {
	n.mu.Lock()
	defer n.mu.Unlock()
	p.to = -1
	if last := len(n.parts) - 1; last >= 0 {
		files, err := logFiles(n.parts[last].dir)
		if err != nil {
			return err
		}
		info, err := os.Stat(files[len(files)-1])
		if err != nil {
			return err
		}
		n.parts[last].to, n.parts[last].end = info.Size(), files[len(files)-1]
		if p.kept && p.before == nil {
			p.from = info.Size()
		}
	}
	n.parts = append(n.parts, p)
	return nil
}

func (n *nodeLog) current() (p logPart, ok bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.part < len(n.parts) {
		p, ok = n.parts[n.part], true
	}
	return p, ok
}

// Read calls each with the entries that a node has written since the last call, in order. One
// goroutine calls it.
func (l *Log) Read(node int, each func(Entry)) error {
	n := l.nodes[node]
	for p, ok := n.current(); ok; p, ok = n.current() {
		if n.file == nil {
			if err := n.open(p, each); err != nil {
				return err
			}
		}
		if err := n.rest(p, each); err != nil {
			return err
		}
		p, _ = n.current()
		if switched, err := n.follow(p, each); switched && err == nil {
			continue
		} else if err != nil {
			return err
		}
		if p.to < 0 || n.at < p.to {
			return nil
		}
		if err := n.file.Close(); err != nil {
			return err
		}
		n.file, n.part = nil, n.part+1
	}
	return nil
}

func (n *nodeLog) open(p logPart, each func(Entry)) (err error) {
	files := p.before
	if len(files) == 0 {
		if files, err = openLog(p.dir); err != nil {
			return err
		}
	}
	if p.effect != "" {
		start := Entry{Effect: p.effect, Kept: p.kept}
		if p.effect == history.Promoted && !p.kept {
			start.Commands, err = commandsIn(files, p.from)
		}
		each(start)
	}
	copied := n.copies && p.effect == history.Restarted && !p.kept // it may have copied its primary by now
	return errors.Join(err, n.enter(files, p.from, copied, each))
}

// enter goes on in the last of the files, at an offset. Those before have what the server has
// copied, if it has.
func (n *nodeLog) enter(files []*os.File, at int64, copied bool, each func(Entry)) (err error) {
	last := len(files) - 1
	if copied {
		commands, err := commandsIn(files[:last], math.MaxInt64)
		if err != nil {
			return err
		}
		if len(commands) > 0 {
			each(Entry{Effect: history.Demoted, Commands: commands})
		}
	}
	for _, f := range files[:last] {
		err = errors.Join(err, f.Close())
	}
	n.file, n.at = files[last], at
	n.words, n.multi = resp.Requests{}, nil // a killed server did not execute what it had not written whole
	return err
}

// follow goes on in the file that a server has begun since, if it has copied its primary anew.
func (n *nodeLog) follow(p logPart, each func(Entry)) (switched bool, err error) {
	if !n.copies {
		return false, nil
	}
	end := p.end
	if end == "" {
		names, err := logFiles(p.dir)
		if err != nil {
			return false, err
		}
		end = names[len(names)-1]
	}
	if n.in(end) {
		return false, nil
	}
	p.to = -1
	if err := n.rest(p, each); err != nil {
		return false, err
	}
	files, err := openLog(p.dir)
	if err != nil {
		return false, err
	}
	return true, errors.Join(n.file.Close(), n.enter(files, 0, true, each))
}

// in reports whether a file is the one that is read, perhaps in a directory that has another name
// now.
func (n *nodeLog) in(file string) bool { return filepath.Base(file) == filepath.Base(n.file.Name()) }

// goOn begins a part, with an effect, where the file of a server that runs ends now.
func (n *nodeLog) goOn(effect, dir string) error {
	files, err := openLog(dir)
	if err != nil {
		return err
	}
	last := len(files) - 1
	for _, f := range files[:last] {
		err = errors.Join(err, f.Close())
	}
	info, serr := files[last].Stat()
	if err = errors.Join(err, serr); err != nil {
		return err
	}
	return n.begin(logPart{effect: effect, kept: true, dir: dir, before: files[last:], from: info.Size()})
}

// rest reads the open file to its present end, or to that of the part.
func (n *nodeLog) rest(p logPart, each func(Entry)) error {
	buf := make([]byte, 1<<16)
	for {
		want := buf
		if p.to >= 0 && (!n.copies || n.in(p.end)) {
			want = buf[:max(min(int64(len(buf)), p.to-n.at), 0)]
		}
		size, err := n.file.ReadAt(want, n.at)
		n.at += int64(size)
		n.words.Feed(want[:size])
		for r, ok := n.words.Next(); ok; r, ok = n.words.Next() {
			switch words := wordsOf(r); {
			case words[0] == "SELECT":
			case words[0] == "MULTI":
				n.multi = [][]string{}
			case words[0] == "EXEC":
				each(Entry{Commands: n.multi})
				n.multi = nil
			case len(words) > 1 && strings.HasPrefix(words[1], fillerPrefix): // ours, see EvictKeys
			case n.multi != nil:
				n.multi = append(n.multi, words)
			default:
				each(Entry{Commands: [][]string{words}})
			}
		}
		switch {
		case errors.Is(err, io.EOF), len(want) == 0:
			return nil
		case err != nil:
			return err
		}
	}
}

// wordsOf returns a command as the clients' recorders write theirs.
func wordsOf(r resp.Request) []string {
	return append([]string{r.Name()}, r.Strings(r.Len()-1, history.MaxArg)...)
}

// commandsIn returns the commands of files, of the last up to a size.
func commandsIn(files []*os.File, size int64) (commands [][]string, err error) {
	for i, file := range files {
		text, err := io.ReadAll(io.NewSectionReader(file, 0, math.MaxInt64))
		if err != nil {
			return nil, err
		}
		if i == len(files)-1 {
			text = text[:min(size, int64(len(text)))]
		}
		var words resp.Requests
		words.Feed(text)
		for r, ok := words.Next(); ok; r, ok = words.Next() {
			if name := r.Name(); name != "SELECT" && name != "MULTI" && name != "EXEC" {
				commands = append(commands, wordsOf(r))
			}
		}
	}
	return commands, nil
}

func openLog(dir string) ([]*os.File, error) {
	names, err := logFiles(dir)
	if err != nil {
		return nil, err
	}
	files := make([]*os.File, len(names))
	for i, name := range names {
		if files[i], err = os.Open(name); err != nil {
			return nil, err
		}
	}
	return files, nil
}

// logFiles returns the files of an append-only file in their order: the base, if there is one, and
// the increments.
func logFiles(dir string) (files []string, err error) {
	text, err := os.ReadFile(filepath.Join(dir, logManifest))
	if err != nil {
		return nil, fmt.Errorf("append-only file: %w", err)
	}
	for line := range strings.Lines(string(text)) {
		words := strings.Fields(line)
		if len(words) == 6 && words[0] == "file" && (words[5] == "b" || words[5] == "i") { // others are of the past
			files = append(files, filepath.Join(dir, filepath.Base(words[1])))
		}
	}
	if len(files) == 0 {
		return nil, fmt.Errorf("append-only file: %s names none", filepath.Join(dir, logManifest))
	}
	return files, nil
}

// Close closes the files that are open.
func (l *Log) Close() error {
	var errs []error
	for _, n := range l.nodes {
		if n.file != nil {
			errs = append(errs, n.file.Close())
		}
	}
	return errors.Join(errs...)
}
