package x86_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"kpsim/smp/arch"
	"kpsim/smp/arch/x86"
)

// Each row agrees with the decoder about what it encodes, and with itself.
func TestRows(t *testing.T) {
	for _, a := range []*arch.Arch{x86.AMD64, x86.I386} {
		t.Run(a.Name, func(t *testing.T) {
			const at, target arch.Addr = 0x1000, 0x1234
			decode := func(b []byte, flow arch.Flow) arch.Inst {
				in, err := a.Decode(b, at)
				require.NoError(t, err)
				require.Equal(t, flow, in.Flow())
				require.Equal(t, at, in.At())
				require.Equal(t, at+arch.Addr(in.Size()), in.Next())
				return in
			}
			for _, c := range []struct {
				encode func(at, target arch.Addr) (arch.Code, bool)
				is     arch.Pattern
				flow   arch.Flow
			}{{a.Jump, a.IsJump, arch.FlowJump}, {a.Call, a.IsCall, arch.FlowCall}} {
				code, ok := c.encode(at, target)
				require.True(t, ok)
				require.True(t, c.is.Match(arch.Word(code.Bytes())))
				in := decode(code.Bytes(), c.flow)
				to, ok := in.Target()
				require.True(t, ok)
				require.Equal(t, target, to)
				require.Equal(t, a.BranchLen, in.Size())
				_, ok = c.encode(at, at+1<<40)
				require.False(t, ok, "out of reach")
			}
			require.True(t, decode(a.BranchNop.Bytes(), arch.FlowNext).IsNop())
			require.Len(t, a.BranchNop.Bytes(), a.BranchLen)
			require.Len(t, a.BranchRet.Bytes(), a.BranchLen)
			decode(a.BranchRet.Bytes(), arch.FlowRet)
			decode(a.Ret, arch.FlowRet)
			require.Equal(t, len(a.Breakpoint), decode(a.Breakpoint, arch.FlowBreakpoint).Size())
			require.False(t, decode(a.Ret, arch.FlowRet).IsNop())

			regs := arch.Regs{IP: at + arch.Addr(len(a.Breakpoint))}
			regs.R[a.SP] = 0x7000
			require.Equal(t, at, a.BreakpointAt(&regs))
			require.EqualValues(t, 0x7000, a.StackPointer(&regs))
			require.True(t, a.IsBreakpoint(arch.Word(a.Breakpoint)))
			require.Equal(t, map[int]string{8: "rsp", 4: "esp"}[a.Word], a.RegName(a.SP))
			for _, r := range append(append([]arch.Reg{a.Result}, a.Args...), a.Saved...) {
				require.NotEqual(t, a.SP, r)
				require.Less(t, int(r), len(a.RegNames))
			}
		})
	}
}
