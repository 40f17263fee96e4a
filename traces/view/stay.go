package view

import (
	"fmt"
	"slices"

	"kpsim/kprobes/kpev"
	"kpsim/smp/smpev"
	"kpsim/traces"
)

// A stay is how a task came to stand at an address, and what kept it there.
type stay struct {
	task   uint8
	cpu    uint8
	ip     uint64
	arrive int    // the event of its arrival; -1: from the start
	until  int    // the event that ends the stay
	holds  []hold // the interrupts taken there, in order
}

// A hold is an interrupt, from its trap to its return.
type hold struct{ from, to int }

// stay follows a task back from event v, at which it is at ip.
func (p *past) stay(task uint8, v int, ip uint64) *stay {
	s := &stay{task: task, cpu: p.ev[v].CPU, ip: ip, arrive: -1, until: v}
	for i := p.before(task, v); i >= 0; {
		e := &p.ev[i]
		if e.Kind == smpev.Return && e.B == ip && interrupts(e.A) {
			if k := p.trap(i); k >= 0 && p.ev[k].B == ip {
				s.holds = append([]hold{{k, i}}, s.holds...)
				i = p.before(task, k)
				continue
			}
		}
		s.arrive = i
		if e.Kind == smpev.Switch { // it left the CPU, and came back
			s.arrive = p.next(i, v, func(o *traces.Event) bool { return o.Kind == smpev.Switch && o.B == uint64(task) })
		}
		return s
	}
	s.arrive = p.next(-1, v, func(o *traces.Event) bool { return o.Kind == smpev.Switch && o.B == uint64(task) })
	return s
}

// covers returns the hold during which a write was made.
func (s *stay) covers(w write) *hold {
	for i := range s.holds {
		if h := &s.holds[i]; h.from < w.first && w.last <= h.to {
			return h
		}
	}
	return nil
}

// back describes the task's return from the hold during which list was written.
func (s *stay) back(p *past, list []write) string {
	for _, w := range list {
		if s.covers(w) != nil {
			return "returned to " + p.x.place(s.ip) + " and "
		}
	}
	return "went on at " + p.x.place(s.ip) + " and "
}

// tellStay explains how the task came there, and what held it while list was written.
func (p *tale) tellStay(s *stay, v int, list []write) {
	var cover *hold
	slow := len(list) > 0
	for _, w := range list {
		if h := s.covers(w); h != nil {
			slow = false
			if cover == nil {
				cover = h
			}
		}
	}
	p.tellArrival(s, slow && s.standing(list))
	if cover != nil {
		p.tellHold(s, cover)
	}
}

// standing reports whether all of list was written after the task's arrival.
func (s *stay) standing(list []write) bool {
	for _, w := range list {
		if w.first < s.arrive {
			return false
		}
	}
	return true
}

// tellArrival describes the task's last action before its stay.
func (p *tale) tellArrival(s *stay, slow bool) {
	if s.arrive < 0 {
		return
	}
	e := &p.ev[s.arrive]
	here := p.x.place(s.ip)
	who := p.who(s.arrive)
	then := ""
	if slow && s.until < len(p.ev) {
		then = fmt.Sprintf(", where it stood until event %d", p.ev[s.until].Seq)
	}
	switch {
	case e.Kind == smpev.Return && e.A == smpev.VecBP:
		k := p.trap(s.arrive)
		if k < 0 {
			break
		}
		if a := p.x.area(p.in.brokeAt(p.ev[k].B)); a != nil && p.x.area(s.ip) == nil {
			x := p.last(k-1, func(o *traces.Event) bool { return o.Kind == smpev.Exec && o.Task == s.task })
			if x >= 0 && a.has(p.ev[x].A) {
				p.say(s.arrive, 0, "%s ran the probed %s in its slot and came back to %s%s.", who, p.insn(x), here,
					then).also(p, x, k)
				return
			}
		}
		if e.B != s.ip { // what it ran from there on is in no event
			then = ", from where it came to " + here + then
		}
		p.say(s.arrive, 0, "%s took the breakpoint at %s; %s sent it to %s%s.", who, p.x.place(p.in.brokeAt(p.ev[k].B)),
			p.claimer(k, s.arrive), p.x.place(e.B), then).also(p, k)
	case e.Kind == smpev.Exec:
		if then != "" {
			p.say(s.arrive, 0, "%s ran %s; next was %s%s.", who, p.insn(s.arrive), here, then)
			break
		}
		p.say(s.arrive, 0, "%s ran %s at %s; next was %s.", who, p.insn(s.arrive), p.x.place(e.A), here)
	case e.Kind == kpev.Handler:
		p.say(s.arrive, 0, "%s ran the %s, and came to %s%s.", who, p.t.say(e), here, then)
	}
}

