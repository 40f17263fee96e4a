package replay

import (
	"bytes"
	"fmt"

	"kpsim/internal/search/rig"
	"kpsim/properties"
	"kpsim/sched"
	"kpsim/sim"
	"kpsim/smp"
	"kpsim/smp/arch"
	"kpsim/smp/cycles"
	"kpsim/smp/kapi"
	"kpsim/traces"
	"kpsim/traces/view"
)

// View returns a replay of the file for package view. The replay must have kept its events.
func (r *Replay) View(file *traces.File) view.Input {
	in := Scene(r.Rig, &r.Run)
	in.Schedule = file.Schedule
	return in
}

// Scene returns what package view shows of a rig's last run, whose events were kept. run is nil while the run goes on.
func Scene(r *rig.Rig, run *rig.Run) view.Input {
	m := r.Machine
	in := view.Input{
		Events: r.Log.Events,
		Arch:   m.Arch(),
		CPUs:   m.CPUs(),
		Names: view.Names{
			Symbol: m.Names().SymbolName,
			Task:   func(id uint64) string { return m.Tasks().All()[id].Name },
			Lock:   r.Kernel.Locks.Name,
			Probe:  func(id uint64) string { return r.Scenario.Probes[id].Name },
			Source: func(i uint64) string { return m.Names().Mover(sim.Mover(i)) },
			Cell:   func(id uint64) string { return CellName(m, id) },
			Stack:  m.Names().StackOf,
			Held:   held(m),
		},
		Kernel:   r.Scenario.Machine.Release(),
		KernelIP: uint64(m.Arch().Addr(smp.GateBase)) + 0x100000,
		Memory:   memoryName(r.Scenario.Machine.Memory),
		FRED:     r.Scenario.Machine.FRED,
	}
	if run != nil && run.Property != nil {
		in.Property = run.Property.ID + " " + run.Property.Name
		if in.PlaceAt = run.Finding.Place; in.PlaceAt != 0 {
			in.Place = m.Names().SymbolName(in.PlaceAt)
		}
		in.Message = run.Finding.Message + r.Reason(run)
		in.At, in.AtEnd = r.Log.FoundAt, run.Property == &properties.Progress
		in.Circles = run.Outcome == smp.Exhausted
		for _, w := range r.Kernel.Waiting(m.Names().Cell) {
			one := view.Wait{Task: uint8(w.Task.ID), For: w.For, Whose: w.Whose}
			for _, t := range w.On {
				one.On = append(one.On, uint8(t.ID))
			}
			in.Waits = append(in.Waits, one)
		}
	}
	return in
}

// held looks at the registers of all CPUs, as they are now, and returns a function that names the one which holds an
// address.
func held(m *smp.Machine) func(cpu int, addr uint64) string {
	all := make([]arch.Regs, m.CPUs())
	for cpu := range all {
		if regs, kernel := m.Inspect().Regs(cpu); !kernel {
			all[cpu] = regs
		}
	}
	return func(cpu int, addr uint64) string {
		for r, name := range m.Arch().RegNames {
			if all[cpu].R[r] == addr {
				return name
			}
		}
		return ""
	}
}

// memoryName returns the name of a memory model other than the default sc, which is "".
func memoryName(o smp.Ordering) string {
	if o == smp.SC {
		return ""
	}
	return o.String()
}

// CellName returns the name of a cell, or its number if it has none.
func CellName(m *smp.Machine, id uint64) string {
	if f := m.Names().Cell; f != nil {
		if name := f(kapi.CellID(id)); name != "" {
			return name
		}
	}
	return fmt.Sprintf("cell %d", id)
}

// Timeline repeats the run of a replay and looks at the machine after each event: at the clocks,
// and at what a fetch of each CPU may see of the sites. The events stay those of the replay's
// log.
func (r *Replay) Timeline(sites []view.Site) *view.Look {
	rig := r.Rig
	f := &timeline{m: rig.Machine, log: &rig.Log, strategy: sched.NewAnchored(r.Taken, rig.Machine.Names())}
	for _, s := range sites {
		f.sites = append(f.sites, watched{s, make([]byte, s.Len), make([][]byte, rig.Machine.CPUs())})
	}
	rig.Log.SubscribeAll(f)
	defer rig.Log.Unsubscribe(f)
	events := len(rig.Log.Events)
	if run := rig.Play(f); run.Digest != r.Digest || len(rig.Log.Events) != events {
		sim.Bug("timeline: the run has digest %016x, the replay had %016x", run.Digest, r.Digest)
	}
	if len(f.look.Turns) != len(r.Taken) || len(f.look.Clocks) != events {
		sim.Bug("timeline: %d deviations of %d, %d events of %d", len(f.look.Turns), len(r.Taken), len(f.look.Clocks),
			events)
	}
	return &f.look
}

// A timeline is the strategy of the repeated run, and watches it.
type timeline struct {
	m        *smp.Machine
	log      *traces.Log
	strategy sched.Strategy
	sites    []watched
	look     view.Look
}

// A watched is a site, and what each CPU's oldest fetch may see of it; nil at first.
type watched struct {
	view.Site
	now    []byte
	oldest [][]byte
}

// Begin implements sched.Strategy.
func (f *timeline) Begin(i uint64) bool {
	f.look = view.Look{}
	return f.strategy.Begin(i)
}

// End implements sched.Strategy.
func (f *timeline) End(points uint64) { f.strategy.End(points) }

func (f *timeline) String() string { return f.strategy.String() }

// Choose implements sim.Chooser.
func (f *timeline) Choose(p *sim.Point) (pick, hold int) {
	pick, hold = f.strategy.Choose(p)
	if pick != 0 {
		f.look.Turns = append(f.look.Turns, f.log.Next())
	}
	return pick, hold
}

// Event implements traces.Sink.
func (f *timeline) Event(e *traces.Event) *traces.Finding {
	if e.Seq == f.log.Next() {
		return nil // these events are for monitors only
	}
	clock := uint64(0)
	if int(e.CPU) < f.m.CPUs() {
		clock = uint64(f.m.Clocks().Of(int(e.CPU))) / cycles.Unit
	}
	f.look.Clocks = append(f.look.Clocks, clock)
	for i := range f.sites {
		s := &f.sites[i]
		for cpu := range s.oldest {
			f.m.Inspect().OldestAt(cpu, arch.Addr(s.At), s.now)
			if s.oldest[cpu] == nil || !bytes.Equal(s.oldest[cpu], s.now) {
				s.oldest[cpu] = append(s.oldest[cpu][:0], s.now...)
				f.look.Sights = append(f.look.Sights,
					view.Seen{Seq: e.Seq, CPU: cpu, At: s.At, Bytes: bytes.Clone(s.now)})
			}
		}
	}
	return nil
}
