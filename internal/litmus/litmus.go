package litmus

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"

	"kpsim/internal/litmus/run"
	"kpsim/internal/search/parallel"
	"kpsim/internal/ui/cli"
)

// Litmus is the command.
type Litmus struct {
	Tests   []string `arg:"" name:"test" help:"Litmus tests, NAME.litmus, or folders of them."`
	Memory  string   `enum:",tso,sc,lkmm" default:"" placeholder:"MODEL" help:"How memory orders data accesses: tso, as x86 does; lkmm, as the kernel's memory model lets it, for tests in C; sc, in the order in which they are made. Default: tso for x86, lkmm for C."`
	Explain bool     `xor:"form" help:"Show for each test a schedule in which its condition holds, step by step."`
	States  int      `range:"1..1000000000" default:"1000000" placeholder:"N" help:"Give a test up when it has more states of the machine, or under lkmm more executions. Default: 1000000."`
	Workers int      `range:"0..64" placeholder:"N" help:"How many tests are run at once. Default: one a processor. Changes no result."`
	JSON    bool     `name:"json" xor:"form" help:"Print one JSON object a line, one for each test."`
	cli.Format
}

// Help implements kong.HelpProvider.
func (*Litmus) Help() string {
	return `Run litmus tests on the simulated machine under every schedule, and print their final states.

A litmus test is a few threads of a few instructions and a condition about the end. Each thread runs on a CPU of its own of the simulated machine, one of x86 as machine code, under every schedule; of schedules that reach the same state one continues from there. It prints what herd7 prints: the final states, in how many of them the condition holds and in how many it doesn't, and Never, Sometimes or Always. Folders are searched for NAME.litmus; tests in other languages are left out.

Of x86 two dialects are read. X86_64: movl $1,(x) and movl (x),%eax. X86: MOV [x],$1 and MOV EAX,[x]. Instructions: mov, add, sub, and, or, xor, cmp, test, inc, dec, shl, shr, xchg, xadd, cmpxchg, cmovc, setnb, jmp, je, jne, jl, jle, jg, jge, js, jns, mfence, sfence, lfence, nop, ret; with b, w, l or q behind them, and lock before those that read and write memory. A comment "Result: Never", Sometimes or Always says what is to be expected.

Tests in C are judged under lkmm by the axioms of the kernel's memory model: READ_ONCE, WRITE_ONCE, smp_*, atomic_*, xchg, cmpxchg, spinlocks, RCU, if, and plain accesses, whose data races are reported. With --explain each thread is a routine of the simulated kernel, and its locations are cells; where the machine has no schedule of an outcome, what each load reads is shown.

Under tso a CPU holds its stores for a while, as x86 does, and its loads may go before them. With --explain such a store is "held" until drain@cpuN makes the oldest one of a CPU take effect, or an instruction does that waits for that, such as mfence.

Examples:

  kpsim litmus sb.litmus
  kpsim litmus --explain sb.litmus
  kpsim litmus --memory sc sb.litmus mp.litmus
  kpsim litmus --memory tso C-MP.litmus
  kpsim litmus --json tests/

Exit status: 0 all tests were run and none is against its expectation, 1 one is, 2 bad input, or a test that was given up, 3 a bug of the simulator, 130 interrupted.`
}

// mostFiles bounds how many files are run.
const mostFiles = 100_000

// Run implements the command.
func (c *Litmus) Run(p *cli.Program) (int, error) {
	found, err := files(c.Tests)
	if err != nil {
		return 0, err
	}
	var tests []*test
	others := 0
	for _, f := range found {
		t := read(f.path, run.Memory(c.Memory))
		if t.unknown && f.walked {
			others++
			continue
		}
		tests = append(tests, t)
	}
	progress := p.WatchParts("running tests", len(tests), "test")
	defer progress.Complete()
	var stop atomic.Bool
	p.StopAtInterrupt(&stop)
	out := printer{c: c, p: p, tests: tests, others: others}
	var mu sync.Mutex
	far := make([]uint64, len(tests)) // millionths
	sum := uint64(0)
	get := func(i int, millionths uint64) { // mu is held
		if millionths > far[i] {
			sum, far[i] = sum+millionths-far[i], millionths
			progress.Far(float64(sum)/whole, "")
		}
	}
	parallel.Run(c.Workers, len(tests), &stop, func() (do func(int), close func()) {
		return func(i int) {
			if stop.Load() {
				return
			}
			tests[i].search(c, &stop, func(millionths uint64) {
				mu.Lock()
				defer mu.Unlock()
				get(i, millionths)
			})
			mu.Lock()
			defer mu.Unlock()
			get(i, whole)
			out.ended(i)
		}, func() {}
	})
	progress.Clear()
	return out.totals(stop.Load()), out.err
}

// whole is all of a test, in millionths.
const whole = 1_000_000

// A file is one that is to be run. walked: it lies in a folder that was named.
type file struct {
	path   string
	walked bool
}

// files returns the files that names mean, those of folders in the order of their paths.
func files(names []string) (list []file, err error) {
	for _, name := range names {
		if name == "" {
			return nil, errors.New("a name is empty; name a litmus test, or a folder of them")
		}
		before := len(list)
		err := filepath.WalkDir(name, func(path string, d fs.DirEntry, err error) error {
			switch {
			case err != nil:
				return err
			case len(list) > mostFiles:
				return fmt.Errorf("more than %d files; name fewer", mostFiles)
			case path == name && !d.IsDir():
				list = append(list, file{path: path})
			case d.Type().IsRegular() && filepath.Ext(path) == ".litmus":
				list = append(list, file{path, true})
			}
			return nil
		})
		if err != nil {
			return nil, fmt.Errorf("%s; name a litmus test, or a folder of them", cli.Cause(err, name))
		}
		if len(list) == before {
			return nil, fmt.Errorf("%s: the folder has no NAME.litmus; name a litmus test, or a folder of them", name)
		}
	}
	if dup := firstTwice(list); dup != "" {
		return nil, fmt.Errorf("%s is named twice; name it once", dup)
	}
	return list, nil
}

// firstTwice returns a path that is there twice, or "".
func firstTwice(list []file) string {
	sorted := make([]string, len(list))
	for i := range list {
		sorted[i] = filepath.Clean(list[i].path)
	}
	slices.Sort(sorted)
	for i := 1; i < len(sorted); i++ {
		if sorted[i] == sorted[i-1] {
			return sorted[i]
		}
	}
	return ""
}

// observation is how often the condition holds among the final states: Never, Sometimes, Always.
func observation(positive, negative int) string {
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

// plural is a count with its noun.
func plural(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}
