package gen

import (
	"kpsim/internal/scenario"
	"kpsim/internal/scenario/lang"
	"kpsim/internal/scenario/library"
	"kpsim/smp/arch"
	"kpsim/smp/arch/target"
)

// Functions lists the library functions that scenarios are drawn over.
var Functions = [...]string{"victim", "clamp", "sign", "triangle", "scramble", "field", "tally", "over"}

// Empty returns a scenario on a machine with the library's functions and no tasks.
func Empty(m scenario.Machine) *scenario.Scenario {
	s := base32()
	if m.Arch != target.I386 {
		s = base("")
	}
	s.Machine = m
	return s
}

// base returns an empty scenario with the library's functions and more objects.
func base(more string) *scenario.Scenario {
	s, err := lang.Load("drawn", []byte(`
v = elf("victim.o")
w = elf("probe_targets.o")
elf("label.o")
`+more+`
task("nobody", ops = [schedule()])
never()
`), library.Open)
	if err != nil {
		panic(err)
	}
	s.Tasks = nil
	return s
}

// Boundaries returns the offsets at which the function's instructions begin.
func Boundaries(s *scenario.Scenario, function string) (starts []int) {
	for i := range s.Texts {
		if x := &s.Texts[i]; x.Name == function {
			for off := 0; off < len(x.Code); {
				in, err := s.Machine.Processor().Decode(x.Code[off:], x.At+arch.Addr(off))
				if err != nil {
					panic(err)
				}
				starts = append(starts, off)
				off += in.Size()
			}
		}
	}
	return starts
}
