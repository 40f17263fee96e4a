package rig

import (
	"kpsim/linux/linuxev"
	"kpsim/smp/smpev"
	"kpsim/traces"
)

// resetMonitors makes the monitors, if there are any, begin a run. It tells them which tasks
// want a CPU from the beginning, because the Wakes of these tasks came earlier.
func (r *Rig) resetMonitors() {
	if r.monitors == nil {
		return
	}
	r.monitors.Reset()
	if r.linear != nil {
		r.linear.calls, r.linear.now = r.linear.calls[:0], 0
	}
	for _, t := range r.Machine.Tasks().All() {
		if t.OnQueue() && !t.Idle() {
			r.Log.Tell(smpev.Wake, uint8(t.CPUID()), traces.NoTask, uint64(t.ID), 0, 0)
		}
	}
}

// tellCounts tells the monitors which counts tasks and modules still hold at the end of a run.
func (r *Rig) tellCounts() {
	for _, t := range r.Machine.Tasks().All() {
		if n := t.PreemptCount(); n != 0 {
			r.claim(linuxev.Remains, linuxev.Preemption, uint64(n), uint64(t.CPUID()))
		}
	}
	for _, m := range r.modules {
		r.claim(smpev.Holds, m.Number(), uint64(m.Holds()), 0)
	}
}

// claim sends an event to the monitors alone.
func (r *Rig) claim(k traces.Kind, a, b, c uint64) { r.Log.Tell(k, 255, traces.NoTask, a, b, c) }

func b2u(b bool) uint64 {
	if b {
		return 1
	}
	return 0
}
