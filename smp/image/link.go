package image

import (
	"cmp"
	"fmt"
	"slices"

	"kpsim/smp/arch"
	"kpsim/smp/image/objfile"
)

// A linked is an object at its addresses.
type linked struct {
	o       *Object
	at      []arch.Addr // of each section
	bytes   [][]byte    // of each section: relocated, then patched
	symbols []arch.Addr // of each target
	entries []arch.Addr // where branches that share the TOC enter each, if it is a function
	got     arch.Addr   // of the slots for them, 8 bytes each; addresses only, without memory
	imports []Symbol    // by address

	returnThunk arch.Addr // nowhere if the object doesn't refer to it

	version Version
	boot    Boot
	has     features
}

// link puts the sections where layout says, applies the relocations and patches the text. With
// stubs, a symbol that extern doesn't know becomes an import and gets a page of addresses after
// the object.
func (o *Object) link(base arch.Addr, layout func(arch.Addr) ([]arch.Addr, arch.Addr), boot Boot,
	extern Extern, stubs bool) (*linked, error) {
	if err := o.room(base); err != nil {
		return nil, err
	}
	l := &linked{o: o, boot: boot, version: boot.Version}
	if l.version == (Version{}) {
		l.version = o.version
	}
	if l.version == (Version{}) {
		l.version = Version{6, 12}
	}
	var err error
	if l.has, err = boot.features(l.version); err != nil {
		return nil, fmt.Errorf("%s: %w", o.name, err)
	}
	var end arch.Addr
	l.at, end = layout(base)
	l.place(end, extern, stubs)
	for i := range o.sections {
		if err := l.relocate(i); err != nil {
			return nil, fmt.Errorf("%s: %w", o.name, err)
		}
	}
	if err := l.patch(); err != nil {
		return nil, fmt.Errorf("%s: %w", o.name, err)
	}
	return l, nil
}

// An Extern says where a symbol is that an object doesn't define, and where a branch enters it whose code has the same
// TOC.
type Extern func(symbol string) (at, entry arch.Addr, ok bool)

// nowhere is the address of a symbol that isn't defined.
const nowhere = ^arch.Addr(0)

// place determines the address of each target that a relocation refers to.
func (l *linked) place(end arch.Addr, extern Extern, stubs bool) {
	l.symbols, l.returnThunk = make([]arch.Addr, len(l.o.targets)), nowhere
	l.entries = make([]arch.Addr, len(l.o.targets))
	next := arch.Addr(alignUp(uint64(end), pageBytes))
	for i := range l.o.targets {
		t := &l.o.targets[i]
		switch {
		case t.place == loaded:
			l.symbols[i] = l.at[t.sec] + arch.Addr(t.value)
		case t.place == absolute:
			l.symbols[i] = arch.Addr(t.value)
		case t.place == external:
			at, entry, ok := nowhere, nowhere, false
			if t.name == tocSymbol {
				at, ok = arch.Addr(l.table()), true
			} else if extern != nil {
				at, entry, ok = extern(t.name)
			}
			if !ok && stubs {
				at, entry, ok = next, next, true
				l.imports = append(l.imports, Symbol{Name: t.name, Addr: at, Size: pageBytes})
				next += pageBytes
			}
			if !ok {
				at = nowhere
			}
			l.symbols[i], l.entries[i] = at, entry
		case t.stub:
			l.symbols[i] = next
			l.imports = append(l.imports, Symbol{Name: t.name, Addr: next, Size: pageBytes})
			next += pageBytes
		}
		if t.place != external {
			l.entries[i] = l.symbols[i] + arch.Addr(l.o.class.Local(t.other))
		}
		if t.name == returnThunk {
			l.returnThunk = l.symbols[i]
		}
	}
	l.got = next
}

