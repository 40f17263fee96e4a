package litmus

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"kpsim/internal/cli"
	"kpsim/internal/litmus/run"
	"kpsim/internal/litmus/x86test"
	"kpsim/internal/search/parallel"
)

// Litmus is the command.
type Litmus struct {
	Tests   []string `arg:"" name:"test" help:"Litmus tests, NAME.litmus, or folders of them."`
	Memory  string   `enum:"tso,sc" default:"tso" placeholder:"MODEL" help:"How memory orders data accesses: tso, as x86 does, or sc, in the order in which they are made. Default: tso."`
	Explain bool     `xor:"form" help:"Show for each test a schedule in which its condition holds, instruction by instruction."`
	States  int      `range:"1..1000000000" default:"1000000" placeholder:"N" help:"Give a test up when it has more states of the machine. Default: 1000000."`
	Workers int      `range:"0..64" placeholder:"N" help:"How many tests are run at once. Default: one a processor. Changes no result."`
	JSON    bool     `name:"json" xor:"form" help:"Print one JSON object a line, one for each test."`
}

// mostTest is how many bytes of a test are read.
const mostTest = 1 << 20

// mostFiles bounds how many files are run.
const mostFiles = 100_000

// A test is one file, and what came of it.
type test struct {
	path   string
	parsed *x86test.Test
	prog   *run.X86
	result *run.Result
	story  []run.Line
	err    error
}

// Run implements the command.
func (c *Litmus) Run(p *cli.Program) (int, error) {
	paths, err := files(c.Tests)
	if err != nil {
		return 0, err
	}
	tests := make([]*test, len(paths))
	for i, path := range paths {
		if tests[i], err = read(path); err != nil {
			return 0, err
		}
	}
	progress := p.Watch("running tests", uint64(len(tests)), "test")
	defer progress.Complete()
	var stop atomic.Bool
	p.StopAtInterrupt(&stop)
	out := printer{c: c, p: p, tests: tests}
	var mu sync.Mutex
	done := uint64(0)
	parallel.Run(c.Workers, len(tests), &stop, func() (do func(int), close func()) {
		return func(i int) {
			if stop.Load() {
				return
			}
			t := tests[i]
			c.search(t, &stop)
			mu.Lock()
			defer mu.Unlock()
			done++
			progress.At(done, "")
			out.ended(i)
		}, func() {}
	})
	progress.Clear()
	return out.totals(stop.Load()), out.err
}

// search runs one test.
func (c *Litmus) search(t *test, stop *atomic.Bool) {
	m := run.Memory(c.Memory)
	t.result, t.err = run.Search(t.prog, run.Options{Memory: m, Most: c.States, Stop: stop})
	if t.err != nil || !c.Explain {
		return
	}
	if o := t.witness(); o != nil {
		t.story, t.err = run.Explain(t.prog, o, m)
	}
}

// witness is the outcome to be explained: of those in which the condition holds the one whose
// schedule has the fewest deviations; nil if there is none. Of forall it is one in which it
// doesn't hold.
func (t *test) witness() (best *run.Outcome) {
	for i := range t.result.Outcomes {
		o := &t.result.Outcomes[i]
		if o.Holds == (t.parsed.Quant == x86test.Forall) {
			continue
		}
		if best == nil || len(o.Schedule.Choices) < len(best.Schedule.Choices) {
			best = o
		}
	}
	return best
}

// read reads a test.
func read(path string) (*test, error) {
	data, err := cli.ReadFile(path, mostTest)
	if err != nil {
		return nil, fmt.Errorf("%s; name a litmus test, or a folder of them", cli.Cause(err, path))
	}
	switch l := x86test.Language(string(data)); l {
	case "X86", "X86_64":
	case "":
		return nil, fmt.Errorf("%s:1: this is no litmus test: it begins with a language and a name, as X86_64 SB", path)
	default:
		return nil, fmt.Errorf("%s:1: the language %q isn't known; X86_64 and X86 are", path, l)
	}
	parsed, err := x86test.Parse(path, string(data))
	if err != nil {
		return nil, err
	}
	prog, err := run.NewX86(parsed)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return &test{path: path, parsed: parsed, prog: prog}, nil
}

// files returns the tests that names mean, those of folders in the order of their paths.
func files(names []string) (paths []string, err error) {
	for _, name := range names {
		if name == "" {
			return nil, errors.New("a name is empty; name a litmus test, or a folder of them")
		}
		found := []string{}
		err := filepath.WalkDir(name, func(path string, d fs.DirEntry, err error) error {
			switch {
			case err != nil:
				return err
			case len(paths)+len(found) > mostFiles:
				return fmt.Errorf("more than %d files; name fewer", mostFiles)
			case path == name && !d.IsDir() || d.Type().IsRegular() && filepath.Ext(path) == ".litmus":
				found = append(found, path)
			}
			return nil
		})
		if err != nil {
			return nil, fmt.Errorf("%s; name a litmus test, or a folder of them", cli.Cause(err, name))
		}
		if len(found) == 0 {
			return nil, fmt.Errorf("%s: the folder has no NAME.litmus; name a litmus test, or a folder of them", name)
		}
		paths = append(paths, found...)
	}
	if dup := firstTwice(paths); dup != "" {
		return nil, fmt.Errorf("%s is named twice; name it once", dup)
	}
	return paths, nil
}

// firstTwice returns a path that is there twice, or "".
func firstTwice(paths []string) string {
	sorted := make([]string, len(paths))
	for i, path := range paths {
		sorted[i] = filepath.Clean(path)
	}
	slices.Sort(sorted)
	for i := 1; i < len(sorted); i++ {
		if sorted[i] == sorted[i-1] {
			return sorted[i]
		}
	}
	return ""
}

// verdict is how often the condition holds among the final states: Never, Sometimes, Always.
func verdict(positive, negative int) string {
	switch {
	case positive == 0:
		return "Never"
	case negative == 0:
		return "Always"
	}
	return "Sometimes"
}

// against reports whether a verdict isn't what a test's comment expects. One that says
// Sometimes is content with Always.
func against(expected, seen string) bool {
	return expected != "" && expected != seen && (expected != "Sometimes" || seen != "Always")
}

// title is the word of herd7 for a quantifier.
func title(q x86test.Quantifier) string {
	return [...]string{"Allowed", "Forbidden", "Required"}[q]
}

// named is a count with its noun.
func plural(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

// condition is a test's condition with its quantifier.
func condition(t *x86test.Test) string {
	return fmt.Sprintf("%v (%s)", t.Quant, strings.TrimSpace(t.Cond.String()))
}
