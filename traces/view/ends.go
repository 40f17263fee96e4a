package view

import (
	"fmt"
	"slices"

	"kpsim/kprobes/kpev"
	"kpsim/smp/arch"
	"kpsim/smp/smpev"
	"kpsim/traces"
)

// hitsTold is how many hits of a call are printed; the last ones are.
const hitsTold = 3

// tellCall explains a call, or a check after one, with a wrong result. It lists what happened
// during the call; the log doesn't say which event is to blame.
func (p *tale) tellCall(v int) {
	e := &p.ev[v]
	from := p.last(v, func(o *traces.Event) bool { return o.Kind == smpev.CallEnd && o.Task == e.Task })
	if e.Kind == smpev.Got && from >= 0 {
		from = p.last(from, func(o *traces.Event) bool { return o.Kind == smpev.CallEnd && o.Task == e.Task })
	}
	var hits []int
	for i := from + 1; i < v; i++ {
		o := &p.ev[i]
		if o.Task != e.Task || o.Kind != smpev.Trap && o.Kind != smpev.Exec {
			continue
		}
		site, ok := p.x.site(o.A)
		switch {
		case o.Kind == smpev.Trap && o.A == smpev.VecBP && p.x.area(p.in.brokeAt(o.B)) == nil:
			hits = append(hits, i)
		case o.Kind == smpev.Exec && ok && site.has(o.A) && p.in.Arch.IsJump.Match(o.B) &&
			!p.in.Arch.IsJump.Match(arch.Word(p.x.known(p.x.linked, o.A))):
			hits = append(hits, i)
		}
	}
	if n := len(hits); n > hitsTold {
		p.say(hits[n-hitsTold-1], 1, "%s had %s earlier in the same call.", p.who(hits[0]),
			traces.Counted(uint64(n-hitsTold), "hit"))
		hits = hits[n-hitsTold:]
	}
	for _, i := range hits {
		p.tellOneHit(i, v)
	}
	for k := from + 1; k < v; k++ {
		if o := &p.ev[k]; o.Task == e.Task && (o.Kind == kpev.Missed || o.Kind == kpev.Skipped) {
			p.say(k, 2, "%s: %s.", p.who(k), p.t.say(o))
		}
	}
	p.tellOwners(from, v)
	p.tellFreedUnder(from, v)
	p.tellWrittenUnder(from, v)
	if errno := p.ev[v].Kind == smpev.Got && smpev.CheckWhat(p.ev[v].A) == smpev.CheckErrno; len(hits) == 0 && !errno &&
		!p.holds() && !p.tellOldCode(from, v) && p.probed(v) {
		p.say(v, 1, "%s hit no probe in that call.", p.who(v))
	}
	p.say(v, 0, "%s: %s.", p.who(v), p.came(v))
}

// oldCode returns the last instruction between two events, of the task of the second, that memory no longer held, and
// where its bytes are from; -1: there is none.
func oldCode(p *past, from, v int) (i int, src *sources) {
	for i = v - 1; i > from; i-- {
		e := &p.ev[i]
		if e.Task != p.ev[v].Task || e.Kind != smpev.Exec {
			continue
		}
		b := unpack(e)
		if src = p.sources(span{e.A, e.A + uint64(len(b))}, b, i); src.stale() {
			return i, src
		}
	}
	return -1, nil
}

// tellOldCode describes that instruction. It reports whether there is one.
func (p *tale) tellOldCode(from, v int) bool {
	i, src := oldCode(p.past, from, v)
	if i < 0 {
		return false
	}
	p.tellStale(src, i)
	p.ranOld(i, src)
	return true
}

// ranOld says that an instruction was run which memory no longer held, or never held.
func (p *tale) ranOld(i int, src *sources) {
	if p.tornIn(src, i) != nil {
		p.say(i, 0, "%s ran % x (%s): %s.", p.who(i), src.bytes, p.insn(i), src.words(p.past)).also(p, src.events()...)
		return
	}
	p.say(i, 0, "%s ran %s at %s, which memory no longer held.", p.who(i), p.insn(i), p.x.place(p.ev[i].A)).also(p,
		src.events()...)
}

