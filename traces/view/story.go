package view

import (
	"fmt"
	"slices"
	"strings"

	"kpsim/kprobes/kpev"
	"kpsim/linux/linuxev"
	"kpsim/smp/arch"
	"kpsim/smp/smpev"
	"kpsim/traces"
)

// storyMost is the largest number of sentences of a story.
const storyMost = 8

// A Sentence is a sentence of a story.
type Sentence struct {
	Seq  uint32   // its event; the sentences are in this order
	Also []uint32 // other events that it depends on
	Text string   // at most 20 words; each number has a unit or is an event's
	From string   // the functions of a kernel's engine that end the text, after "; from"
}

// Names returns the events whose numbers a reader sees: the sentence's own, and those
// in its text.
func (s *Sentence) Names() []uint32 {
	names := []uint32{s.Seq}
	for rest, ok := s.Text, true; ; {
		var n uint32
		if _, rest, ok = strings.Cut(rest, "event "); !ok {
			return names
		}
		if _, err := fmt.Sscan(rest, &n); err == nil {
			names = append(names, n)
		}
	}
}

// Story explains in a few sentences how the violation happened. It begins at the violating
// event and follows its dependencies backwards: which write made the bytes that were run, how
// the CPU came to stand there and what kept it, what was waited for, and why that wait didn't
// cover the CPU. It is empty if no property is broken. Places are named as in Interleaving.
func Story(in Input) []Sentence {
	if in.Property == "" || len(in.Events) == 0 {
		return nil
	}
	p := &tale{past: newPast(&in)}
	if p.at < len(p.ev) {
		p.tell(&p.ev[p.at])
	} else {
		p.tellEnd()
	}
	p.tellHeld(p.at)
	return p.story()
}

// A line is a candidate sentence and its importance.
type line struct {
	Sentence
	at  int // index of its event
	sub int // its position among the lines of one event
	may int // 0: must stay; lines with the highest values are dropped first
}

// A tale is told of the past: candidate sentences, of which story keeps the best.
type tale struct {
	*past
	lines []line
	said  bool // what the message says has been said better
}

// say adds a sentence about event i.
func (p *tale) say(i, may int, format string, args ...any) *line {
	// rows have aligned columns, sentences don't
	text := p.in.Arch.InWords(strings.Join(strings.Fields(fmt.Sprintf(format, args...)), " "))
	p.lines = append(p.lines, line{Sentence{Seq: p.ev[i].Seq, Text: text}, i, len(p.lines), may})
	return &p.lines[len(p.lines)-1]
}

// also adds events that the sentence depends on.
func (l *line) also(p *tale, list ...int) {
	for _, i := range list {
		if i >= 0 && i < len(p.ev) && i != l.at {
			l.Also = append(l.Also, p.ev[i].Seq)
		}
	}
}

// story returns the sentences in order, without those that don't fit.
func (p *tale) story() []Sentence {
	slices.SortStableFunc(p.lines, func(a, b line) int {
		if a.at != b.at {
			return a.at - b.at
		}
		return a.sub - b.sub
	})
	p.lines = slices.CompactFunc(p.lines, func(a, b line) bool { return a.at == b.at && a.Text == b.Text })
	for len(p.lines) > storyMost {
		worst := 0
		for i := range p.lines {
			if p.lines[i].may > p.lines[worst].may {
				worst = i
			}
		}
		p.lines = slices.Delete(p.lines, worst, worst+1)
	}
	list := make([]Sentence, len(p.lines))
	for i := range list {
		list[i] = p.lines[i].Sentence
		if from := p.in.origin(&p.ev[p.lines[i].at]); from != "" {
			list[i].Text = strings.TrimSuffix(list[i].Text, ".") + from + "."
			list[i].From = strings.TrimPrefix(from, "; from ")
		}
	}
	return list
}

