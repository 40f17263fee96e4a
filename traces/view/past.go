package view

import (
	"fmt"
	"strings"

	"kpsim/kprobes/kpev"
	"kpsim/smp/arch"
	"kpsim/smp/smpev"
	"kpsim/traces"
)

// past answers questions about the log: what came before what.
type past struct {
	in   *Input
	t    *teller
	x    *text
	ev   []traces.Event
	at   int // the violating event
	hist map[uint64][]version
}

// A version is a byte of text from an event on; linked bytes are of event -1.
type version struct {
	at    int
	value byte
}

func newPast(in *Input) *past {
	t := newTeller(in)
	p := &past{in: in, t: t, x: t.text, ev: in.Events, at: t.at, hist: map[uint64][]version{}}
	for a, b := range p.x.linked {
		p.hist[a] = []version{{-1, b}}
	}
	for i := range p.ev[:min(p.at+1, len(p.ev))] {
		switch e := &p.ev[i]; e.Kind {
		case smpev.Alloc:
			p.x.alloc(e)
		case smpev.TextStore:
			for k := range e.C {
				p.hist[e.A+k] = append(p.hist[e.A+k], version{i, byte(e.B >> (8 * k))})
			}
			p.x.store(e)
		case smpev.Free:
			for k := range e.B {
				p.hist[e.A+k] = append(p.hist[e.A+k], version{i, in.Arch.Filled(arch.Addr(e.A + k))})
			}
		}
	}
	return p
}

// id is the property's, as T2.
func (p *past) id() string {
	id, _, _ := strings.Cut(p.in.Property, " ")
	return id
}

// who names the CPU of an event.
func (p *past) who(i int) string { return cpuSet(1 << (p.ev[i].CPU & 63)) }

// last returns the last event before i that satisfies is, or -1. next returns the first
// one after from and before to.
func (p *past) last(i int, is func(e *traces.Event) bool) int {
	for i = min(i, len(p.ev)) - 1; i >= 0; i-- {
		if is(&p.ev[i]) {
			return i
		}
	}
	return -1
}

func (p *past) next(from, to int, is func(e *traces.Event) bool) int {
	for i := from + 1; i < to; i++ {
		if is(&p.ev[i]) {
			return i
		}
	}
	return -1
}

// before returns the last event of the task before i that moves its instruction pointer
// or its thread of control, or -1.
func (p *past) before(task uint8, i int) int {
	return p.last(i, func(e *traces.Event) bool {
		switch e.Kind {
		case smpev.Wake, smpev.Fire, smpev.Claim, smpev.Serialise:
			return false
		}
		return e.Task == task
	})
}

// trap returns the trap that the return at event i ends, or -1.
func (p *past) trap(i int) int {
	n := 0
	for k := i - 1; k >= 0; k-- {
		if p.ev[k].Task != p.ev[i].Task {
			continue
		}
		switch p.ev[k].Kind {
		case smpev.Return:
			n++
		case smpev.Trap:
			if n == 0 {
				return k
			}
			n--
		}
	}
	return -1
}

// aliased returns the event of the store through an alias that the store to text at event i is, or a part of; -1: it
// is none.
func (p *past) aliased(i int) int {
	size := p.ev[i].C
	for k := i - 1; k >= 0; k-- {
		switch e := &p.ev[k]; {
		case e.CPU != p.ev[i].CPU:
		case e.Kind == smpev.Aliased && size <= e.C:
			return k
		case e.Kind == smpev.TextStore: // the first part of the store
			size += e.C
		default:
			return -1
		}
	}
	return -1
}

// open returns the traps that a task has open before event i.
func (p *past) open(task uint8, i int) []int {
	var list []int
	for k := range p.ev[:min(i, len(p.ev))] {
		if p.ev[k].Task != task {
			continue
		}
		switch p.ev[k].Kind {
		case smpev.Trap:
			list = append(list, k)
		case smpev.Return:
			list = list[:max(len(list)-1, 0)]
		}
	}
	return list
}

// running returns the task that is current on a CPU before event i. ok is false if the
// log doesn't say.
func (p *past) running(cpu uint8, i int) (task uint64, ok bool) {
	k := p.last(i, func(e *traces.Event) bool { return e.Kind == smpev.Switch && e.CPU == cpu })
	if k < 0 {
		return 0, false
	}
	return p.ev[k].B, true
}

