package overlay

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"io"

	"kpsim/internal/regular"
	"kpsim/linux/vmlinux"
)

// An Overlay is a set of objects, linked at its address over a kernel.
type Overlay struct {
	Digest [32]byte // SHA-256 over the objects, in their order

	// Sections are what is put in memory: text, then each other group on pages of its
	// own. All bytes are there, zeros too.
	Sections []vmlinux.Section
	// PerCPU is new per-CPU data, linked behind the vmlinux's: it lies as far behind that of
	// each CPU. One section, or none.
	PerCPU []vmlinux.Section
	// Writes are first contents of variables of the vmlinux that the objects define too.
	Writes []Write
	// Moved are the functions that the objects replace, by their old address.
	Moved []Move
	// Symbols are the overlay's own, by address. They come before the vmlinux's.
	Symbols []vmlinux.Symbol

	Returns    []uint64 // jumps to __x86_return_thunk
	Fentries   []uint64 // calls of __fentry__, five bytes each
	Retpolines []uint64 // calls and jumps to __x86_indirect_thunk_*

	// Initcalls are the functions that the objects want called while the kernel boots, in
	// that order. They are to run instead of the vmlinux's of the same name.
	Initcalls []string
	// Extable are the rows of the objects' __ex_table, by address.
	Extable []vmlinux.ExEntry

	bugs  map[uint64]vmlinux.Bug
	lines []func() *vmlinux.Lines // of each object, read when first asked for
	texts []textOf                // by address
}

// A Write is bytes to be laid over the vmlinux's memory before it runs.
type Write struct {
	Name   string // of the variable
	Addr   uint64
	Data   []byte
	PerCPU bool // in the area of each CPU
}

// A linker is an overlay that is being made.
type linker struct {
	im      *vmlinux.Image
	objects []*object

	globals  map[string]vmlinux.Symbol // of the vmlinux
	statics  map[string]int            // of the vmlinux: how many have the name
	defined  map[string]definition     // by the objects
	names    []string                  // of defined, in order
	shared   []shared
	moved    []Move
	replaced map[string]bool // by users, once asked for

	groups []group
	table  group // the blacklist
	got    group
	slotAt map[slot]uint64
	end    uint64 // of all that was laid out
}

// Link lays objects over an image, of its class, from an address up: a multiple of 4096 within
// 2 GiB of the kernel, with 128 MiB of nothing behind it. Errors name the file, the place and
// the remedy.
func Link(im *vmlinux.Image, at uint64, files ...string) (*Overlay, error) {
	if len(files) == 0 || len(files) > filesMax {
		return nil, fmt.Errorf("%d objects: give 1 to %d", len(files), filesMax)
	}
	l := &linker{im: im}
	sum := sha256.New()
	for _, name := range files {
		b, err := readFile(name)
		if err != nil {
			return nil, err
		}
		_ = binary.Write(sum, binary.LittleEndian, uint64(len(b)))
		sum.Write(b)
		o, err := parse(name, b, im.Class())
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

// overlay collects the result.
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
	v.readExtable(l.im.Class())
	return v
}

// writes returns what differs between the first contents of shared variables and the
// vmlinux's.
func (l *linker) writes() []Write {
	var all []Write
	for _, s := range l.shared {
		in := s.o.section(s.s)
		b := in.bytes[s.s.value : s.s.value+s.s.size]
		was := l.im.Bytes(s.old.Addr, s.s.size)
		if was == nil { // of .bss
			was = make([]byte, s.s.size)
		}
		if bytes.Equal(b, was) {
			continue
		}
		all = append(all, Write{Name: s.s.name, Addr: s.old.Addr, Data: b, PerCPU: in.percpu()})
	}
	return all
}

// Bug returns the row of the objects' __bug_table for the ud2 at an address.
func (v *Overlay) Bug(addr uint64) (vmlinux.Bug, bool) {
	b, ok := v.bugs[addr]
	return b, ok
}
