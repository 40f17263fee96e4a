package properties

import (
	"slices"

	"kpsim/kprobes/kpev"
	"kpsim/smp/smpev"
	"kpsim/traces"
)

// Unoptimized is property P4, the other half of OptimizedAgain: a jump is removed when
// its conditions end (spec 4.4, 4.7 to 4.9). Other properties seldom notice a jump that
// stays: a detour may skip the probes that it must not call.
//
// Based on: Image, the API calls and NoJump (probes that rule out a jump) against
// what TextStore left.
var Unoptimized = Property{
	ID:   "P4",
	Name: "unoptimized",
	Says: "When all work is done, no jump is at an address whose probes are all disabled, or where one has a " +
		"post_handler or is a jprobe, nor over another enabled probe.",
	Kinds: []traces.Kind{
		smpev.Load, smpev.Image, smpev.TextStore, smpev.Retire, smpev.Free, kpev.ApiEnter, kpev.ApiReturn, kpev.Kind,
		kpev.Enabled, kpev.Printk, kpev.NoJump,
	},
	Reads: []traces.Kind{smpev.Load, smpev.Image, smpev.TextStore, smpev.Retire, smpev.Free, kpev.ApiEnter,
		kpev.ApiReturn, kpev.Kind, kpev.Enabled, kpev.Printk},
	New:     func(s *Scene) Monitor { return &unoptimized{scene: s} },
	Touches: againTouches, // it reads the same state at the end
}

type unoptimized struct {
	scene *Scene
	never []uint64 // the probes that rule out a jump
}

func (m *unoptimized) Reset() { m.never = m.never[:0] }

func (m *unoptimized) Event(e *traces.Event) *traces.Finding {
	m.never = append(m.never, e.A)
	return nil
}

func (m *unoptimized) End(drained bool) *traces.Finding {
	if !drained {
		return nil
	}
	s := m.scene
	for i := s.raw; i < len(s.images); i++ {
		x := &s.images[i]
		if !s.proc.jumps(x.lo) || !s.probes.at(x.addr) || s.insnIs(x) || in(s.dying, x.addr) != nil ||
			!s.text.holds(x) || s.excuses(x.addr) {
			continue
		}
		if why, id := m.wrong(x); why != "" {
			return atEnd(x.addr, "a jump stands at %#x, and probe %d %s", x.addr, id, why)
		}
	}
	return nil
}

// insnIs reports whether an image equals the linked instruction.
func (s *Scene) insnIs(x *insn) bool {
	y := s.text.insnAt(x.addr)
	return y.lo == x.lo && y.hi == x.hi
}

// wrong names the probe that rules out a jump here, "" if none does. Facts about a
// probe that aren't known count in favour of the jump.
func (m *unoptimized) wrong(x *insn) (why string, id uint64) {
	wanted, down := false, uint64(0)
	for i := range m.scene.probes.list {
		p := &m.scene.probes.list[i]
		switch at := p.addr - x.addr; {
		case at >= x.len() || p.reg == regNo:
		case at == 0 && p.reg == regYes && !p.lost && slices.Contains(m.never, p.id):
			return "is there, which forbids it", p.id
		case at == 0 && p.reg == regYes && p.down:
			down = p.id
		case at == 0:
			wanted = true
		case p.sure:
			return "lies under it", p.id
		}
	}
	if !wanted {
		return "is disabled, as all are that are there", down
	}
	return "", 0
}
