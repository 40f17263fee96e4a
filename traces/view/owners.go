package view

import (
	"fmt"

	"kpsim/smp/smpev"
	"kpsim/traces"
)

// sayOwner is the sentence of an event of the owners of text beside probes: live patches and fprobes.
func (t *teller) sayOwner(e *traces.Event) string {
	in := t.in
	version := func(state uint64) string {
		if state == 0 {
			return "the old functions"
		}
		return "the new functions"
	}
	switch e.Kind {
	case smpev.LivePatch:
		what := map[uint64]string{smpev.LiveBegins: "begins", smpev.LiveReversed: "is turned round", smpev.LiveComplete: "is complete"}[e.B]
		return fmt.Sprintf("the transition of live patch %d to %s %s", e.A, version(e.C), what)
	case smpev.LiveSwitch:
		how := map[uint64]string{smpev.LiveLooked: "it stands in none that goes", smpev.LiveUser: "on its way to user mode", smpev.LiveForced: "wherever it is"}[e.C]
		return fmt.Sprintf("%s goes over to %s, %s", in.task(e.A), version(e.B), how)
	case smpev.LiveCall:
		says := fmt.Sprintf("a call of %s goes on in %s", in.symbol(e.A), in.symbol(e.B))
		if e.A == e.B {
			says = fmt.Sprintf("a call of %s stays in the old function", in.symbol(e.A))
		}
		if e.C != 0 {
			says += fmt.Sprintf(", but returns to %s, of the other version", in.symbol(e.C))
		}
		return says
	}
	at := in.symbol(e.A)
	switch e.B {
	case smpev.FprobeSet:
		return fmt.Sprintf("the fprobe of %s is registered, of %s", at, count(int(e.C), "function", "functions"))
	case smpev.FprobeStop:
		return fmt.Sprintf("the fprobe of %s hooks no call any more, and begins no exit handler", at)
	case smpev.FprobeGone:
		return fmt.Sprintf("the fprobe of %s is unregistered", at)
	case smpev.FprobeEntry:
		return fmt.Sprintf("a call of %s is hooked, and the entry handler %s runs", at, in.symbol(e.C))
	case smpev.FprobeExit:
		return fmt.Sprintf("a call of %s has returned, and the exit handler %s runs", at, in.symbol(e.C))
	}
	return fmt.Sprintf("a call of %s is missed by its fprobe", at)
}

// sayUprobe says what has become of a hit of a uprobe.
func (t *teller) sayUprobe(e *traces.Event) string {
	at, with := t.in.symbol(e.A), t.in.symbol(e.C)
	switch e.B {
	case smpev.UprobeHit:
		return fmt.Sprintf("in user mode it comes to the uprobe at %s", at)
	case smpev.UprobeRuns:
		return fmt.Sprintf("on the way back to user mode the handler of the uprobe at %s runs: %s", at, with)
	case smpev.UprobeSteps:
		return fmt.Sprintf("it is to step the copy at %s of the instruction at %s, in user mode", with, at)
	case smpev.UprobeDone:
		return fmt.Sprintf("behind the uprobe at %s it goes on in user mode, at %s", at, with)
	}
	return fmt.Sprintf("behind the uprobe at %s it goes on in user mode where it shouldn't, at %s", at, with)
}

// tellUprobe tells where a task with uprobes stood in user mode last.
func (p *past) tellUprobe(v int) {
	task := p.ev[v].Task
	if i := p.last(v, func(o *traces.Event) bool { return o.Kind == smpev.Uprobe && o.Task == task }); i >= 0 {
		p.say(i, 0, "%s: %s.", p.who(i), p.t.say(&p.ev[i]))
	}
}

// tellOwners tells what the owners of text beside probes have done with a task's calls between two
// events, and when they came and went meanwhile.
func (p *past) tellOwners(from, v int) {
	task := p.ev[v].Task
	for i := from + 1; i < v; i++ {
		o := &p.ev[i]
		own := o.Task == task
		switch {
		case o.Kind == smpev.LiveCall && own,
			o.Kind == smpev.LiveSwitch && o.A == uint64(task),
			o.Kind == smpev.Uprobe && own,
			o.Kind == smpev.Fprobe && (own || o.B != smpev.FprobeEntry && o.B != smpev.FprobeExit && o.B != smpev.FprobeMiss):
			p.say(i, 1, "%s: %s.", p.who(i), p.t.say(o))
		case o.Kind == smpev.LivePatch, o.Kind == smpev.Debugger, o.Kind == smpev.Fprobe && o.B == smpev.FprobeExit:
			p.say(i, 2, "%s: %s.", p.who(i), p.t.say(o))
		}
	}
}

// tellLive explains a call that goes on in another version than the one that it will return into.
func (p *past) tellLive(v int) {
	e := &p.ev[v]
	if i := p.last(v, func(o *traces.Event) bool { return o.Kind == smpev.LivePatch && o.B != smpev.LiveComplete }); i >= 0 {
		p.say(i, 1, "%s: %s.", p.who(i), p.t.say(&p.ev[i]))
	}
	if i := p.last(v, func(o *traces.Event) bool {
		return o.Kind == smpev.Exec && o.Task == e.Task && o.A < e.C && e.C-o.A < 64
	}); i >= 0 {
		p.say(i, 1, "%s was in the version that it will return into: it ran %s.", p.in.task(uint64(e.Task)), p.insn(i))
	}
	if i := p.last(v, func(o *traces.Event) bool { return o.Kind == smpev.LiveSwitch && o.A == uint64(e.Task) }); i >= 0 {
		p.say(i, 0, "%s: %s.", p.who(i), p.t.say(&p.ev[i]))
	}
	p.say(v, 0, "%s: %s.", p.who(v), p.t.say(e))
}
