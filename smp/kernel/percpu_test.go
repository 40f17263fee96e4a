package kernel_test

import (
	"encoding/hex"
	"testing"

	"github.com/stretchr/testify/require"

	"kpsim/sim"
	"kpsim/smp"
	"kpsim/smp/arch"
	"kpsim/smp/arch/x86"
	"kpsim/smp/kernel"
)

// Memory addressed through gs is a CPU's own, and as at boot in every run.
func TestPerCPU(t *testing.T) {
	r := newRig(t, modes[0], smp.Config{CPUs: 3})
	at := func(name string) arch.Addr {
		a, ok := kernel.PerCPUVariable(name)
		require.True(t, ok, name)
		return a
	}
	// mov %gs:0x28,%rax; mov %gs:cpu_number,%ecx; mov %gs:this_cpu_off,%rdx; mov cpu_number(%rdx),%ebx;
	// mov %gs:pcpu_hot+12,%esi; movl $9,%gs:cpu_number; movq $9,%gs:0x28; ret
	f := r.text("f", 0, "65 48 8b 04 25 28 00 00 00 65 8b 0c 25 04 00 80 82 65 48 8b 14 25 40 00 80 82 8b 9a 04 00 80 82"+
		"65 8b 34 25 04 00 80 82 65 c7 04 25 04 00 80 82 09 00 00 00 65 48 c7 04 25 28 00 00 00 09 00 00 00 c3")
	for c := range 3 {
		r.Tasks().AddProgram("p", c, func(x *smp.Ctx) {
			x.Call(f)
			left := x.Thread().Left()
			require.Equal(t, kernel.Canary, left.R[x86.RAX])
			require.EqualValues(t, c, left.R[x86.RCX])
			require.EqualValues(t, kernel.PerCPUOffset(x86.AMD64, c), left.R[x86.RDX])
			require.EqualValues(t, c, left.R[x86.RBX])
			require.EqualValues(t, c, left.R[x86.RSI])
		})
	}
	for name, ch := range schedules(10) {
		r.want(smp.Passed, name, ch)
	}
	require.Equal(t, at("pcpu_hot")+8, at("__preempt_count"))
	require.Equal(t, at("pcpu_hot")+12, at("cpu_number"))
	require.Equal(t, at("pcpu_hot"), at("current_task"))
	_, ok := kernel.PerCPUVariable("irq_stat")
	require.False(t, ok)
}

// On i386 the base is that of fs, and the kernel's own variables lie elsewhere.
func TestPerCPU32(t *testing.T) {
	r := newRig(t, modes[0], smp.Config{CPUs: 3, Arch: x86.I386})
	at := x86.I386.Addr(smp.TextBase)
	// mov %fs:cpu_number,%ecx; mov %fs:this_cpu_off,%edx; mov cpu_number(%edx),%ebx; movl $9,%fs:cpu_number; ret
	code, err := hex.DecodeString("648b0d0400c082" + "648b154000c082" + "8b9a0400c082" + "64c7050400c08209000000" + "c3")
	require.NoError(t, err)
	r.Memory().Map(at, code, smp.PermRead|smp.PermExec)
	for c := range 3 {
		r.Tasks().AddProgram("p", c, func(x *smp.Ctx) {
			x.Call(at)
			left := x.Thread().Left()
			require.EqualValues(t, c, left.R[x86.RCX])
			require.EqualValues(t, kernel.PerCPUOffset(x86.I386, c), left.R[x86.RDX])
			require.EqualValues(t, c, left.R[x86.RBX])
		})
	}
	for name, ch := range schedules(10) {
		r.want(smp.Passed, name, ch)
	}
	variables, copies := kernel.PerCPUPlaces(x86.I386)
	for c := range sim.MaxCPUs { // no CPU's copy of the data is where one has the kernel's own
		own := kernel.PerCPUOffset(x86.I386, c) + 0x82c00000
		for d := range sim.MaxCPUs {
			from := kernel.PerCPUOffset(x86.I386, d) + variables.From
			require.False(t, own >= from && own < from+(variables.To-variables.From))
			require.True(t, from >= copies.From && from < copies.To)
		}
	}
}

// Addresses of per-CPU variables are in the bytes of traces: they don't move.
func TestPerCPUVariables(t *testing.T) {
	for name, want := range map[string]arch.Addr{
		"pcpu_hot": 0xffffffff827ffff8, "const_pcpu_hot": 0xffffffff827ffff8, "current_task": 0xffffffff827ffff8,
		"__preempt_count": 0xffffffff82800000, "cpu_number": 0xffffffff82800004, "this_cpu_off": 0xffffffff82800040,
		"numa_node": 0xffffffff82800048, "__stack_chk_guard": 0xffffffff82800050,
	} {
		at, ok := kernel.PerCPUVariable(name)
		require.True(t, ok, name)
		require.Equal(t, want, at, name)
	}
}
