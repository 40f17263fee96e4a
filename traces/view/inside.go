package view

import (
	"cmp"
	"fmt"
	"slices"

	"kpsim/kprobes/kpev"
	"kpsim/smp/smpev"
	"kpsim/traces"
)

// An extent is the bytes that a patcher has announced. It lasts from the first store to them
// until the bytes after the first one are again what they were.
type extent struct {
	span
	was      string // the bytes after the first one, before
	from, to int    // steps; -1: not yet
}

// announced notes that a patcher is about to write an instruction of several bytes.
func (l *layer) announced(e *traces.Event) {
	s := span{e.A, e.A + e.C>>56}
	if s.end-s.at < 2 || slices.ContainsFunc(l.extents, func(x *extent) bool { return x.span == s && x.to < 0 }) {
		return
	}
	l.extents = append(l.extents, &extent{s, bytes(l.t.text.mem, span{s.at + 1, s.end}), -1, -1})
}

// overwritten notes a store to what has been announced.
func (l *layer) overwritten(e *traces.Event, n int) {
	for _, x := range l.extents {
		if x.to >= 0 || e.A >= x.end || e.A+e.C <= x.at {
			continue
		}
		if x.from < 0 {
			x.from = n
		}
		if e.A+e.C > x.at+1 && bytes(l.t.text.mem, span{x.at + 1, x.end}) == x.was {
			x.to = n
		}
	}
}

// An inner is a task's stay at one address of patched text.
type inner struct {
	task, cpu int
	at        uint64
	trap      bool // the address is the saved ip of a breakpoint, to which the task need not return
	from, to  int
}

// inners merges the stands: one inner for each stay of a task at an address.
func (l *layer) inners() (list []inner) {
	open := make(map[uint8][]int) // by task: indices of list
	for i := range l.Stands {
		s := &l.Stands[i]
		var now []int
		for _, p := range s.At {
			at, trap := l.Texts[p.Patch].At+uint64(p.Off), p.Trap == "#BP"
			k := slices.IndexFunc(open[s.Task], func(k int) bool { return list[k].at == at && list[k].trap == trap })
			if k >= 0 {
				now = append(now, open[s.Task][k])
				continue
			}
			list = append(list, inner{int(s.Task), s.CPU, at, trap, s.Step, -1})
			now = append(now, len(list)-1)
		}
		for _, k := range open[s.Task] {
			if !slices.Contains(now, k) {
				list[k].to = s.Step
			}
		}
		open[s.Task] = now
	}
	for i := range list {
		if list[i].to < 0 {
			list[i].to = len(l.Steps) - 1
		}
		if list[i].cpu < 0 { // it was switched out when the address became patched text
			list[i].cpu = l.cpuBefore(list[i].task, list[i].from)
		}
	}
	return list
}

// cpuBefore returns the CPU that a task was on before a step.
func (l *layer) cpuBefore(task, step int) int {
	for i := step; i >= 0; i-- {
		if e := &l.Steps[i].Event; int(e.Task) == task && e.CPU != Machine {
			return int(e.CPU)
		}
	}
	return 0
}

// insides adds a span for each time that a task stands inside bytes that a patcher writes or
// has written, or in memory that is freed. The span begins when the task arrives, which may be
// before the patcher does, and ends when it leaves. Where memory is freed another one begins.
func (l *layer) insides() {
	var spans []Span
	add := func(s inner, where string) {
		for i := range spans { // from one instruction to the next
			if o := &spans[i]; o.CPU == s.cpu && o.Task == l.taskName(uint8(s.task)) && o.Says == where &&
				o.To >= s.from {
				o.To = max(o.To, s.to)
				return
			}
		}
		spans = append(spans, Span{Kind: SpanInside, CPU: s.cpu, Task: l.taskName(uint8(s.task)), Says: where,
			From: s.from, To: s.to})
	}
	for _, s := range l.inners() {
		for _, x := range l.extents {
			to := x.to
			if to < 0 {
				to = len(l.Steps)
			}
			if !s.trap && x.from >= 0 && s.at > x.at && s.at < x.end && s.from < to && x.from <= s.to {
				place := l.t.text.place(x.at)
				add(s, fmt.Sprintf("stands inside the %d bytes at %s", x.end-x.at, place))
			}
		}
		if p, at := l.freedWhile(s); p != nil {
			before, after := s, s
			before.to, after.from = at, max(at, s.from)
			if s.from < at {
				add(before, "stands inside "+p.Name+", which will be freed")
			}
			add(after, "stands inside freed "+p.Name)
		}
	}
	l.Spans = append(l.Spans, spans...)
	slices.SortStableFunc(l.Spans, func(a, b Span) int { return cmp.Compare(a.From, b.From) })
}

