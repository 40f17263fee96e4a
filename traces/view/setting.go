package view

import (
	"slices"

	"kpsim/smp/smpev"
	"kpsim/traces"
)

// ofSetting reports whether the property judges what a patcher beside kprobes has set.
func (p *tale) ofSetting() bool {
	return slices.Contains([]string{"J1", "J2", "N1", "N2", "U2"}, p.id())
}

// tellSetting names, for the place at which something else was set, who wrote there last and who ran it last. The
// setters' calls are in no log.
func (p *tale) tellSetting(v int) {
	at := p.in.PlaceAt
	if at == 0 {
		return
	}
	if x := p.last(v+1, func(e *traces.Event) bool { return e.Kind == smpev.Exec && e.A == at }); x >= 0 {
		p.say(x, 2, "%s ran %s at %s.", p.who(x), p.insn(x), p.x.place(at))
	}
	s, ok := p.x.site(at)
	if list := p.writesTo(s, v); ok && len(list) > 0 {
		p.tellWrites(list[max(0, len(list)-2):], 1)
	} else {
		p.say(v, 1, "Nothing has been written to %s.", p.x.place(at))
	}
}
