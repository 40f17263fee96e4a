package view

import (
	"fmt"
	"strings"

	"kpsim/kprobes/kpev"
	"kpsim/smp/isa"
	"kpsim/smp/smpev"
	"kpsim/traces"
)

// A row is an event, or several that belong together, in words.
type row struct {
	seq    uint32 // of its first event
	cpu    uint8
	cpus   uint64 // those of whom it is told, if several
	depth  int    // of open traps
	text   string
	kind   traces.Kind // of its first event
	class  class
	weight weight
	gap    int // rows left out: then nothing else is set
}

// class decides the colour.
type class uint8

const (
	plain class = iota
	stores
	traps
	claims
	violates
)

// weight says how much a row matters to the story of the site.
type weight uint8

const (
	little weight = iota
	some
	much
)

// A teller puts events into words, in their order.
type teller struct {
	in    *Input
	text  *text
	at    int             // the event that is the violation
	focus span            // the site that the violation is about; empty: all sites matter
	depth [256]int        // of open traps, by task
	list  []*traces.Event // those that are told, from the next on
	next  int
}

func newTeller(in *Input) *teller {
	t := &teller{in: in, text: newText(in), at: in.violation()}
	if t.at < len(in.Events) {
		if s, ok := t.text.site(in.Events[t.at].A); ok {
			t.focus = s
		}
	}
	return t
}

// rows tells all events.
func (t *teller) rows() []row {
	head := true
	for i := range t.in.Events {
		e := &t.in.Events[i]
		switch e.Kind {
		case smpev.Load, smpev.Expect:
			if i != t.at {
				continue
			}
		case smpev.Image, smpev.Wake:
			if head && i != t.at && !t.in.All {
				continue
			}
		default:
			head = false
		}
		if t.in.All || i == t.at || !t.boring(e) {
			t.list = append(t.list, e)
		}
	}
	var rows []row
	for t.next < len(t.list) {
		rows = append(rows, t.take())
	}
	return rows
}

// boring reports whether an event is left out.
func (t *teller) boring(e *traces.Event) bool {
	switch e.Kind {
	case smpev.Lock, smpev.Unlock, smpev.MightSleep:
		return !strings.HasPrefix(t.in.Property, "K") // the lock rules
	case smpev.Wake, smpev.Done:
		return true
	case smpev.Image:
		return e.C>>56 == 1 // a breakpoint: the store itself says it
	case smpev.Serialise:
		return e.A == whySelf
	}
	return false
}

// take tells the next event, with those behind it that belong to it.
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
	if r.cpu >= uint8(min(t.in.CPUs, 255)) {
		r.depth = 0
	}
	return r
}

