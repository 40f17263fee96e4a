package linux

import (
	"encoding/binary"
	"fmt"

	"kpsim/linux/vmlinux"
	"kpsim/smp/arch"
	"kpsim/smp/arch/ppc64"
	"kpsim/smp/kapi"
)

// What boot makes of a kernel's text by the features of the processor, and of the area for detours.

// A row of a table of features (struct fixup_entry, arch/powerpc/include/asm/feature-fixups.h) has six words: which
// features it is about, and how they must be for the code to stay; then the beginnings and ends of the code and of what
// takes its place, as distances from the row.
const (
	ppcFixup = 48
	ppcFarB  = 18 << 26 // b
	ppcNearB = 16 << 26 // bc
	ppcOp    = 63 << 26

	ppcAdd      = 14 << 26 // addi
	ppcAddUpper = 15 << 26 // addis
	ppcLoadD    = 58 << 26 // ld
)

// bootTextPPC is port.bootText.
func bootTextPPC(k *Kernel) error {
	cpu, mmu, ok := featuresPPC(k)
	if !ok {
		return fmt.Errorf("its cpu_specs have no row of the processor version %#x: the kernel is newer than this "+
			"program", ppc64.PVR)
	}
	for _, t := range []struct {
		name string
		has  uint64
	}{{"__ftr_fixup", cpu}, {"__mmu_ftr_fixup", mmu}} {
		if err := fixupPPC(k, t.name, t.has); err != nil {
			return err
		}
	}
	sites := keySites(k)
	for _, t := range []struct {
		name string
		has  uint64
	}{{"cpu_feature_keys", cpu}, {"mmu_feature_keys", mmu}} {
		s, _ := k.Image.Symbol(t.name)
		size, _ := k.Image.Types().Size("static_key")
		for i := range int(s.Size) / max(size, 1) {
			setKey(k, sites, arch.Addr(s.Addr)+arch.Addr(i*size), t.has>>i&1 != 0)
		}
	}
	setKey(k, sites, k.at("poking_init_done"), true)
	jump, _ := k.arch.Jump(ppcTramp, k.at("ftrace_regs_caller"))
	k.images = append(k.images, &kapi.Image{At: ppcTramp, Bytes: jump.Bytes(), Size: page, Exec: true})
	return placeDetours(k)
}

// featuresPPC returns the features that the kernel knows the processor to have, those of translation apart: the row of
// cpu_specs that cputable.c finds by the version. Without a device tree that says so, translation is by the hash table.
func featuresPPC(k *Kernel) (cpu, mmu uint64, ok bool) {
	t, le := k.Image.Types(), binary.LittleEndian
	size, ok := t.Size("cpu_spec")
	offs := make(map[string]int)
	for _, name := range []string{"pvr_mask", "pvr_value", "cpu_features", "mmu_features"} {
		var had bool
		offs[name], _, had = t.Off("cpu_spec", name)
		ok = ok && had
	}
	s, had := k.Image.Symbol("cpu_specs")
	if !ok || !had {
		return 0, 0, false
	}
	for b := k.Image.Bytes(s.Addr, s.Size); len(b) >= size; b = b[size:] {
		if ppc64.PVR&le.Uint32(b[offs["pvr_mask"]:]) == le.Uint32(b[offs["pvr_value"]:]) {
			mmu := uint64(le.Uint32(b[offs["mmu_features"]:]))
			return le.Uint64(b[offs["cpu_features"]:]), mmu, true
		}
	}
	return 0, 0, false
}

// fixupPPC applies the rows of a table to the functions that run (patch_feature_section).
func fixupPPC(k *Kernel, table string, has uint64) error {
	for _, s := range vmlinux.Named(k.Image, table) {
		if err := fixupsIn(k, s, has); err != nil {
			return err
		}
	}
	return nil
}

// fixupsIn is fixupPPC for the rows of a section.
func fixupsIn(k *Kernel, s *vmlinux.Section, has uint64) error {
	le := binary.LittleEndian
	for off := 0; off+ppcFixup <= len(s.Data); off += ppcFixup {
		row, at := s.Data[off:], arch.Addr(s.Addr)+arch.Addr(off)
		place := func(i int) arch.Addr { return at + arch.Addr(le.Uint64(row[8*i:])) }
		from, alt := place(2), place(4)
		n, by := int(place(3)-from), int(place(5)-alt)
		if has&le.Uint64(row) == le.Uint64(row[8:]) || n == 0 || k.Closure.Function(uint64(from)) == nil {
			continue
		}
		old, code := k.bytes(from, n), k.bytes(alt, by)
		if old == nil || by < 0 || by > n || by > 0 && code == nil {
			return fmt.Errorf("%s: row %d: its code isn't in the kernel: the file is damaged", s.Name, off/ppcFixup)
		}
		copy(old, k.arch.Nop(n))
		for i := 0; i < by; i += ppc64.WordLen {
			w, ok := le.Uint32(code[i:]), true
			if to, is := branchPPC(w, alt+arch.Addr(i)); is && (to < alt || to >= alt+arch.Addr(by)) {
				w, ok = leadPPC(w, from+arch.Addr(i), to)
			}
			if !ok {
				return fmt.Errorf("%s: row %d: a branch doesn't reach its target: the file is damaged", s.Name,
					off/ppcFixup)
			}
			le.PutUint32(old[i:], w)
		}
	}
	return nil
}