// relocate computes the bytes of section i.
func (l *linked) relocate(i int) error {
	s := &l.o.sections[i]
	b := slices.Clone(s.data)
	for k := range s.relocs {
		r := &s.relocs[k]
		t, to := &l.o.targets[r.Symbol], l.symbols[r.Symbol]
		if to == nowhere && t.place == external && t.name != fentry { // calls of fentry become nops
			return fmt.Errorf("%s refers to %s, which isn't defined; define it above elf(), another elf(…), "+
				"stub(%q) or data(%q, …)", l.o.where(i, r.Off), t.name, t.name, t.name)
		}
		f := l.o.class.Form(r.Kind)
		addend := r.Addend
		if f.Field != nil && f.Field.High {
			high := l.high(r)
			if high == nil {
				return fmt.Errorf("%s: %s has the low part of an address, and no high part stands at %#x: compile it "+
					"again", l.o.where(i, r.Off), l.o.class.RelocName(r.Kind), uint64(to))
			}
			addend, to = high.Addend, l.symbols[high.Symbol]-l.at[t.sec]-arch.Addr(high.Off)
		}
		v, ok := f.Value(&[...]uint64{
			objfile.SymbolAt: uint64(to), objfile.EntryAt: uint64(l.entries[r.Symbol]),
			objfile.SlotAt: uint64(l.got) + 8*uint64(r.Symbol), objfile.TableAt: l.table(),
			objfile.HoleAt: uint64(l.at[i]) + uint64(r.Off), objfile.SizeOf: t.size,
		}, addend)
		// An invented address may be truncated, except in a jump.
		if made := t.place == external || t.stub; !ok && !(made && f.Bytes < 4 && f.Less == objfile.Nothing) {
			return fmt.Errorf("%s: %s at %#x is out of reach (%s): %s", l.o.where(i, r.Off), t.name, uint64(to),
				l.o.class.RelocName(r.Kind), reach(&f))
		}
		f.Put(l.o.class.Order, b[r.Off:], v)
	}
	l.bytes = append(l.bytes, b)
	return nil
}

// TOC is the base of the TOC that all objects of ppc64le share, so that they call each other as if a linker had made
// one program of them. Text and data of scenarios are within 2 GiB of it, which code of -mcmodel=medium needs.
const TOC = 0xffff_ffff_8300_8000

// tocSymbol is the name of the base.
const tocSymbol = ".TOC."

// table returns where code finds addresses: the object's global offset table, or the TOC.
func (l *linked) table() uint64 {
	if l.o.class.TOC {
		return TOC
	}
	return uint64(l.got)
}

// high returns the relocation of the instruction that the symbol of another one is at: it has the high part of what
// that has the low part of. nil: there is none.
func (l *linked) high(low *objfile.Reloc) *objfile.Reloc {
	t := &l.o.targets[low.Symbol]
	if t.place != loaded {
		return nil
	}
	return l.o.class.High(l.o.sections[t.sec].relocs, t.value+uint64(low.Addend))
}

// reach returns the remedy for an overflow.
func reach(f *objfile.Form) string {
	switch {
	case f.Bytes < 4:
		return "write an operand of 32 bits"
	case f.Less == objfile.HoleAt:
		return "place the two within 2 GiB of each other"
	}
	return "place the object below 2 GiB, or compile with -fpie so that addresses are relative"
}

// refers returns the name that the hole at an offset refers to; "" if there is no hole.
func (l *linked) refers(sec, off int) string {
	relocs := l.o.sections[sec].relocs
	i, ok := slices.BinarySearchFunc(relocs, off, func(r objfile.Reloc, off int) int { return cmp.Compare(r.Off, off) })
	if !ok {
		return ""
	}
	return l.o.targets[relocs[i].Symbol].name
}

// moduleLayout lays out text as the kernel does. Core text is all code sections except those of
// the init part, by number, each aligned; the init part is a separate allocation. In an object
// that is no module, sections just follow each other.
func (o *Object) moduleLayout(base arch.Addr) ([]arch.Addr, arch.Addr) {
	at := make([]arch.Addr, len(o.sections))
	end := uint64(base)
	for _, init := range []bool{false, true} {
		for i := range o.texts {
			if s := &o.sections[i]; isInit(s.name) == init {
				end = alignUp(end, s.align)
				at[i] = arch.Addr(end)
				end += uint64(len(s.data))
			}
		}
		end = alignUp(end, pageBytes)
	}
	return at, o.layoutData(at, arch.Addr(end))
}