// importance returns the colour and the weight of an event.
func (t *teller) importance(e *traces.Event) (class, weight) {
	switch e.Kind {
	case smpev.TextStore, smpev.Image:
		return stores, t.about(e.A)
	case smpev.Trap, smpev.Claim, smpev.Return:
		if interrupts(e.A) && e.A != smpev.VecCall || e.A == smpev.VecCall && t.focus.has(e.B) {
			return traps, max(some, t.about(e.B))
		}
		return traps, little
	case smpev.Oops, smpev.Free, smpev.GPStart, smpev.GPEnd, smpev.StopStart, smpev.StopEnd:
		return claims, much
	case smpev.Exec:
		if s, ok := t.text.site(e.A); ok && t.about(e.A) == much && e.A != s.at {
			return plain, some
		}
	case smpev.Switch:
		if e.C == 0 {
			return plain, some
		}
	case smpev.Fire:
		return plain, some
	case kpev.ApiEnter, kpev.ApiReturn:
		return claims, some
	case kpev.Arm, kpev.Disarm, kpev.Optimizing, kpev.Optimized, kpev.Unoptimizing, kpev.Unoptimized:
		return claims, t.about(e.A)
	case kpev.Missed, kpev.Skipped:
		return plain, some
	}
	return plain, little
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

// say is what one event alone is, in words.
func (t *teller) say(e *traces.Event) string {
	x, in := t.text, t.in
	switch e.Kind {
	case smpev.Load:
		return fmt.Sprintf("linked %s: %s", x.place(e.A), x.disassemble(unpack(e), e.A))
	case smpev.Image:
		return fmt.Sprintf("about to write at %s: % x  %s", x.place(e.A), unpack(e), x.disassemble(unpack(e), e.A))
	case smpev.TextStore:
		return t.store("store", e)
	case smpev.Exec:
		return t.exec(e)
	case smpev.Trap:
		s := vector(e.A) + ", saved ip " + t.stood(e, e.B)
		if e.C != 0 {
			s += ", fault at " + x.place(e.C)
		}
		return s
	case smpev.Claim:
		return "claimed by " + owner(e.C)
	case smpev.Return:
		return "return to " + t.stood(e, e.B)
	case smpev.Oops:
		return fmt.Sprintf("OOPS: nobody handles %s at %s", vector(e.A), x.place(e.B))
	case smpev.Switch:
		if e.C == 0 {
			return fmt.Sprintf("preempted: %s -> %s", in.task(e.A), in.task(e.B))
		}
		return fmt.Sprintf("switch: %s -> %s", in.task(e.A), in.task(e.B))
	case smpev.Wake:
		return "wake " + in.task(e.A)
	case smpev.Exit:
		return in.task(e.A) + " ends"
	case smpev.Serialise:
		return "serialise (" + why(e.A) + ")"
	case smpev.SendIPI:
		return "send IPI to " + cpuSet(e.A)
	case smpev.Fire:
		return in.source(e.A) + " fires"
	case smpev.Alloc:
		a := x.alloc(e)
		return fmt.Sprintf("allocate %s: %s at %s", a.name, count(int(e.B), "byte", "bytes"), in.symbol(e.A))
	case smpev.Free:
		return t.free(e)
	case smpev.Lock:
		return "lock " + in.lock(e.A)
	case smpev.Unlock:
		return "unlock " + in.lock(e.A)
	case smpev.MightSleep:
		if e.A != 0 {
			return "might sleep, IN ATOMIC CONTEXT"
		}
		return "might sleep"
	case smpev.GPStart:
		return fmt.Sprintf("%s grace period %d begins", flavour(e.A), e.B)
	case smpev.GPEnd:
		return fmt.Sprintf("%s grace period %d ends", flavour(e.A), e.B)
	case smpev.StopStart:
		return "stop_machine: every CPU is stopped"
	case smpev.StopEnd:
		return "stop_machine: done"
	case smpev.Expect, smpev.CallEnd:
		return fmt.Sprintf("call %d of %s returns", e.B, in.task(e.A))
	case smpev.Done:
		if e.A == 0 {
			return "the run is over, but not all work is done"
		}
		return "the run is over, all work is done"
	}
	return t.sayProbe(e)
}

// sayProbe is say for the events of kprobes.
func (t *teller) sayProbe(e *traces.Event) string {
	x, in := t.text, t.in
	switch e.Kind {
	case kpev.ApiEnter:
		return fmt.Sprintf("%s(%s) at %s begins", api(e.A), in.probe(e.B), x.place(e.C))
	case kpev.ApiReturn:
		return fmt.Sprintf("%s(%s) -> %s", api(e.A), in.probe(e.B), errno(e.C))
	case kpev.Handler:
		if e.B == kpev.Post {
			return "post_handler of " + in.probe(e.A)
		}
		return "pre_handler of " + in.probe(e.A)
	case kpev.Missed:
		return in.probe(e.A) + ": missed"
	case kpev.Skipped:
		return fmt.Sprintf("%s: skipped, by %s", in.probe(e.A), in.probe(e.B))
	case kpev.Arm:
		return "arm " + x.place(e.A)
	case kpev.Disarm:
		return "disarm " + x.place(e.A)
	case kpev.Optimizing:
		return "queued to be optimized: " + x.place(e.A)
	case kpev.Optimized:
		return fmt.Sprintf("optimized: %s jumps to %s", x.place(e.A), x.place(e.B))
	case kpev.Unoptimizing:
		return "queued to be unoptimized: " + x.place(e.A)
	case kpev.Unoptimized:
		return "unoptimized: " + x.place(e.A)
	}
	return strings.TrimSpace(e.String())
}

// stood is the place of a saved ip; an idle CPU is in kernel code too.
func (t *teller) stood(e *traces.Event, ip uint64) string {
	if ip == t.in.KernelIP && ip != 0 && t.in.task(uint64(e.Task)) == "idle" {
		return "idle"
	}
	return t.text.place(ip)
}

// exec tells an instruction; its bytes where text is patched.
func (t *teller) exec(e *traces.Event) string {
	b := unpack(e)
	s := t.text.place(e.A) + ": "
	if a := t.text.area(e.A); a != nil && !a.live {
		s = t.text.place(e.A) + " (freed): "
	}
	if _, ok := t.text.site(e.A); ok || t.odd(e.A, b) {
		s += fmt.Sprintf("%-*s  ", hexWidth, fmt.Sprintf("% x", b))
	}
	return s + t.text.disassemble(b, e.A)
}

const hexWidth = 3*5 - 1 // of a jump

// odd reports whether b isn't what memory holds at addr.
func (t *teller) odd(addr uint64, b []byte) bool {
	for i, v := range b {
		if m, ok := t.text.mem[addr+uint64(i)]; ok && m != v {
			return true
		}
	}
	return false
}

// store tells stores to neighbouring bytes, and what they make of the whole site.
func (t *teller) store(verb string, list ...*traces.Event) string {
	x := t.text
	s := span{list[0].A, list[0].A + list[0].C}
	for _, e := range list {
		s = span{min(s.at, e.A), max(s.end, e.A+e.C)}
	}
	whole := s
	if site, ok := x.site(s.at); ok {
		whole = span{min(s.at, site.at), max(s.end, site.end)}
	}
	before := bytes(x.mem, whole)
	for _, e := range list {
		x.store(e)
	}
	what := verb + " " + x.place(s.at)
	if n := s.end - s.at; n > 1 {
		what += fmt.Sprintf(" (%d bytes)", n)
	}
	after := bytes(x.mem, whole)
	if after == before {
		return what + ": stays " + before
	}
	return fmt.Sprintf("%s: %s -> %s", what, before, after)
}

// free tells that memory is taken back: there is an int3 in each byte then.
func (t *teller) free(e *traces.Event) string {
	for i := range e.B {
		t.text.mem[e.A+i] = isa.Int3
	}
	if a := t.text.area(e.A); a != nil {
		a.live = false
		return fmt.Sprintf("free %s (%s): from now on int3", a.name, count(int(e.B), "byte", "bytes"))
	}
	return fmt.Sprintf("free %s at %s", count(int(e.B), "byte", "bytes"), t.in.symbol(e.A))
}
