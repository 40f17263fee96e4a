package vmlinux

import (
	"debug/elf"
	"encoding/binary"
	"fmt"
	"kpsim/smp/image/objfile"
)

// A relocs holds the addresses of words that change when the kernel doesn't run at its link
// address, by the kind of change.
type relocs struct {
	add32 []uint64 // 32-bit words, to which the distance is added
	// 32-bit words, from which it is subtracted: rip-relative references to something that
	// doesn't move
	minus32 []uint64
	add64   []uint64 // 64-bit words
}

func (r *relocs) empty() bool { return len(r.add32)+len(r.minus32)+len(r.add64) == 0 }

// appended reads the relocations after the ELF in a vmlinuz (arch/x86/tools/relocs.c):
// sign-extended 32-bit addresses, in lists that each begin with a 0. The last list has 32-bit
// words; before it come inverse ones, until 6.15, and then 64-bit words. A 32-bit kernel has only
// the last list.
func (o *object) appended() (relocs, error) {
	n := (o.size - o.end) &^ 3
	if n == 0 || n > loadedMax {
		return relocs{}, nil
	}
	b := make([]byte, n)
	if _, err := o.r.ReadAt(b, int64(o.size-n)); err != nil {
		return relocs{}, fmt.Errorf("relocations: %w", err)
	}
	if binary.LittleEndian.Uint32(b) != 0 { // other data
		return relocs{}, nil
	}
	var lists [][]uint64
	for ; len(b) > 0; b = b[4:] {
		if at := int32(binary.LittleEndian.Uint32(b)); at == 0 {
			lists = append(lists, nil)
		} else {
			last := len(lists) - 1
			lists[last] = append(lists[last], uint64(int64(at))&o.class.mask)
		}
	}
	switch n := len(lists); {
	case o.Word == class32.Word && n == 1:
		return relocs{add32: lists[0]}, nil
	case o.Word == class32.Word:
		return relocs{}, fmt.Errorf("relocations: there are %d lists of them, not 1: the kernel is newer than "+
			"this program, or damaged", n)
	case n == 2:
		return relocs{add64: lists[0], add32: lists[1]}, nil
	case n == 3:
		return relocs{add64: lists[0], minus32: lists[1], add32: lists[2]}, nil
	}
	return relocs{}, fmt.Errorf("relocations: there are %d lists of them, not 2 or 3: the kernel is newer than "+
		"this program, or damaged", len(lists))
}

// relativePPC is R_PPC64_RELATIVE (Power ELFv2 ABI, "Relocation Types").
const relativePPC = 22

// dynamic reads the relocations of a kernel that is linked as position-independent (.rela.dyn): words that have an
// address already, to which the distance is added. Others are of weak symbols that the kernel lacks.
func (o *object) dynamic() (all relocs, err error) {
	for i := range o.Sections {
		h := &o.Sections[i]
		if o.class.relative == 0 || h.Name != ".rela.dyn" || h.Kind != o.Rels {
			continue
		}
		b, err := o.Bytes(h, loadedMax)
		if err != nil {
			return relocs{}, err
		}
		for ; len(b) >= o.Rel; b = b[o.Rel:] {
			if at, _, kind, _ := o.class.Row(b); kind == o.class.relative {
				all.add64 = append(all.add64, at)
			}
		}
	}
	return all, nil
}

// emitted reads the relocations that the linker left in a vmlinux (--emit-relocs, which
// CONFIG_RANDOMIZE_BASE needs). It selects those that move (arch/x86/tools/relocs.c): absolute
// words, except of per-CPU and absolute symbols, and rip-relative references to per-CPU symbols.
func (o *object) emitted(table []objfile.Symbol) (relocs, error) {
	lo, hi := o.span()
	left := uint64(loadedMax)
	var all relocs
	for i := range o.Sections {
		h := &o.Sections[i]
		if h.Kind != o.Rels || int(h.Info) >= len(o.Sections) || h.Size == 0 {
			continue
		}
		// Notes are read before the kernel runs, so they don't move.
		to := &o.Sections[h.Info]
		if to.Flags&elf.SHF_ALLOC == 0 || to.Kind == elf.SHT_NOTE {
			continue
		}
		b, err := o.Bytes(h, left)
		if err != nil {
			return relocs{}, err
		}
		left -= h.Size
		for ; len(b) >= o.Rel; b = b[o.Rel:] {
			if err := all.add(o.class, b, table, lo, hi); err != nil {
				return relocs{}, fmt.Errorf("section %s: %w", h.Name, err)
			}
		}
	}
	return all, nil
}

// add adds one entry b of a relocation section. The kernel, without per-CPU data, lies from lo to
// hi.
func (r *relocs) add(c *class, b []byte, table []objfile.Symbol, lo, hi uint64) error {
	at, sym, kind, _ := c.Row(b)
	if sym >= uint64(len(table)) {
		return fmt.Errorf("relocation at %#x: names symbol %d of %d: link the kernel again", at, sym, len(table))
	}
	s := &table[sym]
	if s.Section == elf.SHN_UNDEF {
		return nil
	}
	perCPU := s.Section < elf.SHN_LORESERVE && !c.moves(s.Value)
	moves := s.Value >= lo && s.Value <= hi // also for symbols that the linker script defines as absolute
	switch f := c.Form(kind); {
	case f.Of != objfile.SymbolAt:
	case f.Relative() && f.Bytes == 4:
		if perCPU {
			r.minus32 = append(r.minus32, at)
		}
	case f.Less != objfile.Nothing || !moves:
	case f.Bytes == 4:
		r.add32 = append(r.add32, at)
	case f.Bytes == 8:
		r.add64 = append(r.add64, at)
	}
	return nil
}
