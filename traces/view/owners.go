package view

import (
	"kpsim/smp/smpev"
	"kpsim/traces"
)

// tellUprobe says where a task with uprobes last stood in user mode.
func (p *tale) tellUprobe(v int) {
	task := p.ev[v].Task
	if i := p.last(v, func(o *traces.Event) bool { return o.Kind == smpev.Uprobe && o.Task == task }); i >= 0 {
		p.say(i, 0, "%s: %s.", p.who(i), p.t.say(&p.ev[i]))
	}
}

// tellUsers explains what a task or a user of a uprobe came to: where the task stood, and what another one did last.
func (p *tale) tellUsers(v int) {
	task := p.ev[v].Task
	p.tellUprobe(v)
	if i := p.last(v, func(o *traces.Event) bool { return o.Kind == smpev.Uprobe && o.Task != task }); i >= 0 {
		p.say(i, 0, "%s: %s.", p.who(i), p.t.say(&p.ev[i]))
	}
	p.say(v, 0, "%s: %s.", p.who(v), p.t.say(&p.ev[v]))
}

// tellClients says where a task with uprobes last stood in user mode, which BPF program was last attached or detached,
// and what tellPassed does.
func (p *tale) tellClients(v int) {
	p.tellUprobe(v)
	if i := p.last(v, func(o *traces.Event) bool { return o.Kind == smpev.Bpf && o.B >= smpev.BpfAttaches }); i >= 0 {
		p.say(i, 0, "%s: %s.", p.who(i), p.t.say(&p.ev[i]))
	}
	p.tellPassed(v)
}

// tellPassed lists the last instructions at patched sites, but for breakpoints, that a task ran in a call that ends in
// an oops elsewhere.
func (p *tale) tellPassed(v int) {
	e := &p.ev[v]
	if e.Kind != smpev.Oops {
		return
	}
	for i, n := v-1, 0; i >= 0 && n < hitsTold; i-- {
		o := &p.ev[i]
		if o.Kind == smpev.CallEnd && o.Task == e.Task {
			return
		}
		if _, ok := p.x.site(o.A); ok && o.Kind == smpev.Exec && o.Task == e.Task &&
			!p.in.Arch.IsBreakpoint(o.B) {
			p.say(i, 1, "%s ran %s at %s.", p.who(i), p.insn(i), p.x.place(o.A))
			n++
		}
	}
}

// tellProgram explains that a BPF program runs, or is left out: when it was last attached or detached, and whether the
// function has returned.
func (p *tale) tellProgram(v int) {
	e := &p.ev[v]
	changed := p.last(v, func(o *traces.Event) bool {
		return o.Kind == smpev.Bpf && o.A == e.A && o.C == e.C && o.B >= smpev.BpfAttaches
	})
	returned := p.last(v, func(o *traces.Event) bool {
		return o.Kind == smpev.Bpf && o.A == e.A && o.B == smpev.BpfReturns && o.Task == e.Task
	})
	for _, i := range [...]int{min(changed, returned), max(changed, returned), v} {
		if i >= 0 {
			p.say(i, 0, "%s: %s.", p.who(i), p.t.say(&p.ev[i]))
		}
	}
}

// tellOwners lists what the other owners of text than probes did with a task's calls between
// two events, and when they came and went meanwhile.
func (p *tale) tellOwners(from, v int) {
	task := p.ev[v].Task
	for i := from + 1; i < v; i++ {
		o := &p.ev[i]
		own := o.Task == task
		switch {
		case o.Kind == smpev.LiveCall && own,
			o.Kind == smpev.LiveSwitch && o.A == uint64(task),
			o.Kind == smpev.Uprobe && own,
			o.Kind == smpev.Bpf && (own || o.B >= smpev.BpfAttaches),
			o.Kind == smpev.Fprobe && (own || o.B != smpev.FprobeEntry && o.B != smpev.FprobeExit &&
				o.B != smpev.FprobeMiss):
			p.say(i, 1, "%s: %s.", p.who(i), p.t.say(o))
		case o.Kind == smpev.LivePatch, o.Kind == smpev.Debugger, o.Kind == smpev.Fprobe && o.B == smpev.FprobeExit:
			p.say(i, 2, "%s: %s.", p.who(i), p.t.say(o))
		}
	}
}

// tellLive explains a call that continues in another version than the one that it will return
// into.
func (p *tale) tellLive(v int) {
	e := &p.ev[v]
	if i := p.last(v, func(o *traces.Event) bool {
		return o.Kind == smpev.LivePatch &&
			o.B != smpev.LiveComplete
	}); i >= 0 {
		p.say(i, 1, "%s: %s.", p.who(i), p.t.say(&p.ev[i]))
	}
	if i := p.last(v, func(o *traces.Event) bool {
		return o.Kind == smpev.Exec && o.Task == e.Task && o.A < e.C && e.C-o.A < 64
	}); i >= 0 {
		p.say(i, 1, "%s was in the version that it will return into: it ran %s.", p.in.task(uint64(e.Task)), p.insn(i))
	}
	if i := p.last(v, func(o *traces.Event) bool {
		return o.Kind == smpev.LiveSwitch &&
			o.A == uint64(e.Task)
	}); i >= 0 {
		p.say(i, 0, "%s: %s.", p.who(i), p.t.say(&p.ev[i]))
	}
	p.say(v, 0, "%s: %s.", p.who(v), p.t.say(e))
}
