package watch

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"time"

	"kpsim/internal/edits"
	"kpsim/internal/eval/review"
	"kpsim/internal/ui/cli"
	"kpsim/internal/ui/cli/inputs"
	"kpsim/internal/ui/cli/inputs/kernels"
	"kpsim/linux"
	"kpsim/linux/boot"
	"kpsim/linux/compile"
)

// Watch implements kpsim watch.
type Watch struct {
	Scenarios []string       `arg:"" optional:"" name:"file|name" help:"Scenario files (NAME.star), or names of built-in scenarios, that are run at each save. None: the small programs and all that a review runs."`
	Kernel    cli.FileName   `placeholder:"FILE" help:"The kernel that objects are laid over: a vmlinuz or vmlinux, or the release of one that scripts/fetch-kernel put on this computer."`
	Tree      cli.FileName   `placeholder:"DIR" help:"The source to watch: a kernel's, or a copy of what scripts/fetch-kernel-source put on this computer. What differs from the release is compiled."`
	Objects   []cli.FileName `placeholder:"FILE,…" help:"Instead of a source: objects to watch, which you compile yourself."`
	Saves     uint64         `range:"0..1000000" placeholder:"N" help:"End after the results of N saves; what is there at the beginning counts as one. Default: at ^C."`
	Budget    uint64         `range:"0..1000000000" default:"3000" placeholder:"N" help:"How many million simulated instructions a review's later rounds may take (kpsim review). Default: 3000."`
	Seed      uint64         `range:"0..18446744073709551615" default:"1" help:"What programs and schedules are drawn from."`
	Workers   int            `range:"0..64" placeholder:"N" help:"How much is run at once, 16 at most. Default: one a processor. Changes no result."`
	Traces    string         `default:"traces" placeholder:"DIR" help:"Where witnesses are written. Default: traces."`
	JSON      bool           `name:"json" help:"Print one JSON object a line."`

	stop   atomic.Bool
	kernel kernels.Kernel
	p      *cli.Program
	worse  bool
	save   int
	began  time.Time // of what a save began
}

// Help implements kong.HelpProvider.
func (*Watch) Help() string {
	return `Review a kernel's engine each time that you save its source.

When an editor saves a file of the engine, the files that differ from the kernel's release are compiled and laid over the kernel. Results are printed as they come: small programs of one call, two, three; scenarios whose runs reach the change; the other scenarios; and last, more runs of what few runs showed. A save in the middle ends that, and the review begins again. If a file doesn't compile, the compiler's messages are shown, and watch waits for the next save.

Each line begins with the seconds since the save. The first time the unchanged kernel runs, too. Its results are kept for later saves and later days.

With --objects you compile the objects yourself, and watch waits for new ones.

Examples:

  kpsim watch --kernel 6.12.117+deb12-amd64 --tree src
  kpsim watch --kernel vmlinuz --tree ~/linux full-rcu
  kpsim watch --kernel vmlinuz --objects kernel/kprobes.o
  kpsim watch --kernel vmlinuz --tree src --saves 1

Exit status: 0 after --saves, nothing is worse after the last one; 1 something is; 2 bad input or a file that could not be saved, 3 a bug of the simulator, 130 interrupted.`
}

// The objects of --json, one a line.
type jsonLine struct {
	What     string  `json:"what"` // save, compiled, refused, part, worse, end
	Save     int     `json:"save"`
	Seconds  float64 `json:"seconds"` // since the save
	Scenario string  `json:"scenario,omitempty"`
	Property string  `json:"property,omitempty"`
	Says     string  `json:"says"`
}

// Run watches until ^C.
func (c *Watch) Run(p *cli.Program) (int, error) {
	c.p = p
	p.StopAtInterrupt(&c.stop)
	base, files, err := c.begin()
	if err != nil {
		return 0, err
	}
	e := listen(files)
	defer e.Close()
	var last state
	for !c.stop.Load() {
		now := stateOf(files)
		if now == last {
			select {
			case <-e.Changed:
			case <-time.After(often):
			}
			continue
		}
		last = now
		c.save++
		if err := c.saved(base, files, now, e); err != nil {
			return 0, err
		}
		if c.Saves > 0 && uint64(c.save) >= c.Saves && !c.stop.Load() && stateOf(files) == last {
			if c.worse {
				return cli.Against, nil
			}
			return cli.OK, nil
		}
	}
	fmt.Fprintln(p.Err, "kpsim: interrupted")
	return cli.Interrupted, nil
}

// begin opens the kernel, and returns the files to watch.
func (c *Watch) begin() (base *linux.Kernel, files []string, err error) {
	switch {
	case c.Kernel == "":
		return nil, nil, fmt.Errorf("--kernel: none is given; give the kernel that the source is of: %s",
			cli.Line(cli.Typed(), "watch", "--kernel", "vmlinuz", "--tree", "src"))
	case c.Tree == "" && len(c.Objects) == 0:
		return nil, nil, errors.New("--tree: nothing is given to watch; give the folder of a source, or objects with " +
			"--objects")
	case c.Tree != "" && len(c.Objects) > 0:
		return nil, nil, errors.New("--objects: --tree is watched, and compiled; give one of the two")
	}
	if len(c.Scenarios) > 0 { // a mistake there isn't the edit's
		if _, err := inputs.Load(c.Scenarios); err != nil {
			return nil, nil, err
		}
	}
	c.kernel = kernels.Kernel{Kernel: c.Kernel}
	if base, err = c.kernel.Open(); err != nil {
		return nil, nil, err
	}
	if c.Tree == "" {
		for _, o := range c.Objects {
			if _, err := os.Stat(string(o)); err != nil {
				return nil, nil, fmt.Errorf("--objects: %s; compile it first", cli.Cause(err, string(o)))
			}
			files = append(files, string(o))
		}
		return base, files, nil
	}
	e, err := edits.Of(base.Image.Release, string(c.Tree))
	if err != nil {
		if p := new(os.PathError); errors.As(err, &p) {
			return nil, nil, fmt.Errorf("--tree: %s", cli.Cause(err, string(c.Tree)))
		}
		return nil, nil, fmt.Errorf("--tree: %w", err)
	}
	for _, name := range e.Engine() {
		files = append(files, filepath.Join(string(c.Tree), name))
	}
	return base, files, nil
}

