// Command compare-builds compares the outputs of two builds of kpsim, byte by byte,
// over the commands that print results. It answers whether a change of the code has
// changed what a user sees.
//
//	go build -o /tmp/old ./cmd/kpsim     # at the commit to compare with
//	go build -o /tmp/new ./cmd/kpsim
//	go run ./scripts/compare-builds --quick /tmp/old /tmp/new
//
// Each row of the table is a command; "same" means that every invocation printed the
// same bytes on both streams, wrote the same files and ended with the same status.
// Times, rates, dates and paths are replaced first, by the rules in normalise.go.
// Help, usage errors and what needs a terminal, a browser or a second are not
// compared. Run it in the repository: it reads traces/corpus and objects of tests.
//
// Exit status: 0 all the same, 1 some differ, 2 bad input, or a row that shows
// nothing (an invocation that the old build refuses, or that prints nothing).
package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/alecthomas/kong"
)

type options struct {
	Quick bool          `help:"A sample of each row: within a minute on two cores."`
	Only  []string      `help:"Only the rows whose names begin so." placeholder:"ROW"`
	Jobs  int           `help:"How many invocations at once. Default: one a processor."`
	Limit time.Duration `help:"How long one invocation may take." default:"20m"`
	All   bool          `help:"Print every invocation that differs, not the first of a row."`
	Old   string        `arg:"" help:"The build to compare with." type:"existingfile"`
	New   string        `arg:"" help:"The build that is compared." type:"existingfile"`
}

// An invocation is one command line. args may name files below repo/, a link to the repository in the folder where
// the command is run.
type invocation struct {
	args  []string
	stdin string
}

func (k invocation) String() string { return "kpsim " + strings.Join(k.args, " ") }

// A row is one line of the table.
type row struct {
	name        string
	invocations []invocation
}

// An outcome is the result of an invocation by one build: status, both streams and the files that it wrote, as one
// text.
type outcome struct {
	status int
	text   string
	took   time.Duration
	err    error // it could not be run, or took too long
}

// A difference is the first line in which two outcomes of an invocation differ.
type difference struct {
	of       invocation
	old, new string
}

func main() {
	var o options
	kong.Parse(&o, kong.Name("compare-builds"), kong.Description("Compare the outputs of two builds of kpsim."))
	if o.Jobs <= 0 {
		o.Jobs = runtime.NumCPU()
	}
	status, err := compare(o)
	if err != nil {
		fmt.Fprintln(os.Stderr, "compare-builds:", err)
	}
	os.Exit(status)
}

// compare prints the table and returns the exit status.
func compare(o options) (int, error) {
	dir, err := os.MkdirTemp("", "compare-builds-*")
	if err != nil {
		return 2, err
	}
	defer os.RemoveAll(dir)
	b, err := newBench(dir, o)
	if err != nil {
		return 2, err
	}
	rows, err := rowsOf(b, o.Quick)
	if err != nil {
		return 2, err
	}
	if len(o.Only) > 0 {
		rows = slices.DeleteFunc(rows, func(r row) bool {
			return !slices.ContainsFunc(o.Only, func(p string) bool { return strings.HasPrefix(r.name, p) })
		})
	}
	if len(rows) == 0 {
		return 2, errors.New("no row is left to compare")
	}

	var count, differ, empty int
	fmt.Printf("%-28s %11s  %7s %7s\n", "command", "invocations", "old s", "new s")
	for _, r := range rows {
		old, new, diffs, bad := b.row(r)
		count += len(r.invocations)
		verdict := "same"
		if len(diffs) > 0 {
			differ++
			verdict = fmt.Sprintf("DIFFERS in %d", len(diffs))
		}
		if bad != nil || len(r.invocations) == 0 {
			empty++
			verdict = "SHOWS NOTHING"
		}
		fmt.Printf("%-28s %11d  %7.1f %7.1f  %s\n", r.name, len(r.invocations), old.Seconds(), new.Seconds(), verdict)
		if bad != nil {
			fmt.Printf("    %v\n", bad)
		}
		for i, d := range diffs {
			if i > 0 && !o.All {
				break
			}
			fmt.Printf("    %s\n    - %.300s\n    + %.300s\n", d.of, d.old, d.new)
		}
	}
	fmt.Printf("%d commands, %d invocations: %d differ\n", len(rows), count, differ)
	switch {
	case empty > 0:
		return 2, fmt.Errorf("%d commands show nothing", empty)
	case differ > 0:
		return 1, nil
	}
	return 0, nil
}

// A bench runs invocations by both builds.
type bench struct {
	builds [2]string // paths of equal length, so that lines break alike
	work   [2]string // where invocations are run, each in a new folder
	repo   string
	jobs   int
	limit  time.Duration
}

