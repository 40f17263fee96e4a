package properties

import (
	"slices"

	"kpsim/kprobes/kpev"
	"kpsim/smp/smpev"
	"kpsim/traces"
)

// TextRestored is property L2: the other half of rule 6.7.
//
// Based on: Load and Image against what TextStore left; Retire and Free, for the
// text of a module that goes.
var TextRestored = Property{
	ID:   "L2",
	Name: "text-restored",
	Says: "When unregister returns the breakpoint is gone; when all work is done every site holds one whole " +
		"image, and without probes the text is the original.",
	Kinds: []traces.Kind{
		smpev.Load, smpev.Image, smpev.TextStore, smpev.Retire, smpev.Free, smpev.Debugger, smpev.ByHand,
		smpev.Uprobe, kpev.ApiEnter, kpev.ApiReturn,
	},
	Reads: []traces.Kind{smpev.Load, smpev.Retire, smpev.Free, smpev.Debugger, smpev.ByHand, smpev.Uprobe,
		kpev.ApiEnter},
	New:     func(s *Scene) Monitor { return &textRestored{scene: s} },
	Touches: restoredTouches,
}

type textRestored struct {
	scene  *Scene
	jumped []uint64 // addresses where a jump was declared, and the original hasn't been stored since
}

func (m *textRestored) Reset() { m.jumped = m.jumped[:0] }

func (m *textRestored) Event(e *traces.Event) *traces.Finding {
	switch e.Kind {
	case smpev.TextStore:
		if len(m.jumped) > 0 {
			m.restored(e)
		}
	case smpev.Image:
		if m.scene.head && m.scene.proc.jumps(e.B) {
			m.jump(e.A)
		}
	case kpev.ApiReturn:
		if i := m.scene.called.place; i >= 0 && e.A == kpev.Unregister && e.C == 0 {
			return m.unregistered(e, &m.scene.probes.list[i])
		}
	}
	return nil
}

// jump notes that a jump is about to stand at addr.
func (m *textRestored) jump(addr uint64) {
	for _, a := range m.jumped {
		if a == addr {
			return
		}
	}
	m.jumped = append(m.jumped, addr)
}

// restored forgets a jump when the original is stored over its first byte.
func (m *textRestored) restored(e *traces.Event) {
	for i, a := range m.jumped {
		if a-e.A >= e.C {
			continue
		}
		if mem, orig := m.scene.text.head(a); m.scene.proc.first(mem^orig) == 0 {
			m.jumped = append(m.jumped[:i], m.jumped[i+1:]...)
			return
		}
	}
}

// unregistered checks the breakpoint of a probe that never was a jump. One that was is
// removed when the optimizer has run.
func (m *textRestored) unregistered(e *traces.Event, p *probe) *traces.Finding {
	if m.scene.probes.at(p.addr) || !m.scene.text.has(p.addr) || in(m.scene.dying, p.addr) != nil {
		return nil
	}
	for _, a := range m.jumped {
		if a == p.addr {
			return nil
		}
	}
	if m.site(p.addr) { // ftrace's: it writes its call behind a breakpoint there
		return nil
	}
	if mem, orig := m.scene.text.head(p.addr); m.scene.proc.breaks(mem) && !m.scene.proc.breaks(orig) &&
		!m.inJump(p.addr) && !m.scene.debugs(p.addr) {
		return found(e, p.addr, "unregister of probe %d returns, and its breakpoint is still at %#x", p.id, p.addr)
	}
	return nil
}

// inJump reports whether the byte at addr belongs to a neighbour's jump, whatever its value: all
// bytes of that jump after the first ones are in memory.
func (m *textRestored) inJump(addr uint64) bool {
	for i := range m.scene.images {
		if x := &m.scene.images[i]; addr-x.addr-1 < x.len()-1 && m.scene.proc.jumps(x.lo) &&
			m.scene.text.holdsFrom(x, m.scene.proc.unit()) {
			return true
		}
	}
	return false
}

// site reports whether addr is a raw site, where no probe has a breakpoint of its own.
func (m *textRestored) site(addr uint64) bool {
	for i := range m.scene.raw {
		if m.scene.images[i].addr == addr {
			return true
		}
	}
	return false
}

