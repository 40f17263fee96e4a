package view

import (
	"fmt"
	"strings"

	"kpsim/smp/smpev"
	"kpsim/traces"
)

// A Wait is what a task waits for where a run ends, as the kernel knows it.
type Wait struct {
	Task  uint8
	For   string  // kprobe_mutex, an RCU grace period
	Whose string  // how the tasks of On are related to it: "held by"; "" if On is empty
	On    []uint8 // the tasks that would have to act first
}

// citeWaits cites what waits for what, since when, and since when it is held. A run that goes on for ever has no
// waits, or none that explain it: then what goes round is cited.
func (p *tale) citeWaits() bool {
	for i := range p.in.Waits {
		w := &p.in.Waits[i]
		since := p.last(p.end(), func(e *traces.Event) bool {
			return e.Task == w.Task && e.Kind != smpev.Wake && e.Kind != smpev.Fire && e.Kind != smpev.Switch
		})
		from := ", from here on"
		if since < 0 {
			since, from = len(p.ev)-1, ""
		}
		text := fmt.Sprintf("%s waits for %s", p.named(w.Task), w.For)
		held := -1
		var names []string
		for _, t := range w.On {
			names = append(names, p.named(t))
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

// named names a task with its CPU's number, if it is one of several.
func (p *past) named(task uint8) string {
	if p.in.Task == nil {
		return p.in.task(uint64(task))
	}
	return p.in.Task(uint64(task))
}

// round is how many of a task's last events show what it repeats.
const round = 64

// citeCircle cites what a run without an end repeats: the last task's event, since when, and how often; and what was
// queued and is never done.
func (p *tale) citeCircle() {
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
	p.say(first, 0, "%s: %s goes round from here on: %s, %s, the last at event %d%s.", p.who(first), p.named(task),
		p.t.say(&p.ev[i]), traces.Counted(times, "time"), p.ev[i].Seq, p.behalf(i)).also(p, i)
	p.tellQueued()
}

// citeGrace cites the grace period that doesn't end: its beginning, and the report.
func (p *tale) citeGrace() bool {
	if p.at == len(p.ev) {
		return false
	}
	e := &p.ev[p.at]
	if i := p.last(p.at, func(o *traces.Event) bool { return o.Kind == smpev.GPStart && o.A == e.A }); i >= 0 {
		p.say(i, 0, "%s: %s%s.", p.who(i), p.t.say(&p.ev[i]), p.behalf(i))
	}
	for _, l := range p.in.Waits {
		if i := p.last(p.at, func(o *traces.Event) bool { return o.Task == l.Task }); i >= 0 {
			p.say(i, 1, "%s waits for %s from here on.", p.named(l.Task), l.For)
		}
	}
	return true
}
