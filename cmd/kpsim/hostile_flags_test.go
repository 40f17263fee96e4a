package main

import (
	"bytes"
	"io"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/alecthomas/kong"
	"github.com/stretchr/testify/require"

	"kpsim/internal/testkit/proctest"
	"kpsim/internal/testkit/thorough"
	"kpsim/internal/ui/cli"
	"kpsim/internal/ui/cli/flags"
)

// corpusTrace is a trace to explain, view and so on.
const corpusTrace = "../../traces/corpus/T2-second-instruction.kps"

// short are the words of each command that takes a number, with which it ends
// soon; the flag under test comes after them.
var short = map[string]string{
	"explore":            "explore safe-none --runs 20",
	"fuzz":               "fuzz --runs 20 --each 10",
	"small":              "small --calls 1",
	"compare":            "compare --kernel hostile_flags_test.go",
	"bisect":             "bisect --kernel hostile_flags_test.go --good a --bad b",
	"watch":              "watch --kernel hostile_flags_test.go --objects hostile_flags_test.go",
	"review":             "review --kernel hostile_flags_test.go --objects hostile_flags_test.go",
	"kernel mutants":     "kernel mutants hostile_flags_test.go",
	"verify":             "verify safe-none --runs 20",
	"matrix":             "matrix jump/sched/breakpoint --drawn 8",
	"run":                "run second-instruction",
	"litmus":             "litmus TESTS/lock.litmus",
	"shell":              "shell second-instruction",
	"explain":            "explain TRACE",
	"view":               "view TRACE",
	"bench search":       "bench search --mutants no-sync-3 --seeds 1 --most 10 --time 0s",
	"mutants":            "mutants no-sync-3 --seeds 1 --most 100",
	"overhead table":     "overhead table --noise --runs 2 --hits 10 --probe k",
	"overhead pauses":    "overhead pauses --cpus 2 --calls 1 --runs 1",
	"overhead price":     "overhead price hook-unsynced --cpus 1 --runs 2",
	"overhead nominal":   "overhead nominal",
	"overhead maxactive": "overhead maxactive --tasks 2 --maxactive 1 --calls 1 --runs 1",
}

// refusedFlag gives words to run, and wants one line that names the flag, soon.
func refusedFlag(t *testing.T, flag string, args []string) {
	var stdout, stderr bytes.Buffer
	done := make(chan int, 1)
	go func() { done <- run(args, &stdout, &stderr) }()
	select {
	case status := <-done:
		require.Equal(t, cli.BadInput, status, args)
		require.Empty(t, stdout.String(), args)
		require.Equal(t, 1, strings.Count(stderr.String(), "\n"), "%v: %s", args, &stderr)
		require.Contains(t, stderr.String(), flag+": ", args)
	case <-time.After(proctest.Deaf):
		t.Fatalf("%v isn't done", args)
	}
}

// Whatever number a flag is given, the command ends with a status that it has, soon or at
// ^C, in bounded memory: and each such flag has a range.
func TestEveryFlag(t *testing.T) {
	kpsim := thisProgram(t)
	trace, err := filepath.Abs(corpusTrace)
	require.NoError(t, err)
	tests, err := filepath.Abs("testdata/litmus")
	require.NoError(t, err)
	values := thorough.Of([]string{"0", "-1", "18446744073709551615"},
		[]string{"0", "-1", "4294967296", "1000000000000000000", "18446744073709551615"})
	walkFlags(newParser(verbs, io.Discard, io.Discard).Model.Node, func(at *kong.Node, f *kong.Flag) {
		least, most, ok := flags.RangeOf(f.Value)
		require.True(t, ok, "%s --%s has no range", at.Path(), f.Name)
		name := strings.TrimSpace(at.Path())
		words := short[name]
		require.NotEmpty(t, words, name)
		isTime := f.Target.Type() == reflect.TypeFor[time.Duration]()
		tried := slices.Concat(values, []string{most})
		if !slices.Contains(values, least) {
			tried = append(tried, least)
		}
		t.Run(name+" --"+f.Name, func(t *testing.T) {
			t.Parallel()
			for _, v := range tried {
				if isTime && !strings.ContainsAny(v, "smh") {
					v += "s"
				}
				// nil: no time is so long
				outside := flags.End(v) == nil || flags.End(v).Cmp(flags.End(least)) < 0 ||
					flags.End(v).Cmp(flags.End(most)) > 0
				args := strings.Fields(strings.NewReplacer("TRACE", trace, "TESTS", tests).Replace(words))
				if i := slices.Index(args, "--"+f.Name); i >= 0 { // once is enough
					args = slices.Delete(args, i, i+2)
				}
				args = append(args, "--"+f.Name+"="+v)
				if outside {
					refusedFlag(t, "--"+f.Name, args)
					continue
				}
				e := proctest.InterruptedAfter(t, kpsim, 100*time.Millisecond, args...)
				require.Contains(t, []int{cli.OK, cli.Against, cli.BadInput, cli.Interrupted}, e.Status, "%v: %s", args,
					e.Stderr)
				require.NotContains(t, e.Stderr, "bug of the simulator", args)
				require.Less(t, e.Memory, int64(500<<20), args)
				if e.Status == cli.BadInput {
					require.Equal(t, 1, strings.Count(e.Stderr, "\n"), "%v: %s", args, e.Stderr)
				}
			}
		})
	})
}

// walkFlags calls each for all flags that are a number or a time.
func walkFlags(at *kong.Node, each func(*kong.Node, *kong.Flag)) {
	for _, f := range at.Flags {
		kind := f.Target.Type()
		for kind.Kind() == reflect.Pointer {
			kind = kind.Elem()
		}
		if kind.Kind() >= reflect.Int && kind.Kind() <= reflect.Float64 {
			each(at, f)
		}
	}
	for _, c := range at.Children {
		walkFlags(c, each)
	}
}

// Each range is shown by --help.
func TestRangesAreTold(t *testing.T) {
	walkFlags(newParser(verbs, io.Discard, io.Discard).Model.Node, func(at *kong.Node, f *kong.Flag) {
		if least, most, _ := flags.RangeOf(f.Value); most != flags.AnyNumber {
			require.Contains(t, flags.HelpWithRange(f.Value), "; "+least+" to "+most+".", "%s --%s", at.Path(), f.Name)
		}
	})
}