// tell explains the violation according to the kind of its event.
func (p *tale) tell(e *traces.Event) {
	if p.ofSetting() && (e.Kind == smpev.CallEnd || e.Kind == smpev.Got) {
		p.tellOther(p.at)
		return
	}
	switch e.Kind {
	case smpev.Exec:
		p.tellExec(p.at)
	case smpev.TextStore:
		p.tellStore(p.at)
	case smpev.Free:
		p.tellFree(p.at)
	case smpev.Trap, smpev.Claim, smpev.Oops, smpev.Return:
		p.tellTrap(p.at)
	case smpev.CallEnd, smpev.Got:
		p.tellCall(p.at)
	case smpev.Lock, smpev.Unlock, smpev.MightSleep:
		p.tellLock(p.at)
	case smpev.LiveCall:
		p.tellLive(p.at)
	case smpev.Uprobe:
		p.tellUsers(p.at)
	case smpev.Bpf:
		p.tellProgram(p.at)
	case smpev.GPStall:
		p.tellStall(p.at)
	case kpev.Handler, kpev.Missed, kpev.Skipped:
		p.tellHandler(p.at)
	case kpev.ApiReturn, kpev.Sysctl:
		p.tellApi(p.at)
	case kpev.Enabled:
		p.tellAllOff(p.at)
	case kpev.ReadEnd:
		p.tellRead(p.at)
	case linuxev.Warn, linuxev.Heap, linuxev.Uneven:
		p.tellWarn(p.at)
	default:
		p.tellOther(p.at)
	}
}

// tellOther explains kinds without a template: it repeats the log.
func (p *tale) tellOther(i int) {
	p.say(i, 0, "%s: %s.", p.who(i), p.t.say(&p.ev[i]))
	if p.ofSetting() {
		p.tellSetting(i)
	} else if s, ok := p.x.site(p.ev[i].A); ok {
		p.tellWrites(p.writesTo(s, i), 1)
	}
}

// tellExec explains an instruction that should not have run there, or not in that form.
func (p *tale) tellExec(v int) {
	e := &p.ev[v]
	b := unpack(e)
	ran := span{e.A, e.A + uint64(len(b))}

	if a := p.x.area(e.A); a != nil {
		if f := p.lastFree(a.span, v); f >= 0 {
			p.tellFreed(f, v)
			held := ""
			if reg := p.held(v, e.A); reg != "" {
				held = ", whose address " + reg + " had held"
			}
			p.say(v, 0, "%s went on at %s, in freed memory%s, and ran %s.", p.who(v), p.x.place(e.A), held, p.insn(v))
			return
		}
	}

	src := p.sources(ran, b, v)
	stay := p.stay(e.Task, v, e.A)
	site, patched := p.x.site(e.A)
	if !patched {
		p.tellFreedUnder(-1, v)
		list := src.writes()
		if u, _ := src.unseen(); u >= 0 {
			list = src.add(list, u)
			p.tellReturn(u, v)
		}
		p.tellWrites(list, 1)
		p.say(v, 0, "%s ran % x at %s (%s).", p.who(v), b, p.x.place(e.A), p.insn(v))
		return
	}

	img := p.image(site, v)
	inside := img >= 0 && e.A > p.ev[img].A && p.hasInside(e.A, img)
	switch {
	case inside: // it began inside an instruction: its position matters
		list := p.changes(site, stay.arrive, v)
		if len(list) == 0 {
			list = p.writesSince(site, img, v)
		}
		p.tellStay(stay, v, list)
		p.tellWaits(stay, v, list)
		p.tellWrites(list, 1)
		p.say(v, 0, "%s %sran % x (%s): %s.", p.who(v), stay.back(p.past, list), b, p.insn(v),
			src.words(p.past)).also(p, src.events()...)
	case p.id() != "T3" && (src.stale() || src.mixed()): // it saw some stores, but not others
		p.tellWrites(src.all(p.past, v), 1)
		p.tellHandlerContext(stay, v)
		if p.tellStale(src, v); !src.stale() {
			p.tellMissing(site, v)
		}
		p.say(v, 0, "%s ran % x (%s): %s.", p.who(v), b, p.insn(v), src.words(p.past)).also(p, src.events()...)
	case p.id() == "T3":
		p.tellWrites(src.all(p.past, v), 1)
		p.tellStale(src, v)
		p.tellProbe(e.A, v)
		p.say(v, 0, "%s ran % x (%s), the original instruction, and missed the breakpoint.", p.who(v), b, p.insn(v))
	default:
		p.tellWrites(src.all(p.past, v), 1)
		p.tellStay(stay, v, p.changes(site, stay.arrive, v))
		p.say(v, 0, "%s ran % x at %s (%s): %s.", p.who(v), b, p.x.place(e.A), p.insn(v), src.words(p.past)).also(p,
			src.events()...)
	}
}

