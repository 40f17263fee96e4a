package view

import (
	"fmt"
	"strings"

	"kpsim/kprobes/kpev"
	"kpsim/smp/smpev"
	"kpsim/traces"
)

// Deciding returns the sentences that a reader needs first: the store, the call, the lock, the memory or the wait that
// decided the violation, and what was found. Which these are is a row of the property: they come from what it looks
// at. They are in the order of the events, and end with the place in a kernel's C source where that is known. It is
// empty if no property is broken.
func Deciding(in Input) []Sentence {
	if in.Property == "" || len(in.Events) == 0 {
		return nil
	}
	p := &tale{past: newPast(&in)}
	for _, cite := range deciding[p.id()] {
		if cite(p) {
			break
		}
	}
	if !p.said {
		p.tellMessage()
	}
	return p.story()
}

// tellMessage adds what the property said, at the violating event, or at the last one.
func (p *tale) tellMessage() {
	says := traces.Readable(p.in.Message, p.t.where, p.in.task, p.in.lock)
	p.say(min(p.at, len(p.ev)-1), 0, "%s.", strings.TrimRight(says, ".;"))
}

// A cite adds the sentences about what decided a violation. It returns false if the run has nothing of its kind.
type cite = func(p *tale) bool

// The rows: by a property's ID, what may have decided, the first that the run has.
var deciding = map[string][]cite{
	"T1": {(*tale).citeFree, (*tale).citeStore}, "T2": {(*tale).citeFree, (*tale).citeStore},
	"T3": {(*tale).citeStore, (*tale).citeCall}, "T4": {(*tale).citeStore, (*tale).citeCall},
	"T5": {(*tale).citeCopy}, "T6": {(*tale).citeStore},
	"B1": {(*tale).citeStore, (*tale).citeHandler}, "O1": {(*tale).citeFree, (*tale).citeStore, (*tale).citeHandler},
	"J1": {(*tale).citeStore, (*tale).citeCall}, "J2": {(*tale).citeStore, (*tale).citeCall},
	"L2": {(*tale).citeStore}, "L3": {(*tale).citeStore}, "L4": {(*tale).citeStore}, "P2": {(*tale).citeStore},
	"P4": {(*tale).citeStore}, "U2": {(*tale).citeStore, (*tale).citeCall}, "H3": {(*tale).citeStore, (*tale).citeCall},

	"X1": {(*tale).citeDifference, (*tale).citeHandler}, "X2": {(*tale).citeDifference, (*tale).citeHandler},

	"A1": {(*tale).citeHandler}, "A2": {(*tale).citeHandler}, "C1": {(*tale).citeHandler}, "L1": {(*tale).citeHandler},
	"N1": {(*tale).citeHandler}, "N2": {(*tale).citeHandler}, "N3": {(*tale).citeHandler}, "J3": {(*tale).citeHandler},
	"R1": {(*tale).citeHandler}, "R2": {(*tale).citeHandler}, "U1": {(*tale).citeHandler},

	"C2": {(*tale).citeCall}, "E1": {(*tale).citeCall}, "E2": {(*tale).citeCalls}, "F1": {(*tale).citeCall},
	"F2": {(*tale).citeCall}, "M1": {(*tale).citeCall}, "W1": {(*tale).citeCall},

	"S1": {(*tale).citeFree, (*tale).citeCall}, "H1": {(*tale).citeFree, (*tale).citeCall},
	"H2": {(*tale).citeFree, (*tale).citeCall},

	"K1": {(*tale).citeLock, (*tale).citeCall},
	"P1": {(*tale).citeWaits}, "P3": {(*tale).citeWaits, (*tale).citeCall}, "P5": {(*tale).citeGrace},
}

// end is the event before which the log is looked at: the violating one, or the log's end.
func (p *past) end() int { return min(p.at, len(p.ev)) }

// region returns the bytes that a violation is about: those that were run, or those at its place, with the rest of
// their site.
func (p *past) region() (s span, ok bool) {
	s = span{p.in.PlaceAt, p.in.PlaceAt + 1}
	if p.at < len(p.ev) {
		switch e := &p.ev[p.at]; e.Kind {
		case smpev.Exec:
			s = span{e.A, e.A + uint64(len(unpack(e)))}
		case smpev.TextStore:
			s = span{e.A, e.A + e.C}
		}
	}
	if s.at == 0 {
		return s, false
	}
	if site, ok := p.x.site(s.at); ok {
		s = span{min(s.at, site.at), max(s.end, site.end)}
	}
	return s, true
}