func (m *textRestored) End(drained bool) *traces.Finding {
	if !drained {
		return nil
	}
	for i := range m.scene.text.blocks {
		b := &m.scene.text.blocks[i]
		if !b.stored || !b.text {
			continue
		}
		for w := range b.mem {
			diff := (b.mem[w] ^ b.orig[w]) & b.linked[w]
			for k := uint64(0); diff != 0; k, diff = k+1, diff>>8 {
				addr := b.base + uint64(w)*chunkSize + k
				if byte(diff) == 0 || m.explained(addr) || m.scene.excuses(addr) {
					continue
				}
				why := "which is no whole image of a registered probe or a raw site"
				if m.scene.probes.none() {
					why = "though no probe is registered"
				}
				mem, orig := m.scene.text.byteAt(addr)
				return atEnd(addr, "%#x holds %02x, %s; linked there: %02x", addr, mem, why, orig)
			}
		}
	}
	return nil
}

// explained reports whether the byte at addr is a registered probe's, or belongs to an image of a raw site that is
// wholly in memory, but for bytes of registered probes.
func (m *textRestored) explained(addr uint64) bool {
	if m.scene.hand(addr) || m.probed(addr) || m.program(addr) {
		return true
	}
next:
	for i := range m.scene.images[:m.scene.raw] {
		x := &m.scene.images[i]
		if addr-x.addr >= x.len() {
			continue
		}
		for k := range x.len() {
			if mem, _ := m.scene.text.byteAt(x.addr + k); mem != x.at(k) && !m.probed(x.addr+k) {
				continue next
			}
		}
		return true
	}
	return false
}

// program reports whether the byte at addr belongs to a site's call of an image of a BPF trampoline that is there, or
// of the trampoline of a client of ftrace, or to a BPF dispatcher's jump to its image.
func (m *textRestored) program(addr uint64) bool {
	return slices.ContainsFunc(m.scene.images[m.scene.raw:], func(x insn) bool {
		if addr-x.addr >= x.len() || !m.scene.proc.branches(x.lo) || !m.site(x.addr) || !m.scene.text.holds(&x) {
			return false
		}
		to, ok := m.scene.proc.target(x.addr, x.lo)
		s := in(m.scene.handed, to)
		return ok && s != nil && (s.what == smpev.BpfMem || s.what == smpev.TrampolineMem ||
			s.what == smpev.DispatcherMem)
	})
}

// probed reports whether the byte at addr is the breakpoint of a registered probe or of a debugger, or belongs to the
// image of a registered probe that is wholly in memory.
func (m *textRestored) probed(addr uint64) bool {
	for back := range m.scene.proc.longest {
		mem, _ := m.scene.text.head(addr - back)
		if m.scene.proc.breaks(mem) && (back == 0 || back < m.scene.proc.breakLen(mem)) &&
			(m.scene.probes.at(addr-back) || m.scene.debugs(addr-back)) {
			return true
		}
	}
	for i := m.scene.raw; i < len(m.scene.images); i++ {
		x := &m.scene.images[i]
		if addr-x.addr < x.len() && m.scene.probes.at(x.addr) && m.scene.text.holds(x) {
			return true
		}
	}
	return false
}

// restoredTouches: a return from unregister is judged by the text at the probe and by
// the calls for the probes there. An object is a probe. At the end these count: the
// text, which depends on the order of stores to each chunk; which images were declared,
// in any order; and which probes are registered.
func restoredTouches(t *Touched, e *traces.Event) {
	switch e.Kind {
	case smpev.TextStore:
		t.WriteText(e.A, e.C)
	case smpev.Image:
		t.WriteText(e.A, e.C>>56)
	case smpev.Debugger:
		t.WriteText(e.A, 1)
	case smpev.Uprobe:
		if e.B == smpev.UprobeStands || e.B == smpev.UprobeGone {
			t.WriteText(e.A, 1)
		}
	case smpev.Retire, smpev.Free:
		if e.C == smpev.ModuleMem {
			t.WriteText(e.A, e.B)
		}
	case kpev.ApiEnter:
		t.Write(e.B)
	case kpev.ApiReturn:
		t.Write(e.B)
		if e.A == kpev.Unregister && e.B < uint64(len(t.Addrs)) {
			t.readAt(t.Addrs[e.B])
			t.ReadText(t.Addrs[e.B]-(t.proc.jumpLen()-1), 2*t.proc.jumpLen()-1)
		}
	}
}
