package calls

import (
	"fmt"

	"kpsim/linux/source"
	"kpsim/smp"
	"kpsim/smp/arch"
)

// A Stack reads the open calls of a kernel's functions from the stack of a machine that stands still.
type Stack struct{ f follower }

// NewStack makes one for a machine, whose kernel is that of s.
func NewStack(m *smp.Machine, s *source.Source) *Stack { return &Stack{follower{m: m, source: s}} }

// Called lists the functions that have called a routine, innermost first: of an inlined function its name, of a
// compiled one its place, each with its line if that is known. regs are those that the routine began with.
func (s *Stack) Called(regs *arch.Regs) []string {
	return s.frames(s.f.chain(regs, s.f.m.Arch().StackPointer(regs)))
}

// Above lists the functions that have called the one with the instruction at ip, likewise. link is the register that
// holds return addresses, 0 if it isn't known or there is none.
func (s *Stack) Above(ip, sp, link arch.Addr) []string {
	return s.frames(s.f.source.Callers(ip, link, sp, s.f.load, s.f.until))
}

// Inlined lists the functions that the instruction at an address is inlined into, from the innermost to the compiled
// one.
func (s *Stack) Inlined(at arch.Addr) []string { return s.rows(at, at) }

func (s *Stack) frames(chain []arch.Addr) (list []string) {
	for _, a := range chain {
		list = append(list, s.rows(a, a-1)...)
	}
	return list
}

// rows describes the place at, whose instruction is at insn.
func (s *Stack) rows(at, insn arch.Addr) (list []string) {
	frames := s.f.source.Frames(insn)
	for i, f := range frames {
		says := f.Func + "   (inlined)"
		if i == len(frames)-1 {
			says = s.f.m.Names().Symbol(at)
		}
		if f.Line > 0 {
			says += fmt.Sprintf("   %s:%d", f.File, f.Line)
		}
		list = append(list, says)
	}
	return list
}