// claimer names the owner of trap k.
func (p *past) claimer(k, to int) string {
	i := p.next(k, to, func(o *traces.Event) bool {
		return o.Kind == smpev.Claim && o.Task == p.ev[k].Task && o.B == p.ev[k].B
	})
	switch {
	case i < 0:
		return "its handler"
	case p.ev[i].C == smpev.OwnerPoke:
		return "the text-poke handler"
	case p.ev[i].C == kpev.OwnerRemoved:
		return "kprobes, the breakpoint being gone,"
	}
	return smpev.Owners.Name(p.ev[i].C)
}

// tellEntry explains how a task entered memory a, if it has moved on since.
func (p *tale) tellEntry(s *stay, a span) {
	in := -1
	for i := p.before(s.task, s.until); i >= 0; i = p.before(s.task, i) {
		e := &p.ev[i]
		switch {
		case e.Kind == smpev.Exec && a.has(e.A), e.Kind == kpev.Handler, e.Kind == smpev.Trap && a.has(e.B),
			e.Kind == smpev.Switch:
			continue
		case e.Kind == smpev.Return && !interrupts(e.A) && a.has(e.B):
			in = i
		case e.Kind == smpev.Trap && e.A == smpev.VecBP: // the breakpoint led to its handler alone
		case e.Kind == smpev.Return || e.Kind == smpev.Trap:
			continue
		case e.Kind == smpev.Exec:
			in = i
		}
		break
	}
	if in < 0 || in == s.arrive {
		return
	}
	e := &p.ev[in]
	if e.Kind == smpev.Exec {
		p.say(in, 1, "%s ran %s at %s, into %s.", p.who(in), p.insn(in), p.x.place(e.A), p.area(a.at))
		return
	}
	if k := p.trap(in); k >= 0 {
		p.say(in, 1, "%s took the breakpoint at %s; %s sent it to %s.", p.who(in), p.x.place(p.in.brokeAt(p.ev[k].B)),
			p.claimer(k, in), p.x.place(e.B)).also(p, k)
	}
}

// tellHold describes the interrupt that held the task, and says whether the task was
// preempted.
func (p *tale) tellHold(s *stay, h *hold) {
	e := &p.ev[h.from]
	what := "An NMI"
	switch e.A {
	case smpev.VecTimer:
		what = "A timer interrupt"
	case smpev.VecResch:
		what = "A reschedule interrupt"
	case smpev.VecCall:
		what = "A call IPI"
	}
	before := ""
	if in := p.was(s.ip, h.from); in != "" {
		before = ", before " + in + " ran"
	}
	p.say(h.from, 0, "%s took %s at %s%s.", what, p.who(h.from), p.x.place(s.ip), before)
	if i := p.out(s, h); i >= 0 {
		p.say(i, 0, "%s was preempted there: %s switched to %s.", p.in.task(uint64(s.task)), p.who(i),
			p.in.task(p.ev[i].B)).also(p, h.from)
	}
}

// out returns where the task was preempted during an interrupt, or -1.
func (p *past) out(s *stay, h *hold) int {
	return p.next(h.from, min(h.to, len(p.ev)), func(o *traces.Event) bool {
		return o.Kind == smpev.Switch && o.Task == s.task && o.C == 0
	})
}

// tellHandlerContext describes the interrupt whose handler runs an instruction.
func (p *tale) tellHandlerContext(s *stay, v int) {
	list := p.open(s.task, v)
	if len(list) == 0 {
		return
	}
	k := list[len(list)-1]
	e := &p.ev[k]
	if !interrupts(e.A) {
		return
	}
	on := ""
	if i := p.last(k, func(o *traces.Event) bool {
		return o.Kind == smpev.StopStart ||
			o.Kind == smpev.StopEnd
	}); i >= 0 && p.ev[i].Kind == smpev.StopStart {
		p.say(i, 0, "stop_machine: every CPU stood in its stopper, interrupts off.")
		if e.A == smpev.VecNMI {
			on = ", which stop_machine can't hold off"
		}
	}
	p.say(k, 0, "%s took its %s%s; its handler ran %s.", p.who(k), smpev.Vector(e.A), on, p.x.place(p.ev[v].A))
}

