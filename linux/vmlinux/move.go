package vmlinux

import (
	"encoding/binary"
	"fmt"
)

// moveStep is the granularity of KASLR: the kernel is mapped in pages of 2 MiB.
const moveStep = 2 << 20

// Move shifts the kernel by delta bytes, a multiple of 2 MiB, as KASLR does at boot. It moves
// sections, symbols and the addresses in text and data, except for per-CPU data and absolute
// symbols. In a kernel without relocations (CONFIG_RELOCATABLE=n, or a stripped vmlinux) it
// searches for them, which takes 0.7 s and is nearly exact. Move may be called once, before any
// query. After an error the image is unusable.
func (im *Image) Move(delta int64) error {
	switch {
	case delta%moveStep != 0:
		return fmt.Errorf("%s: move by %#x: that is no multiple of 2 MiB", im.Path, delta)
	case im.moved:
		return fmt.Errorf("%s: move by %#x: the kernel was moved already", im.Path, delta)
	case im.relocs.empty() && im.class.recover == nil:
		return fmt.Errorf("%s: move by %#x: it has no relocations, and a kernel of %s isn't searched for "+
			"them: build it with CONFIG_RELOCATABLE", im.Path, delta, im.class.processor)
	case im.relocs.empty():
		im.relocs = im.class.recover(im)
	}
	im.moved, im.delta = true, delta
	for i := range im.sections {
		s := &im.sections[i]
		if to := s.Addr + uint64(delta); im.moves(s) &&
			(to < im.class.low || to+s.Size < to || to+s.Size-1 > im.class.mask) {
			return fmt.Errorf("%s: move by %#x: section %s would leave the kernel's 2 GiB", im.Path, delta, s.Name)
		}
	}
	if err := im.relocate(delta); err != nil {
		return fmt.Errorf("%s: %w", im.Path, err)
	}
	for i := range im.sections {
		if s := &im.sections[i]; im.moves(s) {
			s.Addr += uint64(delta)
		}
	}
	for i := range im.views {
		im.views[i].Addr += uint64(delta)
	}
	for i := range im.symbols {
		if s := &im.symbols[i]; s.moves {
			s.Addr += uint64(delta)
		}
	}
	return nil
}

// moves reports whether a section moves with the kernel. Per-CPU data linked at 0 doesn't.
func (im *Image) moves(s *Section) bool { return im.class.moves(s.Addr) }

// relocate adds delta at the places that the relocations name.
func (im *Image) relocate(delta int64) error {
	le := binary.LittleEndian
	for _, list := range []struct {
		what  string
		at    []uint64
		bytes uint64
		add   int64
	}{
		{"of 32 bits", im.relocs.add32, 4, delta},
		{"of 32 bits, inverse", im.relocs.minus32, 4, -delta},
		{"of 64 bits", im.relocs.add64, 8, delta},
	} {
		for _, at := range list.at {
			b, err := im.relocated(at, list.bytes)
			if err != nil {
				return fmt.Errorf("relocations %s: %w", list.what, err)
			}
			if list.bytes == 8 {
				le.PutUint64(b, le.Uint64(b)+uint64(list.add))
			} else {
				le.PutUint32(b, le.Uint32(b)+uint32(list.add))
			}
		}
	}
	return nil
}

// relocated returns the n bytes at a link address that a relocation names. A vmlinuz names
// per-CPU data where its initial copy is loaded, at __per_cpu_load.
func (im *Image) relocated(at, n uint64) ([]byte, error) {
	if b := im.Bytes(at, n); b != nil {
		return b, nil
	}
	load, ok := im.Symbol("__per_cpu_load")
	if p := im.Section(".data..percpu"); ok && p != nil && p.Data != nil {
		if off := at - load.Addr; off <= p.Size && p.Size-off >= n {
			return p.Data[off : off+n], nil
		}
	}
	return nil, fmt.Errorf("%#x lies in no section with data: the file is damaged", at)
}
