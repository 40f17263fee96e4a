package shell

import (
	"fmt"
	"slices"

	"kpsim/internal/search/session"
)

// Going back to a place that the run has passed: the run is repeated, and each step looked at.

// An earlier is the latest place, before the present one, where a repeated run would have stopped.
type earlier struct {
	is      func() string // says why the machine would stop here, "" if it wouldn't; nil: a breakpoint does
	now     uint64        // steps made where the search began: it looks for a place with fewer
	step    uint64        // steps made there; 0: there was none
	undone  bool          // a breakpoint is before the next step
	about   int           // the CPU that the stop there is about
	reasons []string
}

// remember is halt for a run that is repeated: it stops nowhere.
func (b *breakpoints) remember(made bool) bool {
	b.halt(made)
	if made && b.back.is != nil {
		b.reasons = nil
		if says := b.back.is(); says != "" {
			b.reasons = []string{says}
		}
	}
	if made && len(b.reasons) > 0 {
		at := b.s.steps()
		if b.undo {
			at--
		}
		if at < b.back.now {
			b.back.step, b.back.undone, b.back.about, b.back.reasons = at, b.undo, b.about, slices.Clone(b.reasons)
		}
	}
	b.reasons, b.undo = nil, false
	return false
}

// goBack goes to the latest earlier place where the machine would have stopped; to the first step if there is none.
func (h gdb) goBack(is func() string, none string) error {
	now := h.s.steps()
	if now == 0 {
		return fmt.Errorf("%w; there is nothing to go back to", errNoStep)
	}
	to := &earlier{is: is, now: now}
	h.stops.back = to
	err := h.again(place{now, session.NoLimit})
	h.stops.back = nil
	if err != nil {
		return err
	}
	if h.s.steps() < now {
		h.p.Indented("", "interrupted, in the part of the run that was repeated so far")
		return h.standsAt()
	}
	if err := h.again(place{to.step, session.NoLimit}); err != nil {
		return err
	}
	if to.undone {
		h.stops.spared = to.step + 1
	}
	if to.reasons == nil {
		to.reasons = []string{none}
	} else if is == nil {
		h.stops.about = to.about
	}
	for _, r := range to.reasons {
		h.p.Indented("", r)
	}
	h.stops.reasons = nil
	return h.standsAt()
}

// reverseContinue is the command reverse-continue.
func (h gdb) reverseContinue(args []string) error {
	if len(args) > 0 {
		return errUsage
	}
	if len(h.stops.list) == 0 {
		return fmt.Errorf("there is no breakpoint to go back to; break %s makes one, goto 0 goes to the beginning",
			h.s.aFunction())
	}
	return h.goBack(nil, "no breakpoint was met before: this is the beginning")
}

// reverseNext is the command reverse-next.
func (h gdb) reverseNext(args []string) error {
	cpu, d0, err := h.beginsAt(args)
	if err != nil {
		return err
	}
	name := d0.task.Name
	return h.goBack(func() string {
		if h.s.Rig.Machine.Inspect().Current(cpu).Name != name {
			return ""
		}
		if d := h.s.depthOf(cpu); !d.beside(&d0) {
			return ""
		}
		return fmt.Sprintf("cpu%d  %s, %s", cpu, name, h.s.at(cpu))
	}, fmt.Sprintf("%s was at no instruction before: this is the beginning", name))
}
