package sched

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"kpsim/sim"
)

// everyRun calls f with each toy, strategy, shard and run.
func everyRun(t *testing.T, runs uint64, f func(name string, m *toy, mk func() Strategy, i uint64)) {
	runs = max(runs/slow, 2)
	for k, m := range toys() {
		shape := m.shape()
		for _, s := range All {
			for shard := range uint64(2) {
				mk := func() Strategy { return s.New(Params{Seed: 7, Shape: shape, Shard: shard, Shards: 2}) }
				for j := range runs {
					f(fmt.Sprintf("toy %d, %s, run %d", k, s.Name, 2*j+shard), m, mk, 2*j+shard)
				}
			}
		}
	}
}

// everyPlainRun is everyRun for the strategies that deviate most and don't learn.
func everyPlainRun(t *testing.T, runs uint64, f func(name string, m *toy, s Strategy, i uint64)) {
	everyRun(t, runs, func(name string, m *toy, mk func() Strategy, i uint64) {
		switch s := mk().(type) {
		case *Random, *Sticky:
			f(name, m, s, i)
		}
	})
}

// nth runs the strategy up to run i of its shard, and returns that run.
func nth(m *toy, s Strategy, i uint64) (log string, ok bool) {
	for k := i % 2; k <= i; k += 2 {
		if !s.Begin(k) {
			return "", false
		}
		log = m.run(s)
	}
	return log, true
}

func TestRunIsFunctionOfSeedAndNumber(t *testing.T) {
	everyRun(t, 12, func(name string, m *toy, mk func() Strategy, i uint64) {
		a, ok := nth(m, mk(), i)
		b, _ := nth(m, mk(), i)
		if a != b {
			t.Fatalf("%s: %q, then %q", name, a, b)
		}
		s := mk()
		switch s.(type) {
		case *Random, *Sticky, *Arriving, *POS: // in any order
			s.Begin(i + 4)
			m.run(s)
			if s.Begin(i); m.run(s) != a || !ok {
				t.Fatalf("%s differs after run %d", name, i+4)
			}
		}
	})
}

// TestHoldsChangeNothing runs everything with holds, without, on a machine that drops
// holds early, and under Recorder, which checks the contract.
func TestHoldsChangeNothing(t *testing.T) {
	calls, without := 0, 0
	everyRun(t, 16, func(name string, m *toy, mk func() Strategy, i uint64) {
		a, ok := nth(m, &Recorder{Strategy: mk()}, i)
		picks := m.picks()
		calls += m.calls
		b, _ := nth(m, NoHold{mk()}, i)
		without += m.calls
		m.shortHolds = true
		c, _ := nth(m, mk(), i)
		m.shortHolds = false
		if ok && (a != b || a != c) {
			t.Fatalf("%s:\nheld    %q\nno hold %q\nshort   %q", name, a, b, c)
		}
		if !ok {
			return
		}

		// Exact replays hold too, and so do sparse ones.
		r := &Recorder{Strategy: mk()}
		nth(m, r, i)
		for _, s := range []Strategy{NewExact(r.Recording()), NewSparse(r.Recording().Choices)} {
			for _, s := range []Strategy{s, NoHold{s}} {
				s.Begin(0)
				if got := m.run(s); got != a || m.picks() != picks {
					t.Fatalf("%s: %v: %q, want %q", name, s, got, a)
				}
			}
		}
	})
	if calls >= without {
		t.Errorf("%d calls with holds, %d without", calls, without)
	}
}

func TestSeedsAndRunsDiffer(t *testing.T) {
	m := toys()[5]
	seen := make(map[string]bool)
	for seed := range uint64(5) {
		for i := range uint64(5) {
			s := NewRandom(Params{Seed: seed, Length: 300})
			s.Begin(i)
			seen[m.run(s)] = true
		}
	}
	if len(seen) != 25 {
		t.Errorf("25 runs, %d different ones", len(seen))
	}
}

func TestNew(t *testing.T) {
	for _, s := range All {
		if got, err := New(s.Name, Params{}); err != nil || got == nil {
			t.Error(s.Name, err)
		}
	}
	_, err := New("luck", Params{})
	if want := `no strategy is called "luck"; there are portfolio, sticky, arriving, pct, pos, guided, overtake, random, deviations, default`; err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
}

