package smp

import (
	"errors"
	"fmt"

	"kpsim/smp/arch"
	"kpsim/smp/smpev"
)

// An ending is how a run ended, and why.
type ending struct {
	m       *Machine
	over    bool // the run is over: no turn asks a question any more
	outcome Outcome
	refusal error  // after Refused
	died    string // the subject of the Hooks.Blames call by which the kernel died
}

// with ends the run with the outcome o, and returns false.
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
	e.garbled(c, in.Addr, in.Inst.Bytes(), fmt.Sprintf("% x: %s: %s", in.Inst.Bytes(), in.Inst, what))
}

// undecodable ends the run: bytes that are no instruction, and no monitor
// took them for a finding.
func (e *ending) undecodable(c *CPU, ip arch.Addr, b []byte) {
	e.garbled(c, ip, b, fmt.Sprintf("% x: no instruction", b))
}

// garbled ends the run at bytes that can't be executed. The run is refused if the input is
// to blame; otherwise the kernel dies.
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

func (e *ending) refuseIn(c *CPU, place, what string) { e.refuseFor(c, place, errors.New(what)) }

func (e *ending) refuseFor(c *CPU, place string, what error) {
	if e.m.log.Found != nil {
		return // the cause is a finding already
	}
	e.refusal = fmt.Errorf("cpu%d %s: %s: %w", c.id, c.task.Name, place, what)
	e.with(Refused)
}

// Refusal says what the machine wouldn't execute, after Refused.
func (m *Machine) Refusal() error { return m.ending.refusal }

// Died says in words why the kernel died; "": it didn't, or the finding says why.
func (m *Machine) Died() string { return m.ending.died }

// Why sets the description of the run's next finding (Died), also after its last step.
func (m *Machine) Why(why string) {
	if m.log.Found == nil {
		m.ending.died = why
	}
}
