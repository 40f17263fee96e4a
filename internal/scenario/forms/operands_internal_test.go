package forms

import (
	"testing"

	"github.com/stretchr/testify/require"

	"kpsim/internal/scenario"
	"kpsim/smp/arch"
)

// Each bit of a number of a register, of a distance and of a case is set in some of a form's probed instructions and
// clear in others, and no other bit is both.
func TestOperands(t *testing.T) {
	for p, s := range speeches {
		m := scenario.Machine{Arch: p, CPUs: 2}
		for i, sc := range Programs(m) {
			f := &s.forms[i]
			var bits, set, clear uint32
			for _, at := range append(f.reads, f.writes...) {
				n := 5
				if f.short {
					n = 3
				}
				bits |= (1<<n - 1) << at
			}
			for _, p := range f.distance {
				if f.does != switches {
					bits |= (1<<p.n - 1) << p.at
				}
			}
			for _, c := range f.cases {
				bits |= c
			}
			for j := range sc.Probes {
				code := sc.Text(sc.Probes[j].Func).Code[sc.Probes[j].Offset:]
				w := uint32(arch.Word(code))
				set, clear = set|w, clear|^w
			}
			varied := set & clear
			if s.align == 2 && f.word&3 != 3 {
				varied &= 0xffff // what follows isn't its
			}
			require.Equal(t, bits, varied, "%s: %032b", sc.Name, varied)
		}
	}
}
