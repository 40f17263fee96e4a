package scenario

import (
	"math/bits"
	"slices"

	"kpsim/internal/nearest"
	"kpsim/smp/smpev"
)

// absent checks the CPUs that begin offline, and that everything which waits for such a CPU
// can continue.
func (c checker) absent(p Part) error {
	m := &c.s.Machine
	if set := m.Offline &^ (1<<m.CPUs - 1); set != 0 || m.Offline&1 != 0 {
		return Faultf(p, "offline = [%d]: the CPUs that may begin offline are 1 to %d; the first one boots the others",
			bits.TrailingZeros64(set|m.Offline&1), m.CPUs-1)
	}
	for i := range c.s.Tasks {
		t := &c.s.Tasks[i]
		if t.CPU < 0 || t.CPU >= MaxCPUs || m.Offline>>t.CPU&1 == 0 {
			continue
		}
		if t.Setup > 0 {
			return Faultf(PartOf(TheTasks, i),
				"task %q has a set-up on cpu %d, which begins offline; put it on another CPU", t.Name, t.CPU)
		}
		comes := func(u Task) bool {
			return slices.ContainsFunc(u.Ops, func(op Op) bool {
				return op.Kind.Has(ParamUpFails) && op.CPU == t.CPU && op.Fails == smpev.CPUStepNone
			}) && m.Offline>>u.CPU&1 == 0
		}
		if !slices.ContainsFunc(c.s.Tasks, comes) {
			return Faultf(PartOf(TheTasks, i),
				"task %q begins when cpu %d is online, and no task that begins before has online(%d); add one", t.Name,
				t.CPU, t.CPU)
		}
	}
	return nil
}

// ticks checks that a stalled grace period can be reported.
func (c checker) ticks(p Part) error {
	m := &c.s.Machine
	if m.Stall > 0 && !slices.ContainsFunc(c.s.Sources, func(s Source) bool { return s.Kind == SourceTimer }) {
		return Faultf(p, "stall = %d: a stalled grace period is reported at a tick, and there is none; add "+
			"timer(cpu = 0)", m.Stall)
	}
	return nil
}

// failing checks that the step which is to fail can fail.
func failing(going bool) func(checker, Part, string, *Op) error {
	return func(_ checker, p Part, who string, op *Op) error {
		if op.Fails == smpev.CPUStepNone || op.Fails.Fails(going) {
			return nil
		}
		return Faultf(p, "%s: %s(%d, fails = %q): it is one of %s", who, op.Kind, op.CPU, op.Fails,
			nearest.Quoted(FailWords(going)))
	}
}

// FailWords returns the names of the steps that may fail when a CPU goes offline, or, with
// going false, when it comes online.
func FailWords(going bool) (words []string) {
	for _, s := range smpev.CPUSteps(going) {
		words = append(words, s.String())
	}
	return words
}
