package session

import (
	"errors"
	"math"
	"sync/atomic"

	"kpsim/sim"
	"kpsim/traces"
)

// Stops holds where a session halts during a request.
type Stops struct {
	// Limit halts the session after this many steps, counted from the run's first. NoLimit:
	// never.
	Limit uint64

	// Beyond halts the session after the event of this ordinal, once its step is complete.
	// NoLimit: never.
	Beyond uint64

	// Halt, if not nil, is called before each step (made false) and after it (made true). The
	// session halts if it returns true.
	Halt func(made bool) bool

	// Interrupt, if not nil, is polled at least every 4,096 steps. If it is set, the session
	// clears it and halts.
	Interrupt *atomic.Bool

	// Halted reports that Halt or Interrupt ended the last request. The caller clears it.
	Halted bool
}

// ErrHalted is returned by an operation that the session halted before its end. It stays in
// progress.
var ErrHalted = errors.New("the session has halted")

// ErrLimit is returned where a command has made as many steps as one may make.
var ErrLimit = errors.New("are made, as many as one command makes")

// NoLimit is a Limit or a Beyond that is never reached.
const NoLimit = math.MaxUint64

// A pauser makes the machine pause when it has made the step that Beyond waits for.
type pauser struct{ s *Session }

// Event implements traces.Sink.
func (p *pauser) Event(e *traces.Event) *traces.Finding {
	if m := p.s.Rig.Machine.Interactive(); uint64(e.Seq) == p.s.Stops.Beyond {
		m.SetBudget(m.Steps())
	}
	return nil
}

// met reports whether Limit or Beyond is reached.
func (s *Session) met() bool {
	return s.Rig.Machine.Interactive().Steps() >= s.Limit || s.Stops.Beyond != NoLimit &&
		uint64(len(s.Rig.Log.Events)) > s.Stops.Beyond
}

// poll is the number of steps between two checks of Interrupt.
const poll = 4096

// advance makes at most n boundaries, and stops early if done returns true, nothing can move, or
// the session halts. With a Halt it makes them one by one; the run is the same.
func (s *Session) advance(n uint64, done func() bool) (halted bool) {
	m, most := s.Rig.Machine.Interactive(), uint64(poll)
	if s.Halt != nil {
		most = 1
	}
	for n > 0 && s.Run == nil && !done() {
		if s.met() || s.Halt != nil && s.Halt(false) || s.Interrupt != nil && s.Interrupt.Swap(false) {
			s.Halted = true
			return true
		}
		before := m.Steps()
		s.steer.moved = s.sole()
		s.run(min(n, most, s.Limit-before))
		made := m.Steps() - before
		if made == 0 {
			return false
		}
		n -= min(n, made)
		halt := s.Run == nil && s.Halt != nil && s.Halt(true)
		if s.Run == nil && (s.met() || halt) {
			s.Halted = true
			return true
		}
	}
	return false
}

// sole returns the only mover that can move, or NoMover if there are several and so a choice.
func (s *Session) sole() sim.Mover {
	if s.Halt == nil {
		return sim.NoMover
	}
	m, only := s.Rig.Machine, sim.NoMover
	for _, mv := range m.Names().Movers() {
		if !m.Interactive().Can(mv) {
			continue
		}
		if only != sim.NoMover {
			return sim.NoMover
		}
		only = mv
	}
	return only
}

// Moved returns the mover of the step before a Halt(true); NoMover if it isn't known.
func (s *Session) Moved() sim.Mover { return s.steer.moved }
