package overlay

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"hash"
	"io"

	"kpsim/internal/regular"
	"kpsim/linux/vmlinux"
)

// An Overlay is a set of objects linked at an address over a kernel.
type Overlay struct {
	Digest [32]byte // SHA-256 over the objects, in their order

	// Sections holds the new memory: text, then each other group on pages of its own. All bytes
	// are present, including zeros.
	Sections []vmlinux.Section
	// PerCPU is new per-CPU data, linked after the vmlinux's, at the same distance on each CPU.
	// It has one section, or none.
	PerCPU []vmlinux.Section
	// Writes holds the initial contents of variables of the vmlinux that the objects define too.
	Writes []Write
	// Moved lists the functions that the objects replace, by their old address.
	Moved []Move
	// Symbols lists the overlay's own symbols, by address. They take precedence over the
	// vmlinux's.
	Symbols []vmlinux.Symbol

	Returns    []uint64 // jumps to __x86_return_thunk
	Fentries   []uint64 // calls of __fentry__, five bytes each
	Retpolines []uint64 // calls and jumps to __x86_indirect_thunk_*
	Traps      []uint64 // ud2 of calls through pointers to another type

	// Initcalls lists the objects' initcalls in order. They must run instead of the vmlinux's of
	// the same name.
	Initcalls []string
	bugs      map[uint64]vmlinux.Bug
	lines     []func() *vmlinux.Lines // of each object, read on first use
	texts     []textOf                // by address
}

// A Write replaces bytes of the vmlinux's memory before it runs.
type Write struct {
	Name   string // of the variable
	Addr   uint64
	Data   []byte
	PerCPU bool // in the area of each CPU
}

// A linker builds an overlay.
type linker struct {
	im      *vmlinux.Image
	port    *port
	objects []*object

	globals  map[string]vmlinux.Symbol // of the vmlinux
	statics  map[string]int            // of the vmlinux: number of symbols with the name
	defined  map[string]definition     // by the objects
	names    []string                  // of defined, in order
	shared   []shared
	moved    []Move
	replaced map[string]bool // results of users, by variable

	groups []group
	table  group // the blacklist
	got    group
	toc    uint64 // the base of the vmlinux's TOC, which the objects' code shares; 0: there is none
	slotAt map[slot]uint64
	end    uint64 // end of everything laid out
}

// Link lays objects of the image's class over it, from an address up. The address must be a
// multiple of 4096 within 2 GiB of the kernel, with 128 MiB free after it; on ppc64le within 32 MiB of the text, with
// room for the objects. Errors name the file, the place and the remedy.
func Link(im *vmlinux.Image, at uint64, files ...string) (*Overlay, error) {
	if len(files) == 0 || len(files) > filesMax {
		return nil, fmt.Errorf("%d objects: give 1 to %d", len(files), filesMax)
	}
	l := &linker{im: im, port: ports[im.Processor()]}
	toc, ok := im.Symbol(tocSymbol)
	if l.toc = toc.Addr; im.Class().TOC && !ok {
		return nil, fmt.Errorf("%s: has no symbol %s, which code of the objects counts from: give a vmlinux that "+
			"isn't stripped", im.Path, tocSymbol)
	}
	sum := sha256.New()
	for _, name := range files {
		b, err := readFile(name)
		if err != nil {
			return nil, err
		}
		digest(sum, b)
		o, err := parse(name, b, im)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		l.objects = append(l.objects, o)
	}
	v, err := l.link(at)
	if err != nil {
		return nil, err
	}
	sum.Sum(v.Digest[:0])
	return v, nil
}

// digest adds an object to the digest of several.
func digest(sum hash.Hash, b []byte) {
	_ = binary.Write(sum, binary.LittleEndian, uint64(len(b)))
	sum.Write(b)
}

// DigestOf returns the digest that an overlay of the objects has.
func DigestOf(files ...string) (d [32]byte, err error) {
	sum := sha256.New()
	for _, name := range files {
		b, err := readFile(name)
		if err != nil {
			return d, err
		}
		digest(sum, b)
	}
	sum.Sum(d[:0])
	return d, nil
}

// readFile reads a file of bounded size.
func readFile(name string) ([]byte, error) {
	f, info, err := regular.Open(name)
	if err != nil && !regular.IsNot(err) {
		return nil, err
	}
	if err == nil {
		defer f.Close()
	}
	if err != nil || info.Size() > fileMax {
		return nil, fmt.Errorf("%s: isn't a file of up to %d MiB: give an object, such as kernel/kprobes.o", name,
			fileMax>>20)
	}
	b, err := io.ReadAll(io.LimitReader(f, fileMax))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return b, nil
}

func (l *linker) link(at uint64) (*Overlay, error) {
	l.index()
	l.keep()
	if err := l.define(); err != nil {
		return nil, err
	}
	if err := l.layout(at); err != nil {
		return nil, err
	}
	l.blacklist()
	for _, step := range []func() error{l.checkTypes, l.bind, l.moves} {
		if err := step(); err != nil {
			return nil, err
		}
	}
	l.slots()
	if err := l.relocate(); err != nil {
		return nil, err
	}
	l.fill()
	return l.overlay(), nil
}

// overlay assembles the result.
func (l *linker) overlay() *Overlay {
	v := &Overlay{Moved: l.moved, Symbols: l.symbols(), Initcalls: l.initcalls(), Writes: l.writes()}
	for _, g := range append(l.groups, l.table, l.got) {
		switch {
		case g.Size == 0:
		case g.Name == ".data..percpu":
			v.PerCPU = append(v.PerCPU, g.Section)
		default:
			v.Sections = append(v.Sections, g.Section)
		}
	}
	l.sites(v)
	l.bugs(v)
	l.lines(v)
	return v
}

// writes returns the differences between the initial contents of shared variables and the
// vmlinux's.
func (l *linker) writes() []Write {
	var all []Write
	for _, s := range l.shared {
		in := s.o.section(s.s)
		b := in.bytes[s.s.Value : s.s.Value+s.s.Size]
		was := l.im.Bytes(s.old.Addr, s.s.Size)
		if was == nil { // it is in .bss
			was = make([]byte, s.s.Size)
		}
		if bytes.Equal(b, was) {
			continue
		}
		all = append(all, Write{Name: s.s.Name, Addr: s.old.Addr, Data: b, PerCPU: in.percpu()})
	}
	return all
}

// Bug returns the row of the objects' __bug_table for the ud2 at an address.
func (v *Overlay) Bug(addr uint64) (vmlinux.Bug, bool) {
	b, ok := v.bugs[addr]
	return b, ok
}