// tellMissing says which part of a site's last image isn't written yet.
func (p *tale) tellMissing(site span, v int) {
	img := p.image(site, v)
	if img < 0 {
		return
	}
	b := unpack(&p.ev[img])
	at := p.ev[img].A
	first, end := -1, 0
	for k := range b {
		if m, ok := p.value(at+uint64(k), v); ok && m.value != b[k] {
			if first < 0 {
				first = k
			}
			end = k + 1
		}
	}
	if first < 0 || p.next(img, v, func(e *traces.Event) bool {
		return e.Kind == smpev.TextStore &&
			site.has(e.A)
	}) < 0 {
		return
	}
	if o := p.last(v, func(e *traces.Event) bool {
		return (e.Kind == kpev.Optimized || e.Kind == kpev.Unoptimized) && e.A == at
	}); o > img {
		return // that patch has ended
	}
	if p.in.Arch.IsBreakpoint(p.ev[img].B) {
		return
	}
	last := p.last(v, func(e *traces.Event) bool { return e.Kind == smpev.TextStore && site.has(e.A) })
	bare := ""
	if first == 0 && !p.breaks(at, v) {
		bare = ", and no breakpoint stood there"
	}
	p.say(last, 1, "Of %s, %s %s still to be written%s.", p.imageName(img), numbered(first, end-1), wasWere(end-first),
		bare).also(p, img)
	w := p.writeOf(last)
	if w.at == at && w.end != at+1 && p.part(w, img) && !p.breaks(at, w.first) && !p.stopped(w.first) {
		p.say(last, 1, "The write of %s %s.", p.imageName(img), parted(w.end))
	}
}

// tellStale explains why a CPU could see bytes that memory no longer held.
func (p *tale) tellStale(s *sources, v int) {
	u, last := s.unseen()
	if u < 0 || p.tellTorn(s, v) {
		return
	}
	e := &p.ev[v]
	who := p.who(v)
	ser := p.last(v, func(o *traces.Event) bool {
		return o.CPU == e.CPU && (o.Kind == smpev.Serialise || o.Kind == smpev.Return)
	})
	if ser > u {
		return // then this isn't the reason
	}
	own := ""
	if p.in.Arch.Serialising != "" {
		own = p.in.Arch.Serialising + " and no "
	}
	since := fmt.Sprintf("No %sIPI made %s serialise after event %d", own, who, p.ev[u].Seq)
	stop := p.next(u, v, func(o *traces.Event) bool { return o.Kind == smpev.StopEnd })
	sent := p.next(u, v, func(o *traces.Event) bool { return o.Kind == smpev.SendIPI && o.A>>e.CPU&1 != 0 })
	switch {
	case stop >= 0:
		since = fmt.Sprintf("%s left stop_machine without serialising", who)
	case sent >= 0:
		since = fmt.Sprintf("The IPI that was to make %s serialise hadn't reached it", who)
	}
	l := p.say(last, 0, "%s, so it might still fetch the older bytes.", since)
	l.also(p, u, ser, stop, sent)
}

// tellReturn describes the return that led a CPU to bytes which it could still see as they
// were before event u. A serialising return would have shown it the newer bytes.
func (p *tale) tellReturn(u, v int) {
	e := &p.ev[v]
	back := p.last(v, func(o *traces.Event) bool { return o.CPU == e.CPU && o.Kind == smpev.Return })
	if !p.in.FRED || back < u {
		return
	}
	p.say(back, 0, "%s returned to %s, which with FRED doesn't serialise.", p.who(back), p.x.place(p.ev[back].B))
}

// A torn is a memcpy to text that took several stores, of which an instruction that was run has some and lacks others.
// No breakpoint kept CPUs out of it and no stop_machine held them, so IPIs after it don't prevent that.
type torn struct {
	stores       []int // their events
	seen, unseen []int // those of them that the instruction has, and lacks
	img          int   // the event that announced what is written
}

// tornIn returns the memcpy that was torn in the bytes run at event v, nil if none was.
func (p *past) tornIn(s *sources, v int) *torn {
	for _, i := range s.order {
		t := &torn{stores: memcpy(p, i, v)}
		first := t.stores[0]
		if t.img = p.imageOver(s.ran.at, first); t.img < 0 { // the old instruction begins before the new one
			t.img = p.imageOver(p.ev[first].A, first)
		}
		if len(t.stores) < 2 || t.img < 0 || p.breaks(s.ran.at, first) || p.stopped(first) {
			continue
		}
		for _, i := range t.stores {
			if slices.ContainsFunc(s.newer, func(list []int) bool { return slices.Contains(list, i) }) {
				t.unseen = append(t.unseen, i)
			} else if slices.ContainsFunc(s.from, func(v version) bool { return v.at == i }) {
				t.seen = append(t.seen, i)
			}
		}
		if len(t.seen) > 0 && len(t.unseen) > 0 {
			return t
		}
	}
	return nil
}

