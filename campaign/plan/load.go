package plan

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"go.starlark.net/starlark"
	"go.starlark.net/syntax"

	"kpsim/internal/scenario/library"
	"kpsim/internal/ui/cli"
	"kpsim/internal/verbs/findings"
)

// callsCampaign distinguishes a campaign's file from a scenario's.
var callsCampaign = regexp.MustCompile(`(?m)^campaign\(`)

// mostProgram is the largest campaign file, in bytes, and maxSteps bounds its execution.
const (
	mostProgram  = 1 << 20
	maxSteps     = 1 << 20
	mostSearches = 10_000
)

// IsFile reports whether the arguments are the file of a campaign: one name, of a program that
// calls campaign(…).
func IsFile(args []string) (file string, ok bool) {
	if len(args) != 1 || !strings.HasSuffix(args[0], ".star") {
		return "", false
	}
	src, err := cli.ReadFile(args[0], mostProgram)
	return args[0], err == nil && callsCampaign.Match(src)
}

// Load runs a campaign's file and plans its searches. An error is one line: the file, the place, what is wrong.
func Load(p *cli.Program, c *Campaign, file string) error {
	src, err := cli.ReadFile(file, mostProgram)
	if err != nil {
		return errors.New(cli.Cause(err, file))
	}
	l := &loader{p: p, c: c, dir: filepath.Dir(file)}
	thread := &starlark.Thread{Name: file, Print: func(*starlark.Thread, string) {}}
	thread.SetMaxExecutionSteps(maxSteps)
	thread.Load = func(*starlark.Thread, string) (starlark.StringDict, error) {
		return nil, errors.New("a campaign is one file; copy what you need into it")
	}
	verbs := starlark.StringDict{}
	for name, f := range map[string]func(args *arguments) error{"campaign": l.campaign, "explore": l.explore,
		"fuzz": l.fuzz, "verify": l.verify} {
		verbs[name] = starlark.NewBuiltin(name,
			func(_ *starlark.Thread, b *starlark.Builtin, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value,
				error) {
				if len(args) > 0 {
					return nil, fmt.Errorf("%s: name each argument, as in explore(scenarios = [\"safe-none\"])",
						b.Name())
				}
				return starlark.None, takeAll(b.Name(), kwargs, f)
			})
	}
	dialect := &syntax.FileOptions{TopLevelControl: true, GlobalReassign: true}
	if _, err := starlark.ExecFileOptions(dialect, thread, file, src, verbs); err != nil {
		return oneLineError(file, err)
	}
	if l.planned == 0 {
		return fmt.Errorf("%s: it asks for nothing; call explore(…), fuzz(…) or verify(…)", file)
	}
	for _, plan := range l.plans {
		s, err := plan()
		if err != nil {
			return fmt.Errorf("%s: %w", file, err)
		}
		c.Searches = append(c.Searches, s)
	}
	return nil
}

// oneLineError makes one line of an error in the file.
func oneLineError(file string, err error) error {
	if e := new(starlark.EvalError); errors.As(err, &e) {
		at := file
		for i := range e.CallStack {
			if pos := e.CallStack.At(i).Pos; pos.Line > 0 {
				at = pos.String()
				break
			}
		}
		return fmt.Errorf("%s: %s", at, oneLine(e.Msg))
	}
	return errors.New(oneLine(err.Error()))
}

func oneLine(s string) string { return strings.Join(strings.Fields(s), " ") }

// A loader collects what a campaign's file asks for.
type loader struct {
	p       *cli.Program
	c       *Campaign
	dir     string
	planned int
	plans   []func() (*Search, error) // in the order of the file; run when the whole file is known to be right
}

func (l *loader) add(plan func(traces func(string) string) (*Search, error)) error {
	if l.planned++; l.planned > mostSearches {
		return fmt.Errorf("the lists multiply to more than %d searches", mostSearches)
	}
	n := l.planned
	l.plans = append(l.plans, func() (*Search, error) {
		return plan(func(dir string) string {
			if len(l.plans) == 1 {
				return dir
			}
			return filepath.Join(dir, fmt.Sprint(n)) // otherwise one would overwrite another's traces
		})
	})
	return nil
}

// file resolves a name in the file relative to its folder.
func (l *loader) file(name string) string {
	if filepath.IsAbs(name) {
		return name
	}
	return filepath.Join(l.dir, name)
}

