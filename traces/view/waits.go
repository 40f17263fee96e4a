package view

import (
	"fmt"
	"strings"

	"kpsim/kprobes/kpev"
	"kpsim/smp/smpev"
	"kpsim/traces"
)

// A wait is a grace period, or a stop of the machine.
type wait struct {
	from, to int
	flavour  uint64 // 0: stop_machine
}

func (w *wait) name() string {
	if w.flavour == 0 {
		return "stop_machine"
	}
	return "the " + smpev.Flavours.Name(w.flavour) + " grace period"
}

// waiter returns the task on whose behalf event i was made: a stopper works for the task that
// announced the image.
func (p *past) waiter(i int) uint8 {
	start := p.last(i, func(e *traces.Event) bool { return e.Kind == smpev.StopStart || e.Kind == smpev.StopEnd })
	if start >= 0 && p.ev[start].Kind == smpev.StopStart && p.ev[i].Kind == smpev.TextStore {
		if img := p.imageOver(p.ev[i].A, i); img >= 0 {
			return p.ev[img].Task
		}
	}
	return p.ev[i].Task
}

// lastWait returns the last wait of a task that ended before event i and after the
// task's last other action on the site. ok is false if there is none.
func (p *past) lastWait(task uint8, site uint64, i int) (w wait, ok bool) {
	since := p.last(i, func(e *traces.Event) bool {
		switch e.Kind {
		case kpev.Optimized, kpev.Unoptimized, kpev.Arm, kpev.Disarm:
			return e.A == site && e.Task == task
		}
		return false
	})
	to := p.last(i, func(e *traces.Event) bool {
		return e.Kind == smpev.GPEnd && e.Task == task
	})
	if to > since {
		from := p.last(to, func(e *traces.Event) bool {
			return e.Kind == smpev.GPStart && e.B == p.ev[to].B
		})
		if from >= 0 {
			return wait{from, to, p.ev[to].A}, true
		}
	}
	return wait{}, false
}

// tellWaits says what the writer waited for before it wrote, and why that wait didn't cover
// the task.
func (p *tale) tellWaits(s *stay, v int, list []write) {
	if len(list) == 0 {
		return
	}
	// The wait protects the text under the CPU. It belongs to the first write since the CPU's
	// arrival that takes something away, or else to the first write.
	w := list[0]
	for _, o := range list {
		if o.first > s.arrive && o.end > s.ip && o.at <= s.ip {
			w = o
			break
		}
	}
	site := w.at
	if p.ev[w.first].Kind == smpev.TextStore {
		site = p.siteAt(w.at)
	} else if u, ok := p.user(span{w.at, w.end}, w.first); ok {
		site = u
	}
	by := p.waiter(w.first)
	g, ok := p.lastWait(by, site, w.first)
	who := p.in.task(uint64(by))
	task := p.in.task(uint64(s.task))
	if !ok {
		p.tellNoWait(s, w, who)
		return
	}
	switch {
	case s.arrive > g.to:
		p.say(g.to, 1, "%s's %s ended before %s came to %s.", who, smpev.Flavours.Name(g.flavour)+" grace period",
			p.cpu(s), p.x.place(s.ip)).also(p, g.from, s.arrive)
	default:
		why, rests := p.quiet(s, g)
		p.say(g.to, 0, "%s ended although %s stood at %s: %s.", capital(g.name()), task, p.x.place(s.ip), why).also(p,
			append(rests, g.from, s.arrive)...)
	}
}

// tellNoWait says that nothing was waited for, or nothing since the task came.
func (p *tale) tellNoWait(s *stay, w write, who string) {
	what := "writing"
	if p.ev[w.first].Kind == smpev.Free {
		what = "freeing"
	}
	stop := p.last(w.first, func(e *traces.Event) bool { return e.Kind == smpev.StopEnd || e.Kind == smpev.StopStart })
	switch {
	case stop >= 0 && p.ev[stop].Kind == smpev.StopStart && s.arrive > stop:
		p.say(stop, 1, "stop_machine stops each CPU where it stands; %s came to %s afterwards.", p.cpu(s),
			p.x.place(s.ip)).also(p, w.first, s.arrive)
	case stop >= 0 && p.ev[stop].Kind == smpev.StopStart:
		p.say(stop, 1, "stop_machine stops each CPU where it stands; it makes nobody leave %s.",
			p.x.place(s.ip)).also(p, w.first)
	case stop >= 0 && what == "freeing":
		if stop < s.arrive {
			p.say(stop, 1, "stop_machine was over before %s came; %s waited for nothing else before freeing.", p.cpu(s),
				who).also(p, w.first, s.arrive)
			return
		}
		p.say(stop, 1, "%s waited for nothing but stop_machine before freeing.", who).also(p, w.first)
	default:
		if what == "writing" &&
			p.next(w.first, p.at, func(e *traces.Event) bool {
				return e.Kind == smpev.SendIPI && e.A>>s.cpu&1 != 0
			}) >= 0 {
			p.say(w.first, 0, "%s didn't wait for %s to leave; its call IPIs only make it serialise.", who, p.cpu(s))
			return
		}
		p.say(w.first, 0, "%s didn't wait for a grace period or for stop_machine before %s.", who, what)
	}
}

