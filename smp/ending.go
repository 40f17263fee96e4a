package smp

import (
	"fmt"
	"kpsim/smp/arch"
	"kpsim/smp/smpev"
)

// An ending is how a run ended, and why.
type ending struct {
	m       *Machine
	over    bool // no turn asks anything any more
	outcome Outcome
	refusal error  // after Refused
	died    string // what Hooks.Blames was asked about, if the kernel has died of it
}

// with makes this the end of the run.
func (e *ending) with(o Outcome) bool {
	e.over, e.outcome = true, o
	e.m.turns.again()
	return false
}

// refuse ends the run: text holds what the simulator doesn't execute.
func (e *ending) refuse(c *CPU, in *inst, out arch.Outcome) {
	what := "is not executed by this simulator"
	if out == arch.Halt {
		what = "hlt in text that a task runs: only the idle task halts"
	}
	e.garbled(c, in.Addr, in.Bytes(), fmt.Sprintf("% x: %s: %s", in.Bytes(), in.String(), what))
}

// undecodable ends the run: bytes that are no instruction, and no monitor
// took them for a finding.
func (e *ending) undecodable(c *CPU, ip arch.Addr, b []byte) {
	e.garbled(c, ip, b, fmt.Sprintf("% x: no instruction", b))
}

// garbled ends the run at what can't be executed: the kernel dies of it, or, if the
// input is to blame, the run is refused.
func (e *ending) garbled(c *CPU, ip arch.Addr, code []byte, what string) {
	m := e.m
	if m.log.Found == nil && m.hooks.Blames != nil && m.hooks.Blames(ip, code) {
		e.died = what
		if m.emit(c, smpev.Oops, smpev.VecGarbage, uint64(ip), 0); m.log.Found != nil {
			e.with(Violated)
		}
	}
	e.refuseAt(c, ip, what)
}

func (e *ending) refuseAt(c *CPU, ip arch.Addr, what string) {
	e.refuseIn(c, e.m.names.Symbol(ip), what)
}

func (e *ending) refuseIn(c *CPU, place, what string) {
	if e.m.log.Found != nil {
		return // what led here is a finding already
	}
	e.refusal = fmt.Errorf("cpu%d %s: %s: %s", c.id, c.task.Name, place, what)
	e.with(Refused)
}

// Refusal says what the machine wouldn't execute, after Refused.
func (m *Machine) Refusal() error { return m.ending.refusal }

// Died says what the kernel has died of, in words; "": nothing, or the finding says it.
func (m *Machine) Died() string { return m.ending.died }

// Why is Ctx.Why, also after the last step of a run.
func (m *Machine) Why(why string) {
	if m.log.Found == nil {
		m.ending.died = why
	}
}
