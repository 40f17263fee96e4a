package view_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"kpsim/internal/testkit/tracetest"
	"kpsim/kprobes/kpev"
	"kpsim/smp/arch/riscv64"
	"kpsim/smp/smpev"
	"kpsim/traces/view"
)

// A run of a processor whose breakpoints have two sizes, and whose trap saves the breakpoint's own address, is
// told with its own instructions.
func TestAnotherProcessor(t *testing.T) {
	tr := tracetest.New()
	tr.Arch = riscv64.RV64
	ebreak, cebreak := riscv64.RV64.Breakpoint, []byte{0x02, 0x90}
	tr.Load(f, "13 00 00 00", "41 11", "82 80")
	tr.Alloc(slots, 16, kpev.SlotMem).Register(1, f)
	tr.Image(f, ebreak...).Store(f, ebreak...)
	tr.On(1, 2).Break(f).Own(f, kpev.OwnerKprobe).Resume(f+4).Exec(f+4, 0x41, 0x11)
	tr.Image(f+6, cebreak...).Store(f+6, cebreak...)
	tr.Free(slots, 16, kpev.SlotMem)
	c := tr.On(1, 2).Exec(f+6, cebreak...).Trap(smpev.VecBP, f+6)
	c.Oops(smpev.VecBP, f+6)
	in := input(tr, 2)
	in.Property, in.At, in.Message = "B1 owned-breakpoint", uint32(len(tr.Events)-1), "its message"
	var out strings.Builder
	require.NoError(t, view.Interleaving(&out, in))
	out.WriteString(strings.Join(story(in), "\n"))
	for _, want := range []string{
		"about to write at victim+0x0: 73 00 10 00 ebreak", "store victim+0x6 (2 bytes): 82 80 -> 02 90",
		"c.ebreak, traps: saved ip victim+0x6", "from now on ebreak", "wrote the breakpoint over victim+0x6..+0x7.",
		"ran 02 90 at victim+0x6, the breakpoint, and trapped.",
	} {
		require.Contains(t, strings.Join(strings.Fields(out.String()), " "), strings.TrimSpace(want))
	}
	require.NotContains(t, out.String(), "int3")
}