// quiet returns why a CPU, or its task, did not hold up a grace period: its quiescent state.
func (p *past) quiet(s *stay, g wait) (why string, rests []int) {
	cpu := p.cpu(s)
	if now, ok := p.running(s.cpu, g.from); ok && now != uint64(s.task) {
		out := p.last(g.from, func(e *traces.Event) bool { return e.Kind == smpev.Switch && e.Task == s.task })
		if g.flavour != smpev.GPTasks {
			if out >= 0 && p.ev[out].C == 0 {
				if g.flavour == smpev.GPRcu {
					return "it waits for readers, and that task, preempted, was none", []int{out}
				}
				return "it waits for CPUs, and that task, preempted, was on none", []int{out}
			}
			return "that task was on no CPU", []int{out}
		}
	}
	if i := p.next(g.from, g.to, func(e *traces.Event) bool {
		return e.Kind == smpev.Switch &&
			e.CPU == s.cpu
	}); i >= 0 {
		return fmt.Sprintf("%s's switch at event %d was its quiescent state", cpu, p.ev[i].Seq), []int{i}
	}
	if i := p.next(g.from, g.to, func(e *traces.Event) bool {
		return e.Kind == smpev.Trap && e.A == smpev.VecTimer && e.CPU == s.cpu
	}); i >= 0 {
		return fmt.Sprintf("%s's tick at event %d was its quiescent state", cpu, p.ev[i].Seq), []int{i}
	}
	return cpu + " shows no quiescent state", nil
}

// cpu names the CPU of a stay.
func (p *past) cpu(s *stay) string { return cpuSet(1 << (s.cpu & 63)) }

func capital(s string) string {
	if s == "" || s[0] < 'a' || s[0] > 'z' || s == "stop_machine" {
		return s
	}
	return string(s[0]-'a'+'A') + s[1:]
}

// stallsTold is how many CPUs, and how many tasks, a story names that a stalled grace period
// waits for.
const stallsTold = 2

// tellStall explains the report of a grace period that doesn't end: when it began, and the
// last actions of what it waits for.
func (p *tale) tellStall(v int) {
	e := &p.ev[v]
	begun := p.last(v, func(o *traces.Event) bool { return o.Kind == smpev.GPStart && p.lasts(o, v, e.A) })
	if begun >= 0 {
		p.say(begun, 0, "%s on %s began to wait for the %s grace period %d.", p.in.task(uint64(p.ev[begun].Task)),
			p.who(begun), smpev.Flavours.Name(p.ev[begun].A), p.ev[begun].B)
	}
	told := 0
	for c := range uint8(64) {
		if e.B>>c&1 == 0 || told == stallsTold {
			continue
		}
		told++
		i := p.last(v, func(o *traces.Event) bool { return o.Kind == smpev.Switch && o.CPU == c })
		switch {
		case i < 0 && begun >= 0:
			p.say(begun, 1, "%s hasn't run anything yet, and the grace period waits for it.", cpuSet(1<<c)).also(p, v)
		case i < 0:
		case p.in.task(p.ev[i].B) == "idle":
			p.say(i, 1, "%s idles from here on: %s has given it up, and the grace period waits for it.", p.who(i),
				p.in.task(p.ev[i].A)).also(p, begun, v)
		default:
			p.say(i, 1, "%s runs %s from here on, which doesn't give it up.", p.who(i), p.in.task(p.ev[i].B)).also(p,
				begun, v)
		}
	}
	told = 0
	for set := e.C; set != 0 && told < stallsTold; set >>= 8 {
		task := set&0xff - 1
		told++
		if i := p.last(v, func(o *traces.Event) bool { return o.Kind == smpev.Switch && o.B == task }); i >= 0 {
			p.say(i, 1, "%s runs from here on, and doesn't give its CPU up by itself.", p.in.task(task)).also(p, begun,
				v)
		}
	}
	p.tellOther(v)
}

// lasts reports whether a grace period that begins with event o hasn't ended at event v and is
// reported as of a flavour. Without preemption all RCU is that of the scheduler.
func (p *past) lasts(o *traces.Event, v int, as uint64) bool {
	if o.A != as && !(as == smpev.GPSched && o.A == smpev.GPRcu) {
		return false
	}
	return p.last(v, func(e *traces.Event) bool { return e.Kind == smpev.GPEnd && e.B == o.B }) < 0
}

// A Wait is what a task waits for where a run ends, as the kernel knows it.
type Wait struct {
	Task  uint8
	For   string  // kprobe_mutex, an RCU grace period
	Whose string  // how the tasks of On are related to it: "held by"; "" if On is empty
	On    []uint8 // the tasks that would have to act first
}

