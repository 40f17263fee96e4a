package sched

import (
	"testing"

	"kpsim/sim"
)

// TestArrivingUsual: in half of the runs the default order holds except where a mover
// is lowered; in the others it is one of many.
func TestArrivingUsual(t *testing.T) {
	m := &toy{programs: []string{".I.I..", ".....", "..I.."}}
	byDefault := m.run(new(Default))
	s := NewArriving(Params{Seed: 1, Length: lengthMax}) // no change point in sight
	usual, other := 0, make(map[string]int)
	const runs = 1000
	for i := range uint64(runs) {
		s.Begin(i)
		switch log := m.run(s); {
		case !s.usual:
			other[log]++
		case log != byDefault:
			t.Fatalf("run %d: %q, want the default one, %q", i, log, byDefault)
		default:
			usual++
		}
	}
	if usual < runs*45/100 || usual > runs*55/100 || len(other) < 6 {
		t.Errorf("%d of %d runs are the default one, the others %d different ones", usual, runs, len(other))
	}
}

// TestArrivingMoving: a CPU must be interrupted at the one place where another then
// goes on. With sources that arrive, that takes two draws of one in 40; with a source
// that is a mover, one change point.
func TestArrivingMoving(t *testing.T) {
	shape := &Shape{Questions: 80, Sources: []Source{{CPU: 0, Most: 1}}}
	shape.CPUs[0], shape.CPUs[1] = Stretch{Boundaries: 40}, Stretch{Boundaries: 40}
	m := &toy{programs: []string{"........................................",
		"........................................"},
		sources: []int{1}}
	found := make(map[bool]int)
	s := NewArriving(Params{Seed: 1, Shape: shape})
	const runs = 20_000
	for i := range uint64(runs) {
		s.Begin(i)
		m.run(s)
		for k, mv := range m.moved { // cpu0 stands where it has made 20 steps
			if mv == sim.MoverSource && k == 20 && m.moved[k-1] == 0 && k+1 < len(m.moved) && m.moved[k+1] == 1 {
				found[s.moving]++
			}
		}
	}
	t.Logf("with movers %d, with arrivals %d of %d runs", found[true], found[false], runs)
	if moving, arriving := 2*found[true], found[false]; moving < 4*arriving { // there are half as many
		t.Errorf("found by %d runs in which sources are movers, by %d of twice as many in which they arrive",
			found[true], found[false])
	}
}
