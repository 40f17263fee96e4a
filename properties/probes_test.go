package properties

import (
	"strings"
	"testing"

	"kpsim/kprobes/kpev"
	"kpsim/traces"
)

// The knowledge about a probe after a sequence of calls. A word is a call of one task:
// +reg begins it, -reg returns 0, !reg returns an error; the number is the task's.
func TestProbes(t *testing.T) {
	apis := map[string]uint64{"reg": kpev.Register, "unreg": kpev.Unregister, "en": kpev.Enable, "dis": kpev.Disable}
	const no, maybe, yes = regNo, regMaybe, regYes
	for _, c := range []struct {
		calls string
		reg   uint8
		sure  bool
	}{
		{"", no, false},
		{"+reg1", maybe, false},
		{"+reg1 -reg1", yes, true},
		{"+reg1 !reg1", no, false},
		{"+reg1 -reg1 +reg2 !reg2", yes, true},
		{"+reg1 +reg2 !reg2", maybe, false},
		{"+reg1 +reg2 !reg2 -reg1", yes, true},
		{"+reg1 +reg2 -reg1 !reg2", yes, true},
		{"+reg1 +reg2 !reg1", maybe, false},
		{"+reg1 -reg1 +unreg2", maybe, false},
		{"+reg1 -reg1 +unreg2 -unreg2", no, false},
		{"+reg1 -reg1 +unreg2 !unreg2", yes, false},
		{"+reg1 -reg1 +unreg2 -unreg2 +reg1", maybe, false},
		{"+reg1 -reg1 +unreg2 -unreg2 +reg1 -reg1", yes, true},

		// Two unregisters: the last one to return knows.
		{"+reg1 -reg1 +unreg2 +unreg3 -unreg3", maybe, false},
		{"+reg1 -reg1 +unreg2 +unreg3 -unreg3 -unreg2", no, false},
		{"+reg1 -reg1 +unreg2 +unreg3 !unreg3 -unreg2", no, false},
		{"+reg1 -reg1 +unreg2 +unreg3 -unreg2 !unreg3", maybe, false},

		// Register and unregister overlap: either may have come first.
		{"+reg1 +unreg2 -unreg2 -reg1", maybe, false},
		{"+reg1 +unreg2 -reg1 -unreg2", maybe, false},
		{"+unreg2 +reg1 -unreg2 -reg1", maybe, false},
		{"+unreg2 +reg1 -reg1 -unreg2", maybe, false},
		{"+unreg2 +reg1 !reg1 -unreg2", maybe, false},

		{"+reg1 -reg1 +dis2", yes, false},
		{"+reg1 -reg1 +dis2 -dis2", yes, false},
		{"+reg1 -reg1 +dis2 -dis2 +en1", yes, false},
		{"+reg1 -reg1 +dis2 -dis2 +en1 -en1", yes, true},
		{"+reg1 -reg1 +dis2 -dis2 +en1 !en1", yes, false},
		{"+reg1 -reg1 +dis2 +en1 -dis2 -en1", yes, false},
		{"+reg1 -reg1 +en1 +dis2 -dis2 -en1", yes, false},
		{"+reg1 +dis2 !dis2 -reg1", yes, false},

		{"-reg1", no, false}, // a return without a call
		{"+reg1 -reg2", maybe, false},
	} {
		var ps probes
		for _, w := range strings.Fields(c.calls) {
			e := traces.Event{Kind: kpev.ApiReturn, Task: w[len(w)-1] - '0', A: apis[w[1:len(w)-1]], B: 7}
			switch w[0] {
			case '+':
				e.Kind, e.C = kpev.ApiEnter, 0x1000
			case '!':
				e.C = 22
			}
			ps.event(&e)
		}
		var got probe
		if i := ps.index(7); i >= 0 {
			got = ps.list[i]
		}
		if got.reg != c.reg || got.sure != c.sure {
			t.Errorf("%q: registered %d, enabled for certain %v; want %d, %v", c.calls, got.reg, got.sure, c.reg,
				c.sure)
		}
		if at := ps.at(0x1000); at != (c.reg != no) {
			t.Errorf("%q: a probe at its address: %v", c.calls, at)
		}
		if none := ps.none(); none != (c.reg == no) {
			t.Errorf("%q: no probe registered: %v", c.calls, none)
		}
	}
}
