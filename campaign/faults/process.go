package faults

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"time"
)

// A process is a program that was started, with its output.
type process struct {
	name  string
	cmd   *exec.Cmd
	began time.Time
	ended chan struct{}

	mu         sync.Mutex // guards the rest
	out        bytes.Buffer
	err        bytes.Buffer
	endedByRig bool // the rig has ended it
	status     error
}

type writer struct {
	p  *process
	to *bytes.Buffer
}

func (w writer) Write(data []byte) (int, error) {
	w.p.mu.Lock()
	defer w.p.mu.Unlock()
	return w.to.Write(data)
}

// start starts a program. It ends when this process does, whatever the reason.
func start(name, dir string, env []string, args ...string) (*process, error) {
	p := &process{name: name, began: time.Now(), ended: make(chan struct{})}
	p.cmd = exec.Command(args[0], args[1:]...)
	p.cmd.Dir, p.cmd.Env = dir, append(os.Environ(), env...)
	p.cmd.Stdout, p.cmd.Stderr = writer{p, &p.out}, writer{p, &p.err}
	p.cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if err := p.cmd.Start(); err != nil {
		return nil, err
	}
	go func() {
		err := p.cmd.Wait()
		p.mu.Lock()
		p.status = err
		p.mu.Unlock()
		close(p.ended)
	}()
	return p, nil
}

// end sends a signal and waits; after some seconds it kills the process.
func (p *process) end(s syscall.Signal) {
	p.mu.Lock()
	p.endedByRig = true
	p.mu.Unlock()
	p.signal(s)
	select {
	case <-p.ended:
	case <-time.After(10 * time.Second):
		p.signal(syscall.SIGKILL)
		<-p.ended
	}
}

func (p *process) signal(s syscall.Signal) { _ = p.cmd.Process.Signal(s) } // it may have ended

func (p *process) hasEnded() bool {
	select {
	case <-p.ended:
		return true
	default:
		return false
	}
}

func (p *process) stdout() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.out.String()
}

func (p *process) stderr() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.err.String()
}

// diedAlone reports whether the process has ended although the rig didn't end it, and how.
func (p *process) diedAlone() (string, bool) {
	if !p.hasEnded() {
		return "", false
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	return fmt.Sprintf("%v", p.status), !p.endedByRig
}

// waitForOutput waits until the output contains some words; it is an error if it doesn't within a time.
func (p *process) waitForOutput(words string, within time.Duration) error {
	for until := time.Now().Add(within); ; time.Sleep(20 * time.Millisecond) {
		switch {
		case strings.Contains(p.stderr(), words):
			return nil
		case p.hasEnded():
			return fmt.Errorf("%s ended: %s", p.name, p.stderr())
		case time.Now().After(until):
			return fmt.Errorf("%s doesn't say %q within %v: %s", p.name, words, within, p.stderr())
		}
	}
}

// state describes the process, for the report of a failure.
func (p *process) state(since time.Time) string {
	how := "runs"
	if p.hasEnded() {
		p.mu.Lock()
		how = fmt.Sprintf("ended, %v", p.status)
		if p.endedByRig {
			how += ", by us"
		}
		p.mu.Unlock()
	}
	text := p.stderr()
	if len(text) > 3000 {
		text = text[:1500] + "\n…\n" + text[len(text)-1500:]
	}
	return fmt.Sprintf("%s, begun at %.1f s: %s\n%s", p.name, p.began.Sub(since).Seconds(), how, text)
}