// memcpy returns the stores before event v of the memcpy that the store at event i is of, with what other tasks did
// between them.
func memcpy(p *past, i, v int) []int {
	list, task := []int{i}, p.ev[i].Task
	w := write{p.ev[i].A, p.ev[i].A + p.ev[i].C, i, i}
	for k := i + 1; k < v; k++ {
		e := &p.ev[k]
		if e.Task != task {
			continue
		}
		if e.Kind != smpev.TextStore || e.A != w.end || !p.pieces(w, k) {
			break
		}
		w.end, w.last, list = e.A+e.C, k, append(list, k)
	}
	for k := i - 1; k >= 0; k-- {
		e := &p.ev[k]
		if e.Task != task {
			continue
		}
		if e.Kind != smpev.TextStore || e.A+e.C != w.at || !p.pieces(write{e.A, e.A + e.C, k, k}, w.first) {
			break
		}
		w.at, w.first, list = e.A, k, slices.Insert(list, 0, k)
	}
	return list
}

// stopped reports whether stop_machine held the CPUs at event i.
func (p *past) stopped(i int) bool {
	stop := p.last(i, func(e *traces.Event) bool { return e.Kind == smpev.StopStart || e.Kind == smpev.StopEnd })
	return stop >= 0 && p.ev[stop].Kind == smpev.StopStart
}

// parts returns the first two stores of the memcpy that the instruction tells apart, and where they meet.
func (t *torn) parts(p *past) (a, b int, at uint64) {
	for k, i := range t.stores[1:] {
		a, b = t.stores[k], i
		if slices.Contains(t.unseen, a) != slices.Contains(t.unseen, b) {
			break
		}
	}
	return a, b, p.ev[b].A
}

// parted says why stores that meet at an address aren't one.
func parted(at uint64) string {
	if at%chunk == 0 {
		return fmt.Sprintf("crosses 8 aligned bytes at %#x, so it can't be one store", at)
	}
	return fmt.Sprintf("was parted at %#x, inside 8 aligned bytes", at)
}

// tellTorn explains an instruction that has a part of a memcpy. It returns false if none was torn.
func (p *tale) tellTorn(s *sources, v int) bool {
	t := p.tornIn(s, v)
	if t == nil {
		return false
	}
	a, b, at := t.parts(p.past)
	name := p.imageName(t.img)
	bytesOf := func(i int) string {
		w := p.within(write{p.ev[i].A, p.ev[i].A + p.ev[i].C, i, i}, t.img)
		return p.places(span{w.at, w.end})
	}
	p.say(a, 0, "Of %s, %s stored %s at event %d, and %s at event %d.", name, p.who(a), bytesOf(a), p.ev[a].Seq,
		bytesOf(b), p.ev[b].Seq)
	p.say(b, 0, "The write of %s %s.", name, parted(at)).also(p, a)
	between := ""
	if slices.Contains(t.unseen, b) {
		between = " came between them: it"
	}
	p.say(v, 0, "%s's fetch%s saw the store of event %d, but not that of event %d.", p.who(v), between,
		p.ev[t.seen[0]].Seq, p.ev[t.unseen[0]].Seq).also(p, t.stores...)
	return true
}

// citeParts says that the fetch at event x came between stores of one memcpy, and why they aren't one.
func (p *tale) citeParts(t *torn, x int) {
	a, b, at := t.parts(p.past)
	p.say(b, 0, "%s's fetch came between the stores of event %d and event %d: the write %s.", p.who(x), p.ev[a].Seq,
		p.ev[b].Seq, parted(at)).also(p, a, x)
}

// citeOld cites the last instruction of the violating call that memory no longer held, and the store that the CPU
// hadn't seen. It returns false if there is none.
func (p *tale) citeOld() bool {
	task := p.ev[p.at].Task
	from := p.last(p.at, func(e *traces.Event) bool { return e.Kind == smpev.CallEnd && e.Task == task })
	x, src := oldCode(p.past, from, p.at)
	if x < 0 {
		return false
	}
	_, last := src.unseen()
	w := src.wrote[last]
	p.say(w.first, 0, "%s %s%s%s.", p.who(w.first), p.wrote(w), replaced(p.past, w), behalf(p.past, w.first)).also(p,
		w.last)
	if t := p.tornIn(src, x); t != nil {
		p.citeParts(t, x)
	}
	p.ranOld(x, src)
	return true
}