// A state is a digest of files.
type state [sha256.Size]byte

// stateOf reads the files. One that isn't there, as while an editor replaces it, counts as empty.
func stateOf(files []string) (s state) {
	h := sha256.New()
	for _, f := range files {
		text, err := cli.ReadFile(f, cli.MostObject)
		if err != nil {
			text = nil
		}
		sum := sha256.Sum256(text)
		h.Write(sum[:])
	}
	h.Sum(s[:0])
	return s
}

// saved has compiled and reviewed what is there now, until all is said, or another save comes.
func (c *Watch) saved(base *linux.Kernel, files []string, now state, e *ear) error {
	c.began, c.worse = time.Now(), false
	stop := new(atomic.Bool)
	r := review.New()
	over := make(chan struct{})
	ended := make(chan struct{})
	go func() { // another save, and ^C, end it
		defer close(ended)
		tick := time.NewTicker(50 * time.Millisecond)
		defer tick.Stop()
		for {
			select {
			case <-over:
				return
			case <-e.Changed:
				if stateOf(files) != now {
					stop.Store(true)
					r.Stop()
				}
			case <-tick.C:
				if c.stop.Load() {
					stop.Store(true)
					r.Stop()
				}
			}
		}
	}()
	err := c.review(base, r, stop)
	close(over)
	<-ended
	if stop.Load() && !c.stop.Load() {
		c.say(jsonLine{What: "save", Says: "saved anew"})
	}
	if stop.Load() {
		return nil
	}
	return err
}

// review compiles, lays over the kernel, and reviews. What is wrong with the files is said, and is no error.
func (c *Watch) review(base *linux.Kernel, r *review.Review, stop *atomic.Bool) error {
	objects, err := c.compiled(base.Image.Release, stop)
	if errors.Is(err, context.Canceled) {
		return nil
	}
	if err != nil {
		if f := new(compile.Failed); errors.As(err, &f) {
			fmt.Fprint(c.p.Err, f.Says)
		}
		return c.refused(err)
	}
	if len(objects) == 0 {
		return c.say(jsonLine{What: "end", Says: "nothing differs from the kernel's own code"})
	}
	as := kernels.Kernel{Kernel: c.kernel.Kernel}
	for _, o := range objects {
		as.Objects = append(as.Objects, cli.FileName(o))
	}
	k, err := as.Open()
	if err != nil {
		return c.refused(err)
	}
	defer boot.Forget(k)
	if err := c.say(jsonLine{What: "compiled", Says: "compiled: " + c.short(objects)}); err != nil {
		return err
	}
	r.Scenarios, r.Kernel, r.Budget, r.Seed, r.Workers, r.Traces = c.Scenarios, as, c.Budget, c.Seed, c.Workers,
		c.Traces
	var failed error
	worse, to, err := r.Live(c.p, base, k, func(h review.Heard) {
		line := jsonLine{What: "part", Scenario: h.Scenario, Property: h.Property, Says: h.Says}
		if h.Worse {
			line.What, c.worse = "worse", true
		}
		if err := c.say(line); err != nil && failed == nil {
			failed = err
		}
	})
	switch {
	case stop.Load():
		return nil
	case err != nil:
		return c.refused(err)
	case failed != nil:
		return failed
	}
	c.worse = len(worse) > 0
	says := "nothing worse was seen"
	if c.worse {
		says = "worse: " + strings.Join(worse, "; ")
	}
	if to != "" {
		says += "; to see the first:  " + to
	}
	return c.say(jsonLine{What: "end", Says: says})
}

// compiled returns the objects: those that are watched, or those of the tree's files that differ from the release.
func (c *Watch) compiled(release string, stop *atomic.Bool) (objects []string, err error) {
	if c.Tree == "" {
		for _, o := range c.Objects {
			objects = append(objects, string(o))
		}
		return objects, nil
	}
	e, err := edits.Of(release, string(c.Tree))
	if err != nil {
		return nil, err
	}
	names, err := e.Differing()
	if err != nil || len(names) == 0 {
		return nil, err
	}
	ctx, end := cli.Until(stop)
	defer end()
	return e.Compiled(ctx, names)
}

// short names objects without their folders.
func (c *Watch) short(objects []string) string {
	var names []string
	for _, o := range objects {
		names = append(names, filepath.Base(o))
	}
	return strings.Join(names, ", ")
}

// refused says why what was saved can't be run. The watching goes on.
func (c *Watch) refused(err error) error {
	c.worse = true
	return c.say(jsonLine{What: "refused", Says: strings.Join(strings.Fields(err.Error()), " ")})
}

// say prints a line, with the seconds since the save.
func (c *Watch) say(l jsonLine) error {
	l.Save, l.Seconds = c.save, float64(time.Since(c.began).Milliseconds())/1000
	if c.JSON {
		return c.p.PrintJSON(l)
	}
	words := l.Says
	if l.What == "worse" {
		words = "worse: " + strings.Join(strings.Fields(l.Scenario+" "+l.Property), " ") + ": " + l.Says
	}
	if l.What == "refused" {
		words = "refused: " + l.Says
	}
	fmt.Fprintf(c.p.Out, "%6.1f s  %s\n", l.Seconds, words)
	c.p.Flush()
	return nil
}
