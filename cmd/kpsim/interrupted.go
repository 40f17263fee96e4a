package main

import (
	"fmt"
	"os"
	"os/signal"
	"sync"
	"sync/atomic"
	"time"
)

// An ear hears ^C while a command runs. Each command hears the first one: it
// ends within a second with what it has, and its status is 130.
type ear struct {
	mu   sync.Mutex
	stop *atomic.Bool // what the command looks at; nil: it is ended where it is
	says string       // then
	kill *time.Timer
	ch   chan os.Signal
}

// patience is how long a command that was told to stop may take for it: to
// shrink what it has found, and to print.
const patience = 900 * time.Millisecond

// listen hears ^C until the command is done.
func (p *program) listen() (done func()) {
	e := &p.ear
	e.ch = make(chan os.Signal, 1)
	ended := make(chan struct{})
	signal.Notify(e.ch, os.Interrupt)
	go func() {
		select {
		case <-ended:
		case <-e.ch:
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

// interrupted tells the command to stop, and leaves the second ^C to the system.
// If the command doesn't stop, or doesn't listen, the program ends.
func (p *program) interrupted() {
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

// exitInterrupted ends the program, when the file that is being written is.
func (p *program) exitInterrupted() {
	writing.Lock()
	if p.live {
		fmt.Fprint(p.err, clearLine)
	}
	says := "kpsim: interrupted"
	if p.ear.says != "" {
		says += "; " + p.ear.says
	}
	fmt.Fprintln(p.err, says)
	os.Exit(exitInterrupted)
}

// stopAtInterrupt has stop set at ^C.
func (p *program) stopAtInterrupt(stop *atomic.Bool) {
	p.ear.mu.Lock()
	defer p.ear.mu.Unlock()
	p.ear.stop = stop
}

// exitAtInterrupt has the program end at ^C, and say this: for what has nothing to
// tell before it is at its end.
func (p *program) exitAtInterrupt(says string) {
	p.ear.mu.Lock()
	defer p.ear.mu.Unlock()
	p.ear.stop, p.ear.says = nil, says
}