// tellWrittenUnder lists the code in allocated memory that was written anew, as a whole, between two events while the
// task of the second was in it.
func (p *tale) tellWrittenUnder(from, v int) {
	task := p.ev[v].Task
	for f := from + 1; f < v; f++ {
		if p.ev[f].Kind != smpev.TextStore {
			continue
		}
		a, first := span{p.ev[f].A, p.ev[f].A + p.ev[f].C}, f
		for ; f+1 < v && p.ev[f+1].Kind == smpev.TextStore && p.ev[f+1].A == a.end; f++ {
			a.end += p.ev[f+1].C
		}
		if a.end-a.at <= longestInsn {
			continue
		}
		is := func(e *traces.Event) bool { return e.Kind == smpev.Exec && e.Task == task }
		x, back := p.last(f, is), p.next(f, v, is)
		if x <= from || back < 0 || !a.has(p.ev[x].A) || !a.has(p.ev[back].A) {
			continue
		}
		p.say(first, 0, "%s wrote %s anew while %s was in it, behind %s.", p.who(first), p.x.place(a.at),
			p.in.task(uint64(task)), p.insn(x)).also(p, x)
		p.say(back, 0, "%s went on at %s, and ran %s.", p.who(back), p.x.place(p.ev[back].A), p.insn(back))
	}
}

// longestInsn is how many bytes the longest instruction has.
const longestInsn = 15

// tellFreedUnder lists the memory that was freed between two events while the task of the
// second was in it, and the allocation that got it next.
func (p *tale) tellFreedUnder(from, v int) {
	task := p.ev[v].Task
	for f := from + 1; f < v; f++ {
		a := span{p.ev[f].A, p.ev[f].A + p.ev[f].B}
		x := p.last(f, func(e *traces.Event) bool { return e.Kind == smpev.Exec && e.Task == task })
		if p.ev[f].Kind != smpev.Free || x <= from || !a.has(p.ev[x].A) || p.returns(x) {
			continue
		}
		p.say(f, 0, "%s freed %s while %s was in it, behind %s.", p.who(f), p.area(a.at), p.in.task(uint64(task)),
			p.insn(x)).also(p, x)
		if n := p.next(f, v, func(e *traces.Event) bool {
			return e.Kind == smpev.Alloc && e.A < a.end && a.at < e.A+e.B
		}); n >= 0 {
			p.say(n, 0, "%s was handed the same memory, for something else.", p.who(n)).also(p, f)
		}
	}
}

// returns reports whether the instruction of an Exec event is a return.
func (p *past) returns(i int) bool {
	in, err := p.in.Arch.Decode(unpack(&p.ev[i]), arch.Addr(p.ev[i].A))
	return err == nil && in.Flow() == arch.FlowRet
}

// tellGoing names the API call that removes the probe whose memory is freed at event f.
func (p *tale) tellGoing(a span, f int) {
	site, ok := p.user(a, f)
	if !ok {
		return
	}
	i := p.last(f, func(e *traces.Event) bool {
		return e.Kind == kpev.ApiEnter && e.A == kpev.Unregister && p.probeAt(e.B, f) == site
	})
	if i >= 0 {
		p.say(i, 2, "%s began unregister(%s).", p.who(i), p.in.probe(p.ev[i].B))
	}
}

// probed reports whether a probe was registered, or tried to be, before event v.
func (p *past) probed(v int) bool {
	return p.last(v, func(o *traces.Event) bool { return o.Kind == kpev.ApiEnter }) >= 0
}

// came returns the result of a call as text.
func (p *past) came(v int) string {
	e := &p.ev[v]
	if e.Kind == smpev.Got {
		for i := range p.ev {
			if o := &p.ev[i]; o.Kind == smpev.Want && o.A == e.A {
				right := fmt.Sprintf("%#x", o.B)
				switch smpev.CheckWhat(e.A) {
				case smpev.CheckErrno:
					right = kpev.Errno(o.B)
				case smpev.CheckCount:
					right = fmt.Sprint(uint32(o.B))
				}
				return p.t.say(e) + "; right is " + right
			}
		}
		return p.t.say(e)
	}
	if p.id() == "X1" {
		return fmt.Sprintf("call %d of %s ended otherwise than it ends without probes", e.B, p.in.task(e.A))
	}
	if p.id() == "A1" {
		return fmt.Sprintf("call %d of %s ended, with a hit that nothing accounts for", e.B, p.in.task(e.A))
	}
	return p.t.say(e)
}

