package lang_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"kpsim/internal/scenario"
	"kpsim/internal/scenario/edit"
	"kpsim/internal/scenario/lang"
)

// An edit leaves the scenario alone that it is of, and what it makes is smaller
// or simpler; where Check accepts it, it prints and loads as itself.
func TestSmaller(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := genScenario(t)
		was := lang.Print(s)
		for i, e := range edit.Smaller(s) {
			c := e.Apply(s)
			require.Equal(t, was, lang.Print(s), "%s changed its scenario", e.Says)
			require.NotEqual(t, was, lang.Print(c), "%s does nothing", e.Says)
			require.LessOrEqual(t, weight(c), weight(s), e.Says)
			if i%5 > 0 || lang.Check(c) != nil {
				continue
			}
			again, err := lang.Load("x.star", []byte(lang.Print(c)), nil)
			require.NoError(t, err, e.Says)
			require.Equal(t, lang.Print(c), lang.Print(again))
		}
	})
}

// weight is what edits make less of.
func weight(s *scenario.Scenario) int {
	n := s.Machine.CPUs + len(s.Texts) + len(s.Datas) + len(s.Missing) + len(s.Probes) + len(s.Labels)
	for i := range s.Tasks {
		n += 1 + len(s.Tasks[i].Ops)*s.Tasks[i].Repeat
	}
	for i := range s.Sources {
		n += s.Sources[i].AtMost + 1
	}
	return n
}

const shrinkable = `
machine(cpus = 4)
f = text("f", "0f1f440000 c3")
g = text("g", "90 c3")
d = data("d", "00")
k = kprobe("k", at = f)
l = kprobe("l", at = g)
task("a", cpu = 0, ops = [register(k), register(l), call(f), unregister(k)], repeat = 5)
task("b", cpu = 2, ops = [call(f)])
timer(cpu = 2, run = g)
timer(cpu = 2, at_most = 3)
nmi(cpu = 3)
`

func TestSmallerLists(t *testing.T) {
	s, err := lang.Load("s.star", []byte(shrinkable), nil)
	require.NoError(t, err)
	var says []string
	for _, e := range edit.Smaller(s) {
		says = append(says, e.Says)
	}
	require.Equal(t, []string{
		"task b left out", "task a left out",
		"nmi@cpu3 left out", "timer@cpu2.2 left out", "timer@cpu2 left out",
		"probe l left out", "probe k left out",
		"task a: operations 2 to 3 left out", "task a: operations 0 to 1 left out",
		"task a: operation 3 left out", "task a: operation 2 left out", "task a: operation 1 left out",
		"task a: operation 0 left out",
		"task a: repeat = 1", "task a: repeat = 2", "task a: repeat = 4",
		"timer@cpu2.2: at_most = 1", "timer@cpu2.2: at_most = 2",
		"cpu1 left out",
		"timer@cpu2 a plain timer", "nmi@cpu3 a plain timer",
		"data d left out",
	}, says)
	require.Equal(t, "4 CPUs, 2 tasks, 21 operations, 3 sources, 2 probes, 2 functions, 1 block", s.Size())
}

// Movers are called otherwise when what is before them is gone.
func TestSmallerRenames(t *testing.T) {
	s, err := lang.Load("s.star", []byte(shrinkable), nil)
	require.NoError(t, err)
	edits := make(map[string]edit.Edit)
	for _, e := range edit.Smaller(s) {
		edits[e.Says] = e
	}
	for _, c := range []struct{ says, old, now string }{
		{"task b left out", "cpu2", "cpu2"},
		{"timer@cpu2 left out", "timer@cpu2", ""},
		{"timer@cpu2 left out", "timer@cpu2.2", "timer@cpu2"},
		{"timer@cpu2.2 left out", "timer@cpu2", "timer@cpu2"},
		{"cpu1 left out", "cpu0", "cpu0"},
		{"cpu1 left out", "cpu1", ""},
		{"cpu1 left out", "ipi@cpu1", ""},
		{"cpu1 left out", "cpu2", "cpu1"},
		{"cpu1 left out", "ipi@cpu3", "ipi@cpu2"},
		{"cpu1 left out", "timer@cpu2.2", "timer@cpu1.2"},
		{"cpu1 left out", "work@kprobe_optimizer", "work@kprobe_optimizer"},
		{"nmi@cpu3 a plain timer", "nmi@cpu3", "timer@cpu3"},
	} {
		e, ok := edits[c.says]
		require.True(t, ok, c.says)
		require.Equal(t, c.now, e.Mover(c.old), "%s: %s", c.says, c.old)
	}
	e := edits["cpu1 left out"]
	c := e.Apply(s)
	require.Equal(t, 3, c.Machine.CPUs)
	require.Equal(t, 1, c.Tasks[1].CPU)
	require.Equal(t, []string{"timer@cpu1", "timer@cpu1.2", "nmi@cpu2"}, c.SourceNames())
	e = edits["probe k left out"]
	require.NotContains(t, lang.Print(e.Apply(s)), "register(k)")
}

// TestSmallerByHand: of a patcher that a scenario describes the last operations may go, where it leaves no other
// stopped, and doesn't begin anew with what an unfinished one has written.
func TestSmallerByHand(t *testing.T) {
	s, err := lang.Load("s.star", []byte(`
machine(cpus = 2)
f = text("f", "9090 c3")
task("a", cpu = 0, ops = [write(f, "6690"), stop(), write(f, "9090"), resume(), write(f, "6690")])
task("b", cpu = 1, ops = [write(f, "6690"), write(f, "9090")], repeat = 2)
`), nil)
	require.NoError(t, err)
	var says []string
	for _, e := range edit.Smaller(s) {
		if strings.Contains(e.Says, "operation") {
			says = append(says, e.Says)
		}
	}
	require.Equal(t, []string{"task a: operation 4 left out"}, slices.Compact(says))
}
