package view

import (
	"fmt"
	"slices"
	"strings"

	"kpsim/sim"
	"kpsim/smp/arch"
	"kpsim/smp/smpev"
	"kpsim/traces"
)

// text is memory according to the events, with names for its places.
type text struct {
	in     *Input
	mem    map[uint64]byte
	linked map[uint64]byte // original text
	insns  []span          // its instructions, in the order of their addresses
	sites  []span          // linked text that is written to, whole instructions
	areas  []area          // executable memory allocated so far
}

// A span is [at, end).
type span struct{ at, end uint64 }

func (s span) has(addr uint64) bool { return addr >= s.at && addr < s.end }

// An area is executable memory: a slot or a detour.
type area struct {
	span
	what uint64
	name string
	live bool
}

// newText reads the head of the log, and looks ahead for the places that will be
// written.
func newText(in *Input) *text {
	if in.Arch == nil {
		sim.Bug("view: which processor?")
	}
	t := &text{in: in, mem: map[uint64]byte{}, linked: map[uint64]byte{}}
	for i := range in.Events {
		e := &in.Events[i]
		if e.Kind != smpev.Load {
			continue
		}
		b, n := traces.UnpackBytes(e.B, e.C)
		for k := range n {
			t.mem[e.A+uint64(k)], t.linked[e.A+uint64(k)] = b[k], b[k]
		}
		t.insns = append(t.insns, span{e.A, e.A + uint64(n)})
	}
	slices.SortFunc(t.insns, func(a, b span) int {
		if a.at < b.at {
			return -1
		}
		return 1
	})
	for i := range in.Events {
		switch e := &in.Events[i]; e.Kind {
		case smpev.Image:
			t.addSite(span{e.A, e.A + e.C>>56})
		case smpev.TextStore:
			t.addSite(span{e.A, e.A + e.C})
		}
	}
	return t
}

// addSite adds s to the sites if it is linked text, rounded up to whole instructions,
// and joined with those it overlaps.
func (t *text) addSite(s span) {
	if _, ok := t.linked[s.at]; !ok {
		return
	}
	for _, i := range t.insns {
		if i.at < s.end && s.at < i.end {
			s = span{min(s.at, i.at), max(s.end, i.end)}
		}
	}
	for i := len(t.sites) - 1; i >= 0; i-- {
		if o := t.sites[i]; o.at < s.end && s.at < o.end {
			s = span{min(s.at, o.at), max(s.end, o.end)}
			t.sites = slices.Delete(t.sites, i, i+1)
		}
	}
	t.sites = append(t.sites, s)
}

// site returns the site of addr.
func (t *text) site(addr uint64) (span, bool) {
	for _, s := range t.sites {
		if s.has(addr) {
			return s, true
		}
	}
	return span{}, false
}

// area returns the newest area of addr, or nil.
func (t *text) area(addr uint64) *area {
	for i := len(t.areas) - 1; i >= 0; i-- {
		if t.areas[i].has(addr) {
			return &t.areas[i]
		}
	}
	return nil
}

// alloc handles an Alloc event. Memory that is allocated again keeps its name.
func (t *text) alloc(e *traces.Event) *area {
	a := area{span{e.A, e.A + e.B}, e.C, "", true}
	kind := smpev.Memory.Name(e.C)
	n := 1
	for i := range t.areas {
		o := &t.areas[i]
		if o.at == a.at && o.what == a.what {
			o.end, o.live = a.end, true
			return o
		}
		if o.what == a.what {
			n++
		}
	}
	a.name = kind
	if n > 1 {
		a.name = fmt.Sprintf("%s%d", kind, n)
	}
	t.areas = append(t.areas, a)
	return &t.areas[len(t.areas)-1]
}

// kernelCode is the name of the place of the kernel's routines.
const kernelCode = "kernel code"

// place names an address: detour+0x10, victim+0x1, kernel code.
func (t *text) place(addr uint64) string {
	if t.in.KernelIP != 0 && addr == t.in.KernelIP {
		return kernelCode
	}
	a := t.area(addr)
	if a == nil {
		a = t.area(t.in.brokeAt(addr)) // the address saved by a breakpoint at its end
	}
	if a != nil && a.what != smpev.ModuleMem && a.what != smpev.CodeMem { // functions there have names of their own
		return fmt.Sprintf("%s+%#x", a.name, addr-a.at)
	}
	return t.in.symbol(addr)
}

// store handles a TextStore event.
func (t *text) store(e *traces.Event) {
	for i := range e.C {
		t.mem[e.A+i] = byte(e.B >> (8 * i))
	}
}

// bytes prints the bytes of s in memory, or linked.
func bytes(of map[uint64]byte, s span) string {
	var b strings.Builder
	for a := s.at; a < s.end; a++ {
		if a > s.at {
			b.WriteByte(' ')
		}
		if v, ok := of[a]; ok {
			fmt.Fprintf(&b, "%02x", v)
		} else {
			b.WriteString("??")
		}
	}
	return b.String()
}

// unpack returns the bytes of an event's instruction.
func unpack(e *traces.Event) []byte {
	b, n := traces.UnpackBytes(e.B, e.C)
	return b[:min(n, len(b))]
}

// disassemble prints an instruction, with the name of its target.
func (t *text) disassemble(b []byte, at uint64) string {
	in, err := t.in.Arch.Decode(b, arch.Addr(at))
	if err != nil {
		return "(no instruction)"
	}
	s := in.String()
	if to, ok := in.Target(); ok {
		s = strings.Replace(s, fmt.Sprintf("%#x", uint64(to)), t.place(uint64(to)), 1)
	}
	return s
}

// known returns the known bytes at addr, up to an instruction's length.
func (t *text) known(of map[uint64]byte, addr uint64) []byte {
	var b []byte
	for len(b) < t.in.Arch.MaxLen {
		v, ok := of[addr+uint64(len(b))]
		if !ok {
			break
		}
		b = append(b, v)
	}
	return b
}

// listing disassembles the known bytes of s, up to a jump or to bytes that are no
// instruction.
func (t *text) listing(of map[uint64]byte, s span) string {
	var insns []string
	for at := s.at; at < s.end; {
		in, err := t.in.Arch.Decode(t.known(of, at), arch.Addr(at))
		if err != nil {
			insns = append(insns, "...")
			break
		}
		insns = append(insns, t.disassemble(in.Bytes(), at))
		if in.Flow() == arch.FlowJump {
			break
		}
		at += uint64(in.Size())
	}
	return strings.Join(insns, "; ")
}
