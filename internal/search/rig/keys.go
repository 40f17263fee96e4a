package rig

import (
	"slices"

	"kpsim/engine/jumplabel"
	"kpsim/internal/scenario"
	"kpsim/internal/scenario/act"
	"kpsim/smp/arch"
	"kpsim/smp/smpev"
	"kpsim/traces"
)

// addLabels adds the jump labels.
func (ps *patchers) addLabels() error {
	for i := range ps.Scenario.Labels {
		l := &ps.Scenario.Labels[i]
		var sites []jumplabel.Place
		for k := range l.Sites {
			t := &l.Sites[k]
			ps.watch(t.Func, t.Offset)
			form, _ := ps.Scenario.LabelForm(t)
			sites = append(sites, jumplabel.Place{At: ps.funcs[t.Func] + arch.Addr(t.Offset),
				Target: ps.funcs[t.Target] + arch.Addr(t.TOff), Likely: t.Likely, Form: form,
				Table: ps.tableOf(t.Func)})
		}
		if _, ok := ps.labels.Add(ps.Scenario.LabelOn(l), sites...); !ok {
			return scenario.Faultf(scenario.PartOf(scenario.TheLabels, i),
				"%s: jump label %s: the target of a site is out of reach of its jump", ps.Scenario.Name, l.Name)
		}
	}
	return nil
}

// tableOf returns whose tables have a function's sites: 0 the kernel's own, 1 the first module's.
func (ps *patchers) tableOf(f string) int {
	return 1 + slices.IndexFunc(ps.Scenario.Modules, func(m scenario.Module) bool {
		return slices.Contains(m.Core, f) || slices.Contains(m.Init, f)
	})
}

// addSettings lists each value that a key of the patchers may be set to, followed by how its sites then begin: first
// the jump labels, then the static calls, all lock prefixes, all alternatives, and the debugger's breakpoints. setKey
// has the same numbers.
func (ps *patchers) addSettings() {
	key := uint64(0)
	setting := func(key, value, sort uint64) {
		ps.settings = append(ps.settings, traces.Event{Kind: smpev.Setting, A: key, B: value, C: sort})
	}
	form := func(at arch.Addr, insn []byte) {
		lo, hi := traces.PackBytes(insn)
		ps.settings = append(ps.settings, traces.Event{Kind: smpev.Form, A: uint64(at), B: lo, C: hi})
	}
	for _, l := range ps.labels.All() {
		for on := range uint64(2) {
			setting(key, on, smpev.SettingLabel|smpev.SettingFirst*b2u(l.First() == (on == 1)))
			for i := range l.Entries() {
				e := &l.Entries()[i]
				insn, _ := e.Form(on == 1)
				form(e.At, insn.Bytes())
			}
		}
		key++
	}
	for i, s := range ps.calls.All() {
		first, _ := s.Target()
		for _, to := range ps.targets[i] {
			setting(key, uint64(to), smpev.SettingCall|smpev.SettingFirst*b2u(to == first))
			s.Images(to, func(at arch.Addr, insn arch.Code) { form(at, insn.Bytes()) })
		}
		key++
	}
	for there := range 2 * min(uint64(len(ps.Scenario.Locked)), 1) {
		setting(key, there, smpev.SettingLocks|smpev.SettingFirst*there)
		ps.Kernel.Prefix.Images(func(at arch.Addr, first [2]byte) { form(at, first[1-there:][:1]) })
	}
	key++
	for k := range ps.Scenario.Alternatives {
		a := &ps.Scenario.Alternatives[k]
		at := ps.funcs[a.Func] + arch.Addr(a.Offset)
		setting(key, 0, smpev.SettingAlternatives|smpev.SettingFirst*b2u(k == 0))
		form(at, ps.Text(a.Func).Code[a.Offset:][:len(a.Code)])
		setting(key, 1, smpev.SettingAlternatives)
		form(at, a.Code)
	}
	key++
	for _, at := range ps.breaks {
		setting(key, 0, smpev.SettingBreakpoint|smpev.SettingFirst)
		t := ps.textAt(at)
		form(at, t.Code[at-t.At:][:1])
		setting(key, 1, smpev.SettingBreakpoint)
		form(at, ps.Kernel.Text.Arch().Breakpoint[:1])
		key++
	}
}

// sets is what an operation sets a key of the patchers to; ok false: it sets none.
type sets struct {
	key, value uint64
	ok         bool
}

// setKey returns what an operation of a task sets.
func (ps *patchers) setKey(t act.Task, op *scenario.Op) sets {
	of := act.Sets(op)
	if of == nil {
		return sets{}
	}
	labels, calls := len(ps.Scenario.Labels), len(ps.Scenario.Calls)
	first, i := 0, 0
	switch of.Sort {
	case smpev.SettingLabel:
		i = slices.IndexFunc(ps.Scenario.Labels, func(l scenario.Label) bool { return l.Name == op.Target })
	case smpev.SettingCall:
		first = labels
		i = slices.IndexFunc(ps.Scenario.Calls, func(c scenario.StaticCall) bool { return c.Name == op.Target })
	case smpev.SettingLocks:
		first, i = labels+calls, min(len(ps.Scenario.Locked), 1)-1
	case smpev.SettingAlternatives:
		first, i = labels+calls+1, min(len(ps.Scenario.Alternatives), 1)-1
	case smpev.SettingBreakpoint:
		first, i = labels+calls+2, slices.Index(ps.breaks, ps.breakpoint(op))
	}
	return sets{uint64(first + i), of.Value(t, op), i >= 0}
}
