package properties

import (
	"kpsim/smp/smpev"
	"kpsim/traces"
)

// SitesAgree is property J2: the contract of J1 for text at rest. Setters that overlap end as one order of them: all
// sites of a key hold what the same one has asked for. It looks when no setter of the key is under way, when a module
// has been loaded, and at the end.
//
// Based on: Sets, what callers set and when, against what TextStore left; Alloc, Retire and Free, for the text of a
// module.
var SitesAgree = Property{
	ID:   "J2",
	Name: "sites-agree",
	Says: "While no call sets a jump label, a static call, the lock prefixes, the alternatives or a debugger's " +
		"breakpoint, every site in loaded text holds the instruction that the last call asked for, or, of several " +
		"that overlapped, the same one.",
	Kinds: settingKinds,
	Reads: settingReads,
	Needs: smpev.Setting,
	New:   func(s *Scene) Monitor { return &sitesAgree{settings{scene: s}} },

	Touches: settingTouches,
}

type sitesAgree struct{ settings }

func (m *sitesAgree) Event(e *traces.Event) *traces.Finding {
	ended := m.follow(e)
	if ended {
		if p := m.rest(e.A); p != nil {
			return found(e, p.addr, "returns, and %s at %#x isn't as the last call asked for: %s stands there",
				p, p.addr, m.standing(p))
		}
	}
	if e.Kind == smpev.Asked && e.B == smpev.AskedLoad|smpev.AskedEnds && e.C == 0 {
		if p := m.every(); p != nil {
			return found(e, p.addr, "has loaded a module, and %s at %#x isn't as the last call asked for: "+
				"%s stands there", p, p.addr, m.standing(p))
		}
	}
	return nil
}

func (m *sitesAgree) End(bool) *traces.Finding {
	if p := m.every(); p != nil {
		return atEnd(p.addr, "%s at %#x isn't as the last call asked for: %s stands there", p, p.addr,
			m.standing(p))
	}
	return nil
}

// every checks all keys.
func (m *sitesAgree) every() (odd *place) {
	for i := range m.sites {
		if odd = m.rest(m.sites[i].key); odd != nil {
			return odd
		}
	}
	return nil
}

// standing prints what is in memory at a site.
func (m *sitesAgree) standing(p *place) string {
	mem, _ := m.scene.text.word(p.addr)
	n := min(p.len, chunkSize)
	return hex(mem&mask(n), n<<56)
}
