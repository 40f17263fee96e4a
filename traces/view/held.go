package view

import (
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"kpsim/sim"
	"kpsim/smp/smpev"
	"kpsim/traces"
)

// Memory models other than sequential consistency, as Input.Memory names them.
const lkmm = "lkmm"

// NotX86 returns the caveat for a finding under the kernel's memory model, "" for other
// models.
func NotX86(memory string) string {
	if memory != lkmm {
		return ""
	}
	return "Found under the kernel's memory model: an architecture that Linux runs on may order these accesses " +
		"so; x86 doesn't necessarily."
}

// held names the target of a held store: memory by its symbol, a cell by its name. "" is the
// task's own stack, which no other CPU reads.
func (in *Input) held(e *traces.Event) string {
	if e.C == 0 {
		return named(in.Cell, "cell ", e.A)
	}
	if in.Stack != nil {
		if task := in.Stack(e.A); task != "" && e.Task != traces.NoTask && in.Task != nil &&
			task == in.Task(uint64(e.Task)) {
			return ""
		} else if task != "" {
			return "the stack of " + task
		}
	}
	return strings.TrimSuffix(in.symbol(e.A), "+0x0")
}

// sayHeld is say for a store that a CPU begins to hold, or that takes effect.
func (t *teller) sayHeld(e *traces.Event) string {
	to, what := t.in.held(e), "store"
	if to == "" {
		to = "its own stack"
	}
	if e.C != 0 {
		what = fmt.Sprintf("store of %#x", e.B)
	}
	if e.Kind == smpev.Held {
		return fmt.Sprintf("holds its %s to %s: other CPUs don't see it yet", what, to)
	}
	return fmt.Sprintf("takes effect: cpu%d's %s to %s", e.CPU, what, to)
}

// A heldStore is a store that a CPU held while others moved.
type heldStore struct {
	held   int // index of the event
	commit int // index of the event; -1: it didn't take effect before the end of what is printed
}

// heldStores returns the held stores up to an event, oldest first, except those to stacks.
func (p *past) heldStores(v int) (list []heldStore) {
	for i := range p.ev[:min(v+1, len(p.ev))] {
		e := &p.ev[i]
		switch {
		case e.Kind != smpev.Held && e.Kind != smpev.Commit || p.in.held(e) == "":
		case e.Kind == smpev.Held:
			list = append(list, heldStore{i, -1})
		default: // a buffer is first in, first out
			k := slices.IndexFunc(list, func(s heldStore) bool {
				h := &p.ev[s.held]
				return s.commit < 0 && h.CPU == e.CPU && h.A == e.A && h.C == e.C
			})
			if k >= 0 {
				list[k].commit = i
			}
		}
	}
	return list
}

// met reports whether another CPU did something between two events.
func (p *past) met(from, to int) bool {
	return p.next(from, to, func(e *traces.Event) bool {
		return e.CPU != p.ev[from].CPU && e.CPU != machineCPU && e.Kind != smpev.Held && e.Kind != smpev.Commit
	}) >= 0
}

// heldMost is how many stores a story mentions; the last ones are.
const heldMost = 4

// tellHeld says which stores other CPUs saw late, and which they hadn't seen when the property
// was broken.
func (p *tale) tellHeld(v int) {
	list := slices.DeleteFunc(p.heldStores(v), func(s heldStore) bool {
		return s.commit >= 0 && !p.met(s.held, s.commit) || s.commit < 0 && !p.met(s.held, v)
	})
	for _, s := range list[max(0, len(list)-heldMost):] {
		e := &p.ev[s.held]
		if s.commit >= 0 {
			p.say(s.held, 1, "%s held its store to %s until event %d; others went on meanwhile.", p.who(s.held),
				p.in.held(e), p.ev[s.commit].Seq).also(p, s.commit)
			continue
		}
		p.say(s.held, 0, "%s held its store to %s; no other CPU had seen it yet.", p.who(s.held), p.in.held(e))
	}
}

// scheduled describes the effect of a deviation of a memory model, "" for others.
func scheduled(d traces.Deviation) string {
	if d.Kind == sim.Buffer || d.Kind == sim.Version || strings.HasPrefix(d.Mover, "drain@") ||
		strings.HasPrefix(d.Alt, "drain@") {
		return Choice(d)
	}
	return ""
}

// holds reports whether CPUs held stores in the run.
func (p *past) holds() bool {
	return slices.ContainsFunc(p.ev, func(e traces.Event) bool { return e.Kind == smpev.Held })
}

// holding fills the cell of a CPU that has no part in a row with the stores that it holds.
// They form a line from where the CPU began to hold them to where they take effect.
func (p *printer) holding(cpu, width int, seq uint32) string {
	var list []string
	for _, s := range p.held {
		e := &p.past.ev[s.held]
		if int(e.CPU) == cpu && e.Seq < seq && (s.commit < 0 || p.past.ev[s.commit].Seq > seq) {
			list = append(list, p.in.held(e))
		}
	}
	says := ""
	if list != nil {
		says = "¦ held: " + strings.Join(list, ", ")
		if n := utf8.RuneCountInString(says); n > width {
			says = string([]rune(says)[:max(width-1, 1)]) + "…"
		}
	}
	return says + strings.Repeat(" ", max(0, width-utf8.RuneCountInString(says)))
}

// heldSpan lays out what a CPU holds, from when others move until it takes effect.
func (l *layer) heldSpan(e *traces.Event, n int) {
	to := l.t.in.held(e)
	if to == "" {
		return
	}
	key := fmt.Sprint("held", e.CPU, e.A, e.C)
	if e.Kind == smpev.Held {
		l.begin(key, l.span(e, SpanHeld, "holds: "+to, n))
		return
	}
	if list := l.open[key]; len(list) > 0 { // the oldest is the first to take effect
		list[0].To = n
		l.open[key] = list[1:]
	}
}
