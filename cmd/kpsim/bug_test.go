package main

import (
	"bytes"
	"fmt"
	"runtime/debug"
	"strings"
	"testing"

	"kpsim/internal/scenario/gen"
	"kpsim/internal/ui/cli"
	"kpsim/sched"
	"kpsim/sim"
)

// A faulty strategy has a fault of the simulator as soon as it is asked on a fibre.
type faulty struct{ sched.Strategy }

func (f faulty) Choose(p *sim.Point) (pick, hold int) {
	if bytes.Contains(debug.Stack(), []byte("(*Fibre)")) {
		var none []int
		return none[p.N], 0
	}
	return f.Strategy.Choose(p)
}

// A bug in one of many programs that are drawn names the line that runs that one, and
// where in the program's routines it is.
func TestBugOfOneProgram(t *testing.T) {
	seventh := gen.First(3) + 6 // of the programs of seed 3
	seed := fmt.Sprint(gen.FirstOf(seventh))
	random, all := sched.NewRandom, sched.All
	defer func() { sched.All = all }()
	sched.All = append(all[:len(all):len(all)], all[0])
	row := &sched.All[len(all)]
	row.Name, row.New = "faulty", func(p sched.Params) sched.Strategy {
		if r := (&gen.Recipe{Seed: seventh}); p.Seed == r.Hash() {
			return faulty{random(p)}
		}
		return random(p)
	}
	t.Chdir(t.TempDir())
	for _, c := range []struct{ args, again string }{
		{"fuzz --edition 6.9 --preempt full --seed 3 --runs 24 --each 2 --strategy faulty", "fuzz --seed " + seed +
			" --programs 1 --each 2 --workers 1 --edition 6.9 --preempt full --strategy faulty"},
		{"fuzz --seed 3 --runs 24 --each 2 --strategy faulty", "fuzz --seed " + seed +
			" --programs 1 --each 2 --workers 1 --strategy faulty"},
	} {
		for range 2 { // the line tells of itself
			var out, errs bytes.Buffer
			if status := run(strings.Fields(c.args), &out, &errs); status != cli.Bug {
				t.Errorf("%s: status %d", c.args, status)
			}
			for _, want := range []string{"index out of range", "faulty.Choose", "(*Fibre).live",
				" " + c.again + "\n"} {
				if !strings.Contains(errs.String(), want) {
					t.Errorf("%s: no %q in\n%s", c.args, want, &errs)
				}
			}
			if out.Len() > 0 {
				t.Errorf("%s: printed %s", c.args, &out)
			}
			c.args = c.again
		}
	}
}
