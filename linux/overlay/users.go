package overlay

import (
	"cmp"
	"encoding/binary"
	"slices"
	"strings"

	"kpsim/linux/vmlinux"
	"kpsim/smp/image/objfile"
)

// users returns the names of the vmlinux's code and data that refer to a variable, except what
// the objects replace.
func (l *linker) users(v vmlinux.Symbol) []string {
	l.listReplaced()
	var names []string
	for _, s := range l.im.Sections() {
		switch {
		case s.Exec:
			names = l.port.users(l, names, &s, v)
		case !strings.HasPrefix(s.Name, "__ksymtab"):
			word := l.im.Class().Word
			for off := 0; off+word <= len(s.Data); off += word {
				if l.im.Class().Get(s.Data[off:])-v.Addr < v.Size {
					names = l.user(names, s.Addr+uint64(off))
				}
			}
		}
	}
	return names
}

// usersIn looks for operands of instructions: four bytes that lead to v, either absolutely or, in
// 64-bit code, relative to the end of an instruction.
func (l *linker) usersIn(names []string, s *vmlinux.Section, v vmlinux.Symbol) []string {
	for off := 1; off+4 <= len(s.Data); off++ {
		d := l.im.Number(int32(binary.LittleEndian.Uint32(s.Data[off:])))
		after := s.Addr + uint64(off) + 4
		near := after + d - v.Addr + 4 // an immediate of up to 4 bytes may follow
		if (d-v.Addr < v.Size || l.relative() && near < v.Size+8) && l.operand(s, off, v) {
			names = l.user(names, s.Addr+uint64(off))
		}
	}
	return names
}

// relative reports whether instructions refer to data by its distance.
func (l *linker) relative() bool { return l.im.Class() == objfile.Bits64 }

// operand reports whether the four bytes at an offset are the operand of an instruction that
// leads to v. It decodes the function from its beginning.
func (l *linker) operand(s *vmlinux.Section, off int, v vmlinux.Symbol) bool {
	f, ok := l.im.Lookup(s.Addr + uint64(off))
	if !ok || f.Addr < s.Addr {
		return false
	}
	for at := int(f.Addr - s.Addr); at < off; {
		in, err := l.im.Decode(s.Data[at:min(len(s.Data), at+15)], s.Addr+uint64(at))
		if err != nil {
			return true // when in doubt, count it as a user
		}
		end := at + in.Size()
		if off < end {
			d := l.im.Number(int32(binary.LittleEndian.Uint32(s.Data[off:])))
			return off+4 <= end && (d-v.Addr < v.Size || l.relative() && s.Addr+uint64(end)+d-v.Addr < v.Size)
		}
		at = end
	}
	return false
}

// user appends the name of the symbol at an address, unless it is replaced.
func (l *linker) user(names []string, at uint64) []string {
	s, ok := l.im.Lookup(at)
	if !ok {
		return names
	}
	base, _, _ := strings.Cut(s.Name, ".")
	if l.replaced[base] || slices.Contains(names, s.Name) {
		return names
	}
	return append(names, s.Name)
}

// listReplaced collects the names that the objects define, without the suffixes of clones.
func (l *linker) listReplaced() {
	if l.replaced != nil {
		return
	}
	l.replaced = make(map[string]bool)
	for _, o := range l.objects {
		for i := range o.symbols {
			if in := o.section(&o.symbols[i]); in != nil && in.kept {
				base, _, _ := strings.Cut(o.symbols[i].Name, ".")
				l.replaced[base] = true
			}
		}
	}
}

// symbolsFrom returns the symbols at or above an address; the input is sorted by address.
func symbolsFrom(symbols []vmlinux.Symbol, addr uint64) []vmlinux.Symbol {
	i, _ := slices.BinarySearchFunc(symbols, addr, func(s vmlinux.Symbol, at uint64) int {
		return cmp.Compare(s.Addr, at)
	})
	return symbols[i:]
}
