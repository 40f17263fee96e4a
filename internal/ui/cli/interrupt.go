package cli

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
)

// An ear handles ^C and SIGTERM while a command runs. At the first one the command ends within a
// second with its results so far, and exits with 130 or 143.
type ear struct {
	mu   sync.Mutex
	stop *atomic.Bool  // polled by the command; nil: the process exits at once
	says func() string // the line that is printed before that exit; nil: "interrupted"
	kill *time.Timer
	ch   chan os.Signal
	term atomic.Bool // the signal was SIGTERM
}

// patience is the time that a command may take to stop: to shrink its finds, and to print.
const patience = 900 * time.Millisecond

// Listen handles ^C and SIGTERM until done is called.
func (p *Program) Listen() (done func()) {
	e := &p.ear
	e.ch = make(chan os.Signal, 1)
	ended := make(chan struct{})
	signal.Notify(e.ch, os.Interrupt, syscall.SIGTERM)
	go func() {
		select {
		case <-ended:
		case s := <-e.ch:
			e.term.Store(s == syscall.SIGTERM)
			p.interrupted()
		}
	}()
	return func() {
		signal.Stop(e.ch)
		close(ended)
		e.mu.Lock()
		defer e.mu.Unlock()
		if e.kill != nil {
			e.kill.Stop()
		}
	}
}

// interrupted tells the command to stop, and leaves the second ^C to the system. The
// process exits if the command doesn't poll, or doesn't stop in time.
func (p *Program) interrupted() {
	e := &p.ear
	e.mu.Lock()
	defer e.mu.Unlock()
	signal.Stop(e.ch)
	if e.stop == nil {
		p.exitInterrupted()
	}
	e.stop.Store(true)
	e.kill = time.AfterFunc(patience, func() {
		e.mu.Lock()
		defer e.mu.Unlock()
		p.exitInterrupted()
	})
}

// exitInterrupted exits after the current file write, if any.
func (p *Program) exitInterrupted() {
	writing.Lock()
	if p.Live {
		fmt.Fprint(p.Err, ClearLine)
	}
	says := "interrupted"
	if p.ear.says != nil {
		says = p.ear.says()
	}
	fmt.Fprintln(p.Err, "kpsim: "+says)
	os.Exit(p.Heard(Interrupted))
}

// Heard returns the exit status of a command that ended with the given one: Interrupted becomes
// Terminated if the signal was SIGTERM.
func (p *Program) Heard(status int) int {
	if status == Interrupted && p.ear.term.Load() {
		return Terminated
	}
	return status
}

// StopAtInterrupt makes ^C set stop.
func (p *Program) StopAtInterrupt(stop *atomic.Bool) {
	p.ear.mu.Lock()
	defer p.ear.mu.Unlock()
	p.ear.stop = stop
}

// Until returns a context that is cancelled soon after stop is set, for programs that a command runs. The caller
// calls end when it needs the context no more.
func Until(stop *atomic.Bool) (ctx context.Context, end context.CancelFunc) {
	ctx, end = context.WithCancel(context.Background())
	go func() {
		tick := time.NewTicker(20 * time.Millisecond)
		defer tick.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case <-tick.C:
				if stop.Load() {
					end()
				}
			}
		}
	}()
	return ctx, end
}

// ExitAtInterrupt makes ^C end the process with a message. It is for commands that have no
// partial result.
func (p *Program) ExitAtInterrupt(says string) {
	p.ear.mu.Lock()
	defer p.ear.mu.Unlock()
	p.ear.stop = nil
	if p.ear.says = nil; says != "" {
		p.ear.says = func() string { return "interrupted; " + says }
	}
}

// SayAtInterrupt sets the line that is printed if a command doesn't stop in time after ^C. Another goroutine calls
// says.
func (p *Program) SayAtInterrupt(says func() string) {
	p.ear.mu.Lock()
	defer p.ear.mu.Unlock()
	p.ear.says = says
}

// LeaveInterrupt leaves ^C to the command.
func (p *Program) LeaveInterrupt() {
	p.ear.mu.Lock()
	defer p.ear.mu.Unlock()
	signal.Stop(p.ear.ch)
}
