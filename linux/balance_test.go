package linux_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"kpsim/internal/scenario/onlinux"
	"kpsim/internal/search/rig"
	"kpsim/internal/testkit/kerneltest"
	"kpsim/linux"
	"kpsim/linux/mutate"
	"kpsim/properties"
	"kpsim/sched"
)

// TestBalance: what a broken kernel leaves of a CPU, of its tables or of its memory breaks
// the property that is about it; unbroken it breaks none.
func TestBalance(t *testing.T) {
	k, err := linux.Open(kerneltest.Path(t, "6.1"))
	require.NoError(t, err)
	for _, c := range []struct {
		name, scenario string
		fault          string    // a service's; "": none
		mutant         [2]string // of the machine code: the instruction, and where; "": none
		property       *properties.Property
		says           string
	}{
		{name: "clean", scenario: "return-siblings"},
		{"never counted back", "safe-full", "irqentry_nmi_exit: it never ends", [2]string{}, &properties.Balanced,
			"preemption counted 0x110000, which was 0x0: after exc_int3"},
		{"still the current probe", "safe-full", "", [2]string{"movq $0x0,%gs:", " kprobe_int3_handler+"},
			&properties.Balanced, "goes on with current_kprobe "},
		{"still the current probe after a fault", "fault-stepped", "",
			[2]string{"movq $0x0,%gs:", " kprobe_fault_handler+"}, &properties.Balanced,
			"goes on with current_kprobe "},
		{"a slot more", "safe-full", "", [2]string{"addl $0x1,0x24(", " __free_insn_slot+"}, &properties.NoRemains,
			"slots are in use, and 0 points have one: of kprobe_"},
		{"an instance stays", "return-siblings", "", [2]string{"skip the call to rethook_recycle",
			" rethook_trampoline_handler+"}, &properties.Instances, "is left behind, though probe "},
		{"called in vain", "../scripts/take-back.scenarios/posted.star",
			"unregister_ftrace_function: nothing is taken back", [2]string{}, &properties.NoRemains,
			"ftrace calls kprobes from 0x"},
		{"never freed", "return-siblings", "kfree: nothing is freed", [2]string{}, &properties.NoLeak,
			"were never freed: "},
	} {
		t.Run(c.name, func(t *testing.T) {
			broken, name := k, ""
			if c.fault != "" {
				faults := linux.Faults()
				i := slices.IndexFunc(faults, func(f linux.Fault) bool { return f.Row+": "+f.Says == c.fault })
				require.GreaterOrEqual(t, i, 0)
				broken, _ = k.Faulty(&faults[i])
			}
			if c.mutant[0] != "" {
				all := mutate.All(k.Closure)
				i := slices.IndexFunc(all, func(m mutate.Mutant) bool {
					return strings.Contains(m.Says, c.mutant[0]) && strings.Contains(m.Says, c.mutant[1])
				})
				require.GreaterOrEqual(t, i, 0)
				name = all[i].Name
			}
			linux.Give(broken)
			sc := load(t, c.scenario)
			require.NoError(t, onlinux.Set(sc, broken))
			r, err := rig.New(sc, name)
			require.NoError(t, err)
			defer r.Close()
			s := sched.NewSticky(sched.Params{Seed: 1, Length: r.Run(new(sched.Default)).Counts.Points})
			for i := range uint64(100) {
				s.Begin(i)
				run := r.Run(s)
				s.End(run.Counts.Points)
				if c.property == nil {
					require.Nil(t, run.Property, run.Finding.Message)
				} else if run.Property != nil && run.Property.ID == c.property.ID {
					require.Contains(t, run.Finding.Message, c.says)
					return
				}
			}
			require.Nil(t, c.property, "it was not broken")
		})
	}
}
