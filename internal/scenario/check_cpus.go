package scenario

import (
	"math/bits"
	"slices"
)

// absent checks the CPUs that begin offline, and that what waits for one isn't left to wait.
func (c checker) absent() error {
	m := &c.s.Machine
	if set := m.Offline &^ (1<<m.CPUs - 1); set != 0 || m.Offline&1 != 0 {
		return Faultf(PartOf(TheMachine, 0), "offline = [%d]: the CPUs that may begin offline are 1 to %d: the first one boots the others", bits.TrailingZeros64(set|m.Offline&1), m.CPUs-1)
	}
	for i := range c.s.Tasks {
		t := &c.s.Tasks[i]
		if t.CPU < 0 || t.CPU >= MaxCPUs || m.Offline>>t.CPU&1 == 0 {
			continue
		}
		if t.Setup > 0 {
			return Faultf(PartOf(TheTasks, i), "task %q has a set-up on cpu %d, which begins offline; put it on another CPU", t.Name, t.CPU)
		}
		comes := func(u Task) bool {
			return slices.ContainsFunc(u.Ops, func(op Op) bool { return op.Kind == OpOnline && op.CPU == t.CPU }) && m.Offline>>u.CPU&1 == 0
		}
		if !slices.ContainsFunc(c.s.Tasks, comes) {
			return Faultf(PartOf(TheTasks, i), "task %q begins when cpu %d is online, and no task that begins before has online(%d); add one", t.Name, t.CPU, t.CPU)
		}
	}
	return nil
}