// branchPPC returns the target of a relative branch.
func branchPPC(w uint32, at arch.Addr) (to arch.Addr, ok bool) {
	const absolute = 2
	switch op := w & ppcOp; {
	case w&absolute != 0:
	case op == ppcFarB:
		return at + arch.Addr(int32(w&0x03fffffc<<6)>>6), true
	case op == ppcNearB:
		return at + arch.Addr(int16(w&0xfffc)), true
	}
	return 0, false
}

// leadPPC makes a relative branch that stands at an address lead to another.
func leadPPC(w uint32, at, to arch.Addr) (uint32, bool) {
	mask := uint32(0xfffc)
	if w&ppcOp == ppcFarB {
		mask = 0x03fffffc
	}
	w = w&^mask | uint32(to-at)&mask
	led, ok := branchPPC(w, at)
	return w, ok && led == to
}

// A keySite is a site of a jump label in the kernel.
type keySite struct {
	at, target arch.Addr
	likely     bool // the jump stands there while the key is off
}

// keySites returns the sites of all keys, in the kernel and in objects laid over it.
func keySites(k *Kernel) map[arch.Addr][]keySite {
	list := make(map[arch.Addr][]keySite)
	keySitesIn(k, list, k.at("__start___jump_table"), k.at("__stop___jump_table"))
	for _, s := range vmlinux.Named(k.Image, "__jump_table") {
		keySitesIn(k, list, arch.Addr(s.Addr), arch.Addr(s.Addr+s.Size))
	}
	return list
}

// keySitesIn adds the sites of a table.
func keySitesIn(k *Kernel, list map[arch.Addr][]keySite, first, end arch.Addr) {
	l := &k.labels
	for row := first; row < end && l.step > 0; row += l.step {
		b := k.Image.Bytes(uint64(row), uint64(l.step))
		if b == nil {
			break
		}
		place := func(f field) arch.Addr {
			d := int64(binary.LittleEndian.Uint64(append(b[f.off:f.off+f.size:f.off+f.size], make([]byte, 8)...)))
			d = d << (64 - 8*f.size) >> (64 - 8*f.size)
			return row + arch.Addr(f.off) + arch.Addr(d)
		}
		key := place(l.key)
		list[key&^3] = append(list[key&^3], keySite{place(l.code), place(l.target), key&rowLikely != 0})
	}
}

// setKey switches a key of the kernel's own before it runs (static_key_enable, static_key_disable).
func setKey(k *Kernel, sites map[arch.Addr][]keySite, key arch.Addr, on bool) {
	if b := k.bytes(key+arch.Addr(k.labels.enabled.off), k.labels.enabled.size); b != nil {
		binary.LittleEndian.PutUint32(b, uint32(b2u(on)))
	}
	for _, s := range sites[key] {
		b := k.bytes(s.at, ppc64.WordLen)
		code := ppc64.Nop()
		if on != s.likely {
			code, _ = ppc64.Jump(s.at, s.target)
		}
		if b != nil {
			copy(b, code.Bytes())
		}
	}
}

// placeDetours puts the area for detours, which the kernel has in its own text (optinsn_slot in optprobes_head.S),
// where branches of scenarios reach it. alloc_optinsn_page takes its address from the TOC by two instructions: by its
// distance, or from a word there.
func placeDetours(k *Kernel) error {
	area, ok := k.Image.Symbol("optinsn_slot")
	f := k.Closure.Function(uint64(k.at("alloc_optinsn_page")))
	if !ok || f == nil {
		return nil // it has no optimization
	}
	var high [32]arch.Addr // of the instruction that has put the upper half of an address into a register
	found := false
	le, toc := binary.LittleEndian, k.Closure.TOC()
	k.Closure.Decode(f, func(in arch.Inst) {
		p, ok := in.(*ppc64.Inst)
		if !ok {
			return
		}
		w := p.Word()
		from := high[w>>16&31]
		if w&(ppcOp|31<<16) == ppcAddUpper|uint32(ppc64.TOC)<<16 {
			high[w>>21&31] = in.At()
		}
		if from == 0 {
			return
		}
		upper := k.bytes(from, ppc64.WordLen)
		at := toc + uint64(int64(int16(le.Uint32(upper))))<<16 + uint64(int64(int16(w)))
		switch {
		case w&ppcOp == ppcAdd && at == area.Addr:
			d := ppcDetours - toc
			le.PutUint32(upper, le.Uint32(upper)&ppcHalf|uint32((d+0x8000)>>16)&0xffff)
			le.PutUint32(k.bytes(in.At(), ppc64.WordLen), w&ppcHalf|uint32(d)&0xffff)
			found = true
		case w&ppcStores == ppcLoadD: // of an object that no linker has edited
			if word := k.bytes(arch.Addr(at), 8); word != nil && le.Uint64(word) == area.Addr {
				le.PutUint64(word, ppcDetours)
				found = true
			}
		}
	})
	if !found {
		return fmt.Errorf("its alloc_optinsn_page doesn't return optinsn_slot: the kernel is newer than this program")
	}
	k.images = append(k.images, &kapi.Image{At: ppcDetours, Size: roundUp(int(area.Size), page), Exec: true})
	return nil
}
