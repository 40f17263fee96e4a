package kprobes

import (
	"testing"

	"github.com/stretchr/testify/require"

	"kpsim/smp"
	"kpsim/smp/arch"
	"kpsim/smp/arch/x86"
	"kpsim/smp/kapi"
)

// outer calls victim twice and adds one to what the second call returned.
var outer = inWords(code{name: "outer", at: textBase + 0x200, bytes: outerCode()})

func outerCode() []byte {
	at := textBase + 0x200
	b := []byte{0x57} // push %rdi
	call, _ := x86.CallRel32(at+1, victim.at)
	b = append(b, call[:]...)
	b = append(b, 0x5f) // pop %rdi
	call, _ = x86.CallRel32(at+7, victim.at)
	b = append(b, call[:]...)
	return append(b, 0x48, 0xff, 0xc0, 0xc3) // inc %rax; ret
}

func TestRetFirst(t *testing.T) {
	for _, ed := range every {
		t.Run(ed.String(), func(t *testing.T) {
			var got []uint64
			b := newBench(t, settingsOf(ed, true), []code{victim, other, outer}, func(b *bench, x *smp.Ctx) {
				handler := func(x kapi.Context, ri *Instance, regs *arch.Regs) int {
					got = append(got, regs.R[x86.RAX])
					return 0
				}
				r, q := &Kretprobe{Kprobe: Kprobe{ID: 1, Addr: victim.at}, Handler: handler},
					&Kretprobe{Kprobe: Kprobe{ID: 2, Addr: outer.at}, Handler: handler}
				require.NoError(t, b.e.Kretprobes.Register(x, r))
				require.NoError(t, b.e.Kretprobes.Register(x, q))
				for i := range 2 {
					x.Regs().R[x86.RDI] = uint64(i + 7)
					require.EqualValues(t, i+11, x.Call(outer.at))
					require.Zero(t, x.Thread().Left().R[x86.RSP])
					b.e.Optimizer.WaitOptimizer(x)
				}
				require.NoError(t, b.e.Kretprobes.Unregister(x, r))
				require.NoError(t, b.e.Kretprobes.Unregister(x, q))
				x.Call(outer.at)
			})
			b.pass(t)
			require.Equal(t, []uint64{10, 10, 11, 11, 11, 12}, got)
		})
	}
}
