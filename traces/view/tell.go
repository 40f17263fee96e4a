package view

import (
	"slices"
	"strings"

	"kpsim/kprobes/kpev"
	"kpsim/smp/smpev"
	"kpsim/traces"
)

// A row is the text of an event, or of several that belong together.
type row struct {
	seq    uint32 // of its first event
	cpu    uint8
	cpus   uint64 // the CPUs, if the row is about several
	depth  int    // of open traps
	text   string
	kind   traces.Kind // of its first event
	class  class
	weight weight
	named  bool
	gap    int // the number of rows left out: then nothing else is set
}

// The classes of rows, which select colours, and their weights: how relevant a row is to the site.
type (
	class  = traces.Class
	weight = traces.Weight
)

const (
	stores   = traces.ClassStore
	traps    = traces.ClassTrap
	claims   = traces.ClassClaim
	violates = traces.ClassViolation

	little, some, much = traces.Little, traces.Some, traces.Much
)

// A teller converts events to text, in order.
type teller struct {
	in    *Input
	text  *text
	at    int             // index of the violating event
	focus span            // the site of the violation; empty: all sites matter
	depth [256]int        // of open traps, by task
	list  []*traces.Event // the events to print, from the next on
	next  int
}

func newTeller(in *Input) *teller {
	t := &teller{in: in, text: newText(in), at: in.violation()}
	if t.at < len(in.Events) {
		t.focus = t.concerned(&in.Events[t.at])
	}
	return t
}

// concerned returns the site that an event is about: the site it is at, or the one that
// jumps to its detour.
func (t *teller) concerned(e *traces.Event) span {
	s, ok := t.text.site(e.A)
	for i := range t.in.Events {
		if o := &t.in.Events[i]; !ok && o.Kind == kpev.Optimized && e.A >= o.B && e.A < o.B+detourMax {
			s, _ = t.text.site(o.A) // the last one that jumped there
		}
	}
	return s
}

// detourMax is larger than any detour.
const detourMax = 256

// rows converts all events.
func (t *teller) rows() []row {
	t.list = t.events()
	var rows []row
	for t.next < len(t.list) {
		rows = append(rows, t.take())
	}
	return rows
}

// events returns the events to print.
func (t *teller) events() (list []*traces.Event) {
	head := true
	for i := range t.in.Events {
		e := &t.in.Events[i]
		told := t.in.All || i == t.at || t.in.named(e)
		switch {
		case e.Kind.Spec().Heads:
			if i != t.at {
				continue
			}
		case e.Kind == smpev.Image, e.Kind == smpev.Wake:
			if head && !told {
				continue
			}
		default:
			head = false
		}
		if told || !t.boring(e) {
			list = append(list, e)
		}
	}
	return list
}

// boring reports whether an event is left out.
func (t *teller) boring(e *traces.Event) bool {
	switch e.Kind {
	case smpev.Lock, smpev.Unlock, smpev.MightSleep:
		return !strings.HasPrefix(t.in.Property, "K") // the lock rules
	case smpev.Wake, smpev.Done:
		return true
	case smpev.Image:
		return e.C>>56 == 1 // a breakpoint: the store already says it
	case smpev.Serialise:
		return e.A == smpev.SyncSelf
	case smpev.Held, smpev.Commit:
		return t.in.held(e) == ""
	}
	return false
}

// take converts the next event, with those after it that belong to it.
func (t *teller) take() row {
	e := t.list[t.next]
	r := row{seq: e.Seq, cpu: e.CPU, kind: e.Kind, depth: t.depth[e.Task]}
	r.class, r.weight = t.importance(e)
	switch e.Kind {
	case smpev.Trap:
		t.depth[e.Task]++
	case smpev.Return:
		t.depth[e.Task] = int(e.C)
		r.depth = t.depth[e.Task]
	}
	fatal := t.at < len(t.in.Events) && e == &t.in.Events[t.at]
	t.next++
	if t.in.All || fatal || !t.merge(e, &r) {
		r.text = t.say(e)
	}
	if fatal {
		r.class, r.weight = violates, much
	}
	r.named = t.in.named(e)
	if r.cpu >= uint8(min(t.in.CPUs, 255)) {
		r.depth = 0
	}
	return r
}

// importance returns the colour and the weight of an event.
func (t *teller) importance(e *traces.Event) (class, weight) {
	row := e.Kind.Spec()
	switch s, ok := t.text.site(e.A); {
	case row.Class == traps:
		return traps, t.aboutTrap(e)
	case row.Weight == traces.Near:
		return row.Class, t.about(e.A)
	case e.Kind == smpev.Exec && ok && t.about(e.A) == much && e.A != s.at, e.Kind == smpev.Switch && e.C == 0:
		return row.Class, some
	}
	return row.Class, row.Weight
}

// aboutTrap weighs a trap: a CPU that is interrupted inside a site, or returns into
// one, matters most.
func (t *teller) aboutTrap(e *traces.Event) weight {
	s, ok := t.text.site(e.B)
	switch inside := ok && e.B != s.at; {
	case e.Kind == smpev.Claim:
		return little
	case inside && (interrupts(e.A) || e.Kind == smpev.Return):
		return t.about(e.B)
	case interrupts(e.A) && e.A != smpev.VecCall:
		return some
	}
	return little
}

// about weighs an address of text.
func (t *teller) about(addr uint64) weight {
	s, ok := t.text.site(addr)
	switch {
	case !ok:
		return little
	case t.focus.end == 0 || s == t.focus:
		return much
	}
	return some
}

// ofSetting reports whether the property judges what a patcher beside kprobes has set.
func (p *tale) ofSetting() bool {
	return slices.Contains([]string{"J1", "J2", "N1", "N2", "U2"}, p.id())
}

// tellSetting names, for the place at which something else was set, who wrote there last and who ran it last. The
// setters' calls are in no log.
func (p *tale) tellSetting(v int) {
	at := p.in.PlaceAt
	if at == 0 {
		return
	}
	old, src := -1, (*sources)(nil)
	if p.id() == "N1" && v < len(p.ev) { // old code that the call ran, and why the CPU could still see it
		task := p.ev[v].Task
		old, src = oldCode(p.past, p.last(v, func(e *traces.Event) bool {
			return e.Kind == smpev.CallEnd && e.Task == task
		}), v)
	}
	if x := p.last(v+1, func(e *traces.Event) bool { return e.Kind == smpev.Exec && e.A == at }); x >= 0 && x != old {
		p.say(x, 2, "%s ran %s at %s.", p.who(x), p.insn(x), p.x.place(at))
	}
	s, ok := p.x.site(at)
	if list := p.writesTo(s, v); ok && len(list) > 0 {
		p.tellWrites(list[max(0, len(list)-2):], 1)
	} else {
		p.say(v, 1, "Nothing has been written to %s.", p.x.place(at))
	}
	if old >= 0 {
		p.tellStale(src, old)
		p.ranOld(old, src)
	}
}
