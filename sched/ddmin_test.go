package sched

import (
	"slices"
	"testing"

	"kpsim/sim"
)

func upTo(n int) []int {
	list := make([]int, n)
	for i := range list {
		list[i] = i + 1
	}
	return list
}

// needs returns a test that fails if all of want are there.
func needs(tests *int, want ...int) func([]int) bool {
	return func(list []int) bool {
		*tests++
		for _, w := range want {
			if !slices.Contains(list, w) {
				return false
			}
		}
		return true
	}
}

func TestMinimise(t *testing.T) {
	for _, test := range []struct {
		n    int
		want []int
		most int // tests
	}{
		{8, []int{1, 7, 8}, 40}, // the paper's example
		{8, []int{}, 1},
		{0, []int{}, 0},
		{1, []int{1}, 1},
		{2, []int{2}, 3},
		{100, []int{37}, 20},
		{100, []int{1, 100}, 60},
		{1000, []int{3, 500, 501, 998}, 200},
		{12, upTo(12), 60}, // all of it
	} {
		tests := 0
		got := Minimise(upTo(test.n), needs(&tests, test.want...), 1<<30)
		if !slices.Equal(got, test.want) || tests > test.most {
			t.Errorf("%d: got %v in %d tests, want %v in at most %d", test.n, got, tests, test.want, test.most)
		}
	}
}

// TestMinimiseIsMinimal: on failures that aren't monotone the result fails,
// keeps its order, and without any one element doesn't fail.
func TestMinimiseIsMinimal(t *testing.T) {
	var r sim.Rand
	for seed := range uint64(300) {
		r.Seed(1, seed)
		n := 1 + r.N(40)
		salt := r.Uint64()
		all := upTo(n)
		fails := func(list []int) bool { // a random function of the list, true of the whole
			if len(list) == n {
				return true
			}
			h := salt
			for _, v := range list {
				h = sim.Mix(h ^ uint64(v))
			}
			return h%4 == 0 && len(list) > 0
		}
		got := Minimise(all, fails, 1<<30)
		again := Minimise(all, fails, 1<<30)
		if !slices.Equal(got, again) || !slices.Equal(all, upTo(n)) || !slices.IsSorted(got) || !fails(got) {
			t.Fatalf("seed %d: %v, then %v", seed, got, again)
		}
		for i := range got {
			if fails(slices.Delete(slices.Clone(got), i, i+1)) {
				t.Fatalf("seed %d: %v still fails without %d", seed, got, got[i])
			}
		}
	}
}

func TestMinimiseIsBounded(t *testing.T) {
	for most := range 100 {
		tests := 0
		fails := needs(&tests, 3, 500, 998)
		got := Minimise(upTo(1000), fails, most)
		if tests > most || !fails(got) {
			t.Errorf("%d tests of at most %d; %d left", tests, most, len(got))
		}
	}
}

// TestMinimiseSchedule: a toy's random walk shrinks to the two deviations that the
// wanted interleaving takes.
func TestMinimiseSchedule(t *testing.T) {
	m := &toy{programs: []string{"....................", "...................."}}
	torn := func() bool { // cpu1 runs exactly once between two of cpu0's
		return slices.Contains(splitRuns(string(m.log)), " 1")
	}
	s := NewRandom(Params{Seed: 1, Length: 40})
	for i := uint64(0); ; i++ {
		_, rec := record(m, s, i, false)
		if !torn() {
			continue
		}
		tests := 0
		got := Minimise(rec.Choices, func(list []Choice) bool {
			tests++
			p := NewSparse(list)
			p.Begin(0)
			m.run(p)
			return torn()
		}, 1000)
		if len(got) != 2 {
			t.Errorf("%d deviations come down to %v in %d tests, want 2", len(rec.Choices), got, tests)
		}
		return
	}
}

// splitRuns splits the log where cpu0 moves.
func splitRuns(log string) []string {
	var out []string
	start := 0
	for i := 0; i+1 < len(log); i += 2 {
		if log[i+1] == '0' {
			out = append(out, log[start:i])
			start = i + 2
		}
	}
	return out
}
