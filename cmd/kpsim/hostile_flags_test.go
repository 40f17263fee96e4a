package main

import (
	"bytes"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/alecthomas/kong"
	"github.com/stretchr/testify/require"
)

// corpusTrace is a trace to explain, view and so on.
const corpusTrace = "../../traces/corpus/T2-second-instruction.kps"

// short are the words of each command that takes a number, with which it ends soon; what
// is tried stands behind them.
var short = map[string]string{
	"explore":            "explore safe-none --runs 20",
	"storm":              "storm --edition 6.9 --preempt none --runs 20",
	"fuzz":               "fuzz --runs 20 --each 10",
	"verify":             "verify safe-none --runs 20",
	"matrix":             "matrix jump/sched/breakpoint --drawn 8",
	"run":                "run second-instruction",
	"shell":              "shell second-instruction",
	"explain":            "explain TRACE",
	"view":               "view TRACE",
	"bench search":       "bench search --mutants no-sync-3 --seeds 1 --most 10 --time 0s",
	"mutants":            "mutants no-sync-3 --seeds 1 --most 100",
	"overhead table":     "overhead table --noise --runs 2 --hits 10 --probe k",
	"overhead pauses":    "overhead pauses --cpus 2 --calls 1 --runs 1",
	"overhead maxactive": "overhead maxactive --tasks 2 --maxactive 1 --calls 1 --runs 1",
}

// An ending is how a command has ended.
type ending struct {
	status int
	memory int64 // bytes, at most
	stderr string
	took   time.Duration // since ^C
}

// interruptedAfter runs a command and sends ^C after so long, if it hasn't ended by then.
func interruptedAfter(t *testing.T, kpsim string, wait time.Duration, args ...string) ending {
	var stderr bytes.Buffer
	cmd := exec.Command(kpsim, args...)
	cmd.Dir, cmd.Stdout, cmd.Stderr = t.TempDir(), io.Discard, &stderr
	require.NoError(t, cmd.Start())
	done := make(chan error, 1)
	go func() { done <- cmd.Wait() }()
	var err error
	var e ending
	select {
	case err = <-done:
	case <-time.After(wait):
		begin := time.Now()
		if err := cmd.Process.Signal(os.Interrupt); !errors.Is(err, os.ErrProcessDone) {
			require.NoError(t, err)
		}
		select {
		case err = <-done:
		case <-time.After(20 * time.Second):
			cmd.Process.Kill()
			t.Fatalf("%v doesn't hear ^C", args)
		}
		e.took = time.Since(begin)
	}
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	e.status, e.stderr = cmd.ProcessState.ExitCode(), stderr.String()
	if u, ok := cmd.ProcessState.SysUsage().(*syscall.Rusage); ok {
		e.memory = u.Maxrss << 10
	}
	return e
}

// Whatever number a flag is given, the command ends with a status that it has, soon or at
// ^C, in bounded memory: and each such flag has a range.
func TestEveryFlag(t *testing.T) {
	kpsim := thisProgram(t)
	trace, err := filepath.Abs(corpusTrace)
	require.NoError(t, err)
	values := []string{"0", "-1", "4294967296", "1000000000000000000", "18446744073709551615"}
	var c commands
	walkFlags(newParser(&c, io.Discard, io.Discard).Model.Node, func(at *kong.Node, f *kong.Flag) {
		least, most, ok := rangeOf(f.Value)
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
				outside := end(v) == nil || end(v).Cmp(end(least)) < 0 || end(v).Cmp(end(most)) > 0 // nil: no time is so long
				wait := 600 * time.Millisecond
				if outside {
					wait = 20 * time.Second // it ends by itself
				}
				args := strings.Fields(strings.ReplaceAll(words, "TRACE", trace))
				args = append(args, "--"+f.Name+"="+v)
				e := interruptedAfter(t, kpsim, wait, args...)
				require.Contains(t, []int{exitOK, exitAgainst, exitBadInput, exitInterrupted}, e.status, "%v: %s", args, e.stderr)
				require.NotContains(t, e.stderr, "bug of the simulator", args)
				require.Less(t, e.took, 3*time.Second, args)
				require.Less(t, e.memory, int64(500<<20), args)
				if e.status == exitBadInput {
					require.Equal(t, 1, strings.Count(e.stderr, "\n"), "%v: %s", args, e.stderr)
				}
				if outside {
					require.Equal(t, exitBadInput, e.status, args)
					require.Contains(t, e.stderr, "--"+f.Name+": ", args)
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

// Each range is told by --help.
func TestRangesAreTold(t *testing.T) {
	var c commands
	walkFlags(newParser(&c, io.Discard, io.Discard).Model.Node, func(at *kong.Node, f *kong.Flag) {
		if least, most, _ := rangeOf(f.Value); most != anyNumber {
			require.Contains(t, helpOf(f.Value), "; "+least+" to "+most+".", "%s --%s", at.Path(), f.Name)
		}
	})
}

// repeating is a scenario whose run takes long.
const repeating = `machine(cpus = 4, steps = 50000000)
v = text("v", "90 90 90 90 90 90 c3")
k = kprobe("k", at = v)
for i in range(3): task(cpu = i, ops = [call(v), schedule()], repeat = 1000000)
task(cpu = 3, ops = [register(k), unregister(k)], repeat = 1000000)
`

// Each command that may take long hears the first ^C: it ends within a second, and its
// status is 130.
func TestFirstInterrupt(t *testing.T) {
	kpsim := thisProgram(t)
	trace, err := filepath.Abs(corpusTrace)
	require.NoError(t, err)
	long := filepath.Join(t.TempDir(), "long.star")
	require.NoError(t, os.WriteFile(long, []byte(repeating), 0o666))
	for _, words := range []string{
		"explore safe-none torn-jump --runs 1000000000", "explore LONG", "explore torn-jump --runs 1000000000 --self-check=1000000000",
		"storm --runs 1000000000", "storm --runs 1000000000 --each 1000000000", "fuzz --runs 1000000000", "fuzz --for 1h", "fuzz --runs 1000000000 --each 1000000000",
		"verify --full register-storm-none", "verify --deviations 9 register-storm-none", "verify --by classes --full register-storm-none", "verify --by classes --deviations 9 register-storm-none", "verify LONG",
		"matrix --drawn 1000000000", "matrix --full", "bench search", "bench search --time 1h --seeds 1 --most 1", "mutants --seeds 10000",
		"run LONG", "explain TRACE --runs 1000000",
		"overhead table --noise --runs 1000 --hits 1000", "overhead table --html page.html", "overhead pauses --runs 10000", "overhead maxactive --runs 10000",
	} {
		t.Run(words, func(t *testing.T) {
			args := strings.Fields(strings.NewReplacer("TRACE", trace, "LONG", long).Replace(words))
			e := interruptedAfter(t, kpsim, 700*time.Millisecond, args...)
			require.Equal(t, exitInterrupted, e.status, e.stderr)
			require.Contains(t, e.stderr, "kpsim: interrupted")
			require.Less(t, e.took, 2*time.Second) // one, and what else the machine does
			require.Less(t, e.memory, int64(500<<20))
		})
	}
}
