package main

import (
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// Server is a server of Debian's packages etcd-server, postgresql or zookeeper, in a directory of
// its own, on loopback.
type Server struct {
	Addr    string
	command []string
	as      *syscall.Credential // nil: this user
	dir     string
	process *exec.Cmd
}

// Start starts one: etcd, postgresql or zookeeper.
func Start(ctx context.Context, name, dir string) (*Server, error) {
	ports := make([]int, 2)
	for i := range ports {
		l, err := net.Listen("tcp4", "127.0.0.1:0")
		if err != nil {
			return nil, err
		}
		ports[i] = l.Addr().(*net.TCPAddr).Port
		l.Close()
	}
	s := &Server{Addr: fmt.Sprintf("127.0.0.1:%d", ports[0]), dir: dir}
	data, url, peer := filepath.Join(dir, "data"), fmt.Sprintf("http://127.0.0.1:%d", ports[0]), fmt.Sprintf("http://127.0.0.1:%d", ports[1])
	switch name {
	case "etcd":
		s.command = []string{"etcd", "--data-dir", data, "--listen-client-urls", url, "--advertise-client-urls", url, "--listen-peer-urls", peer,
			"--initial-advertise-peer-urls", peer, "--initial-cluster", "default=" + peer}
	case "postgresql":
		found, _ := filepath.Glob("/usr/lib/postgresql/*/bin")
		if len(found) == 0 {
			return nil, fmt.Errorf("no PostgreSQL: apt-get install postgresql")
		}
		if err := s.asPostgres(); err != nil {
			return nil, err
		}
		made := exec.CommandContext(ctx, filepath.Join(found[0], "initdb"), "-D", data, "-A", "trust", "-U", "postgres", "--no-sync")
		made.SysProcAttr = &syscall.SysProcAttr{Credential: s.as}
		if out, err := made.CombinedOutput(); err != nil {
			return nil, fmt.Errorf("initdb: %w: %s", err, out)
		}
		s.command = []string{filepath.Join(found[0], "postgres"), "-D", data, "-h", "127.0.0.1", "-p", strconv.Itoa(ports[0]), "-k", dir}
	case "zookeeper":
		config := filepath.Join(dir, "zoo.cfg")
		text := fmt.Sprintf("tickTime=500\ndataDir=%s\nclientPort=%d\nclientPortAddress=127.0.0.1\nadmin.enableServer=false\n", data, ports[0])
		if err := os.WriteFile(config, []byte(text), 0o644); err != nil {
			return nil, err
		}
		s.command = []string{"java", "-cp", "/etc/zookeeper/conf:/usr/share/java/*", "-Dzookeeper.log.dir=" + dir, "org.apache.zookeeper.server.quorum.QuorumPeerMain", config}
	default:
		return nil, fmt.Errorf("no server is called %q", name)
	}
	return s, s.Restart()
}

// asPostgres makes the server run as postgres if this is root, which PostgreSQL refuses.
func (s *Server) asPostgres() error {
	if os.Getuid() != 0 {
		return nil
	}
	u, err := user.Lookup("postgres")
	if err != nil {
		return err
	}
	uid, _ := strconv.Atoi(u.Uid)
	gid, _ := strconv.Atoi(u.Gid)
	s.as = &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}
	return os.Chown(s.dir, uid, gid)
}

// Restart starts the server, which is not running, on the data that it left, and waits until it
// accepts connections.
func (s *Server) Restart() error {
	log, err := os.OpenFile(filepath.Join(s.dir, "log"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	defer log.Close()
	s.process = exec.Command(s.command[0], s.command[1:]...)
	s.process.Stdout, s.process.Stderr, s.process.Dir = log, log, s.dir
	s.process.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Credential: s.as}
	if err := s.process.Start(); err != nil {
		return fmt.Errorf("%s: %w: apt-get install etcd-server postgresql zookeeper", s.command[0], err)
	}
	for end := time.Now().Add(20 * time.Second); ; time.Sleep(100 * time.Millisecond) {
		conn, err := net.Dial("tcp4", s.Addr)
		if err == nil {
			time.Sleep(time.Second) // until it answers, too
			return conn.Close()
		}
		if time.Now().After(end) {
			text, _ := os.ReadFile(filepath.Join(s.dir, "log"))
			return fmt.Errorf("%s does not answer: %s", strings.Join(s.command, " "), text[max(0, len(text)-1000):])
		}
	}
}

// Signal sends a signal to the server and its own processes.
func (s *Server) Signal(signal syscall.Signal) error {
	return syscall.Kill(-s.process.Process.Pid, signal)
}

// Kill kills it and waits for its end.
func (s *Server) Kill() error {
	err := s.Signal(syscall.SIGKILL)
	_ = s.process.Wait() // it was killed
	if pid := filepath.Join(s.dir, "data", "postmaster.pid"); err == nil {
		_ = os.Remove(pid) // of a server that is dead; another process may have its number by now
	}
	return err
}
