package view

import (
	"fmt"
	"slices"
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
	"T1": {citeFree, citeStore}, "T2": {citeFree, citeStore},
	"T3": {citeStore, citeCall}, "T4": {citeStore, citeCall},
	"T5": {citeCopy}, "T6": {citeStore},
	"B1": {citeStore, citeHandler}, "O1": {citeFree, citeStore, citeHandler},
	"J1": {citeStore, citeCall}, "J2": {citeStore, citeCall},
	"L2": {citeStore}, "L3": {citeStore}, "L4": {citeStore}, "P2": {citeStore},
	"P4": {citeStore}, "U2": {citeStore, citeCall}, "H3": {citeStore, citeCall},

	"X1": {citeDifference, citeHandler}, "X2": {citeDifference, citeHandler},

	"A1": {citeHandler}, "A2": {citeHandler}, "C1": {citeHandler}, "L1": {citeHandler},
	"N1": {citeHandler}, "N2": {citeHandler}, "N3": {citeHandler}, "J3": {citeHandler},
	"R1": {citeHandler}, "R2": {citeHandler}, "U1": {citeHandler},

	"C2": {citeCall}, "E1": {citeCall}, "E2": {citeCalls}, "F1": {citeCall},
	"F2": {citeCall}, "M1": {citeCall}, "W1": {citeCall},

	"S1": {citeFree, citeCall}, "H1": {citeFree, citeCall},
	"H2": {citeFree, citeCall},

	"K1": {citeLock, citeCall},
	"P1": {citeWaits}, "P3": {citeWaits, citeCall}, "P5": {citeGrace},
}

// end is the event before which the log is looked at: the violating one, or the log's end.
func (p *past) end() int { return min(p.at, len(p.ev)) }