// citeWaits cites what waits for what, since when, and since when it is held. A run that goes on for ever has no
// waits, or none that explain it: then what is repeated is cited.
func citeWaits(p *tale) bool {
	for i := range p.in.Waits {
		w := &p.in.Waits[i]
		since := p.last(p.end(), func(e *traces.Event) bool {
			return e.Task == w.Task && e.Kind != smpev.Wake && e.Kind != smpev.Fire && e.Kind != smpev.Switch
		})
		from := ", from here on"
		if since < 0 {
			since, from = len(p.ev)-1, ""
		}
		text := fmt.Sprintf("%s waits for %s", taskNamed(p.past, w.Task), w.For)
		held := -1
		var names []string
		for _, t := range w.On {
			names = append(names, taskNamed(p.past, t))
			if k := p.last(len(p.ev), func(e *traces.Event) bool {
				return e.Kind == smpev.Lock && e.Task == t && p.in.lock(e.A) == w.For
			}); k >= 0 {
				held = k
			}
		}
		if len(names) > 0 {
			text += fmt.Sprintf(", %s %s", w.Whose, strings.Join(names, " and "))
		}
		if held >= 0 {
			text += fmt.Sprintf(" since event %d", p.ev[held].Seq)
		}
		p.say(since, 0, "%s%s.", text, from).also(p, held)
	}
	if p.in.Circles {
		p.citeCircle()
	}
	p.said = p.at == len(p.ev) && len(p.lines) > 0 // the message says so, and counts boundaries
	return len(p.lines) > 0
}

// taskNamed names a task with its CPU's number, if it is one of several.
func taskNamed(p *past, task uint8) string {
	if p.in.Task == nil {
		return p.in.task(uint64(task))
	}
	return p.in.Task(uint64(task))
}

// round is how many of a task's last events show what it repeats.
const round = 64

// citeCircle cites what a run without an end repeats: the instructions, or the last task's event, since when, and how
// often; and what was queued and is never done.
func (p *tale) citeCircle() {
	if len(p.in.Loops) > 0 {
		for k := range p.in.Loops {
			p.in.Loops[k].tell(p)
		}
		p.tellQueued()
		return
	}
	i := p.last(len(p.ev), func(e *traces.Event) bool {
		return e.Task != traces.NoTask && e.Kind != smpev.Switch && e.Kind != smpev.Wake && e.Kind != smpev.Fire
	})
	if i < 0 {
		return
	}
	type what struct {
		kind traces.Kind
		a, b uint64
	}
	task, seen, n := p.ev[i].Task, make(map[what]bool), 0
	of := func(e *traces.Event) what { return what{e.Kind, e.A, e.B} }
	for k := i; k >= 0 && n < round; k-- {
		if p.ev[k].Task == task {
			seen[of(&p.ev[k])] = true
			n++
		}
	}
	first, times := i, uint64(0)
	for k := i; k >= 0; k-- {
		e := &p.ev[k]
		if e.Task == task && !seen[of(e)] {
			break
		}
		if e.Task == task && of(e) == of(&p.ev[i]) {
			first, times = k, times+1
		}
	}
	p.say(first, 0, "%s: %s repeats from here on: %s, %s, the last at event %d%s.", p.who(first),
		taskNamed(p.past, task), p.t.say(&p.ev[i]), traces.Counted(times, "time"), p.ev[i].Seq,
		behalf(p.past, i)).also(p, i)
	p.tellQueued()
}

// A Loop is the instructions that a task repeats where a run without an end was stopped.
type Loop struct {
	Task  uint8
	At    uint64 // of the first of them that was run
	Insn  []byte // its bytes
	Len   int    // how many there are
	Times uint64 // how often the first was run
	Seq   uint32 // the task's last event before, but for instructions: at the latest where it got the CPU
}

// tell says which instructions a task repeats.
func (l *Loop) tell(p *tale) {
	i := max(0, p.last(len(p.ev), func(e *traces.Event) bool { return e.Seq <= l.Seq }))
	what := "one instruction from here on"
	if l.Len > 1 {
		what = fmt.Sprintf("%d instructions from here on, the first", l.Len)
	}
	p.say(i, 0, "%s: %s repeats %s: %s at %s, %s.", p.who(i), taskNamed(p.past, l.Task), what,
		p.x.disassemble(l.Insn, l.At), p.x.place(l.At), traces.Counted(l.Times, "time"))
}

// citeGrace cites the grace period that doesn't end: its beginning, and the report.
func citeGrace(p *tale) bool {
	if p.at == len(p.ev) {
		return false
	}
	e := &p.ev[p.at]
	if i := p.last(p.at, func(o *traces.Event) bool { return o.Kind == smpev.GPStart && o.A == e.A }); i >= 0 {
		p.say(i, 0, "%s: %s%s.", p.who(i), p.t.say(&p.ev[i]), behalf(p.past, i))
	}
	for _, l := range p.in.Waits {
		if i := p.last(p.at, func(o *traces.Event) bool { return o.Task == l.Task }); i >= 0 {
			p.say(i, 1, "%s waits for %s from here on.", taskNamed(p.past, l.Task), l.For)
		}
	}
	return true
}
