package properties

import (
	"testing"

	"github.com/stretchr/testify/require"

	"kpsim/smp/arch"
	"kpsim/smp/arch/arm64"
	"kpsim/smp/arch/ppc64"
	"kpsim/smp/arch/riscv64"
	"kpsim/smp/arch/x86"
	"kpsim/smp/smpev"
	"kpsim/traces"
)

var processors = []*arch.Arch{x86.AMD64, x86.I386, riscv64.RV64, arm64.ARM64, ppc64.PPC64}

// On each processor the properties know what a patcher writes, and know where its branches lead.
func TestProcessor(t *testing.T) {
	for _, a := range processors {
		t.Run(a.Name, func(t *testing.T) {
			p := processorOf(a)
			const at = 0x80001000
			for _, to := range []arch.Addr{at, at + 8, at - 0x7fc, at + 0x1234564, at - 0x1234568} {
				jump, ok := a.Jump(at, to)
				require.True(t, ok)
				call, _ := a.Call(at, to)
				for _, c := range []arch.Code{jump, call} {
					w := arch.Word(c.Bytes())
					require.True(t, p.branches(w))
					got, ok := p.target(at, w|^mask(p.jumpLen()))
					require.True(t, ok)
					require.Equal(t, uint64(to), got)
					got, ok = p.leads(&insn{addr: at, lo: w, hi: p.jumpLen() << 56})
					require.True(t, ok)
					require.Equal(t, uint64(to), got)
				}
				require.True(t, p.jumps(arch.Word(jump.Bytes())))
				require.False(t, p.jumps(arch.Word(call.Bytes())))
				require.True(t, p.calls(arch.Word(call.Bytes())))
				require.Equal(t, arch.Word(jump.Bytes()), p.jumpTo(at, uint64(to)))
			}
			_, ok := p.target(at, p.nop)
			require.False(t, ok)
			to, ok := p.leads(&insn{addr: at, lo: p.nop, hi: p.jumpLen() << 56})
			require.True(t, ok)
			require.Equal(t, at+p.jumpLen(), to)

			n := uint64(len(a.Breakpoint))
			w := arch.Word(a.Breakpoint)
			require.True(t, p.isBreakpoint(w, n))
			require.False(t, p.isBreakpoint(w, n+1))
			require.False(t, p.isBreakpoint(p.nop, n))
			require.True(t, p.isReturnTail(arch.Word(append(a.Ret[:len(a.Ret):len(a.Ret)], a.Breakpoint...))))
			require.False(t, p.isReturnTail(arch.Word(a.Ret)))
			require.True(t, p.filled(at, a.Fill, 8))
			require.False(t, p.filled(at, p.nop, 8))
			require.False(t, p.filled(at, w, n))
		})
	}
}

// A CPU takes a branch where it executes its last instruction, and calls from a site where it executes its first.
func TestProcessorExec(t *testing.T) {
	exec := func(a *arch.Arch, at uint64, code []byte) *traces.Event {
		in, err := a.Decode(code, arch.Addr(at))
		require.NoError(t, err)
		lo, hi := traces.PackBytes(code[:in.Size()])
		return &traces.Event{Kind: smpev.Exec, A: at, B: lo, C: hi}
	}
	for _, a := range processors {
		t.Run(a.Name, func(t *testing.T) {
			p := processorOf(a)
			const at = 0x1000
			call, _ := a.Call(at, 0x5000)
			b := call.Bytes()
			site, ok := p.branched(exec(a, at+p.second, b[p.second:]))
			require.True(t, ok)
			require.EqualValues(t, at, site)
			require.True(t, p.calling(exec(a, at, b)))
			require.True(t, p.calling(exec(a, at, a.BranchNop.Bytes())))
			require.False(t, p.calling(exec(a, at, a.Breakpoint)))
			_, ok = p.branched(exec(a, at, a.BranchNop.Bytes()))
			require.False(t, ok)
			_, ok = p.branched(exec(a, at, a.Breakpoint))
			require.False(t, ok)
			if p.second != 0 {
				_, ok = p.branched(exec(a, at, b))
				require.False(t, ok, "only the first half")
			}
		})
	}
}

// The words at an address are those of its bytes, wherever blocks end.
func TestHead(t *testing.T) {
	var tx text
	for a := uint64(0x1000); a < 0x1100; a++ {
		tx.load(&traces.Event{Kind: smpev.Load, A: a, B: a & 0xff, C: 1 << 56})
	}
	tx.store(&traces.Event{Kind: smpev.TextStore, A: 0x103f, B: 0xcc, C: 1})
	for a := uint64(0x1000); a < 0x1100; a++ {
		mem, orig := tx.head(a)
		for k := range uint64(8) {
			m, o := tx.byteAt(a + k)
			require.Equal(t, m, byte(mem>>(8*k)))
			require.Equal(t, o, byte(orig>>(8*k)))
		}
	}
	mem, orig := tx.head(0x2000)
	require.Zero(t, mem|orig)
}