// scenarios resolves names of built-in scenarios, or of files.
func (l *loader) scenarios(names []string) (list []string) {
	for _, n := range names {
		if _, err := library.Source(n); err != nil {
			if path := l.file(n); exists(path) {
				n = path
			}
		}
		list = append(list, n)
	}
	return list
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

func (l *loader) campaign(a *arguments) error {
	name, priority := a.text("name", ""), a.number("priority", int64(l.c.Priority))
	if name != "" {
		l.c.Name = name
	}
	if l.c.Priority = int(priority); priority < -100 || priority > 100 {
		a.fail("priority: %d is out of range; give -100 to 100", priority)
	}
	return nil
}

// An axis is a list that multiplies a search.
type axis struct {
	kernel                                   string
	objects                                  []string
	fetch, memory, edition, mutant, strategy string
	seed                                     uint64
}

// axes takes the lists that multiply.
func (l *loader) axes(a *arguments) (list []axis) {
	kernels, objects := a.texts("kernels", ""), a.lists("objects")
	fetches, memories, editions, mutants := a.texts("fetches", ""), a.texts("memories", ""), a.texts("editions", ""),
		a.texts("mutants", "")
	strategies, seeds := a.texts("strategies", ""), a.numbers("seeds", 1)
	if n := len(kernels) * len(objects) * len(fetches) * len(memories) * len(editions) * len(mutants) * len(
		strategies) * len(seeds); n > mostSearches {
		a.fail("the lists multiply to %d searches; at most %d", n, mostSearches)
		return nil
	}
	for _, k := range kernels {
		for _, o := range objects {
			for _, f := range fetches {
				for _, w := range memories {
					for _, e := range editions {
						for _, m := range mutants {
							for _, s := range strategies {
								for _, seed := range seeds {
									list = append(list, axis{k, o, f, w, e, m, s, seed})
								}
							}
						}
					}
				}
			}
		}
	}
	return list
}

// set puts a kernel into flags.
func (l *loader) set(x *axis, kernel *cli.FileName, objects *[]cli.FileName) {
	if x.kernel != "" {
		*kernel = cli.FileName(l.file(x.kernel))
	}
	for _, o := range x.objects {
		*objects = append(*objects, cli.FileName(l.file(o)))
	}
}

func (l *loader) explore(a *arguments) error {
	names := l.scenarios(a.texts("scenarios"))
	runs := a.number("runs", 0)
	unbiased, all, ignore := a.flag("unbiased"), a.flag("all_properties"), a.texts("ignore")
	dir := a.text("traces", "traces")
	for _, x := range l.axes(a) {
		err := l.add(func(traces func(string) string) (*Search, error) {
			f := &findings.Explore{Scenarios: names, Seed: x.seed, Strategy: x.strategy, Unbiased: unbiased,
				Fetch:  x.fetch,
				Memory: x.memory, Edition: x.edition, Traces: traces(dir)}
			if f.Strategy == "" {
				f.Strategy = "portfolio"
			}
			if runs > 0 {
				n := uint64(runs)
				f.Runs = &n
			}
			f.Mutant, f.Ignore, f.AllProperties = x.mutant, slices.Clone(ignore), all
			l.set(&x, &f.Kernel.Kernel, &f.Kernel.Objects)
			return Explore(l.p, f)
		})
		if err != nil {
			return err
		}
	}
	return nil
}

func (l *loader) fuzz(a *arguments) error {
	programs, runs, until := a.number("programs", 0), a.number("runs", 0), a.number("until_covered", 0)
	each, islands, size := a.number("each", 3), a.number("islands", 16), a.number("size", 64)
	preempt, arch, corpus, dir := a.text("preempt", ""), a.text("arch", ""), a.text("corpus", ""),
		a.text("traces", "traces")
	if programs == 0 && runs == 0 && until == 0 {
		a.fail("say how long: programs = N, runs = N or until_covered = N")
	}
	for _, x := range l.axes(a) {
		err := l.add(func(traces func(string) string) (*Search, error) {
			f := &findings.Fuzz{Programs: uint64(programs), Runs: uint64(runs), UntilCovered: uint64(until),
				Each: uint64(each),
				Seed: x.seed, Edition: x.edition, Preempt: preempt, Memory: x.memory,
				Strategy: x.strategy, Traces: traces(dir)}
			if corpus != "" {
				f.Corpus = l.file(corpus)
			}
			f.Mutant, f.Arch = x.mutant, arch
			l.set(&x, &f.Kernel.Kernel, &f.Kernel.Objects)
			return Fuzz(f, uint64(islands), uint64(size))
		})
		if err != nil {
			return err
		}
	}
	return nil
}

func (l *loader) verify(a *arguments) error {
	names := l.scenarios(a.texts("scenarios"))
	if len(names) == 0 {
		a.fail("name what to verify: scenarios = [\"safe-none\"]")
	}
	full, counted, by, megabytes := a.flag("full"), a.flag("counted"), a.text("by", "states"),
		a.number("megabytes", 2048)
	runs, deviations, dir := a.number("runs", 0), a.number("deviations", -1), a.text("traces", "traces")
	for _, x := range l.axes(a) {
		err := l.add(func(traces func(string) string) (*Search, error) {
			f := &findings.Verify{Scenarios: names, Full: full, Counted: counted, By: by, Megabytes: int(megabytes),
				Runs: uint64(runs), Fetch: x.fetch, Memory: x.memory, Edition: x.edition, Traces: traces(dir)}
			if deviations >= 0 {
				n := int(deviations)
				f.Deviations = &n
			}
			f.Mutant = x.mutant
			l.set(&x, &f.Kernel.Kernel, &f.Kernel.Objects)
			return Verify(f)
		})
		if err != nil {
			return err
		}
	}
	return nil
}
