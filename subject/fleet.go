package subject

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/lockbench/lockbench/history"
	"github.com/lockbench/lockbench/impls"
	"github.com/lockbench/lockbench/internal/foreign"
)

// Command is how to start a child. sh executes it on the machine where the child runs.
type Command struct {
	Exec string // "python3 mylock.py"
	// Launch is a prefix that reaches another machine or container, such as "ssh {host}", and
	// passes input and output on. "": this machine.
	Launch string
	// Host replaces the word in braces.
	Host string
}

var placeholder = regexp.MustCompile(`\{[a-z]+\}`)

// HasPlaceholder reports whether a launch prefix names a host.
func HasPlaceholder(launch string) bool { return placeholder.MatchString(launch) }

// String returns the command as one would type it, for messages: a long one without its middle.
func (c Command) String() string { return foreign.Ends(strings.TrimSpace(c.prefix()+" "+c.Exec), 200) }

func (c Command) prefix() string {
	return placeholder.ReplaceAllLiteralString(c.Launch, c.Host)
}

// shell returns the local command line of a shell where the child runs. It reads commands from
// standard input, so that no launcher passes on quotes.
func (c Command) shell() string { return strings.TrimSpace("exec " + c.prefix() + " sh") }

// Fleet is the children of a run: one command, and the hosts on which its clients run.
type Fleet struct {
	Exec   string   // as in Command; "" means that there are no children
	Launch string   // as in Command
	Hosts  []string // assigned to the clients in turn; none: no host name
	// Listen is the address of this machine that the children can reach: the servers started for
	// them listen there. "" means 127.0.0.1.
	Listen string
	About  Description // the child's description of its lock, see Probe
}

// Probe starts the first child, asks for its description, and ends it. It sets About.
func (f *Fleet) Probe(ctx context.Context) (impls.Variant, error) {
	c, err := Start(ctx, f.Command(0), Options{Client: "the first child,"})
	if err != nil {
		return impls.Variant{}, err
	}
	f.About = c.About()
	v, _ := f.About.Variant() // Start has rejected an invalid description
	v.Name, v.Summary = f.name(), "a lock in another process: "+f.Command(0).String()
	return v, c.Close()
}

// name returns the lock's name for files and reports: the one that it states, or its command
// without directories, in characters for a file name.
func (f Fleet) name() string {
	text := f.About.Name
	if text == "" {
		for word := range strings.FieldsSeq(f.Exec) {
			text += " " + path.Base(word)
		}
	}
	words := strings.FieldsFunc(strings.ToLower(text), func(r rune) bool {
		return r != '.' && r != '_' && (r < 'a' || r > 'z') && (r < '0' || r > '9')
	})
	name := strings.Join(words, "-")
	return cmp.Or(strings.Trim(name[:min(len(name), maxName)], ".-"), "subject")
}

const maxName = 40

// Command returns the command for the client with an index from 0.
func (f Fleet) Command(client int) Command {
	c := Command{Exec: f.Exec, Launch: f.Launch}
	if len(f.Hosts) > 0 {
		c.Host = f.Hosts[client%len(f.Hosts)]
	}
	return c
}

// Variant returns a catalogue entry for the description: kind, features and servers. The caller
// sets the rest. It rejects words that are not in the protocol: a feature with a misspelt name
// would never be tested.
func (d Description) Variant() (impls.Variant, error) {
	v := impls.Variant{Kind: history.Mutex, Topology: impls.Standalone, Quorum: d.Quorum}
	if d.Quorum < 0 {
		return v, fmt.Errorf("describe: quorum %d: want at least 0", d.Quorum)
	}
	switch k := history.Kind(d.Kind); k {
	case "":
	case history.Mutex, history.Reentrant, history.RW, history.Semaphore:
		v.Kind = k
	default:
		return v, fmt.Errorf("describe: kind %q: want mutex, reentrant, rw or semaphore", d.Kind)
	}
	words := canWords()
	for _, w := range d.Can {
		trait, ok := words[w]
		if !ok {
			return v, fmt.Errorf("describe: can %q: want words of %s", w, strings.Join(slices.Sorted(maps.Keys(words)), ", "))
		}
		*trait(&v.Traits) = true
	}
	v.Traits.Reentrant = v.Kind == history.Reentrant
	v.Traits.Permits = v.Kind == history.Semaphore
	v.Traits.Shared = v.Traits.Shared || v.Kind == history.RW
	if d.Has(canIndependent) {
		v.Topology = impls.Independent
	}
	return v, nil
}
