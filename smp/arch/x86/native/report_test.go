package native

import (
	"fmt"
	"strings"

	"kpsim/smp/arch/x86"
)

// describe says what was run, and with what.
func describe(p *program, t *trial) string {
	var b strings.Builder
	for i := range p.insts {
		in := &p.insts[i]
		fmt.Fprintf(&b, "\n\t%#x: % x  %s", in.Addr, in.Bytes(), in.String())
	}
	fmt.Fprintf(&b, "\n\tflags %s\n\t", flagNames(t.s.Flags))
	for i, v := range t.s.R {
		fmt.Fprintf(&b, "r%d %x  ", i, v)
	}
	for _, k := range t.pokes {
		fmt.Fprintf(&b, "\n\t[%#x] %016x", k.at, k.v)
	}
	return b.String()
}

func flagNames(f uint64) string {
	s := "["
	for i, bit := range []uint64{x86.CF, x86.PF, x86.AF, x86.ZF, x86.SF, x86.DF, x86.OF} {
		if f&bit != 0 {
			s += "CPAZSDO"[i : i+1]
		}
	}
	return s + "]"
}