// citeStore cites the last store into the region that changed it: who, when, what it replaced, and for what.
func (p *tale) citeStore() bool {
	s, ok := p.region()
	if !ok {
		return false
	}
	list := p.writesTo(s, p.end())
	if p.at < len(p.ev) && p.ev[p.at].Kind == smpev.TextStore {
		list = append(list, p.writeOf(p.at))
	}
	for n := len(list) - 1; n > 0 && !p.differs(list[n]); n-- {
		list = list[:n]
	}
	if len(list) == 0 {
		return false
	}
	w := list[len(list)-1]
	p.say(w.first, 0, "%s %s%s%s.", p.who(w.first), p.wrote(w), p.replaced(w), p.behalf(w.first)+p.probes(w)).also(p, w.last)
	return true
}

// replaced prints what a write has replaced: " (55 48 -> cc 48)".
func (p *past) replaced(w write) string {
	const most = 8 // bytes: an instruction, or its beginning
	var was, is []string
	for a := w.at; a < min(w.end, w.at+most); a++ {
		before, ok := p.value(a, w.first)
		after, _ := p.value(a, w.last+1)
		b := "??"
		if ok {
			b = fmt.Sprintf("%02x", before.value)
		}
		was, is = append(was, b), append(is, fmt.Sprintf("%02x", after.value))
	}
	more := ""
	if w.end-w.at > most {
		more = " ..."
	}
	return fmt.Sprintf(" (%s%s -> %s%s)", strings.Join(was, " "), more, strings.Join(is, " "), more)
}

// behalf names the operation in which event i happened: the call of the API that its task is in, or the task's name.
func (p *past) behalf(i int) string {
	task := p.ev[i].Task
	if task == traces.NoTask {
		return ""
	}
	var open []int
	for k := range p.ev[:i] {
		e := &p.ev[k]
		switch {
		case e.Task != task:
		case e.Kind == kpev.ApiEnter:
			open = append(open, k)
		case e.Kind == kpev.ApiReturn && len(open) > 0:
			open = open[:len(open)-1]
		}
	}
	if n := len(open); n > 0 {
		e := &p.ev[open[n-1]]
		return fmt.Sprintf(", in %s(%s) of %s", kpev.Verbs.Name(e.A), p.in.probe(e.B), p.in.task(uint64(task)))
	}
	return ", in " + p.in.task(uint64(task))
}

// probes names the probes at a write's site, but for one that behalf names.
func (p *past) probes(w write) string {
	s := span{w.at, w.end}
	if site, ok := p.x.site(w.at); ok {
		s = span{min(s.at, site.at), max(s.end, site.end)}
	}
	own := p.behalf(w.first)
	var names []string
	known := make(map[uint64]bool)
	for i := range p.ev[:w.first] {
		e := &p.ev[i]
		if e.Kind != kpev.ApiEnter || known[e.B] || !s.has(p.probeAt(e.B, w.first)) {
			continue
		}
		known[e.B] = true
		if name := p.in.probe(e.B); !strings.Contains(own, "("+name+")") {
			names = append(names, name)
		}
	}
	if len(names) == 0 {
		return ""
	}
	return ", at the place of " + strings.Join(names, " and ")
}

// citeFree cites the freeing of memory that was used, or freed again, afterwards, and that use; of memory that wasn't
// freed its allocation.
func (p *tale) citeFree() bool {
	var at []uint64
	if p.at < len(p.ev) {
		at = append(at, p.ev[p.at].A, p.ev[p.at].B, p.ev[p.at].C)
	}
	for _, a := range append(at, p.in.PlaceAt) {
		area := p.x.area(a)
		if area == nil || a == 0 {
			continue
		}
		f := p.lastFree(area.span, p.end())
		if f < 0 && p.at < len(p.ev) && p.ev[p.at].Kind == smpev.Free && p.ev[p.at].A == area.at {
			p.say(p.at, 0, "%s freed %s, %s%s.", p.who(p.at), p.area(area.at), traces.Counted(p.ev[p.at].B, "byte"),
				p.behalf(p.at))
			return true
		}
		if f >= 0 {
			p.say(f, 0, "%s freed %s, %s%s.", p.who(f), p.area(area.at), traces.Counted(p.ev[f].B, "byte"), p.behalf(f))
			return true
		}
		if p.at == len(p.ev) {
			i := p.last(len(p.ev), func(e *traces.Event) bool { return e.Kind == smpev.Alloc && e.A == area.at })
			if i >= 0 {
				p.say(i, 0, "%s was handed %s, %s%s, which is never freed.", p.who(i), p.area(area.at),
					traces.Counted(p.ev[i].B, "byte"), p.behalf(i))
				return true
			}
		}
	}
	return false
}

