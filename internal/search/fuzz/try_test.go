package fuzz

import "testing"

func TestTry(t *testing.T) {
	for _, fresh := range []bool{false, true} {
		s, _ := New(Spec{Seed: 3, Each: 4, Fresh: fresh})
		next := uint64(3000)
		for s.Runs < 48000 {
			list, err := s.Batch(32)
			if err != nil {
				t.Fatal(err)
			}
			for _, p := range list {
				if p.Violations > 0 {
					t.Logf("%v %s", p.Broken, p.Recipe.Marshal())
				}
			}
			if s.Runs > next {
				next *= 2
				t.Logf("%v %d %d %v %v", fresh, s.Runs, s.Programs, s.Coverage(), s.arms)
			}
		}
	}
}
