package session

import (
	"errors"
	"math"
	"sync/atomic"

	"kpsim/sim"
	"kpsim/traces"
)

// Stops is where a session halts within what it was asked to do.
type Stops struct {
	// Limit is after how many steps of the run, counted from its first, the session halts.
	// NoLimit: after any number.
	Limit uint64

	// Beyond is after which event of the run the session halts, as an ordinal; the step is
	// made to its end. NoLimit: after none.
	Beyond uint64

	// Halt, if not nil, is asked before each step (made false) and after it (made true).
	// The session halts there if it returns true.
	Halt func(made bool) bool

	// Interrupt, if not nil, is polled at least every 4,096 steps. The session halts if it
	// is set, and clears it.
	Interrupt *atomic.Bool

	// Halted says that Halt or Interrupt has ended what was asked last. Its user clears it.
	Halted bool
}

// ErrHalted is what an operation returns that hasn't come to its end because the session
// halted. It is left under way.
var ErrHalted = errors.New("the session has halted")

// NoLimit is a Limit or a Beyond that is never met.
const NoLimit = math.MaxUint64

// A pauser has the machine pause when it has made the step that Beyond waits for.
type pauser struct{ s *Session }

// Event implements traces.Sink.
func (p *pauser) Event(e *traces.Event) *traces.Finding {
	if m := p.s.Rig.Machine.Interactive(); uint64(e.Seq) == p.s.Stops.Beyond {
		m.SetBudget(m.Steps())
	}
	return nil
}

// met reports whether Limit or Beyond is.
func (s *Session) met() bool {
	return s.Rig.Machine.Interactive().Steps() >= s.Limit || s.Stops.Beyond != NoLimit &&
		uint64(len(s.Rig.Log.Events)) > s.Stops.Beyond
}

// poll is how many steps are made between two looks at Interrupt.
const poll = 4096

// advance makes at most n boundaries, fewer if done says so, nothing can move, or the session
// halts. It makes them one by one if there is a Halt; the run is the same.
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
		if s.Run == nil && (s.met() || s.Halt != nil && s.Halt(true)) {
			s.Halted = true
			return true
		}
	}
	return false
}

// sole returns the one mover that can move, NoMover if there are several: then it is a choice.
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

// Moved returns which mover made the step before a Halt(true); NoMover if that isn't known.
func (s *Session) Moved() sim.Mover { return s.steer.moved }
