package sched

import (
	"slices"
	"testing"

	"kpsim/sim"
)

// arrivers are the strategies whose sources fire by arrivals, configured so that
// nothing else deviates.
func arrivers(p Params) []Strategy {
	r := NewRandom(p)
	p.Mean = lengthMax
	s := NewSticky(p)
	a := NewArriving(p)
	a.length, a.watched = lengthMax, 0
	return []Strategy{r, s, settled{a}}
}

// settled is an Arriving whose sources are no movers in any run.
type settled struct{ *Arriving }

func (s settled) Begin(i uint64) bool {
	defer func() { s.moving = false }()
	return s.Arriving.Begin(i)
}

// lonely asks a strategy as one CPU with one source would. The CPU stands before
// watched text at every tenth of 100 boundaries. It returns the boundaries at which the
// source fired.
func lonely(s Strategy, most int, hold bool) (fired []int) {
	p := sim.Point{Kind: sim.Step, N: 2, Moves: sim.Moves{1, 0, 1}}
	held, through := 0, false
	for at := range 100 {
		p.Watched = at%10 == 7
		if p.Seq++; hold && held > 0 && (through || !p.Watched) {
			held--
			continue
		}
		var pick int
		pick, held = s.Choose(&p)
		if through, held = held&sim.Through != 0, held&sim.Forever; pick == 0 {
			continue
		}
		held = 0
		if fired = append(fired, at); len(fired) == most {
			break
		}
	}
	return fired
}

// TestArrivals: a source fires as often as it may, with equal chance at each boundary
// of its CPU if there is no preference, and otherwise in half of the runs at a boundary
// before watched text.
func TestArrivals(t *testing.T) {
	const runs = 20000
	for _, most := range []int{1, 3} {
		if slow > 1 && most == 3 {
			continue
		}
		for _, unbiased := range []bool{false, true} {
			shape := &Shape{Questions: 100, Sources: []Source{{CPU: 0, Most: most}}}
			shape.CPUs[0] = Stretch{100, 10}
			for _, s := range arrivers(Params{Seed: 1, Shape: shape, Unbiased: unbiased}) {
				plain, text := make([]int, 10), make([]int, 10)
				total := 0
				for i := range uint64(runs) {
					s.Begin(i)
					fired := lonely(s, most, true)
					s.Begin(i)
					if again := lonely(s, most, false); !slices.Equal(fired, again) {
						t.Fatalf("%v: %v, without holds %v", s, fired, again)
					}
					for _, at := range fired {
						if total++; at%10 == 7 {
							text[at/10]++
						} else {
							plain[at/10]++
						}
					}
				}
				// One of two arrivals at one boundary moves to the next boundary, so
				// the distribution isn't quite even then, and the last arrival may be
				// lost.
				if total < runs*most*97/100 || most == 1 && total != runs {
					t.Errorf("%v: %d arrivals of %d", s, total, runs*most)
				}
				wantText := total / 10
				if !unbiased {
					wantText = total/20 + total/2
				}
				got := 0
				for i := range text {
					got += text[i]
				}
				if got < wantText*90/100 || got > wantText*110/100 {
					t.Errorf("%v, %d each, unbiased %v: %d of %d before watched text, want %d",
						s, most, unbiased, got, total, wantText)
				}
				if most == 1 { // chi-square of 9 degrees of freedom
					even(t, s.String()+" plain", plain, slices.Repeat([]int{(total - wantText) / 10}, 10), 45)
					even(t, s.String()+" text", text, slices.Repeat([]int{wantText / 10}, 10), 45)
				}
			}
		}
	}
}

// TestArrivalsByOwnBoundaries: in half of the runs a CPU that stands still is
// interrupted there no more often than at other boundaries, in the others at any
// question: the 40 before its first boundary, 50 between two, each equally likely.
func TestArrivalsByOwnBoundaries(t *testing.T) {
	shape := &Shape{Questions: 100, Sources: []Source{{CPU: 1, Most: 1}}}
	shape.CPUs[1] = Stretch{Boundaries: 10}
	s := NewSticky(Params{Seed: 1, Shape: shape, Mean: lengthMax})
	counts, still := make([]int, 10), 0
	for i := range uint64(4000) {
		s.Begin(i)
		p := sim.Point{Kind: sim.Step, N: 3, Moves: sim.Moves{0b11, 0, 1}}
		own, held, steady := 0, 0, false
		for range 100 {
			p.First = 0
			if p.Seq >= 40 && p.Seq < 45 || p.Seq >= 95 {
				p.First = 1 // its first five boundaries, and the others late
				own++
			}
			if !steady && (p.Seq == 40 || p.Seq == 45 || p.Seq == 95) {
				held = 0
			}
			if held > 0 {
				held--
			} else if pick, hold := s.Choose(&p); pick == 2 {
				if p.First == 0 {
					still++
				} else {
					counts[own-1]++
				}
				break
			} else {
				held, steady = hold&sim.Forever, hold&sim.Steady != 0
			}
			p.Seq++
		}
	}
	even(t, "own boundaries", counts, slices.Repeat([]int{220}, 10), 45)
	if still < 1700 || still > 1900 { // 0.9 of half of the runs; sd 31
		t.Errorf("%d arrivals of 4000 while the CPU stands still, want 1800", still)
	}
}