// region returns the bytes that a violation is about: those that were run, or those at its place, with the rest of
// their site.
func region(p *past) (s span, ok bool) {
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
func citeStore(p *tale) bool {
	s, ok := region(p.past)
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
	p.citeWrite(w)
	return true
}

// citeWrite cites a write and, if the violating instruction has a part of it, that it was several stores, and why.
func (p *tale) citeWrite(w write) {
	p.say(w.first, 0, "%s %s%s%s%s.", p.who(w.first), p.wrote(w), replaced(p.past, w), behalf(p.past, w.first),
		probes(p.past, w)).also(p, w.last)
	x := p.at
	if x < len(p.ev) && p.ev[x].Kind != smpev.Exec {
		x = p.last(x, func(e *traces.Event) bool { return e.Kind == smpev.Exec && e.Task == p.ev[p.at].Task })
	}
	if x < 0 || x == len(p.ev) {
		return
	}
	b := unpack(&p.ev[x])
	t := p.tornIn(p.sources(span{p.ev[x].A, p.ev[x].A + uint64(len(b))}, b, x), x)
	if t == nil || !slices.Contains(t.stores, w.first) {
		return
	}
	p.citeParts(t, x)
}

// replaced prints what a write has replaced: " (55 48 -> cc 48)".
func replaced(p *past, w write) string {
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
func behalf(p *past, i int) string {
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
func probes(p *past, w write) string {
	s := span{w.at, w.end}
	if site, ok := p.x.site(w.at); ok {
		s = span{min(s.at, site.at), max(s.end, site.end)}
	}
	own := behalf(p, w.first)
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
func citeFree(p *tale) bool {
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
				behalf(p.past, p.at))
			return true
		}
		if f >= 0 {
			p.say(f, 0, "%s freed %s, %s%s.", p.who(f), p.area(area.at), traces.Counted(p.ev[f].B, "byte"),
				behalf(p.past, f))
			return true
		}
		if p.at == len(p.ev) {
			i := p.last(len(p.ev), func(e *traces.Event) bool { return e.Kind == smpev.Alloc && e.A == area.at })
			if i >= 0 {
				p.say(i, 0, "%s was handed %s, %s%s, which is never freed.", p.who(i), p.area(area.at),
					traces.Counted(p.ev[i].B, "byte"), behalf(p.past, i))
				return true
			}
		}
	}
	return false
}

// citeCopy cites the allocation of the memory that a CPU was sent to, which has the copy.
func citeCopy(p *tale) bool {
	if p.at == len(p.ev) {
		return false
	}
	area := p.x.area(p.ev[p.at].B)
	if area == nil {
		return citeStore(p)
	}
	i := p.last(p.at, func(e *traces.Event) bool { return e.Kind == smpev.Alloc && e.A == area.at })
	if i >= 0 {
		p.say(i, 0, "%s was handed %s, %s, for the copy%s.", p.who(i), p.area(area.at),
			traces.Counted(p.ev[i].B, "byte"), behalf(p.past, i))
	}
	return i >= 0
}

// operation reports whether an event is a call of the API, its return, or a write of a switch; or a change that
// another task than the violating one makes for a client of ftrace, a live patch, a program, a uprobe or a debugger.
func operation(p *past, e *traces.Event) bool {
	switch e.Kind {
	case kpev.ApiEnter, kpev.ApiReturn, kpev.Enabled, kpev.Sysctl, smpev.LivePatch, smpev.Module:
		return e.CPU != machineCPU
	case smpev.Fprobe, smpev.Bpf, smpev.Uprobe, smpev.Debugger, smpev.Setting, smpev.Attach, smpev.Attached,
		smpev.Asked:
		return e.CPU != machineCPU && (p.at == len(p.ev) || e.Task != p.ev[p.at].Task)
	}
	return false
}

// handling reports whether an event is a hit, a handler of it, or what is counted in its place.
func handling(p *past, e *traces.Event) bool {
	switch e.Kind {
	case kpev.Handler, kpev.Missed, kpev.Skipped, kpev.RetMissed, kpev.RetLeft, kpev.JprobeEnter, smpev.Fprobe,
		smpev.Bpf, smpev.Uprobe, smpev.LiveCall:
		return true
	case smpev.Trap:
		return e.A == smpev.VecBP
	}
	return false
}

// citeHandler cites the last handler or hit of the violating task, and the operation that came between it and the
// violation; if none did, the last one before it.
func citeHandler(p *tale) bool {
	v := p.end()
	task := traces.NoTask
	if p.at < len(p.ev) {
		task = p.ev[p.at].Task
	}
	if v == len(p.ev) || !handling(p.past, &p.ev[v]) {
		if h := p.last(v, func(e *traces.Event) bool {
			return handling(p.past, e) && (task == traces.NoTask || e.Task == task)
		}); h >= 0 {
			p.say(h, 0, "%s: %s.", p.who(h), p.t.say(&p.ev[h]))
			v = h
		}
	}
	between := p.last(p.end(), func(e *traces.Event) bool { return operation(p.past, e) })
	if between < v {
		between = p.last(v, func(e *traces.Event) bool { return operation(p.past, e) })
	}
	if between >= 0 && between != v {
		p.say(between, 0, "%s: %s, by %s.", p.who(between), p.t.say(&p.ev[between]),
			p.in.task(uint64(p.ev[between].Task)))
	}
	return len(p.lines) > 0
}

// citeCall cites the last operation before.
func citeCall(p *tale) bool {
	if i := p.last(p.end(), func(e *traces.Event) bool { return operation(p.past, e) }); i >= 0 {
		p.say(i, 0, "%s: %s, by %s.", p.who(i), p.t.say(&p.ev[i]), p.in.task(uint64(p.ev[i].Task)))
	}
	return len(p.lines) > 0
}

// citeCalls cites the answers of all calls.
func citeCalls(p *tale) bool {
	p.tellAnswers(func(uint64) bool { return true })
	return len(p.lines) > 0
}

// citeLock cites the lock that is taken or released, and its last taker.
func citeLock(p *tale) bool {
	if p.at == len(p.ev) {
		return false
	}
	e := &p.ev[p.at]
	i := p.last(p.at, func(o *traces.Event) bool { return o.Kind == smpev.Lock && o.A == e.A })
	if e.Kind == smpev.MightSleep { // what it must not sleep under
		i = p.last(p.at, func(o *traces.Event) bool { return o.Kind == smpev.Lock && o.Task == e.Task })
	}
	if i >= 0 {
		p.say(i, 0, "%s: %s took %s%s.", p.who(i), p.in.task(uint64(p.ev[i].Task)), p.in.lock(p.ev[i].A),
			behalf(p.past, i))
	}
	return i >= 0
}

// A Difference is something that a call has left otherwise than it should have.
type Difference struct {
	What  string // the register, the flag or the memory: rax, ZF, buffer+0x8
	Is    uint64
	Right uint64 // without probes, or as the scenario says
	// Insn is the instruction that wrote it last, and At where it stands. If Insn is "" and At isn't 0, what ran after
	// that instruction and before the task's next one did: a handler, or a routine of the kernel.
	Insn string
	At   uint64 // 0: it isn't known what wrote it
	Seq  uint32 // the task's last event before that but for instructions; 0: there is none
}

// citeDifference cites what a call has left otherwise, its two values, and what wrote it last.
func citeDifference(p *tale) bool {
	if p.at == len(p.ev) || len(p.in.Differs) == 0 {
		return false
	}
	d := &p.in.Differs[0]
	p.said = true // the message says the same of digests
	more := ""
	if n := len(p.in.Differs) - 1; n > 0 {
		more = fmt.Sprintf(", and %d more differ", n)
	}
	p.say(p.at, 0, "%s: %s is %#x after this call of %s, and %#x is right%s.", p.who(p.at), d.What, d.Is,
		p.in.task(uint64(p.ev[p.at].Task)), d.Right, more)
	if !p.citeOld() && d.At != 0 {
		p.citeWriter(d)
	}
	return true
}

// citeWriter cites what wrote a difference last, at the last event of the task before that.
func (p *tale) citeWriter(d *Difference) {
	i := p.last(p.at, func(e *traces.Event) bool { return e.Seq <= d.Seq })
	if d.Seq == 0 { // no event of the task but its instructions: where it got the CPU
		task := uint64(p.ev[p.at].Task)
		i = p.last(p.at, func(e *traces.Event) bool { return e.Kind == smpev.Switch && e.B == task })
	}
	if i < 0 {
		i = p.at
	}
	by := fmt.Sprintf("%s at %s", d.Insn, p.x.place(d.At))
	if d.Insn == "" {
		by = fmt.Sprintf("a handler or the kernel, after the instruction at %s", p.x.place(d.At))
	}
	p.say(i, 0, "%s: %s was written last by %s, after this event: %s.", p.who(i), d.What, by, p.t.say(&p.ev[i]))
}