// tellProbe names the call that put a probe where the CPU ran past it.
func (p *tale) tellProbe(addr uint64, v int) {
	for i := v - 1; i >= 0; i-- {
		e := &p.ev[i]
		if e.Kind == kpev.ApiReturn && e.C == 0 && (e.A == kpev.Register || e.A == kpev.Enable) &&
			p.probeAt(e.B, i) == addr {
			p.say(i, 0, "%s(%s) returned on %s: from now on every hit must be seen.", kpev.Verbs.Name(e.A),
				p.in.probe(e.B), p.who(i))
			return
		}
	}
}

// tellStore explains a store that should not have been made.
func (p *tale) tellStore(v int) {
	w := p.writeOf(v)
	off := -1
	if p.id() == "L3" {
		off = p.last(v, func(e *traces.Event) bool { return e.Kind == kpev.Sysctl && e.B == 1 })
	}
	if i := off; i >= 0 {
		p.say(i, 0, "%s had written %d to kprobes-optimization, and that returned.", p.who(i), p.ev[i].A)
	}
	for id := uint64(0); id < 256; id++ {
		if p.probeAt(id, v) == w.at && w.at != 0 {
			if i := p.last(v, func(e *traces.Event) bool {
				return e.Kind == kpev.ApiEnter && e.B == id && (e.A == kpev.Register || e.A == kpev.Enable)
			}); i >= 0 {
				p.say(i, 1, "%s began %s(%s), at %s.", p.who(i), kpev.Verbs.Name(p.ev[i].A), p.in.probe(id),
					p.x.place(w.at))
			}
			break
		}
	}
	if i := p.last(v, func(e *traces.Event) bool {
		return e.Kind == kpev.Optimizing &&
			e.A == p.siteAt(w.at)
	}); i >= 0 {
		although := ""
		if off >= 0 && i > off && p.ev[off].A == 0 {
			although = ", although that was switched off"
		}
		p.say(i, 0, "%s queued %s to be optimized%s.", p.who(i), p.x.place(p.ev[i].A), although)
	}
	if s, ok := p.x.site(w.at); ok {
		list := p.writesSince(s, p.image(s, v), v)
		p.tellWrites(list, 2)
	}
	so := ""
	if off >= 0 {
		so = ": a jump, though optimization was off"
	}
	p.say(v, 0, "%s %s%s.", p.who(v), p.wrote(w), so)
}

// tellFree explains the freeing of memory that a task is in, or of memory that isn't
// allocated.
func (p *tale) tellFree(v int) {
	a := span{p.ev[v].A, p.ev[v].A + p.ev[v].B}
	for t := range 255 {
		for _, k := range p.open(uint8(t), v) {
			if e := &p.ev[k]; interrupts(e.A) && a.has(e.B) {
				s := p.stay(uint8(t), k, e.B)
				s.holds = append(s.holds, hold{k, v})
				w := write{at: a.at, end: a.end, first: v, last: v}
				p.tellStay(s, v, []write{w})
				p.tellWaits(s, v, []write{w})
				p.tellGoing(a, v)
				p.say(v, 0, "%s freed %s; %s had still to return to %s.", p.who(v), p.area(a.at), p.in.task(uint64(t)),
					p.x.place(e.B)).also(p, k)
				return
			}
		}
	}
	if i := p.lastFree(a, v); i >= 0 {
		p.say(i, 0, "%s freed %s.", p.who(i), p.area(a.at))
	}
	p.say(v, 0, "%s freed %s at %s.", p.who(v), traces.Counted(p.ev[v].B, "byte"), p.x.place(a.at))
}

