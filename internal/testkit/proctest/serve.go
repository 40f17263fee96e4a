package proctest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"sync"

	"github.com/rogpeppe/go-internal/testscript"

	"kpsim/internal/testkit/proctest/served"
)

// serving is added to the program that is compiled for tests.
const serving = `package main

import "kpsim/internal/testkit/proctest/served"

func init() { served.Serve(run) }
`

// overlay writes a description of serving in cmd/kpsim, as go build -overlay reads it.
func overlay(dir string) (path string, err error) {
	out, err := exec.Command("go", "list", "-f", "{{.Dir}}", "kpsim/cmd/kpsim").Output()
	if err != nil {
		return "", err
	}
	source := filepath.Join(dir, "serving.go")
	if err := os.WriteFile(source, []byte(serving), 0o644); err != nil {
		return "", err
	}
	added := filepath.Join(string(bytes.TrimSpace(out)), "serving.go")
	text, err := json.Marshal(map[string]map[string]string{"Replace": {added: source}})
	if err != nil {
		return "", err
	}
	path = filepath.Join(dir, "overlay.json")
	return path, os.WriteFile(path, text, 0o644)
}

// A server is a process that runs command lines of scripts, one after another.
type server struct {
	cmd      *exec.Cmd
	requests *json.Encoder
	replies  *json.Decoder
	close    io.Closer
	stderr   bytes.Buffer
}

// idle are the servers that serve no script now; there are as many as scripts run at once.
var idle struct {
	sync.Mutex
	list []*server
}

func startServer() (*server, error) {
	s := &server{cmd: exec.Command(Program())}
	s.cmd.Env = append(os.Environ(), served.Variable+"=1")
	s.cmd.Stderr = &s.stderr
	in, err := s.cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, err := s.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	s.requests, s.replies, s.close = json.NewEncoder(in), json.NewDecoder(out), in
	return s, s.cmd.Start()
}

// ask has an idle server answer, or a new one.
func ask(q served.Request) (r served.Reply, err error) {
	idle.Lock()
	n := len(idle.list)
	var s *server
	if n > 0 {
		s, idle.list = idle.list[n-1], idle.list[:n-1]
	}
	idle.Unlock()
	if s == nil {
		if s, err = startServer(); err != nil {
			return r, err
		}
	}
	if err = s.requests.Encode(q); err == nil {
		err = s.replies.Decode(&r)
	}
	if err != nil {
		s.close.Close()
		s.cmd.Wait()
		return r, fmt.Errorf("kpsim %q ended the process: %w\n%s", q.Args, err, s.stderr.Bytes())
	}
	idle.Lock()
	idle.list = append(idle.list, s)
	idle.Unlock()
	if r.Fault != "" {
		err = fmt.Errorf("kpsim %q wasn't run: %s", q.Args, r.Fault)
	}
	return r, err
}

// stopServers ends those that are idle.
func stopServers() {
	idle.Lock()
	defer idle.Unlock()
	for _, s := range idle.list {
		s.close.Close()
		s.cmd.Wait()
	}
	idle.list = nil
}

// ofOneProcess are variables that the runtime reads when a process starts, or, the last, whose files
// a process remembers: a command that has one of them gets a process of its own.
var ofOneProcess = []string{"GOMAXPROCS", "GOGC", "GOMEMLIMIT", "GODEBUG", "KPSIM_KERNELS"}

// variables is the key of the names of a script's variables among its values.
type variables struct{}

// Run runs kpsim as ts.Exec does, but in a process that ran other command lines before. It returns
// false if the command needs a process of its own, and wasn't run: help exits by itself.
func Run(ts *testscript.TestScript, input string, joined bool, args ...string) (r served.Reply, ok bool) {
	if len(args) > 0 && args[0] == "help" || slices.Contains(args, "--help") {
		return r, false
	}
	for _, name := range ofOneProcess {
		if ts.Getenv(name) != "" {
			return r, false
		}
	}
	dir := ts.MkAbs(".")
	q := served.Request{Dir: dir, Input: input, Args: args, Joined: joined, Env: []string{"PWD=" + dir}}
	for _, name := range ts.Value(variables{}).([]string) {
		q.Env = append(q.Env, name+"="+ts.Getenv(name))
	}
	r, err := ask(q)
	ts.Check(err)
	return r, true
}
