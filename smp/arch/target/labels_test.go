package target_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"kpsim/smp/arch"
	"kpsim/smp/arch/target"
)

// TestLabelForms: what a row says of the sites of jump labels agrees with what it decodes and encodes.
func TestLabelForms(t *testing.T) {
	const at, to = arch.Addr(0x81000000), arch.Addr(0x81000040)
	for i, name := range target.Words {
		if !target.Processor(i).Serves(target.Labels) {
			continue
		}
		for _, a := range []*arch.Arch{target.Processor(i).Row(true), target.Processor(i).Row(false),
			target.Processor(i).Linux()} {
			require.NotEmpty(t, a.Labels, name)
			for k := range a.Labels {
				f := &a.Labels[k]
				nop, err := a.Decode(f.Nop.Bytes(), at)
				require.NoError(t, err, name)
				require.Equal(t, f.Len(), nop.Size(), name)
				ok, jump := f.Holds(f.Nop.Bytes())
				require.True(t, ok && !jump, name)

				code, reached := f.Jump(at, to)
				require.True(t, reached, name)
				in, err := a.Decode(code.Bytes(), at)
				require.NoError(t, err, name)
				require.Equal(t, arch.FlowJump, in.Flow(), name)
				target, known := in.Target()
				require.True(t, known && target == to, name)
				require.Equal(t, f.Len(), in.Size(), name)
				ok, jump = f.Holds(code.Bytes())
				require.True(t, ok && jump, name)

				ok, _ = f.Holds(code.Bytes()[:f.Len()-1])
				require.False(t, ok, "%s: part of it", name)
				ok, _ = f.Holds(a.Breakpoint)
				require.False(t, ok, name)
				for l := range a.Labels[:k] {
					ok, _ = a.Labels[l].Holds(append(code.Bytes(), a.Nop(8)...))
					require.False(t, ok, "%s: a form is another one's, too", name)
				}
				require.NotEmpty(t, f.Reach)
				require.NotEmpty(t, f.Hex[0])
				require.NotEmpty(t, f.Hex[1])
			}
		}
	}
}
