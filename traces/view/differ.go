package view

import (
	"fmt"

	"kpsim/traces"
)

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
func (p *tale) citeDifference() bool {
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
	if d.At != 0 {
		p.citeWriter(d)
	}
	return true
}

// citeWriter cites what wrote a difference last, at the last event of the task before that.
func (p *tale) citeWriter(d *Difference) {
	i := p.last(p.at, func(e *traces.Event) bool { return e.Seq <= d.Seq })
	if i < 0 {
		i = 0
	}
	by := fmt.Sprintf("%s at %s", d.Insn, p.x.place(d.At))
	if d.Insn == "" {
		by = fmt.Sprintf("a handler or the kernel, after the instruction at %s", p.x.place(d.At))
	}
	p.say(i, 0, "%s: %s was written last by %s, after this event: %s.", p.who(i), d.What, by, p.t.say(&p.ev[i]))
}
