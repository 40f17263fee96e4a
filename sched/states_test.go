package sched

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"kpsim/sim"
)

// A stateful is a procs whose state is complete, except for what forget removes.
type stateful struct {
	*procs
	forget func(state string) string
	back   bool // Back was called in this run
	kept   int
}

func (m *stateful) State() (hi, lo uint64) {
	s := fmt.Sprint(m.mem, m.locks, m.pending, m.ps, m.left, m.held)
	if m.forget != nil {
		s = m.forget(s)
	}
	for _, c := range s {
		hi, lo = sim.Mix(hi^uint64(c)), sim.Mix(lo+uint64(c)*0x9e3779b97f4a7c15)
	}
	return hi, lo
}

func (m *stateful) Keep(number int) { m.kept = max(m.kept, number) }
func (m *stateful) Begin()          { m.back = false }
func (m *stateful) Back(number int) {
	if m.back && number >= 0 || number > m.kept {
		panic("back twice, or to what wasn't kept")
	}
	m.back = true
}

// states runs what States runs.
func (m *procs) states(most int, how func(*States)) (f *found, s *States, ok bool) {
	f = newFound()
	st := &stateful{procs: m}
	s = NewStates(st)
	how(s)
	m.watch, m.chose = []sim.Observer{s}, nil
	for i := uint64(0); s.Begin(i); i++ {
		if f.runs == most {
			return f, s, false
		}
		state := m.run(s)
		if !st.back {
			panic("the run never came back to where it was kept")
		}
		pruned := s.pruned
		s.End(m.p.Seq)
		f.runs++
		if m.cut {
			f.cut++
		} else if !pruned {
			f.states[state] = true
		}
		if s.Grew() {
			s.Restart()
			f = newFound()
		}
	}
	return f, s, true
}

// counted searches without Sleep.
func counted(*States) {}

// TestStatesComplete: wherever a random program can end, one of the runs of States ends
// there, and nowhere else, with and without Sleep. Sleep makes fewer runs.
func TestStatesComplete(t *testing.T) {
	gen := genProcs(func(op string) bool { return op != "again" })
	var n draws
	less, fewer, runs, asleep := 0, 0, 0, 0
	rapid.Check(t, func(t *rapid.T) {
		m, what := gen.Draw(t, "m")()
		want, ok := m.all(6000)
		if n.drawn++; !ok {
			n.large++
			t.Skip("too many schedules")
		}
		got, s, ok := m.states(6000, counted)
		if !ok || !s.Complete() || s.Progress() != 1_000_000 {
			t.Fatalf("%s: not complete after %d runs, there are %d", what, got.runs, want.runs)
		}
		require.Equal(t, verdicts(want), verdicts(got), "%s", what)
		if st := s.Stats(); st.Runs != uint64(got.runs) ||
			st.Ways.e == 0 && (st.Ways.m < st.Runs-st.Pruned || st.Ways.m > uint64(want.runs)) {
			t.Fatalf("%s: %+v of %d runs; there are %d", what, st, got.runs, want.runs)
		}
		if got.runs < want.runs {
			less++
		}

		few, s, ok := m.states(6000, (*States).Sleep)
		if !ok || !s.Complete() || s.Progress() != 1_000_000 {
			t.Fatalf("%s: not complete after %d runs, there are %d", what, few.runs, want.runs)
		}
		require.Equal(t, verdicts(want), verdicts(few), "%s", what)
		require.Zero(t, s.Stats().Ways, "what sleeps isn't counted")
		require.LessOrEqual(t, few.runs, got.runs+got.runs/4, "%s", what)
		if few.runs < got.runs {
			fewer++
		}
		runs, asleep = runs+got.runs, asleep+few.runs
	})
	n.check(t)
	require.NotZero(t, less, "no two schedules ever came to one state")
	require.Greater(t, fewer, n.drawn/8)
	require.Less(t, asleep*10, runs*9, "sleeping spares next to nothing")
	t.Logf("%d runs, %d where movers sleep", runs, asleep)
}

// verdicts are the final states of runs, without the positions of other movers when a
// finding ended the run: what conflicts with nothing may have been done by then, or
// not.
func verdicts(f *found) map[string]bool {
	all := make(map[string]bool)
	for s := range f.states {
		if strings.Contains(s, "] true") {
			s = "a finding"
		}
		all[s] = true
	}
	return all
}

