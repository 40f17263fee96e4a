package main

import (
	"kpsim/properties"
	"kpsim/properties/harness"
	"kpsim/sim"
	"kpsim/smp"
	"kpsim/traces"
	"kpsim/traces/view"
)

// told is what a trace breaks, in the words of its scenario: replay's first line.
// It is played once for that.
func (p *program) told(file *traces.File) string {
	r, err := harness.PlayFile("trace", file, true)
	if err != nil || r.Property == nil {
		q, _ := propertyByID(file.Property)
		return finding(q, file.Place, file.Message)
	}
	defer r.Rig.Close()
	return view.Headline(viewInput(p, file, r))
}

// viewInput is a replayed run, to be printed.
func viewInput(p *program, file *traces.File, r *harness.Replay) view.Input {
	m := r.Rig.Machine
	in := view.Input{
		Events:   r.Rig.Log.Events,
		CPUs:     m.CPUs(),
		Symbol:   m.SymbolName,
		KernelIP: uint64(smp.GateBase) + 0x100000,
		Task:     func(id uint64) string { return m.Tasks()[id].Name },
		Lock:     r.Rig.Kernel.Locks.Name,
		Probe:    func(id uint64) string { return r.Rig.Scenario.Probes[id].Name },
		Source:   func(i uint64) string { return m.MoverName(sim.Mover(i)) },
		Schedule: file.Schedule,
		Place:    r.Place,
		PlaceAt:  r.Finding.Place,
		Message:  r.Finding.Message,
		At:       r.Rig.Log.FoundAt,
		AtEnd:    r.Property == &properties.Progress,
		Width:    p.width,
		Color:    p.colour,
	}
	if r.Property != nil {
		in.Property = r.Property.ID + " " + r.Property.Name
	}
	return in
}