// tally asks a question many times, and counts the answers.
func tally(s Strategy, p sim.Point, times int) []int {
	counts := make([]int, p.N)
	for range times {
		pick, _ := s.Choose(&p)
		counts[pick]++
		p.Seq++
	}
	return counts
}

// even checks that the counts are as expected, by chi-square: the statistic
// stays below limit with probability 1-1e-6 for the degrees of freedom here.
func even(t *testing.T, name string, counts []int, want []int, limit int) {
	t.Helper()
	chi := 0
	for i := range counts {
		if want[i] == 0 {
			if counts[i] != 0 {
				t.Errorf("%s: alternative %d was taken %d times", name, i, counts[i])
			}
			continue
		}
		d := counts[i] - want[i]
		chi += d * d * 1000 / want[i]
	}
	if chi > limit*1000 {
		t.Errorf("%s: %v for %v: chi-square %d/1000", name, counts, want, chi)
	}
}

func TestRandomIsUniform(t *testing.T) {
	long := Params{Seed: 1, Length: lengthMax} // no arrival in sight
	step := sim.Point{Kind: sim.Step, N: 4, First: 2, Moves: sim.Moves{0b110, 0b1000, 0b1}}
	six := sim.Point{Kind: sim.Step, N: 6, First: 2, Moves: sim.Moves{0b1110, 0b111, 0}}
	forced := sim.Point{Kind: sim.Step, N: 3, First: 129, Moves: sim.Moves{0, 0, 0b111}}
	work := sim.Point{Kind: sim.Step, N: 5, First: 129, Moves: sim.Moves{0b111, 0, 0b11}}
	for _, test := range []struct {
		name  string
		p     sim.Point
		want  []int
		limit int
	}{
		{"step", step, []int{20000, 20000, 20000, 0}, 28},
		{"six movers", six, []int{10000, 10000, 10000, 10000, 10000, 10000}, 36},
		{"only sources", forced, []int{20000, 20000, 20000}, 28},
		{"work waited for", work, []int{15000, 15000, 15000, 15000, 0}, 31},
		{"task", sim.Point{Kind: sim.Task, N: 3}, []int{20000, 20000, 20000}, 28},
		{"fetch", sim.Point{Kind: sim.Fetch, N: 4}, []int{30000, 10000, 10000, 10000}, 31},
		{"cost", sim.Point{Kind: sim.Cost, N: 3}, []int{60000, 0, 0}, 28},
	} {
		r := NewRandom(long)
		r.Begin(0)
		r.arrive.length = 1 << 60
		even(t, test.name, tally(r, test.p, 60000), test.want, test.limit)
	}
}

func TestStickySwitchesEvenly(t *testing.T) {
	s := NewSticky(Params{Seed: 1, Length: lengthMax, Mean: 64})
	s.Begin(0)
	s.arrive.length = 1 << 60
	counts := tally(s, sim.Point{Kind: sim.Step, N: 5, First: 2, Moves: sim.Moves{0b110, 0b1100, 0b1}}, 640_000)
	even(t, "switches", counts[1:], []int{3333, 3333, 3333, 0}, 40)
	if n := 640_000 - counts[0]; n < 9700 || n > 10300 { // sd 58
		t.Errorf("%d switches in 640,000 boundaries, want 10,000", n)
	}
}

// unlearning is a portfolio that doesn't learn.
type unlearning struct{ of *Portfolio }

func (u unlearning) Begin(i uint64) bool            { return u.of.Begin(i) }
func (u unlearning) End(asked uint64)               { u.of.End(asked) }
func (u unlearning) String() string                 { return u.of.String() }
func (u unlearning) Choose(p *sim.Point) (int, int) { return u.of.Choose(p) }