// tellFreed explains why memory in use was freed at event f.
func (p *tale) tellFreed(f, v int) {
	a := span{p.ev[f].A, p.ev[f].A + p.ev[f].B}
	e := &p.ev[v]
	ip := e.A
	if e.Kind != smpev.Exec {
		ip = e.B
	}
	s := p.stay(e.Task, v, ip)
	if e.Kind == smpev.Return {
		if k := p.trap(v); k >= 0 && interrupts(e.A) {
			s = p.stay(e.Task, k, ip)
			s.holds = append(s.holds, hold{k, v})
		}
	}
	w := write{at: a.at, end: a.end, first: f, last: f}
	p.tellStay(s, v, []write{w})
	p.tellEntry(s, a)
	p.tellWaits(s, v, []write{w})
	p.tellGoing(a, f)
	p.say(f, 0, "%s freed %s.", p.who(f), p.area(a.at))
}

// tellTrap explains a trap without an owner, or with several; a fault; a return.
func (p *tale) tellTrap(v int) {
	e := &p.ev[v]
	if a := p.x.area(e.B); e.Kind == smpev.Return && a != nil {
		if f := p.lastFree(a.span, v); f >= 0 {
			p.tellFreed(f, v)
			p.say(v, 0, "%s returned to %s, in freed memory.", p.who(v), p.x.place(e.B))
			return
		}
	}
	if a := p.x.area(e.B); e.Kind == smpev.Trap && e.A == smpev.VecPF && a != nil {
		if f := p.lastFree(a.span, v); f >= 0 {
			p.tellFreed(f, v)
			p.say(v, 0, "%s went on at %s, in memory that is no longer mapped: page fault.", p.who(v), p.x.place(e.B))
			return
		}
	}
	x := p.last(v, func(o *traces.Event) bool { return o.Kind == smpev.Exec && o.Task == e.Task })
	if x < 0 || e.B-p.ev[x].A > 15 {
		i := p.last(v, func(o *traces.Event) bool { return o.Kind == smpev.Free && e.C-o.A < o.B })
		if i >= 0 && e.Kind == smpev.Oops {
			p.say(i, 0, "%s freed %s at %s.", p.who(i), traces.Counted(p.ev[i].B, "byte"), p.x.place(p.ev[i].A))
		}
		p.tellClients(v)
		p.tellOther(v)
		return
	}
	b := unpack(&p.ev[x])
	ran := span{p.ev[x].A, p.ev[x].A + uint64(len(b))}
	if a := p.x.area(ran.at); a != nil {
		if f := p.lastFree(a.span, x); f >= 0 {
			p.tellFreed(f, x)
		} else {
			p.tellFreedUnder(-1, x)
		}
	}
	src := p.sources(ran, b, x)
	p.tellWrites(src.all(p.past, x), 1)
	p.tellStale(src, x)
	if s, ok := p.x.site(ran.at); ok && !src.stale() {
		p.tellLeft(s, ran.at, x)
		p.tellWrites(p.changes(s, x, v), 1)
	}
	if i := p.last(v, func(o *traces.Event) bool {
		return o.Kind == kpev.ApiReturn && o.A == kpev.Unregister && o.C == 0 && p.probeAt(o.B, v) == ran.at
	}); i >= 0 {
		p.say(i, 0, "unregister(%s) returned on %s: nothing is registered at %s any more.", p.in.probe(p.ev[i].B),
			p.who(i), p.x.place(ran.at))
	}
	if len(b) > 0 && p.in.Arch.BreakLen(arch.Word(b)) == len(b) {
		old := ""
		if src.stale() {
			old = "old "
		}
		p.say(x, 0, "%s ran % x at %s, the %sbreakpoint, and trapped.", p.who(x), b, p.x.place(ran.at), old).also(p,
			src.events()...)
	} else {
		p.say(x, 0, "%s ran % x at %s (%s): %s.", p.who(x), b, p.x.place(ran.at), p.insn(x), src.words(p.past)).also(p,
			src.events()...)
	}
	switch {
	case e.Kind == smpev.Claim && e.C == smpev.OwnerUprobe:
		p.tellUprobe(v)
		p.say(v, 0, "%s: uprobes claimed the %s at %s, in the kernel.", p.who(v), smpev.Vector(e.A), p.x.place(e.B))
		return
	case e.Kind == smpev.Oops && e.A == smpev.VecBP:
		who := "Neither the text-poke handler nor kprobes"
		if p.last(v, func(o *traces.Event) bool { return o.Kind == smpev.Debugger }) >= 0 {
			who = "Neither the text-poke handler, nor kprobes, nor the debugger"
		}
		p.say(v, 0, "%s claimed the #BP on %s: the kernel died.", who, p.who(v))
		return
	case e.Kind == smpev.Oops:
		p.say(v, 0, "No handler took the %s on %s: the kernel died.", smpev.Vector(e.A), p.who(v))
		return
	}
	p.say(v, 0, "%s: %s.", p.who(v), p.t.say(e))
}

