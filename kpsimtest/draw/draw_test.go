package draw_test

import (
	"flag"
	"fmt"
	"os"
	"regexp"
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"kpsim/kpsimtest"
	"kpsim/kpsimtest/build"
	"kpsim/kpsimtest/draw"
	"kpsim/traces"
)

// drawn draws a scenario of probes.
func drawn(t *rapid.T) *build.Scenario {
	s := build.New("drawn")
	m := draw.Machine(t, s)
	fs := draw.Functions(t, s, 1, 2)
	ks := draw.Probes(t, s, m, fs, 1, 3)
	draw.Prober(t, s, m, ks)
	draw.Callers(t, s, m, fs)
	draw.Interrupts(t, s, m)
	return s
}

// On what is drawn the correct engine holds every property.
func TestDrawn(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) { kpsimtest.Never(t, drawn(t), kpsimtest.Runs(60)) })
}

// A failing is a test that may fail, and what it has said.
type failing struct {
	*testing.T
	failed bool
	said   strings.Builder
}

func (f *failing) Failed() bool                      { return f.failed }
func (f *failing) Fail()                             { f.failed = true }
func (f *failing) FailNow()                          { f.failed = true; runtime.Goexit() }
func (f *failing) Logf(format string, args ...any)   { fmt.Fprintf(&f.said, format+"\n", args...) }
func (f *failing) Log(args ...any)                   { fmt.Fprintln(&f.said, args...) }
func (f *failing) Errorf(format string, args ...any) { f.Logf(format, args...); f.Fail() }
func (f *failing) Error(args ...any)                 { f.Log(args...); f.Fail() }
func (f *failing) Fatalf(format string, args ...any) { f.Logf(format, args...); f.FailNow() }
func (f *failing) Fatal(args ...any)                 { f.Log(args...); f.FailNow() }

// check is rapid.Check of a property that doesn't hold, and returns what it has said.
func check(t *testing.T, property func(*rapid.T)) string {
	t.Helper()
	f := &failing{T: t}
	done := make(chan struct{})
	go func() {
		defer close(done)
		rapid.Check(f, property)
	}()
	<-done
	require.True(t, f.failed, "rapid found nothing")
	return f.said.String()
}

var ops = regexp.MustCompile(`(?m)ops = \[(.*)\]`)

// fix sets a flag of rapid for the length of a test, unless it was given.
func fix(t *testing.T, name, value string) {
	f := flag.Lookup(name)
	was := f.Value.String()
	if was != f.DefValue {
		return
	}
	require.NoError(t, f.Value.Set(value))
	t.Cleanup(func() { f.Value.Set(was) })
}

// A fault of the optimizer is found among drawn scenarios, and shrunk to a few deviations of a few operations.
func TestPlanted(t *testing.T) {
	fix(t, "rapid.seed", "1")
	fix(t, "rapid.shrinktime", "10m") // a busy computer would end it before it is done
	t.Chdir(t.TempDir())
	said := check(t, func(t *rapid.T) {
		kpsimtest.Never(t, drawn(t), kpsimtest.Runs(200), kpsimtest.Mutant("no-quiesce"))
	})
	property := regexp.MustCompile(`drawn: a schedule breaks (\S+)\n`).FindStringSubmatch(said)
	require.NotNil(t, property, said)
	require.Contains(t, said, "to see why:  go run")
	name := "testdata/TestPlanted/drawn-" + property[1] + ".kps"
	require.Contains(t, said, fmt.Sprintf("kpsimtest.Witness(%q))", name))
	data, err := os.ReadFile(name)
	require.NoError(t, err)
	f, err := traces.Parse("it", data)
	require.NoError(t, err)
	require.LessOrEqual(t, len(f.Schedule), 3, said)
	n := 0
	for _, m := range ops.FindAllStringSubmatch(f.Scenario, -1) {
		n += strings.Count(m[1], "(")
	}
	require.Positive(t, n)
	require.LessOrEqual(t, n, 5, f.Scenario)
}

// Any draws what loads and can be searched, and Ops as many operations as are asked for.
func TestAny(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		ops := draw.Ops(t, 1, 3, build.Schedule(), build.User())
		require.Subset(t, []int{1, 2, 3}, []int{len(ops)})
		s := draw.Any(t)
		_, err := s.Scenario()
		require.NoError(t, err)
	})
}