// probeAt returns the address of a probe that is known before event i, or 0.
func (p *past) probeAt(id uint64, i int) uint64 {
	k := p.last(i+1, func(e *traces.Event) bool {
		return e.Kind == kpev.ApiEnter && e.A == kpev.Register && e.B == id
	})
	if k < 0 {
		return 0
	}
	return p.ev[k].C
}

// area names the memory that contains an address.
func (p *past) area(addr uint64) string {
	if a := p.x.area(addr); a != nil {
		if c := a.name[len(a.name)-1]; c >= '0' && c <= '9' {
			return a.name
		}
		return "the " + a.name
	}
	return "memory at " + p.in.symbol(addr)
}

// user returns the site whose jump or breakpoint leads to memory a.
func (p *past) user(a span, i int) (site uint64, ok bool) {
	k := p.last(i, func(e *traces.Event) bool { return e.Kind == kpev.Optimized && a.has(e.B) })
	if k >= 0 {
		return p.ev[k].A, true
	}
	k = p.last(i, func(e *traces.Event) bool { return e.Kind == smpev.Return && e.A == smpev.VecBP && a.has(e.B) })
	for k >= 0 {
		t := p.trap(k)
		if t < 0 {
			return 0, false
		}
		if at := p.in.brokeAt(p.ev[t].B); !a.has(at) {
			return at, true
		}
		k = p.last(k, func(e *traces.Event) bool { return e.Kind == smpev.Return && e.A == smpev.VecBP && a.has(e.B) })
	}
	return 0, false
}

// lastFree returns the event that freed memory of s, or -1 if there is none or the memory was
// allocated again before i.
func (p *past) lastFree(s span, i int) int {
	k := p.last(i, func(e *traces.Event) bool {
		return (e.Kind == smpev.Free || e.Kind == smpev.Alloc) && e.A < s.end && s.at < e.A+e.B
	})
	if k >= 0 && p.ev[k].Kind == smpev.Free {
		return k
	}
	return -1
}

// held names the register that holds an address on the CPU of event i, the run's last; "" if none does, or if that
// isn't known.
func (p *past) held(i int, addr uint64) string {
	if p.in.Held == nil || i != len(p.ev)-1 {
		return ""
	}
	return p.in.Held(int(p.ev[i].CPU), addr)
}

// insn disassembles the instruction of an Exec event.
func (p *past) insn(i int) string { return p.x.disassemble(unpack(&p.ev[i]), p.ev[i].A) }

// was disassembles the memory at an address before event i.
func (p *past) was(addr uint64, i int) string {
	var b []byte
	for len(b) < p.in.Arch.MaxLen {
		v, ok := p.value(addr+uint64(len(b)), i)
		if !ok {
			break
		}
		b = append(b, v.value)
	}
	in, err := p.in.Arch.Decode(b, arch.Addr(addr))
	if err != nil {
		return ""
	}
	return p.x.disassemble(in.Bytes(), addr)
}

// value returns the version that memory held before event i.
func (p *past) value(addr uint64, i int) (version, bool) {
	list := p.hist[addr]
	for k := len(list) - 1; k >= 0; k-- {
		if list[k].at < i {
			return list[k], true
		}
	}
	return version{}, false
}

// head returns the bytes that memory held at an address before event i, up to eight, as a word. Those that aren't
// known, and those after them, are 0.
func (p *past) head(addr uint64, i int) (w uint64) {
	for k := uint64(0); k < 8; k++ {
		v, ok := p.value(addr+k, i)
		if !ok {
			break
		}
		w |= uint64(v.value) << (8 * k)
	}
	return w
}

// breaks reports whether a breakpoint stood at an address before event i.
func (p *past) breaks(addr uint64, i int) bool { return p.in.Arch.IsBreakpoint(p.head(addr, i)) }

// inBreakpoint reports whether the byte at an address was one of a breakpoint's before event i.
func (p *past) inBreakpoint(addr uint64, i int) bool {
	for k := 0; k < p.in.Arch.MaxLen; k += p.in.Arch.Align {
		if p.in.Arch.BreakLen(p.head(addr-uint64(k), i)) > k {
			return true
		}
	}
	return false
}

// stood prints the first bytes that memory held at an address before event i: the shortest instruction's
// length of them.
func (p *past) stood(addr uint64, i int) string {
	return printed(p.head(addr, i), p.in.Arch.Align)
}

// printed prints n bytes of a word: "e9".
func printed(w uint64, n int) string {
	b, _ := traces.UnpackBytes(w, 0)
	return fmt.Sprintf("% x", b[:n])
}