// TestWorkArrives: a source that interrupts no CPU fires a drawn number of questions
// after it was armed, drawn again each time.
func TestWorkArrives(t *testing.T) {
	shape := &Shape{Questions: 50, Sources: []Source{{CPU: sim.NoMover}}}
	s := NewSticky(Params{Seed: 1, Shape: shape, Mean: lengthMax})
	counts := [2][]int{make([]int, 5), make([]int, 5)}
	for i := range uint64(4000) {
		s.Begin(i)
		p := sim.Point{Kind: sim.Step, N: 2, Moves: sim.Moves{0b11, 0, 0}}
		for n, armed := range []uint64{30, 100} {
			for p.Moves[2], p.N = 0, 2; p.Seq < armed; p.Seq++ {
				s.Choose(&p)
			}
			p.Moves[2], p.N = 1, 3
			for pick := 0; pick == 0; p.Seq++ {
				pick, _ = s.Choose(&p)
			}
			counts[n][(p.Seq-1-armed)/10]++
		}
	}
	even(t, "armed once", counts[0], slices.Repeat([]int{800}, 5), 36)
	even(t, "armed twice", counts[1], slices.Repeat([]int{800}, 5), 36)
}

// TestDueArrivalWaits: an arrival that finds its source unable stays due.
func TestDueArrivalWaits(t *testing.T) {
	shape := &Shape{Questions: 3, Sources: []Source{{CPU: 0, Most: 1}}}
	shape.CPUs[0].Boundaries = 3
	for _, s := range arrivers(Params{Shape: shape}) {
		s.Begin(0)
		p := sim.Point{Kind: sim.Step, N: 2, Moves: sim.Moves{0b11, 0, 0}}
		for p.Seq = range 10 {
			s.Choose(&p)
		}
		p.Seq, p.N, p.Moves[2] = 10, 3, 1
		if pick, _ := s.Choose(&p); pick != 2 {
			t.Errorf("%v: the arrival was forgotten", s)
		}
	}
}

// TestDueIsWait: due, which remembers until when it can skip looking, returns what wait
// does, for any mover and any sources; and it does find sources that are due.
func TestDueIsWait(t *testing.T) {
	shape := &Shape{Questions: 60,
		Sources: []Source{{CPU: 0, Most: 3}, {CPU: 1, Most: 9}, {CPU: sim.NoMover}, {CPU: 1, Most: 1}}}
	for c := range 2 {
		shape.CPUs[c].Boundaries, shape.CPUs[c].Watched = 30, 10
	}
	fired, quiet := 0, 0
	for _, p := range []Params{{Shape: shape}, {Shape: shape, Unbiased: true}, {Shape: shape, Delay: 8}} {
		a := newArrivals(p.normal())
		var r sim.Rand
		for run := range uint64(2000 / slow) {
			r.Seed(run, 0)
			a.begin()
			p := sim.Point{Kind: sim.Step, N: 2, Moves: sim.Moves{0b11, 0, 0}}
			for range 100 {
				p.Seq += uint64(1 + r.N(3)/2)
				p.First, p.Watched = sim.Mover(r.N(2)), r.N(3) == 0
				if r.N(8) == 0 {
					p.Moves[2] = uint64(r.N(16))
				}
				a.see(&r, &p, p.Seq)
				if a.at < a.quiet {
					quiet++
				}
				want, _ := a.wait(&p)
				got := a.due(&p)
				if got != want {
					t.Fatalf("run %d, question %d: due says %d, wait %d", run, p.Seq, got, want)
				}
				if got != sim.NoMover {
					fired++
					p.Moves[2] &^= 1 << (got - sim.MoverSource)
					a.take(&r, got)
				}
			}
		}
	}
	if fired < 1000 || quiet < 1000 {
		t.Errorf("%d sources were due, and %d times it didn't look: this shows little", fired, quiet)
	}
}