// citeCopy cites the allocation of the memory that a CPU was sent to, which has the copy.
func (p *tale) citeCopy() bool {
	if p.at == len(p.ev) {
		return false
	}
	area := p.x.area(p.ev[p.at].B)
	if area == nil {
		return p.citeStore()
	}
	i := p.last(p.at, func(e *traces.Event) bool { return e.Kind == smpev.Alloc && e.A == area.at })
	if i >= 0 {
		p.say(i, 0, "%s was handed %s, %s, for the copy%s.", p.who(i), p.area(area.at), traces.Counted(p.ev[i].B, "byte"),
			p.behalf(i))
	}
	return i >= 0
}

// operation reports whether an event is a call of the API, its return, or a write of a switch; or a change that
// another task than the violating one makes for a client of ftrace, a live patch, a program, a uprobe or a debugger.
func (p *past) operation(e *traces.Event) bool {
	switch e.Kind {
	case kpev.ApiEnter, kpev.ApiReturn, kpev.Enabled, kpev.Sysctl, smpev.LivePatch, smpev.Module:
		return e.CPU != machineCPU
	case smpev.Fprobe, smpev.Bpf, smpev.Uprobe, smpev.Debugger, smpev.Setting, smpev.Attach, smpev.Attached, smpev.Asked:
		return e.CPU != machineCPU && (p.at == len(p.ev) || e.Task != p.ev[p.at].Task)
	}
	return false
}

// handling reports whether an event is a hit, a handler of it, or what is counted in its place.
func (p *past) handling(e *traces.Event) bool {
	switch e.Kind {
	case kpev.Handler, kpev.Missed, kpev.Skipped, kpev.RetMissed, kpev.RetLeft, kpev.JprobeEnter, smpev.Fprobe, smpev.Bpf,
		smpev.Uprobe, smpev.LiveCall:
		return true
	case smpev.Trap:
		return e.A == smpev.VecBP
	}
	return false
}

// citeHandler cites the last handler or hit of the violating task, and the operation that came between it and the
// violation; if none did, the last one before it.
func (p *tale) citeHandler() bool {
	v := p.end()
	task := traces.NoTask
	if p.at < len(p.ev) {
		task = p.ev[p.at].Task
	}
	if v == len(p.ev) || !p.handling(&p.ev[v]) {
		if h := p.last(v, func(e *traces.Event) bool {
			return p.handling(e) && (task == traces.NoTask || e.Task == task)
		}); h >= 0 {
			p.say(h, 0, "%s: %s.", p.who(h), p.t.say(&p.ev[h]))
			v = h
		}
	}
	between := p.last(p.end(), p.operation)
	if between < v {
		between = p.last(v, p.operation)
	}
	if between >= 0 && between != v {
		p.say(between, 0, "%s: %s, by %s.", p.who(between), p.t.say(&p.ev[between]), p.in.task(uint64(p.ev[between].Task)))
	}
	return len(p.lines) > 0
}

// citeCall cites the last operation before.
func (p *tale) citeCall() bool {
	if i := p.last(p.end(), p.operation); i >= 0 {
		p.say(i, 0, "%s: %s, by %s.", p.who(i), p.t.say(&p.ev[i]), p.in.task(uint64(p.ev[i].Task)))
	}
	return len(p.lines) > 0
}

// citeCalls cites the answers of all calls.
func (p *tale) citeCalls() bool {
	p.tellAnswers(func(uint64) bool { return true })
	return len(p.lines) > 0
}

// citeLock cites the lock that is taken or released, and its last taker.
func (p *tale) citeLock() bool {
	if p.at == len(p.ev) {
		return false
	}
	e := &p.ev[p.at]
	i := p.last(p.at, func(o *traces.Event) bool { return o.Kind == smpev.Lock && o.A == e.A })
	if e.Kind == smpev.MightSleep { // what it must not sleep under
		i = p.last(p.at, func(o *traces.Event) bool { return o.Kind == smpev.Lock && o.Task == e.Task })
	}
	if i >= 0 {
		p.say(i, 0, "%s: %s took %s%s.", p.who(i), p.in.task(uint64(p.ev[i].Task)), p.in.lock(p.ev[i].A), p.behalf(i))
	}
	return i >= 0
}