// TestPortfolioShares: without findings, each member has its share of the time; one
// with no run left drops out.
func TestPortfolioShares(t *testing.T) {
	m := toys()[0]
	f := NewPortfolio(Params{Seed: 1, Length: 5, Most: 1})
	all, total := slices.Clone(f.members), 0
	for _, mem := range all {
		if mem.Strategy != f.deviations {
			total += mem.share
		}
	}
	const runs = 3000
	counts, time := make(map[Strategy]int), 0
	for i := range uint64(runs) {
		if !f.Begin(i) {
			t.Fatal("a portfolio doesn't end")
		}
		m.run(unlearning{f})
		counts[f.Member()]++
		time += f.turn.price
	}
	if d := f.Deviations(); !d.Complete() || d.Count() != 4 || counts[d] != 5 {
		t.Errorf("%d deviations of %d runs, complete: %v; want 4 and a repeat", d.Count(), counts[d], d.Complete())
	}
	for _, mem := range all[:len(all)-1] {
		if n, want := counts[mem.Strategy]*mem.price, time*mem.share/total; n < want*95/100-mem.price ||
			n > want*105/100+mem.price {
			t.Errorf("%v had %d of the time, %d in all, want %d", mem, n, time, want)
		}
	}
}

// learning drives a portfolio for a number of runs, each of which shows a number of new
// things if it is learnt from. It returns each member's part of the time.
func learning(f *Portfolio, runs int, show func(m *member) (features int)) map[*member]float64 {
	time, all, feature := make(map[*member]float64), 0, f.next<<8
	for range runs {
		f.Begin(f.next)
		time[f.turn] += float64(f.turn.price)
		all += f.turn.price
		if LearnerOf(f) != nil {
			var list []uint64
			for range show(f.turn) {
				feature++
				list = append(list, feature)
			}
			f.Learn(list)
		}
		f.End(0)
	}
	for m := range time {
		time[m] /= float64(all)
	}
	return time
}

// TestPortfolioFollowsTheNew: a member whose runs alone show something new gets more
// and more, up to twice its share while the others get half of theirs, and loses that
// when others do as well.
func TestPortfolioFollowsTheNew(t *testing.T) {
	f := NewPortfolio(Params{Seed: 1, Length: 5})
	f.members = f.members[:len(f.members)-1] // deviations come to an end
	var pct *member
	total := 0.0
	for _, m := range f.members {
		if p, ok := m.Strategy.(*PCT); ok && p.depth == 2 {
			pct = m
		}
		total += float64(m.share)
	}
	share := float64(pct.share) / total
	most := 4 * share / (1 + 3*share)
	for _, round := range []struct {
		runs     int
		new      string  // whose runs show it
		from, to float64 // of the time
	}{
		{2000, "nobody", 0.97 * share, 1.03 * share},
		{30_000, "pct", share, most},
		{30_000, "pct", 0.95 * most, 1.01 * most},
		{100_000, "all", share, most},
		{100_000, "all", 0.95 * share, 1.2 * share},
	} {
		got := learning(f, round.runs, func(m *member) int {
			if m.begun%16 != 1 { // or all hashes would have been seen soon
				return 0
			}
			if round.new == "all" || round.new == "pct" && m == pct {
				return m.price
			}
			return 0
		})[pct]
		if got < round.from || got > round.to {
			t.Errorf("%d runs, new of %s: %.4f of the time, want %.4f to %.4f", round.runs, round.new, got, round.from,
				round.to)
		}
	}
}

// TestPortfolioWeighsTime: a member whose runs show as much as others', but take
// longer, shows less in its time.
func TestPortfolioWeighsTime(t *testing.T) {
	f := NewPortfolio(Params{Seed: 1, Length: 5})
	f.members = f.members[:len(f.members)-1]
	of := learning(f, 4000, func(*member) int { return 2 })
	total, shares := 0.0, 0
	for _, m := range f.members {
		shares += m.share
	}
	for _, m := range f.members {
		is := of[m] * float64(shares) / float64(m.share)
		total += of[m]
		switch price := pricesOf[false]; {
		case m.price == price.pos && (is < 0.45 || is > 0.7), m.price == price.usual && (is < 0.95 || is > 1.15),
			m.price == price.pct && (is < 1.1 || is > 1.5):
			t.Errorf("%v has %.2f times its share", m, is)
		}
	}
	if total < 0.999 || total > 1.001 {
		t.Errorf("%v of the time", total)
	}
}