// tellHandler explains a handler that should not run, or a count that should not
// change.
func (p *tale) tellHandler(v int) {
	e := &p.ev[v]
	id := e.A
	p.tellHit(e.Task, v)
	enter := p.last(v, func(o *traces.Event) bool {
		return o.Kind == kpev.ApiEnter && o.A == kpev.Unregister && o.B == id
	})
	if enter >= 0 {
		p.say(enter, 1, "%s began unregister(%s).", p.who(enter), p.in.probe(id))
		back := p.next(enter, v, func(o *traces.Event) bool {
			return o.Kind == kpev.ApiReturn && o.A == kpev.Unregister && o.B == id
		})
		if back >= 0 {
			g := p.next(enter, back, func(o *traces.Event) bool {
				return o.Kind == smpev.GPEnd && o.Task == p.ev[enter].Task
			})
			how := "without waiting for a grace period"
			if g >= 0 {
				how = "although it had waited for a grace period"
			}
			p.say(back, 0, "unregister(%s) returned on %s, %s.", p.in.probe(id), p.who(back), how).also(p, enter, g)
		}
	}
	what := p.t.say(e)
	if e.Kind == kpev.Handler {
		what = "ran the " + what
	} else {
		what = "counted: " + what
	}
	if enter >= 0 && p.id() == "L1" {
		what += ", which was no longer registered"
	}
	p.say(v, 0, "%s %s.", p.who(v), what)
}

// tellApi explains a wrong state at the return of an API call.
func (p *tale) tellApi(v int) {
	e := &p.ev[v]
	at := p.probeAt(e.B, v)
	if e.Kind == kpev.Sysctl {
		at = 0
	}
	if s, ok := p.x.site(at); ok {
		p.tellLeft(s, at, v)
	}
	if _, ok := p.value(at, v); ok && p.id() == "L2" {
		p.say(v, 0, "%s(%s) returned on %s, and %s still held %s.", kpev.Verbs.Name(e.A), p.in.probe(e.B), p.who(v),
			p.x.place(at), p.stood(at, v))
		return
	}
	p.say(v, 0, "%s: %s.", p.who(v), p.t.say(e))
}

// tellAllOff explains text that is still patched when a write of kprobes/enabled
// returns.
func (p *tale) tellAllOff(v int) {
	at := p.in.PlaceAt
	i := p.last(v, func(o *traces.Event) bool { return o.Kind == kpev.Enabled && o.B == 0 && o.Task == p.ev[v].Task })
	if i >= 0 {
		p.say(i, 0, "%s began to write %d to kprobes/enabled.", p.who(i), p.ev[i].A)
	}
	if s, ok := p.x.site(at); ok {
		p.tellLeft(s, at, v)
	}
	p.say(v, 0, "That returned on %s, and %s held %s.", p.who(v), p.x.place(at), p.stood(at, v))
}

// tellLeft names the last writer of a site, and the one that should have written last.
func (p *tale) tellLeft(s span, at uint64, v int) {
	list := p.writesTo(s, v)
	if n := len(list); n > 0 {
		p.tellWrites(list[n-1:], 0)
		d := p.last(v, func(o *traces.Event) bool { return o.Kind == kpev.Disarm && o.A == at })
		if d > list[n-1].last {
			p.say(d, 0, "%s disarmed %s, it says, but stored nothing there.", p.who(d), p.x.place(at)).also(p,
				list[n-1].last)
		}
	}
}
