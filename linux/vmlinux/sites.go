package vmlinux

import (
	"cmp"
	"encoding/binary"
	"slices"
)

// Returns returns the addresses of the jumps to __x86_return_thunk, or of their replacements by
// the compiler, from .return_sites.
func (im *Image) Returns() []uint64 {
	return im.withLayer(im.relative(".return_sites"), func(l *Layer) []uint64 { return l.Returns })
}

// Retpolines returns the addresses of the calls and jumps to __x86_indirect_thunk_*, from
// .retpoline_sites.
func (im *Image) Retpolines() []uint64 {
	return im.withLayer(im.relative(".retpoline_sites"), func(l *Layer) []uint64 { return l.Retpolines })
}

// Traps returns the addresses of the ud2 that a function's call through a pointer reaches if what is called has another
// type (CONFIG_CFI), from __kcfi_traps.
func Traps(im *Image) []uint64 {
	return im.withLayer(im.relative("__kcfi_traps"), func(l *Layer) []uint64 { return l.Traps })
}

// relative reads a table of 32-bit words, each relative to itself.
func (im *Image) relative(section string) []uint64 {
	s := im.Section(section)
	if s == nil {
		return nil
	}
	all := make([]uint64, 0, len(s.Data)/4)
	for off := 0; off+4 <= len(s.Data); off += 4 {
		all = append(all, s.ref(off))
	}
	return all
}

// ref reads a 32-bit word that is relative to itself.
func (s *Section) ref(off int) uint64 {
	return s.Addr + uint64(off) + uint64(int64(int32(binary.LittleEndian.Uint32(s.Data[off:]))))
}

// Fentries returns the sorted addresses of the calls of __fentry__ at functions' entries, five
// bytes each. They come from __mcount_loc; without that table, from the functions that begin with
// [endbr64] call __fentry__.
func (im *Image) Fentries() []uint64 {
	from, ok1 := im.Symbol("__start_mcount_loc")
	to, ok2 := im.Symbol("__stop_mcount_loc")
	var all []uint64
	if ok1 && ok2 && to.Addr > from.Addr {
		b := im.Bytes(from.Addr, (to.Addr-from.Addr)&^uint64(im.class.Word-1))
		for ; len(b) >= im.class.Word; b = b[im.class.Word:] {
			at := im.class.Get(b)
			if in := im.sectionAt(at, 5); in != nil && in.Exec { // otherwise an overridden weak function
				all = append(all, at)
			}
		}
	} else {
		all = im.callsOfFentry()
	}
	all = im.withLayer(all, func(l *Layer) []uint64 { return l.Fentries })
	slices.Sort(all)
	return slices.Compact(all)
}

// An ExEntry is a row of __ex_table: an instruction that may fault.
type ExEntry struct {
	Addr  uint64 // of the instruction
	Fixup uint64 // where execution continues
	Data  int32  // the handler and its register (EX_TYPE_*); 0 where a row has none
}

// Extable returns the exception table, by address.
func (im *Image) Extable() []ExEntry {
	var all []ExEntry
	size := im.class.exRow
	for _, s := range Named(im, "__ex_table") {
		for off := 0; off+size <= len(s.Data); off += size {
			e := ExEntry{Addr: im.class.Addr(s.ref(off)), Fixup: im.class.Addr(s.ref(off + 4))}
			if size > 8 {
				e.Data = int32(binary.LittleEndian.Uint32(s.Data[off+8:]))
			}
			all = append(all, e)
		}
	}
	slices.SortStableFunc(all, func(a, b ExEntry) int { return cmp.Compare(a.Addr, b.Addr) })
	return all
}