// TestPortfolioPrices: for its share of the time pos makes half as many runs as sticky, and a seventh where an engine's
// instructions are most of the steps that it observes.
func TestPortfolioPrices(t *testing.T) {
	for compiled, times := range map[bool]float64{false: 2, true: 7} {
		f := NewPortfolio(Params{Seed: 1, Shape: &Shape{Questions: 50, Engine: compiled}})
		for i := range uint64(4000) {
			f.Begin(i)
			f.End(50)
		}
		per := make(map[string]float64)
		for _, m := range f.members {
			name, _, _ := strings.Cut(fmt.Sprint(m.Strategy), " ")
			per[name] += float64(m.begun) / float64(m.share)
		}
		if got := per["sticky"] / per["pos"]; got < 0.95*times || got > 1.05*times {
			t.Errorf("compiled %t: sticky runs %.2f times as often for its share, want %g", compiled, got, times)
		}
	}
}

func TestNoAllocation(t *testing.T) {
	for _, s := range []Strategy{
		NewRandom(Params{Length: 9}), NewSticky(Params{Length: 9}), newPCT(Params{Length: 9}),
		NewArriving(Params{Length: 9}),
		newPOS(Params{Length: 9}), NewDeviations(Params{Most: 3}), NewPortfolio(Params{}),
		&Recorder{Strategy: NewRandom(Params{})},
	} {
		i := uint64(0)
		p := sim.Point{}
		if n := testing.AllocsPerRun(200, func() {
			s.Begin(i)
			i++
			for p.Seq = range 20 {
				p.Kind, p.N, p.Moves = sim.Step, 4, sim.Moves{0b111, 0, 1}
				if p.Seq%5 == 3 {
					p.Kind, p.N = sim.Fetch, 3
				}
				s.Choose(&p)
			}
			s.End(20)
		}); n != 0 {
			t.Errorf("%v allocates %v times a run", s, n)
		}
	}
}

func BenchmarkChoose(b *testing.B) {
	for _, s := range []Strategy{
		new(Default),
		NewRandom(Params{Length: 200}), NewSticky(Params{Length: 200, Mean: 64}), newPCT(Params{Length: 200}),
		NewArriving(Params{Length: 200}), NewPortfolio(Params{Length: 200}),
		&named{Recorder{Strategy: NewRandom(Params{Length: 200})}},
	} {
		for _, sources := range []uint64{0, 0b11} {
			b.Run(fmt.Sprintf("%v/sources=%d", s, sources), func(b *testing.B) {
				s := s
				if _, ok := s.(*Portfolio); ok {
					s = NewPortfolio(Params{Length: 200})
				}
				p := sim.Point{Kind: sim.Step, N: 4, Moves: sim.Moves{0b1111, 0, sources}}
				if sources != 0 {
					p.N = 6
				}
				s.Begin(0)
				for b.Loop() {
					s.Choose(&p)
					if p.Seq++; p.Seq == 1<<16 {
						if _, ok := s.(*named); ok { // its list is as long as a run
							s.Begin(0)
						}
						p.Seq = 0
					}
				}
			})
		}
	}
}

type named struct{ Recorder }

func (*named) String() string { return "random recorded" }

// BenchmarkBoundary measures Choose as a machine uses it: through the interface, with
// holds, 200 boundaries a run, Begin included.
func BenchmarkBoundary(b *testing.B) {
	for _, s := range All[:5] {
		b.Run(s.Name, func(b *testing.B) {
			var s Strategy = s.New(Params{Length: 200})
			p := sim.Point{Kind: sim.Step, N: 4, Moves: sim.Moves{0b1111, 0, 0}}
			i, hold := uint64(0), 0
			p.Seq = 200
			for b.Loop() {
				if p.Seq == 200 {
					if i > 0 {
						s.End(200)
					}
					s.Begin(i)
					i++
					p.Seq, hold = 0, 0
				}
				if hold > 0 {
					hold--
				} else {
					_, hold = s.Choose(&p)
					hold &= sim.Forever
				}
				p.Seq++
			}
		})
	}
}
