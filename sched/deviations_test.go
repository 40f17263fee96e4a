package sched

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"kpsim/sim"
)

// every returns the deviations of each schedule that s runs, in order.
func every(t *testing.T, m *toy, d *Deviations, shard, shards uint64) (lists []string, repeats int) {
	t.Helper()
	for i := shard; d.Begin(i); i += shards {
		m.run(d)
		if d.Repeat() {
			repeats++
		} else {
			lists = append(lists, m.picks())
		}
		if len(lists) > 1_000_000 {
			t.Fatal("it doesn't end")
		}
	}
	if !d.Complete() || d.Count() != uint64(len(lists)) || d.Begin(shard) {
		t.Errorf("complete: %v, count %d of %d", d.Complete(), d.Count(), len(lists))
	}
	return lists, repeats
}

// brute finds the schedules by plain recursion.
func brute(m *toy, list []Choice, most int, found *[]string) {
	s := NewSparse(list)
	s.Begin(0)
	m.run(s)
	*found = append(*found, m.picks())
	if len(list) == most {
		return
	}
	for _, c := range slices.Clone(m.asked) {
		if n := len(list); n > 0 && c.Seq <= list[n-1].Seq {
			continue
		}
		for c.Pick = 1; c.Pick < c.N; c.Pick++ {
			brute(m, append(slices.Clip(list), c), most, found)
		}
	}
}

// TestDeviationsFormula: with at most k deviations, l questions of n alternatives have
// the sum over j <= k of (l over j) (n-1)^j schedules.
func TestDeviationsFormula(t *testing.T) {
	for _, test := range []struct {
		op   string
		l, n int
	}{{"T", 1, 2}, {"T", 7, 2}, {"F", 1, 3}, {"F", 6, 3}, {"F", 10, 3}} {
		m := &toy{programs: []string{strings.Repeat(test.op, test.l)}}
		want, term := 0, 1
		for k := 0; k <= 4; k++ {
			want += term
			term = term * (test.l - k) / (k + 1) * (test.n - 1)
			if k == 0 {
				continue
			}
			lists, _ := every(t, m, NewDeviations(Params{Most: k}), 0, 1)
			if len(lists) != want {
				t.Errorf("%d questions of %d, at most %d deviations: %d schedules, want %d", test.l, test.n, k,
					len(lists), want)
			}
		}
	}
}

func TestDeviationsAreAllOnceShallowFirst(t *testing.T) {
	for k, m := range toys() {
		most := 3
		if slow > 1 {
			most = 2
		}
		if k == 5 {
			continue // too long
		}
		var want []string
		brute(m, nil, most, &want)
		got, repeats := every(t, m, NewDeviations(Params{Most: most}), 0, 1)
		depth := func(s string) int { return strings.Count(s, ":") }
		if !slices.IsSortedFunc(got, func(a, b string) int { return depth(a) - depth(b) }) {
			t.Errorf("toy %d: not shallow first: %q", k, got)
		}
		parents := 0 // of each level that there is a deeper pass for
		for _, s := range got {
			if depth(s) < most {
				parents += 1
			}
		}
		if repeats > parents+parents { // a parent is repeated once in each deeper level
			t.Errorf("toy %d: %d repeats of %d parents", k, repeats, parents)
		}
		slices.Sort(want)
		slices.Sort(got)
		if !slices.Equal(got, want) {
			t.Errorf("toy %d: %d schedules, want %d", k, len(got), len(want))
		}
	}
}

func TestDeviationsShards(t *testing.T) {
	for k, m := range toys()[:4] {
		want, _ := every(t, m, NewDeviations(Params{Most: 2}), 0, 1)
		slices.Sort(want)
		for _, shards := range []uint64{2, 3, 7, 50} {
			var got []string
			for shard := range shards {
				lists, _ := every(t, m, NewDeviations(Params{Most: 2, Shard: shard, Shards: shards}), shard, shards)
				got = append(got, lists...)
			}
			slices.Sort(got)
			if !slices.Equal(got, want) {
				t.Errorf("toy %d in %d shards: %d schedules, want %d", k, shards, len(got), len(want))
			}
		}
	}
}

func TestDeviationsHold(t *testing.T) {
	m := &toy{programs: []string{strings.Repeat(".", 40), strings.Repeat(".", 40)}}
	calls, asked := 0, 0
	d := NewDeviations(Params{Most: 2})
	for i := uint64(0); d.Begin(i); i++ {
		m.run(d)
		calls += m.calls
		asked += len(m.asked)
	}
	if calls*8 > asked {
		t.Errorf("%d calls for %d questions", calls, asked)
	}
}

// mustBug runs f, which must panic with a BugError about want.
func mustBug(t *testing.T, want string, f func()) {
	t.Helper()
	defer func() {
		t.Helper()
		if b, ok := recover().(*sim.BugError); !ok || !strings.Contains(b.Message, want) {
			t.Errorf("no bug about %q, but %v", want, b)
		}
	}()
	f()
}

func TestEnumerationsAreTakenInOrder(t *testing.T) {
	mustBug(t, "run 1 was begun when run 0 was next", func() { NewDeviations(Params{}).Begin(1) })
	mustBug(t, "run 2 was begun when run 3 was next", func() { NewPortfolio(Params{Shard: 3, Shards: 4}).Begin(2) })
	mustBug(t, "shard 2 of 2", func() { NewDeviations(Params{Shard: 2, Shards: 2}) })
}

func TestDeviationsNotice(t *testing.T) {
	m := toys()[2]
	d := NewDeviations(Params{Most: 1})
	for i := range uint64(4) {
		d.Begin(i)
		m.run(d)
	}
	// The machine isn't deterministic: the question has no such alternative now.
	d.Begin(4)
	d.list[0].pick = 9
	mustBug(t, "was to be played", func() { m.run(d) })
}

func BenchmarkDeviations(b *testing.B) {
	for _, most := range []int{1, 2, 3} {
		b.Run(fmt.Sprint(most), func(b *testing.B) {
			p := sim.Point{Kind: sim.Step, N: 4, Moves: sim.Moves{0b1111, 0, 0}}
			d := NewDeviations(Params{Most: most})
			i := uint64(0)
			for b.Loop() { // one run of 200 questions
				if !d.Begin(i) {
					d, i = NewDeviations(Params{Most: most}), 0
					d.Begin(0)
				}
				i++
				hold := 0
				for p.Seq = range 200 {
					if hold > 0 {
						hold--
						continue
					}
					_, hold = d.Choose(&p)
					hold &= sim.Forever
				}
				d.End(200)
			}
		})
	}
}