// freedWhile returns the memory that a task stands in, if it is free at some time during the
// stay, and the step that freed it.
func (l *layer) freedWhile(s inner) (*Patch, int) {
	for i := range l.Texts {
		p := &l.Texts[i]
		if p.Site || s.at < p.At || s.at >= p.At+uint64(p.Len) {
			continue
		}
		for k, v := range p.Versions {
			until := len(l.Steps)
			if k+1 < len(p.Versions) {
				until = p.Versions[k+1].Step
			}
			if v.Gone && v.Step <= s.to && s.from < until {
				return p, v.Step
			}
		}
	}
	return nil, 0
}

// A standing is what the events have shown about a task's position.
type standing struct {
	saved []savedIP // of its open traps
	at    uint64    // its current or next instruction, if here
	here  bool
	ran   string
	insn  string // Place.Insn
	stays bool   // the instruction is a call from a detour, to which it returns
	said  Stand
}

// A savedIP is the address saved by an open trap.
type savedIP struct {
	ip     uint64
	vector uint64
}

// stands records the position, or the return address, of an event's task in patched text.
// Events don't show what a task does in text that isn't patched; it then counts as having left
// its last position.
func (l *layer) stands(e *traces.Event, n int) {
	if e.Task == traces.NoTask || e.CPU == Machine || e.Kind == smpev.Fire {
		return
	}
	s := l.standing(e.Task)
	switch e.Kind {
	case smpev.Exec:
		b := unpack(e)
		s.at, s.here, s.ran, s.insn = e.A, true, fmt.Sprintf("% x", b), ""
		if l.t.odd(e.A, b) {
			s.insn = l.t.text.disassemble(b, e.A)
		}
		a := l.t.text.area(e.A)
		s.stays = a != nil && a.what == kpev.DetourMem && l.t.in.Arch.IsCall.Match(e.B)
	case smpev.Trap:
		s.saved = append(s.saved, savedIP{e.B, e.A})
		s.here, s.stays = false, false
	case smpev.Return:
		s.saved = s.saved[:min(len(s.saved), int(e.C))]
		s.at, s.here, s.ran, s.insn, s.stays = e.B, true, "", "", false
	case smpev.Switch:
		s.here = false
		l.standAt(uint8(e.A), -1, n)
		l.standAt(uint8(e.B), int(e.CPU), n)
		return
	default:
		s.here = s.stays
	}
	l.standAt(e.Task, int(e.CPU), n)
}

func (l *layer) standing(task uint8) *standing {
	s := l.tasks[task]
	if s == nil {
		s = new(standing)
		l.tasks[task] = s
	}
	return s
}

// standAt records a task's position, if it has changed.
func (l *layer) standAt(task uint8, cpu, n int) {
	s := l.standing(task)
	now := Stand{Step: n, Task: task, CPU: cpu}
	for _, f := range s.saved {
		if patch, off, ok := l.patchAt(f.ip); ok {
			now.At = append(now.At, Place{Patch: patch, Off: off, Trap: smpev.Vector(f.vector)})
		}
	}
	if patch, off, ok := l.patchAt(s.at); ok && s.here {
		now.At = append(now.At, Place{Patch: patch, Off: off, Ran: s.ran, Insn: s.insn})
	}
	same := now.CPU == s.said.CPU && slices.Equal(now.At, s.said.At)
	if same || len(now.At) == 0 && len(s.said.At) == 0 {
		return
	}
	s.said = now
	l.Stands = append(l.Stands, now)
}

// patchAt returns the patch of an address, and the offset there.
func (l *layer) patchAt(at uint64) (patch, off int, ok bool) {
	for i := range l.Texts {
		if p := &l.Texts[i]; at >= p.At && at < p.At+uint64(p.Len) {
			patch, off, ok = i, int(at-p.At), true
		}
	}
	return patch, off, ok
}
