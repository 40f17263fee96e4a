package properties

import (
	"kpsim/smp/smpev"
	"kpsim/traces"
)

// ForeignBytes is property T6: two patchers at one place.
//
// Based on: Shares. All tasks that patch by hand are one patcher, and probes are none: they copy what they read, and
// where text changes below a probe the other properties judge. A patcher of the kernel's that looks, and finds bytes
// that aren't its own, warns or dies: that is another property's.
var ForeignBytes = Property{
	ID:    "T6",
	Name:  "foreign-bytes",
	Says:  "No patcher but kprobes writes over bytes that another one has put there, unless it has read them since.",
	Kinds: []traces.Kind{smpev.Shares},
	New:   func(*Scene) Monitor { return new(foreignBytes) },
	Touches: func(t *Touched, e *traces.Event) {
		if e.C&smpev.SharesWrote != 0 {
			t.WriteText(e.A, min(e.B, smpev.MostShared))
		} else {
			t.ReadText(e.A, min(e.B, smpev.MostShared))
			t.Write(lookedAt | e.C)
		}
	},
}

// lookedAt is the object of what a patcher has read.
const lookedAt = 1 << 43

type foreignBytes struct {
	bytes []sharedByte `state:"set: they are looked up by their address"`
}

// A sharedByte is a byte that several patchers write.
type sharedByte struct {
	addr  uint64
	by    uint64 // who has written it last: as in Shares, and 1; 0: no patcher has
	known uint64 // a set of those who have read it since, each a bit
}

func (m *foreignBytes) Reset() { m.bytes = m.bytes[:0] }

func (m *foreignBytes) Event(e *traces.Event) *traces.Finding {
	by := e.C >> 1
	bit := uint64(1) << (by % 64)
	for a := e.A; a < e.A+min(e.B, smpev.MostShared); a++ {
		b := m.at(a)
		if e.C&smpev.SharesWrote == 0 {
			b.known |= bit
			continue
		}
		if b.by != 0 && b.by != by+1 && b.known&bit == 0 {
			return found(e, e.A, "has written over the %d bytes at %#x: another patcher has written to %#x, and "+
				"this one hasn't read that since", e.B, e.A, a)
		}
		b.by, b.known = by+1, bit
	}
	return nil
}

func (m *foreignBytes) End(bool) *traces.Finding { return nil }

func (m *foreignBytes) at(addr uint64) *sharedByte {
	for i := range m.bytes {
		if m.bytes[i].addr == addr {
			return &m.bytes[i]
		}
	}
	m.bytes = append(m.bytes, sharedByte{addr: addr})
	return &m.bytes[len(m.bytes)-1]
}
