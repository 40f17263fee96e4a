package view

import (
	"fmt"

	"kpsim/kprobes/kpev"
	"kpsim/linux/linuxev"
	"kpsim/smp/smpev"
	"kpsim/traces"
)

// sayLinux is say for the events of a kernel's own engine.
func (t *teller) sayLinux(e *traces.Event) string {
	switch e.Kind {
	case linuxev.Warn:
		s := "the kernel warns at " + t.where(e.A)
		if e.B != 0 {
			s += fmt.Sprintf(": the check in line %d of its source fails", e.B)
		}
		return s
	case linuxev.Heap:
		return t.sayHeap(e)
	}
	return uneven(e)
}

// sayHeap says which memory is misused, and how.
func (t *teller) sayHeap(e *traces.Event) string {
	at := t.in.symbol(e.B)
	of := ""
	if e.C != 0 {
		of = ", allocated with " + count(int(e.C), "byte", "bytes")
	}
	memory := "memory at " + at
	if of != "" {
		memory += of + ","
	}
	switch e.A {
	case linuxev.UseAfterFree:
		return "access to freed memory at " + at + of
	case linuxev.OutOfBounds:
		return "access past the end of memory at " + at + of
	case linuxev.DoubleFree:
		return memory + " is freed a second time"
	case linuxev.BadFree:
		return memory + " is freed, and isn't the beginning of an allocation"
	case linuxev.User:
		return "access to user space at " + at + " by the kernel's code"
	}
	return "misuse of memory at " + at + of
}

// uneven says what a function has left otherwise than it was.
func uneven(e *traces.Event) string {
	switch e.A {
	case linuxev.Preemption:
		return fmt.Sprintf("a function returns with preempt_count %#x, which was %#x", e.C, e.B)
	case linuxev.Interrupts:
		if e.C != 0 {
			return "a function returns with interrupts on, which were off"
		}
		return "a function returns with interrupts off, which were on"
	case linuxev.Sections:
		return fmt.Sprintf("a function returns in %s, and began in %d", count(int(e.C), "RCU section", "RCU sections"), e.B)
	}
	return fmt.Sprintf("a function returns with current_kprobe %#x, which was %#x", e.C, e.B)
}

// tellWarn explains what a kernel's own engine reports: the call of the API and the traps that
// the task is in.
func (p *past) tellWarn(v int) {
	e := &p.ev[v]
	i := p.last(v, func(o *traces.Event) bool {
		return o.Task == e.Task && (o.Kind == kpev.ApiEnter || o.Kind == kpev.ApiReturn)
	})
	if i >= 0 && p.ev[i].Kind == kpev.ApiEnter {
		p.say(i, 1, "%s began %s(%s), at %s.", p.who(i), api(p.ev[i].A), p.in.probe(p.ev[i].B), p.x.place(p.ev[i].C))
	}
	for _, k := range p.open(e.Task, v) {
		p.say(k, 1, "%s took the %s at %s.", p.who(k), smpev.Vector(p.ev[k].A), p.x.place(p.ev[k].B))
	}
	p.tellOther(v)
}