// tellOneHit describes a breakpoint or a jump that a task has taken.
func (p *tale) tellOneHit(i, v int) {
	e := &p.ev[i]
	if e.Kind == smpev.Exec {
		p.say(i, 1, "%s took the jump at %s (%s).", p.who(i), p.x.place(e.A), p.insn(i))
		return
	}
	to := p.next(i, v, func(o *traces.Event) bool {
		return o.Kind == smpev.Return && o.Task == e.Task && o.A == smpev.VecBP
	})
	at := p.in.brokeAt(e.B)
	what := ""
	if b := p.x.known(p.x.linked, at); len(b) > 0 {
		what = " (" + p.x.disassemble(b, at) + ")"
	}
	if to < 0 || p.trap(to) != i {
		p.say(i, 1, "%s took the breakpoint at %s%s.", p.who(i), p.x.place(at), what)
		return
	}
	p.say(i, 1, "%s took the breakpoint at %s%s; %s sent it to %s.", p.who(i), p.x.place(at), what, p.claimer(i, to),
		p.x.place(p.ev[to].B)).also(p, to)
	if a := p.x.area(p.ev[to].B); a != nil { // it leads to a copy: say where the copy led
		back := p.next(to, v, func(o *traces.Event) bool {
			return o.Kind == smpev.Return && o.Task == e.Task && o.A == smpev.VecBP
		})
		if k := -1; back >= 0 {
			if k = p.trap(back); k >= 0 && a.has(p.in.brokeAt(p.ev[k].B)) {
				p.say(back, 2, "%s had stepped through %s, and was sent on to %s.", p.who(back), p.area(a.at),
					p.x.place(p.ev[back].B)).also(p, k)
			}
		}
	}
}

// tellHit names the hit through which a task came to run a handler.
func (p *tale) tellHit(task uint8, v int) {
	list := p.open(task, v)
	for n := len(list) - 1; n >= 0; n-- {
		if k := list[n]; p.ev[k].A == smpev.VecBP {
			p.say(k, 0, "%s took the breakpoint at %s.", p.who(k), p.x.place(p.in.brokeAt(p.ev[k].B)))
			return
		}
	}
	x := p.last(v, func(o *traces.Event) bool { return o.Kind == smpev.Exec && o.Task == task })
	if x < 0 {
		return
	}
	a := p.x.area(p.ev[x].A)
	if a == nil {
		same := func(o *traces.Event) bool { return o.Kind == kpev.Handler && o.Task == task && o.A == p.ev[v].A }
		if k := p.next(x, v, same); k >= 0 { // a site of ftrace
			p.say(x, 1, "%s ran %s at %s.", p.who(x), p.insn(x), p.x.place(p.ev[x].A))
			p.say(k, 1, "%s ran the %s for it.", p.who(k), p.t.say(&p.ev[k])).also(p, x)
		}
		return
	}
	s := &stay{task: task, cpu: p.ev[x].CPU, ip: p.ev[x].A, arrive: -1, until: x}
	p.tellEntry(s, a.span)
	p.say(x, 1, "%s ran %s up to its call of the handlers, and no further until event %d.", p.who(x), p.area(a.at),
		p.ev[v].Seq)
}

// tellLock explains a lock that is taken or released by the wrong task, or in a wrong
// order.
func (p *tale) tellLock(v int) {
	e := &p.ev[v]
	var held []int // locks of this task, and the one it wants, whichever task holds that
	for i := range p.ev[:v] {
		o := &p.ev[i]
		if o.Kind == smpev.Lock && (o.Task == e.Task || o.A == e.A && e.Kind != smpev.MightSleep) {
			held = append(held, i)
		}
		if o.Kind == smpev.Unlock {
			for k := len(held) - 1; k >= 0; k-- {
				if p.ev[held[k]].A == o.A && p.ev[held[k]].Task == o.Task {
					held = append(held[:k], held[k+1:]...)
					break
				}
			}
		}
	}
	for _, i := range held {
		p.say(i, 1, "%s: %s took %s.", p.who(i), p.in.task(uint64(p.ev[i].Task)), p.in.lock(p.ev[i].A))
	}
	if e.Kind == smpev.Lock {
		p.tellReverse(v, held)
	}
	for _, k := range p.open(e.Task, v) {
		p.say(k, 1, "%s took the %s at %s.", p.who(k), smpev.Vector(p.ev[k].A), p.x.place(p.ev[k].B))
	}
	p.say(v, 0, "%s: %s: %s.", p.who(v), p.in.task(uint64(e.Task)), p.t.say(e))
}

