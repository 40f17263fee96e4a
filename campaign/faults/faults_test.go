package faults

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

var (
	schedules = flag.Int("schedules", 0, "how many schedules are drawn; 0: a few short ones")
	seed      = flag.Uint64("seed", 1, "of the first one")
)

// few are the seeds of the schedules that each go test runs: a killed worker, a network that is
// cut, and a unit that fails. They take some ten seconds each.
var few = []uint64{0, 5, 12}

// seeds lists those that are run.
func seeds() []uint64 {
	if *schedules == 0 {
		return few
	}
	list := make([]uint64, *schedules)
	for i := range list {
		list[i] = *seed + uint64(i)
	}
	return list
}

var ground *Ground

func TestMain(m *testing.M) {
	flag.Parse()
	os.Exit(func() int {
		dir, err := os.MkdirTemp("", "faults")
		if err != nil {
			panic(err)
		}
		defer os.RemoveAll(dir)
		p, err := Build(dir)
		if err != nil {
			panic(err)
		}
		ground = NewGround(p, dir)
		return m.Run()
	}())
}

// A line is of the table by kind of fault.
type line struct {
	schedules, faults, again, differ int
	took                             time.Duration
	skipped                          string
}

func TestSchedules(t *testing.T) {
	table := make(map[Kind]*line)
	of := func(k Kind) *line {
		if table[k] == nil {
			table[k] = &line{}
		}
		return table[k]
	}
	for _, n := range seeds() {
		s := Draw(n)
		t.Run(fmt.Sprint(s.Seed), func(t *testing.T) {
			o, err := ground.Run(s, t.TempDir())
			l := of(s.Main)
			l.schedules++
			switch {
			case errors.Is(err, ErrCannot):
				l.skipped = err.Error()
				t.Skip(err)
			case err != nil:
				l.differ++
				t.Fatalf("%v\n%v\nto repeat it:  go test ./faults -run TestSchedules -schedules 1 -seed %d -timeout 0",
					s, err, s.Seed)
			}
			l.again += o.Redeliveries
			l.took += o.Took
			for _, f := range o.Applied {
				of(f.Kind).faults++
			}
			t.Logf("%v: %.1f s, %d handed out again", s, o.Took.Seconds(), o.Redeliveries)
		})
	}
	t.Logf("%-17s %9s %6s %5s %7s  %s", "main kind", "schedules", "faults", "again", "seconds", "identical")
	for _, k := range Kinds {
		l := of(k)
		what := "all"
		if l.differ > 0 {
			what = fmt.Sprintf("but for %d", l.differ)
		}
		if l.skipped != "" {
			what += ", skipped: " + l.skipped
		}
		t.Logf("%-17s %9d %6d %5d %7.1f  %s", k, l.schedules, l.faults, l.again, l.took.Seconds(), what)
	}
}

// As many schedules as there are kinds have each of them as their main one, and a seed says all.
func TestDraw(t *testing.T) {
	var mains []Kind
	for i := range Kinds {
		s := Draw(uint64(i))
		require.Equal(t, s, Draw(uint64(i)))
		require.NotEmpty(t, s.Faults)
		require.True(t, slices.IsSortedFunc(s.Faults, func(a, b Fault) int { return int(a.At - b.At) }))
		mains = append(mains, s.Main)
	}
	require.Equal(t, Kinds, mains)
}
