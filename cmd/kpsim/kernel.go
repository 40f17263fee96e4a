package main

import "kpsim/internal/verbs/kernelinfo"

// kernelCmd is kpsim kernel.
type kernelCmd struct {
	Info    kernelInfoCmd    `cmd:"" help:"Say which kernel a file is, what of its configuration matters, and what kpsim can run."`
	Closure kernelClosureCmd `cmd:"" help:"Compare which functions run and which they call with a known kernel: what a port needs."`
	Mutants kernelMutantsCmd `cmd:"" help:"List the faults that can be put into the machine code of a kernel's engine."`
	Table   kernelTableCmd   `cmd:"" help:"Print the sizes of the sets and their boundaries, a kernel a row."`
	Runs    kernelRunsCmd    `cmd:"" help:"Print what explorations with kernels have shown, a scenario a row."`
}

const kernelHelp = `A kernel's own engine runs on the simulated CPUs as it was compiled: explore, run, fuzz and verify take it with --kernel. Its functions are cut out by their source files, in sets: kprobes, jumplabel, staticcall, ftrace. All else that they call is the boundary, whose functions kpsim serves in Go. What a run finds counts if it calls none that isn't served.

info says which kernel a file is, and what is served. closure says how a new kernel differs from those that are known: what is new, gone, and not served is what a port needs. mutants lists faults that are found by decoding: each puts bytes in the place of one instruction. runs adds up the result files of explorations: of each scenario and kernel the runs, and how many of them broke which property.

Examples:

  kpsim kernel info vmlinuz
  kpsim kernel info --json vmlinux
  kpsim kernel info vmlinux --objects kprobes.o,opt.o
  kpsim kernel closure vmlinuz
  kpsim kernel closure --set ftrace --with 6.12.117+deb12-amd64 vmlinuz
  kpsim kernel closure --all vmlinuz
  kpsim kernel closure --known
  kpsim kernel table --markdown vmlinuz
  kpsim kernel table --set all vmlinuz
  kpsim kernel mutants --func kprobe_optimizer vmlinuz
  kpsim kernel mutants --draw 100 --seed 7 --json vmlinuz
  kpsim explore --kernel vmlinuz --out 1.json --seed 1 safe-full safe-none
  kpsim kernel runs --markdown 1.json 2.json

scripts/fetch-kernel fetches Debian's kernels.

Exit status: 0, or 2 for bad input.`

// Help implements kong.HelpProvider.
func (*kernelCmd) Help() string { return kernelHelp }

type kernelInfoCmd struct{ kernelinfo.Info }

// Help implements kong.HelpProvider.
func (*kernelInfoCmd) Help() string { return kernelHelp }

type kernelClosureCmd struct{ kernelinfo.Closure }

// Help implements kong.HelpProvider.
func (*kernelClosureCmd) Help() string { return kernelHelp }

type kernelMutantsCmd struct{ kernelinfo.Mutants }

// Help implements kong.HelpProvider.
func (*kernelMutantsCmd) Help() string { return kernelHelp }

type kernelTableCmd struct{ kernelinfo.Table }

// Help implements kong.HelpProvider.
func (*kernelTableCmd) Help() string { return kernelHelp }

type kernelRunsCmd struct{ kernelinfo.Runs }

// Help implements kong.HelpProvider.
func (*kernelRunsCmd) Help() string { return kernelHelp }
