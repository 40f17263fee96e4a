package kernelinfo

// Kernel is kpsim kernel.
type Kernel struct {
	Info    Info    `cmd:""`
	Closure Closure `cmd:""`
	Mutants Mutants `cmd:""`
	Table   Table   `cmd:""`
	Runs    Runs    `cmd:""`
}

// Help implements kong.HelpProvider.
func (*Kernel) Help() string {
	return "Say of a kernel's file what it is, what of it can be run, and what a port needs.\n\n" + kernelHelp
}

const kernelHelp = `A kernel's own engine runs on the simulated CPUs as it was compiled: explore, run, fuzz and verify take it with --kernel. Its functions are cut out by their source files, in sets: kprobes, jumplabel, staticcall, ftrace, fprobe. All else that they call is the boundary, whose functions kpsim serves in Go. What a run finds counts if it calls none that isn't served.

info says which kernel a file is, what is served, and what each function without a service would add if it ran as compiled. closure says how a new kernel differs from those that are known: what is new, gone, and not served is what a port needs. mutants lists faults that are found by decoding: each puts bytes in the place of one instruction. runs adds up the result files of explorations: of each scenario and kernel the runs, and how many of them broke which property.

Examples:

  kpsim kernel info vmlinuz
  kpsim kernel info 6.12.117+deb12-amd64
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

scripts/fetch-kernel fetches Debian's kernels. One that it has fetched can be named by its release. Which functions a run has executed, kpsim replay --functions lists.

Exit status: 0, or 2 for bad input.`
