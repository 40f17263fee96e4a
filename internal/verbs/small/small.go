package small

import (
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"kpsim/internal/search/small"
	"kpsim/internal/ui/cli"
	"kpsim/internal/ui/cli/inputs"
	"kpsim/internal/ui/cli/inputs/drawable"
	"kpsim/internal/ui/cli/inputs/kernels"
)

// Small is kpsim small.
type Small struct {
	Worlds  []string      `arg:"" optional:"" name:"world" help:"Names of worlds: jump, calls, site, module, returns, keys, clients, debugger, i386, jprobe, riscv64, arm64, ppc64le. None: all."`
	Calls   *int          `range:"1..8" placeholder:"N" help:"The most calls of a program. Each call more makes some fifteen times as many programs. Default: 4; with --kernel 3."`
	For     time.Duration `range:"0s..8760h" placeholder:"TIME" help:"Stop after this time, and say which programs were run. Default: when all were."`
	Beside  int           `range:"0..2" placeholder:"N" help:"Run each two calls side by side instead, with 2 also after each call."`
	Edition string        `placeholder:"NAME" help:"Make the machine that of an edition of the kernel's document: ${editions}, documented."`
	kernels.Kernel
	inputs.Broken
	inputs.Ignoring
	Workers int    `range:"0..64" placeholder:"N" help:"How many programs are run at once, 16 at most. Default: one a processor. Changes no result."`
	Traces  string `default:"traces" placeholder:"DIR" help:"Where programs that differ are written, as small-WORLD-N.star."`
	cli.Form

	stop, late atomic.Bool
}

// Help implements kong.HelpProvider.
func (*Small) Help() string {
	return `Run all serial programs of up to a few calls on small worlds, and compare each with the rules.

Some faults need no schedule: a few calls of one task show them in every run. This command leaves none out, up to the length of --calls. A world has a few probes, and sometimes a module or a site of ftrace; a program is a list of calls that one task makes: register and unregister (one probe, or an array), enable and disable, calls of the probed functions, insmod and rmmod, the switches. Each world is searched twice: with the optimizer running after each call, and with the optimizer running where a program asks for it.

The worlds:

  jump    three probes in the bytes of one jump, one beside it, a return probe
  calls   probes whose handlers call a function with probes
  site    probes at a site of ftrace, and a tracer
  module  probes in a module that comes and goes; another module's init fails
  returns return probes of a function that calls itself, with few instances
  keys    jump labels and static calls, also in a module; alternatives
  clients sites of ftrace with fprobes, live patches, a direct call, probes
  debugger  breakpoints of a debugger beside probes
  i386    as jump, in 32-bit code
  jprobe  jprobes of edition 2.6
  riscv64, arm64, ppc64le
          probes of those processors, whose handlers call a function with probes; return probes

A reference, written from the rules and independent of the engine, says what each call answers, which handlers a call of a function runs and in which order, what the function returns, the state of each probe, missed hits, and the lines of kprobes/list. Then all functions are called, all probes are unregistered, and all modules unloaded; the properties judge text, memory and counts.

Left out are programs that only rename interchangeable probes, programs with more than one call that changes nothing by the rules, and continuations of a program that differs. The report says how many programs that leaves.

--beside 1 runs each two calls side by side in two tasks, under every schedule of at most two deviations; --beside 2 also after each call that changes something, which takes some ten times as long. The properties judge these runs, and the reference where the order of the two calls doesn't matter.

With --kernel programs that ask for the optimizer have one call less. A difference that is known for kernels (docs/two-engines.md) is named, and isn't against expectation. What the kernel doesn't serve is left out.

Examples:

  kpsim small
  kpsim small jump --calls 5
  kpsim small --calls 5 --for 10m
  kpsim small --beside 1 keys
  kpsim small --mutant jump-hidden jump
  kpsim small --edition 4.15 --as-shipped
  kpsim small --kernel vmlinuz --calls 2
  kpsim small --kernel vmlinuz --objects kprobes.o
  kpsim small --json | jq .finds

Exit status: 0 all as the rules say, 1 something differs, 2 bad input or a file that could not be saved, 3 a bug of the simulator, 130 interrupted. If several apply, the first of 3, 130 or 143, 1, 2 is returned.`
}

// Run runs the programs.
func (c *Small) Run(p *cli.Program) (int, error) {
	for _, w := range c.Worlds {
		if err := cli.Known("world", w, small.Names()); err != nil {
			return 0, err
		}
	}
	if err := drawable.OptionalEdition(c.Edition); err != nil {
		return 0, err
	}
	for _, w := range c.Worlds {
		if sc, err := small.Load(w, c.Edition); err != nil {
			return 0, err
		} else if sc == nil {
			return 0, fmt.Errorf("--edition %s: it has nothing that the world %s is about, or other rules for it; "+
				"leave out one of them", c.Edition, w)
		}
	}
	if err := c.Broken.Check(); err != nil {
		return 0, err
	}
	if err := c.Ignoring.Check(); err != nil {
		return 0, err
	}
	if err := c.Kernel.Alone(c.Edition, c.Mutant); err != nil {
		return 0, err
	}
	if c.Traces == "" {
		return 0, errors.New("--traces: the name is empty; name a folder")
	}
	kernel, err := c.Kernel.Open()
	if err != nil {
		return 0, err
	}
	if c.Ignored != 0 && c.Beside > 0 {
		return 0, errors.New("--ignore is of serial programs; leave out --beside, or use explore --ignore")
	}
	if kernel != nil && c.Beside > 0 {
		return 0, errors.New("--beside runs kpsim's own engine; leave --kernel out, or use explore --kernel")
	}
	p.StopAtInterrupt(&c.stop)
	cli.ManySmall()
	if c.For > 0 {
		timer := time.AfterFunc(c.For, func() { c.late.Store(true); c.stop.Store(true) })
		defer timer.Stop()
	}
	if c.Beside > 0 {
		found, err := c.beside(p)
		return c.status(p, found), err
	}
	s := &small.Session{Worlds: c.Worlds, Edition: c.Edition, Mutant: c.Mutant, Kernel: kernel, Ignored: c.Ignored,
		Calls: small.Calls(kernel != nil), Workers: c.Workers, Cancelled: &c.stop}
	if c.Calls != nil {
		s.Calls = *c.Calls
	}
	if kernel != nil {
		s.Asked = Asked(s.Calls)
	}
	report := &Report{Traces: c.Traces, JSON: c.JSON, Line: c.line, Calls: s.Calls, Asked: s.Asked}
	if err := report.Run(p, s); err != nil {
		return 0, err
	}
	return c.status(p, report.Unknown > 0), nil
}

// status returns the command's status. found: something isn't as the rules say.
func (c *Small) status(p *cli.Program, found bool) int {
	switch {
	case c.stop.Load() && !c.late.Load():
		fmt.Fprintf(p.Err, "kpsim: interrupted\n")
		return cli.Interrupted
	case found:
		return cli.Against
	}
	return cli.OK
}

// Asked returns how many calls programs that ask for the optimizer have on a kernel's own engine,
// which takes longer: they are as many as others when the optimizer's run isn't counted.
func Asked(calls int) int { return max(calls-1, 1) }

// line returns the command line that shows a program alone.
func (c *Small) line(file string) string {
	words := []string{"run", file}
	if c.Mutant != "" {
		words = append(words, "--mutant", c.Mutant)
	}
	return c.Kernel.Line(words...)
}
