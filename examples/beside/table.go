package main

import (
	"context"
	"encoding/json"
	"fmt"
	"log"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"time"
)

// lease is that of every run: etcd has none below two seconds.
const lease = "3s"

// scenarios are the columns that lockbench's own faults make. pause-after-grant is not among them:
// it stalls a client by the reply of Redis.
var scenarios = []string{"crash-holder", "pause-holder", "slow-work"}

type row struct{ lock, server string } // "" is Redis

var rows = []row{
	{"token", ""}, {"fenced", ""}, {"redlock", ""},
	{"etcd-lease", "etcd"}, {"etcd-mutex", "etcd"}, {"pg-row", "postgresql"}, {"pg-advisory", "postgresql"}, {"zk-lock", "zookeeper"},
}

type measurer struct {
	lockbench, child, dir string
	servers               map[string]*Server
	name                  int
	mu                    sync.Mutex // guards name
}

// table measures the locks of other servers beside three of Redis'.
func table(lockbench string) error {
	child, err := os.Executable()
	if err != nil {
		return err
	}
	m := &measurer{lockbench: lockbench, child: child, servers: map[string]*Server{}}
	if m.dir, err = os.MkdirTemp("", "beside-"); err != nil {
		return err
	}
	defer os.RemoveAll(m.dir)
	if err := os.Chmod(m.dir, 0o755); err != nil { // PostgreSQL has a user of its own
		return err
	}
	for _, name := range []string{"etcd", "postgresql", "zookeeper"} {
		dir := filepath.Join(m.dir, name)
		if err := os.Mkdir(dir, 0o755); err != nil {
			return err
		}
		if m.servers[name], err = Start(context.Background(), name, dir); err != nil {
			return err
		}
		defer m.servers[name].Kill()
	}
	cells := make([][]string, len(rows))
	side := make(chan struct{}, 4)
	var group sync.WaitGroup
	for i, r := range rows {
		cells[i] = make([]string, len(scenarios)+4)
		for j, s := range scenarios {
			group.Go(func() {
				side <- struct{}{}
				cells[i][j] = m.verdict(r, "--scenario", s, "--set", "lease="+lease, "--set", "wait=20s")
				<-side
			})
		}
	}
	group.Wait()
	for i, r := range rows { // one after the other: they share servers, and the costs need a quiet machine
		for j, kind := range []string{"kill", "pause"} {
			cells[i][len(scenarios)+j] = m.away(r, kind)
		}
		cells[i][len(scenarios)+2], cells[i][len(scenarios)+3] = m.cost(r, 1), m.cost(r, 8)
	}
	fmt.Println("| lock | holder crashes | stalls | long work | its server killed | its server paused | acquire and release, alone | holds a second, 8 clients |")
	fmt.Println("| --- | --- | --- | --- | --- | --- | --: | --: |")
	for i, r := range rows {
		fmt.Printf("| `%s` | %s |\n", r.lock, strings.Join(cells[i], " | "))
	}
	return nil
}

// subject returns the options that name a lock. Keys of one run are not another's.
func (m *measurer) subject(r row) []string {
	if r.server == "" {
		return []string{"--lock", r.lock}
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.name++
	return []string{"--exec", fmt.Sprintf("%s %s %s run-%d", m.child, r.lock, m.servers[r.server].Addr, m.name)}
}

// verdict runs a lock and returns what became of it, in the words of docs/choosing.md.
func (m *measurer) verdict(r row, options ...string) string {
	args := append(append([]string{"run"}, m.subject(r)...), "--server", "process", "--seed", "1", "-o", "json", "--out", filepath.Join(m.dir, "runs"))
	cmd := exec.Command(m.lockbench, append(args, options...)...)
	out, _ := cmd.Output() // a lock that breaks exits 1
	var result struct {
		Verdict    string
		Properties []struct{ Name, Verdict string }
	}
	if err := json.Unmarshal(out, &result); err != nil {
		log.Printf("%s %v: %v", r.lock, options, err)
		return "error"
	}
	log.Printf("%s %v: %s", r.lock, options, result.Verdict)
	is := map[string]string{}
	for _, p := range result.Properties {
		is[p.Name] = p.Verdict
	}
	safe := ""
	if is["store-integrity"] == "pass" && is["fencing-order"] == "pass" {
		safe = ", safe"
	}
	switch {
	case is["mutual-exclusion"] == "fail":
		return "**two**" + safe
	case is["exclusive-use"] == "fail":
		return "late" + safe
	case is["progress"] == "fail":
		return "stuck"
	case result.Verdict == "pass":
		return "holds"
	case result.Verdict == "inconclusive":
		return "?"
	}
	return result.Verdict
}

// away runs a lock while its server is killed, and back a second later, or stopped for two leases.
// Redis persists every write, as the others do.
func (m *measurer) away(r row, kind string) string {
	if r.server == "" {
		if kind == "kill" {
			return m.verdict(r, "--scenario", "kill-server", "--set", "lease="+lease, "--set", "persistence=always")
		}
		return m.verdict(r, "--scenario", "pause-server", "--set", "lease="+lease)
	}
	s := m.servers[r.server]
	done := make(chan error, 1)
	time.AfterFunc(5*time.Second, func() {
		if kind == "kill" {
			err := s.Kill()
			time.Sleep(time.Second)
			if err == nil {
				err = s.Restart()
			}
			done <- err
			return
		}
		err := s.Signal(syscall.SIGSTOP)
		time.Sleep(6 * time.Second)
		if err == nil {
			err = s.Signal(syscall.SIGCONT)
		}
		done <- err
	})
	word := m.verdict(r, "--scenario", "away.yaml")
	if word == "stuck" { // lockbench does not know that the server was away: its waits are not judged
		word = "?"
	}
	if err := <-done; err != nil {
		return err.Error()
	}
	return word
}

// cost returns the median times of an acquire and a release of one client or, of several, how many
// holds they have in a second.
func (m *measurer) cost(r row, clients int) string {
	name := m.subject(r)
	if r.server == "" {
		name[0] = "--locks"
	}
	args := append(append([]string{"bench"}, name...), "--clients", fmt.Sprint(clients), "--duration", "2s", "--warmup", "1s", "--reps", "1", "--server", "process", "-o", "json")
	out, _ := exec.Command(m.lockbench, args...).Output()
	var result struct {
		Cells []struct {
			Reference bool
			Figures   map[string]struct{ Value *float64 }
		}
	}
	if err := json.Unmarshal(out, &result); err != nil {
		log.Printf("bench %s: %v", r.lock, err)
		return "error"
	}
	for _, c := range result.Cells {
		if c.Reference {
			continue
		}
		if clients > 1 {
			if v := c.Figures["throughput"].Value; v != nil {
				return fmt.Sprintf("%.0f", *v)
			}
			continue
		}
		of := []string{"acquire.p50", "release.p50"}
		sum := time.Duration(0)
		for _, figure := range of {
			if v := c.Figures[figure].Value; v != nil {
				sum += time.Duration(*v)
			}
		}
		if sum > 0 {
			return regexp.MustCompile(`\d(\D+)$`).ReplaceAllStringFunc(sum.Round(10*time.Microsecond).String(), func(end string) string { return end[:1] + " " + end[1:] })
		}
	}
	return "–"
}
