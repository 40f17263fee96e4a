package shell

import (
	"fmt"
	"io"
	"slices"
	"strconv"

	"kpsim/internal/search/session"
	"kpsim/internal/ui/cli"
	"kpsim/sim"
)

// Going back. Runs are deterministic, so the machine is built again and the commands typed so far
// are repeated up to the wanted place.

// A done is a journal entry: a command that ran and may have changed the machine.
type done struct {
	words  []string
	from   uint64 // steps made before the command
	until  uint64 // steps made when it had ended
	halted bool   // ended by a breakpoint, by ^C, or by going back into it
}

// adopt makes s the current session.
func (h *sh) adopt(s *session.Session) {
	h.s, h.told = &machine{s}, false
	h.stops.s, h.stops.heard = h.s, &hearer{}
	s.Rig.Machine.Interactive().Stores(h.stops.heard.stored)
	s.See(h.saw)
	s.Interrupt = h.interrupt
	for _, k := range kinds() {
		s.Rig.Log.Subscribe(h.stops.heard, k)
	}
}

// A place is a point in a run: at least step steps were made, and at least event events happened.
// NoLimit as step or event is never reached.
type place struct{ step, event uint64 }

// reached reports whether the run has come that far.
func (h *machine) reached(p place) bool {
	return h.steps() >= p.step || p.event != session.NoLimit && uint64(len(h.Rig.Log.Events)) > p.event
}

var nowhere = place{session.NoLimit, session.NoLimit}

// again repeats the typed commands up to a place, and forgets those after it. ^C ends it at an earlier place. The CPU
// that commands are about stays the same.
func (h *sh) again(to place) error {
	s, err := h.c.anew()
	if err != nil {
		return err
	}
	before, typed, out, about := h.s.Rig.Log.Events, h.journal, h.p.Out, h.stops.about
	h.s.Close()
	h.adopt(s)
	h.journal, h.stops.reasons = nil, nil
	h.p.Out, h.replaying = io.Discard, true
	defer func() { h.p.Out, h.replaying, h.to, h.stops.about = out, false, nowhere, about }()
	for _, d := range typed {
		if h.s.reached(to) && (d.until > d.from || d.from > h.s.steps()) {
			break
		}
		if h.to = to; d.halted {
			h.to.step = min(to.step, d.until)
		}
		h.one(d.words) // its error was reported when it was typed
		if h.s.Halted && !h.s.reached(h.to) {
			break // ^C
		}
	}
	if n := len(s.Rig.Log.Events); n > len(before) || !slices.Equal(s.Rig.Log.Events, before[:n]) {
		sim.Bug("the same commands have made another run, by event %d", n)
	}
	return nil
}

// back is the command back.
func (h *sh) back(args []string) error {
	n := uint64(1)
	if len(args) > 1 {
		return errUsage
	}
	if len(args) == 1 {
		var err error
		if n, err = strconv.ParseUint(args[0], 0, 32); err != nil || n == 0 {
			return fmt.Errorf("%s is no number of steps; write 1 to %d", args[0], h.s.steps())
		}
	}
	if h.s.steps() == 0 {
		return fmt.Errorf("%w; there is nothing to go back to", errNoStep)
	}
	to := h.s.steps() - min(n, h.s.steps())
	if err := h.again(place{to, session.NoLimit}); err != nil {
		return err
	}
	return h.standsAt()
}

// goTo is the command goto.
func (h *sh) goTo(args []string) error {
	if len(args) != 1 {
		return errUsage
	}
	n, err := strconv.ParseUint(args[0], 10, 31)
	if err != nil {
		return fmt.Errorf("%s is no number of an event; events lists them", args[0])
	}
	to := place{session.NoLimit, n}
	if h.s.reached(to) {
		if err := h.again(to); err != nil {
			return err
		}
		return h.standsAt()
	}
	h.to = to
	err = h.one([]string{"continue"})
	h.to = nowhere
	switch {
	case err != nil || h.s.Halted && !h.s.reached(to): // tellStops then says why
		return err
	case !h.s.reached(to) && len(h.stops.reasons) == 0 && len(h.s.Rig.Log.Events) == 0:
		return fmt.Errorf("there is no event %d: nothing has happened yet%s", n, h.s.stuck())
	case !h.s.reached(to) && len(h.stops.reasons) == 0:
		return fmt.Errorf("there is no event %d: nothing moves after event %d", n, len(h.s.Rig.Log.Events)-1)
	}
	return h.standsAt()
}

// standsAt says where the machine is after a jump.
func (h *sh) standsAt() error {
	h.s.Halted = len(h.stops.reasons) > 0
	h.p.Indented("", "at "+h.s.position())
	return h.where(nil)
}

// open is the command open: it switches to another scenario or trace.
func (h *sh) open(args []string) error {
	if len(args) != 1 {
		return errUsage
	}
	c := Shell{What: args[0], RunFlags: h.c.RunFlags, in: h.c.in}
	s, err := c.open(h.p)
	if err != nil {
		return err
	}
	h.s.Close()
	*h.c = c
	h.journal, h.stops.reasons, h.stops.spared, h.stops.about = nil, nil, 0, -1
	if len(h.stops.list) > 0 {
		fmt.Fprintf(h.p.Out, "deleted: %s\n", cli.Number(uint64(len(h.stops.list)), "breakpoint"))
		h.stops.list = nil
	}
	h.adopt(s)
	h.p.Indented("", h.greeting())
	return nil
}