// TestStatesWays: for programs whose every step is visible, the number of schedules is
// that of all schedules.
func TestStatesWays(t *testing.T) {
	for n := 1; n <= 4; n++ {
		var code [][]instr
		for range 2 {
			code = append(code, make([]instr, n))
			for i := range n {
				code[len(code)-1][i] = instr{"write", 0, 1}
			}
		}
		m := randomProcs(code, nil)
		want, ok := m.all(100_000)
		require.True(t, ok)
		got, s, ok := m.states(100_000, counted)
		require.True(t, ok)
		require.Equal(t, Ways{m: uint64(want.runs)}, s.Stats().Ways)
		if n > 1 {
			require.Less(t, got.runs, want.runs)
		}
	}
}

// TestStatesCheck: if different states have the same digest, the check notices that the
// continuations differ.
func TestStatesCheck(t *testing.T) {
	code := [][]instr{
		{{"write", 0, 1}, {"write", 1, 1}, {"read", 0, 0}, {"skip", 0, 0}, {"write", 1, 2}, {"write", 0, 2}},
		{{"write", 0, 2}, {"cas", 1, 1}, {"read", 1, 0}, {"wait", 1, 0}, {"write", 0, 1}},
	}
	for _, blind := range []bool{false, true} {
		m, other := randomProcs(code, nil), randomProcs(code, nil)
		var forget func(string) string
		if blind {
			forget = func(s string) string { return s[len("[0 0"):] } // two variables
		}
		differ, checked := 0, 0
		st := &stateful{procs: m, forget: forget}
		s := NewStates(st)
		m.watch, m.chose = []sim.Observer{s}, nil
		s.Check(1, func(first, again Way) {
			checked++
			var trail [2]string
			for i := range 16 {
				w, k := []Way{first, again}[i%2], i%2
				o := NewOnward(w, uint64(i/2), func(p *sim.Point) { trail[k] += fmt.Sprint(p.Kind, p.N, p.Moves) })
				require.True(t, o.Begin(0))
				trail[k] += other.run(o)
				require.False(t, o.Begin(1))
			}
			if trail[0] != trail[1] {
				differ++
			}
		})
		for i := uint64(0); s.Begin(i); i++ {
			m.run(s)
			s.End(0)
			if s.Grew() {
				s.Restart()
			}
		}
		require.NotZero(t, checked)
		require.EqualValues(t, checked, s.Stats().Checked)
		require.Equal(t, blind, differ > 0, "%d of %d", differ, checked)
	}
}

func TestWays(t *testing.T) {
	w := one
	for range 70 {
		w = w.add(w)
	}
	require.Equal(t, Ways{1 << 63, 7}, w)
	require.Equal(t, "1.1e21", w.String()) // 1,180,591,620,717,411,303,424
	require.Equal(t, w, w.add(one))
	require.Equal(t, Ways{1<<63 + 1, 7}, w.add(Ways{m: 1 << 7}))
	require.Equal(t, Ways{m: 7}, Ways{m: 3}.add(Ways{m: 4}))
	for _, c := range []struct {
		m    uint64
		says string
	}{{0, "0"}, {999_999, "999999"}, {1_000_000, "1.0e6"}, {99_999_999, "9.9e7"}} {
		require.Equal(t, c.says, Ways{m: c.m}.String())
	}
}

func TestConflicts(t *testing.T) {
	read, write := []sim.Touch{{Object: 1}}, []sim.Touch{{Object: 1, Write: true}}
	var c conflicts
	grew := func() bool { g := c.grew; c.grew = false; return g }
	require.False(t, c.step(1, write), "nobody else has touched it")
	require.False(t, c.step(1, read))
	require.False(t, grew())
	require.True(t, c.step(2, read), "1 writes it")
	require.True(t, grew(), "1's writing was passed over")
	require.True(t, c.step(1, write))
	require.False(t, c.step(1, read), "2 only reads")
	require.True(t, c.step(3, read))
	require.False(t, grew(), "all that is visible by 3 was so by 2")
	require.True(t, c.step(2, write))
	require.True(t, grew(), "1's reading was passed over")
	require.True(t, c.step(1, read))
}