func newBench(dir string, o options) (*bench, error) {
	repo, err := os.Getwd()
	if err != nil {
		return nil, err
	}
	b := &bench{repo: repo, jobs: o.Jobs, limit: o.Limit}
	for i, path := range []string{o.Old, o.New} {
		path, err := filepath.Abs(path)
		if err != nil {
			return nil, err
		}
		b.work[i] = filepath.Join(dir, []string{"old", "new"}[i])
		b.builds[i] = filepath.Join(b.work[i], "kpsim")
		if err := os.Mkdir(b.work[i], 0o755); err != nil {
			return nil, err
		}
		if err := os.Symlink(path, b.builds[i]); err != nil {
			return nil, err
		}
	}
	return b, nil
}

// row runs all invocations of r by both builds. The first error is that of an invocation without a result.
func (b *bench) row(r row) (old, new time.Duration, diffs []difference, bad error) {
	results := make([][2]outcome, len(r.invocations))
	var wg sync.WaitGroup
	slots := make(chan bool, b.jobs)
	for i, k := range r.invocations {
		slots <- true
		wg.Go(func() {
			defer func() { <-slots }()
			results[i] = [2]outcome{b.run(0, k), b.run(1, k)}
		})
	}
	wg.Wait()

	for i, k := range r.invocations {
		a, z := results[i][0], results[i][1]
		old, new = old+a.took, new+z.took
		if err := shows(k, a); err != nil && bad == nil {
			bad = err
		}
		if d, ok := firstDifference(k, a, z); ok {
			diffs = append(diffs, d)
		}
	}
	return old, new, diffs, bad
}

// shows returns an error if the old build's outcome has nothing to compare.
func shows(k invocation, a outcome) error {
	switch {
	case a.err != nil:
		return fmt.Errorf("%s: %w", k, a.err)
	case a.status != 0 && a.status != 1:
		return fmt.Errorf("%s: the old build ends with %d: %.300s", k, a.status, a.text)
	case a.text == "":
		return fmt.Errorf("%s: the old build prints nothing", k)
	}
	return nil
}

// firstDifference returns the first place where two outcomes differ.
func firstDifference(k invocation, a, z outcome) (difference, bool) {
	if z.err != nil {
		return difference{k, "", z.err.Error()}, true
	}
	if a.status != z.status {
		return difference{k, fmt.Sprintf("status %d", a.status),
				fmt.Sprintf("status %d, %s", z.status, lastLine(z.text))},
			true
	}
	if a.text == z.text {
		return difference{}, false
	}
	old, new := strings.Split(a.text, "\n"), strings.Split(z.text, "\n")
	for i := range max(len(old), len(new)) {
		l, m := "(no line)", "(no line)"
		if i < len(old) {
			l = old[i]
		}
		if i < len(new) {
			m = new[i]
		}
		if l != m {
			return difference{k, fmt.Sprintf("%d: %s", i+1, around(l, m)), fmt.Sprintf("%d: %s", i+1, around(m, l))},
				true
		}
	}
	return difference{}, false
}

// around cuts a long line l to the part around where it first differs from m.
func around(l, m string) string {
	same := 0
	for same < len(l) && same < len(m) && l[same] == m[same] {
		same++
	}
	if len(l) <= 200 || same < 100 {
		return l
	}
	return "…" + l[same-60:]
}

func lastLine(s string) string {
	s = strings.TrimRight(s, "\n")
	return s[strings.LastIndexByte(s, '\n')+1:]
}

// run runs k by one of the builds in a folder of its own.
func (b *bench) run(build int, k invocation) outcome {
	dir, err := os.MkdirTemp(b.work[build], "run-")
	if err != nil {
		return outcome{err: err}
	}
	defer os.RemoveAll(dir)
	if err := os.Symlink(b.repo, filepath.Join(dir, "repo")); err != nil {
		return outcome{err: err}
	}
	ctx, cancel := context.WithTimeout(context.Background(), b.limit)
	defer cancel()
	cmd := exec.CommandContext(ctx, b.builds[build], k.args...)
	cmd.Dir, cmd.Stdin = dir, strings.NewReader(k.stdin)
	cmd.Env = append(os.Environ(), "GOMAXPROCS=1", "NO_COLOR=1", "COLUMNS=", "TZ=UTC")
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	began := time.Now()
	err = cmd.Run()
	out := outcome{took: time.Since(began)}
	if ctx.Err() != nil {
		return outcome{took: out.took, err: fmt.Errorf("still running after %v", b.limit)}
	}
	if exit := (*exec.ExitError)(nil); errors.As(err, &exit) {
		out.status = exit.ExitCode()
	} else if err != nil {
		return outcome{err: err}
	}
	written, err := filesIn(dir)
	if err != nil {
		return outcome{err: err}
	}
	out.text = stdout.String() + stderr.String() + written
	out.text = strings.NewReplacer(dir, "DIR", b.builds[build], "kpsim", b.work[build], "WORK").Replace(out.text)
	out.text = normalise(out.text)
	return out
}

// filesIn returns the files that were written below dir, in order, each under a
// heading.
func filesIn(dir string) (string, error) {
	var s strings.Builder
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() { // repo is a link
			return err
		}
		data, err := os.ReadFile(path)
		fmt.Fprintf(&s, "== %s\n%s", strings.TrimPrefix(path, dir+"/"), data)
		return err
	})
	return s.String(), err
}