// tellReverse says when a held lock was taken under the one that is now being taken.
func (p *tale) tellReverse(v int, held []int) {
	for _, h := range held {
		under := -1 // where the wanted lock is held, by any task
		var by uint8
		for i := range p.ev[:v] {
			o := &p.ev[i]
			switch {
			case o.A != p.ev[v].A && o.A != p.ev[h].A:
			case o.Kind == smpev.Lock && o.A == p.ev[v].A:
				under, by = i, o.Task
			case o.Kind == smpev.Unlock && o.A == p.ev[v].A:
				under = -1
			case o.Kind == smpev.Lock && under >= 0 && o.Task == by:
				p.say(i, 0, "%s had taken %s under %s before.", p.who(i), p.in.lock(o.A), p.in.lock(p.ev[v].A)).also(p,
					under, h)
				return
			}
		}
	}
}

// tellEnd explains a violation that only the end of the run shows.
func (p *tale) tellEnd() {
	end := len(p.ev) - 1
	if p.ofSetting() {
		if p.tellSetting(end); p.ev[end].Kind == smpev.Exec {
			p.say(end, 0, "%s ran %s at %s.", p.who(end), p.insn(end), p.x.place(p.ev[end].A))
		} else {
			p.say(end, 0, "%s: %s.", p.who(end), p.t.say(&p.ev[end]))
		}
		return
	}
	if s, ok := p.x.site(p.in.PlaceAt); ok {
		p.tellLeft(s, p.in.PlaceAt, len(p.ev))
		if i := p.last(len(p.ev), func(e *traces.Event) bool {
			return e.Kind == kpev.ApiReturn && p.probeAt(e.B, len(p.ev)) == p.in.PlaceAt
		}); i >= 0 {
			p.say(i, 0, "%s(%s) returned on %s, the last call for %s.", kpev.Verbs.Name(p.ev[i].A),
				p.in.probe(p.ev[i].B), p.who(i), p.x.place(p.in.PlaceAt))
		}
		p.say(end, 0, "At the end %s holds %s; linked there is %s.", p.x.place(p.in.PlaceAt),
			p.stood(p.in.PlaceAt, len(p.ev)), printed(arch.Word(p.x.known(p.x.linked, p.in.PlaceAt)), p.in.Arch.Align))
		return
	}
	if a := p.x.area(p.in.PlaceAt); a != nil && p.in.PlaceAt != 0 {
		i := p.last(len(p.ev), func(e *traces.Event) bool { return e.Kind == smpev.Alloc && e.A == a.at })
		p.say(i, 0, "%s was handed %s, %s.", p.who(i), p.area(a.at), traces.Counted(p.ev[i].B, "byte"))
		p.say(end, 0, "At the end nobody has freed %s.", p.area(a.at))
		return
	}
	if p.id() == "E2" {
		p.tellAnswers(func(uint64) bool { return true })
		return
	}
	if p.id() == "F1" {
		p.tellListed(end)
		return
	}
	p.tellUnfinished()
}

// tellAnswers lists the answers of the API calls for some probes.
func (p *tale) tellAnswers(of func(probe uint64) bool) {
	for i := range p.ev {
		if p.ev[i].Kind == kpev.ApiReturn && of(p.ev[i].B) {
			p.say(i, 1, "%s: %s.", p.who(i), p.t.say(&p.ev[i]))
		}
	}
}

// tellListed says why the state of a place may differ from kprobes/list although nothing was
// ever written there: the calls for it, and the tasks that switched all probes off and on.
func (p *tale) tellListed(end int) {
	p.tellAnswers(func(probe uint64) bool { return p.probeAt(probe, end) == p.in.PlaceAt })
	for i := range p.ev {
		if p.ev[i].Kind == kpev.Enabled && p.ev[i].B == 0 {
			p.say(i, 1, "%s began to write %d to kprobes/enabled.", p.who(i), p.ev[i].A)
		}
	}
	p.say(end, 0, "At the end nothing has been written to %s.", p.x.place(p.in.PlaceAt))
}

