package overlay

import (
	"kpsim/smp/image/objfile"
	"slices"
	"strings"
)

const (
	opCall = 0xe8 // call rel32
	opJump = 0xe9 // jmp rel32
)

// sites finds the places that a kernel patches at boot from the code's references. That works
// with and without objtool.
func (l *linker) sites(v *Overlay) {
	if l.port.sites == nil {
		return
	}
	for _, o := range l.objects {
		for i := range o.sections {
			s := &o.sections[i]
			switch {
			case s.Name == "__mcount_loc":
				v.Fentries = o.addresses(v.Fentries, s)
			case s.Name == ".kcfi_traps":
				v.Traps = o.places(v.Traps, s)
			case !s.kept || !s.exec():
			default:
				l.port.sites(o, v, s)
			}
		}
	}
	for _, list := range []*[]uint64{&v.Returns, &v.Fentries, &v.Retpolines, &v.Traps} {
		slices.Sort(*list)
		*list = slices.Compact(*list)
	}
}

func (o *object) sitesIn(v *Overlay, s *section) {
	for _, r := range s.rela {
		to := &o.symbols[r.Symbol]
		if f := o.Form(r.Kind); r.Off == 0 || !f.Relative() {
			continue
		}
		op, at := s.data[r.Off-1], s.at+uint64(r.Off)-1
		switch {
		case to.Name == "__fentry__" && op == opCall:
			v.Fentries = append(v.Fentries, at)
		case to.Name == "__x86_return_thunk" && op == opJump:
			v.Returns = append(v.Returns, at)
		case strings.HasPrefix(to.Name, "__x86_indirect_thunk_") && (op == opCall || op == opJump):
			v.Retpolines = append(v.Retpolines, at)
		}
	}
}

// places appends what the rows of a table lead to, each 32 bits and relative to itself.
func (o *object) places(all []uint64, s *section) []uint64 {
	for _, r := range s.rela {
		to := &o.symbols[r.Symbol]
		form := o.Form(r.Kind)
		if in := o.section(to); form.Relative() && in != nil && in.kept {
			all = append(all, in.at+to.Value+uint64(r.Addend))
		}
	}
	return all
}

// addresses appends the addresses in a table, one for each row.
func (o *object) addresses(all []uint64, s *section) []uint64 {
	for _, r := range s.rela {
		to := &o.symbols[r.Symbol]
		f := o.Form(r.Kind)
		if in := o.section(to); f.Less == objfile.Nothing && f.Bytes == o.Word && in != nil && in.kept {
			all = append(all, in.at+to.Value+uint64(r.Addend))
		}
	}
	return all
}
