package properties

import (
	"slices"

	"kpsim/smp/smpev"
	"kpsim/traces"
)

// LastSetting is property J1: the contract of the patchers beside kprobes and ftrace, as an instruction at one of
// their sites sees it. What was set last is in effect for what begins after the setter has returned, in text that has
// been loaded again, too; what was refused changes nothing.
//
// Lock prefixes and alternatives are written for the CPU that writes them: only it is judged (text_poke_early).
//
// Based on: Sets, what callers set and when, against Exec, what a CPU executes at a site; Trap and Return, where the
// patcher's breakpoint leads.
var LastSetting = Property{
	ID:   "J1",
	Name: "last-setting",
	Says: "A CPU that begins the instruction of a jump label, a static call, a lock prefix, an alternative or under " +
		"a debugger's breakpoint finds what was set last, by a call that has returned, or what is being set; the " +
		"patcher's breakpoint leads where one of the site's instructions does, and a debugger's calls answer " +
		"accordingly.",
	Kinds: append([]traces.Kind{smpev.Exec, smpev.Trap, smpev.Claim, smpev.Return}, settingKinds...),
	Reads: append([]traces.Kind{smpev.Trap, smpev.Claim}, settingReads...),
	Needs: smpev.Setting,
	New:   func(s *Scene) Monitor { return &lastSetting{settings{scene: s}} },

	Touches: settingTouches,
}

type lastSetting struct{ settings }

func (m *lastSetting) Event(e *traces.Event) *traces.Finding {
	switch e.Kind {
	case smpev.Exec:
		if p := m.siteAt(e.A); p != nil {
			return m.begins(e, p)
		}
		return nil
	case smpev.Return:
		return m.emulated(e)
	case smpev.Sets:
		if e.C&smpev.SetsEnds != 0 {
			if f := m.answered(e); f != nil {
				return f
			}
		}
	}
	if m.follow(e) {
		m.rest(e.A)
	}
	return nil
}

func (m *lastSetting) End(bool) *traces.Finding { return nil }

// begins judges what a CPU is about to execute at a site.
func (m *lastSetting) begins(e *traces.Event, p *place) *traces.Finding {
	busy, known := m.busy(p.key), false
	if busy && m.scene.proc.isBreakpoint(e.B, e.C>>56) {
		return nil // a breakpoint while it is written
	}
	for i := range m.forms {
		f := &m.forms[i]
		if f.addr != e.A || !f.begun(e.B, e.C) {
			continue
		}
		if known = true; m.may(p.key, f.value) {
			return nil
		}
	}
	if !known || !m.judged(p) || !m.synced(p, e.CPU) {
		return nil // whole-instructions says whether it is one
	}
	by := "after what was set last"
	if busy {
		by = "which is neither what was set last nor what is being set"
	}
	return found(e, e.A, "executes %s at %s of %#x, %s", hex(e.B, e.C), p, e.A, by)
}

// begun reports whether an instruction that is executed begins with the form.
func (f *form) begun(lo, hi uint64) bool {
	x := insn{f.addr, lo, hi}
	return x.len() >= f.len() && x.begins(f.lo, f.hi)
}

// synced reports whether a setter has made a CPU see what it wrote: each CPU has, or only the one that it ran on.
func (m *lastSetting) synced(p *place, cpu uint8) bool {
	return !local(p.sort) || !slices.ContainsFunc(m.last, func(c setter) bool { return c.key == p.key && c.cpu != cpu })
}

// emulated judges where a CPU continues that has taken the patcher's breakpoint at a site.
func (m *lastSetting) emulated(e *traces.Event) *traces.Finding {
	f := m.scene.popped
	if f == nil || f.vector != smpev.VecBP || f.claims != 1 || f.owner != smpev.OwnerPoke {
		return nil
	}
	at := m.scene.proc.brokeAt(f.ip)
	if e.B == at || m.siteAt(at) == nil {
		return nil
	}
	for i := range m.forms {
		if x := &m.forms[i]; x.addr == at {
			if to, ok := m.scene.proc.leads(&x.insn); !ok || to == e.B {
				return nil
			}
		}
	}
	return found(e, at, "takes the patcher's breakpoint at %#x, and continues at %#x, where no instruction of that "+
		"site leads", at, e.B)
}

// leads returns where an instruction leads: a branch that a patcher writes, or the nop in its place. ok false: it isn't
// one of these.
func (p *processor) leads(i *insn) (to uint64, ok bool) {
	switch {
	case i.len() != p.jumpLen():
		return 0, false
	case i.lo == p.nop:
		return i.addr + i.len(), true
	}
	return p.target(i.addr, i.lo)
}

// The answers of a debugger's calls.
const (
	debuggerENOENT = 2
	debuggerEEXIST = 17
)

// answered judges the answer of a debugger's call: whether the breakpoint may have been there, or not there, at some
// moment of it.
func (m *lastSetting) answered(e *traces.Event) *traces.Finding {
	i := slices.IndexFunc(m.flights, func(f setter) bool { return f.key == e.A && f.task == e.Task })
	k := slices.IndexFunc(m.sites, func(p place) bool { return p.key == e.A && p.sort == smpev.SettingBreakpoint })
	if i < 0 || k < 0 {
		return nil
	}
	f, at := &m.flights[i], m.sites[k].addr
	switch errno := e.C >> smpev.SetsErrno; {
	case errno == debuggerEEXIST && !f.could[1], errno == 0 && f.value == 0 && !f.could[1]:
		return found(e, at, "is answered that a breakpoint of the debugger is at %#x: none is set", at)
	case errno == debuggerENOENT && !f.could[0], errno == 0 && f.value == 1 && !f.could[0]:
		return found(e, at, "is answered that no breakpoint of the debugger is at %#x: one is set", at)
	}
	return nil
}
