package view

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"kpsim/smp/arch/x86"
	"kpsim/smp/smpev"
	"kpsim/traces"
)

// A kernel's own calls stand between the events: those of one function in one row, unless
// each event has a row.
func TestCalls(t *testing.T) {
	in := Input{
		Arch:   x86.AMD64,
		CPUs:   2,
		Events: []traces.Event{{Seq: 0, Kind: smpev.Fire}, {Seq: 1, Kind: smpev.Fire, CPU: 1}},
		Calls: []Call{
			{Seq: 0, From: "f > g", Where: "a.c:1: x();", Says: "one(p)"},
			{Seq: 0, From: "f", Where: "a.c:2", Says: "two()"},
			{Seq: 0, From: "f", Says: "one()"},
			{Seq: 1, CPU: 1, Task: 1, From: "h", Says: "three()"},
			{Seq: 2, From: "f", Says: "four()"},
		},
	}
	print := func() (lines []string) {
		var b strings.Builder
		require.NoError(t, Interleaving(&b, in))
		for l := range strings.Lines(b.String()) {
			if l = strings.Join(strings.Fields(l), " "); strings.Contains(l, "(") || strings.Contains(l, "calls") {
				lines = append(lines, l)
			}
		}
		return lines
	}
	assert.Equal(t, []string{"0 f calls one, two from a.c:1 on |", "1 | h: three()", "2 f: four() |"}, print())
	in.All = true
	assert.Equal(t, []string{"0 f > g: one(p) a.c:1: x(); |", "0 f: two() a.c:2 |", "0 f: one() |", "1 | h: three()",
		"2 f: four() |"}, print())
}

// An event that a service makes is from the last call of its task.
func TestOrigin(t *testing.T) {
	in := Input{Calls: []Call{{Seq: 1, From: "f > g", Where: "a.c:1: x();"}, {Seq: 3, Task: 1, From: "h"},
		{Seq: 7, From: "f"}}}
	for _, c := range []struct {
		seq  uint32
		task uint8
		kind traces.Kind
		want string
	}{
		{0, 0, smpev.TextStore, ""},
		{1, 0, smpev.TextStore, "; from f > g, a.c:1"},
		{5, 0, smpev.GPEnd, "; from f > g, a.c:1"},
		{5, 1, smpev.Lock, "; from h"},
		{7, 0, smpev.SendIPI, "; from f"},
		{7, 0, smpev.Exec, ""},
		{9, 2, smpev.Lock, ""},
	} {
		assert.Equal(t, c.want, in.origin(&traces.Event{Seq: c.seq, Task: c.task, Kind: c.kind}), "%v", c)
	}
}