// tellUnfinished describes the last events of the tasks that have not ended.
func (p *tale) tellUnfinished() {
	var last [256]int
	for i := range last {
		last[i] = -1
	}
	for i := range p.ev {
		e := &p.ev[i]
		switch {
		case e.Task == traces.NoTask || e.Kind == smpev.Wake || e.Kind == smpev.Fire:
		case e.Kind == smpev.Exit:
			last[e.Task] = -2
		case last[e.Task] != -2:
			if e.Kind == smpev.Switch && last[e.Task] >= 0 && e.C == 1 {
				continue // its last events already say that it waits
			}
			last[e.Task] = i
		}
	}
	for t, i := range last {
		if i < 0 {
			continue
		}
		if k := slices.IndexFunc(p.in.Loops, func(l Loop) bool { return int(l.Task) == t }); k >= 0 {
			p.in.Loops[k].tell(p)
			continue
		}
		name := p.in.task(uint64(t))
		if name == "idle" || name == "stopper" {
			continue
		}
		p.say(i, 1, "%s: %s didn't end; its last event: %s.", p.who(i), name, p.t.say(&p.ev[i]))
	}
	p.tellQueued()
}

// tellQueued names the probe that was queued for the optimizer last, if no work began after that.
func (p *tale) tellQueued() {
	if i := p.last(len(p.ev), func(e *traces.Event) bool {
		return e.Kind == kpev.Optimizing ||
			e.Kind == kpev.Unoptimizing
	}); i >= 0 &&
		p.next(i, len(p.ev), func(e *traces.Event) bool { return e.Kind == smpev.Fire && e.CPU == machineCPU }) < 0 {
		p.say(i, 0, "%s queued %s for the optimizer; no work began after that.", p.who(i), p.x.place(p.ev[i].A))
	}
}

// tellWarn explains a report of a kernel's own engine: the API call and the traps that the
// task is in.
func (p *tale) tellWarn(v int) {
	e := &p.ev[v]
	i := p.last(v, func(o *traces.Event) bool {
		return o.Task == e.Task && (o.Kind == kpev.ApiEnter || o.Kind == kpev.ApiReturn)
	})
	if i >= 0 && p.ev[i].Kind == kpev.ApiEnter {
		p.say(i, 1, "%s began %s(%s), at %s.", p.who(i), kpev.Verbs.Name(p.ev[i].A), p.in.probe(p.ev[i].B),
			p.x.place(p.ev[i].C))
	}
	for _, k := range p.open(e.Task, v) {
		p.say(k, 1, "%s took the %s at %s.", p.who(k), smpev.Vector(p.ev[k].A), p.x.place(p.ev[k].B))
	}
	p.tellOther(v)
}

// tellRead explains a read that wasn't true: when it began, and what it should have found.
func (p *tale) tellRead(v int) {
	e := &p.ev[v]
	began := p.last(v, func(o *traces.Event) bool { return o.Kind == kpev.Reading && o.Task == e.Task && o.A == e.A })
	if began >= 0 {
		p.say(began, 0, "%s began to read %s.", p.who(began), kpev.Read.Name(e.A))
	}
	switch e.A {
	case kpev.ReadEnabled, kpev.ReadOptimization:
		kind := map[uint64]traces.Kind{kpev.ReadEnabled: kpev.Enabled, kpev.ReadOptimization: kpev.Sysctl}[e.A]
		if i := p.last(v, func(o *traces.Event) bool { return o.Kind == kind && o.B == 1 }); i >= 0 {
			p.say(i, 0, "%s had written %d to %s, and that returned.", p.who(i), p.ev[i].A, kpev.Read.Name(e.A))
		}
	case kpev.ReadMissed:
		if i := p.last(v, func(o *traces.Event) bool {
			return o.Kind == kpev.ApiReturn && o.A == kpev.Register && o.B == e.B && o.C == 0
		}); i >= 0 {
			p.say(i, 0, "register(%s) returned on %s.", p.in.probe(e.B), p.who(i))
		}
	case kpev.ReadList:
		for i := max(began, 0); i < v; i++ {
			switch o := &p.ev[i]; {
			case o.Kind == kpev.ApiEnter && o.Task != e.Task:
				p.say(i, 1, "%s began %s(%s).", p.who(i), kpev.Verbs.Name(o.A), p.in.probe(o.B))
			case o.Kind == kpev.ReadLine && o.Task == e.Task && o.A == p.in.PlaceAt:
				p.say(i, 0, "%s: %s.", p.who(i), p.t.say(o))
			}
		}
	}
	p.say(v, 0, "%s: %s.", p.who(v), p.t.say(e))
}
