package pages

// Overhead is kpsim overhead.
type Overhead struct {
	Table     Table     `cmd:"" default:"withargs"`
	Fit       Fit       `cmd:""`
	Script    Script    `cmd:""`
	Calibrate Calibrate `cmd:""`
	Pauses    Pauses    `cmd:""`
	Maxactive Maxactive `cmd:""`
	Probes    Probes    `cmd:""`
	Price     Price     `cmd:""`
	Nominal   Nominal   `cmd:""`
}

// Help implements kong.HelpProvider.
func (*Overhead) Help() string {
	return "Say what probes cost: the documents' figures beside ours, and what a hit is spent on.\n\n" + overheadHelp
}

const overheadHelp = `What a hit of a probe costs. The documents end in 27 figures, measured on processors of 2003 to 2008. Here each is the difference between runs of a scenario with and without the probe: what happens in a hit is counted (exceptions, single steps, instructions, locks, copies, steps of the engine), and each event has a price on each machine. The prices are fitted to the figures in two tiers:

  mechanistic   thirteen numbers for all machines together, with what is typical
                of the processors and the counted instructions of kernel code
  calibrated    these and twenty more, four of each machine: 33 numbers for 27
                figures, so it says what the figures say

"left out" is the error for a figure by a fit without it; "machine out" and "arch out" by a fit without all figures of its processor, or of its architecture. "left out 95 %" is the interval of a prediction by the errors of left out figures: the largest of 27. ppc64's events are those of its own engine, of ppc64le; its kernel's instructions are put at x86_64's.

Each hit of a run takes the same time; --noise draws what a machine at work adds, all of which is assumed. Its intervals at 95 % are the sampling error of that alone: Student's t over runs, and for quantiles Woodruff's, by the share of each run. --edition gives the hits of another edition's engine by the same costs; --cpus those of many CPUs at one probe. --prose judges the documents' sentences by the mechanistic costs.

--kernel counts what a kernel's own code executes in each hit, and prices it by the mechanistic costs.

Probes: k kprobe (unoptimized), b boosted kprobe, o optimized kprobe; r, rb, ro return probe on such; j jprobe; kr, jr kprobe or jprobe and return probe. With --kernel also kk two kprobes at one address; f, rf kprobe or return probe at a site of ftrace.

Examples:

  kpsim overhead
  kpsim overhead --machine xeon-e5410/x86_64 --probe k --probe o
  kpsim overhead --tier mechanistic --provenance --machine pentium-m/i386
  kpsim overhead --prose
  kpsim overhead --html overhead.html
  kpsim overhead --edition 2.6 --edition 6.9 --machine xeon-e5410/x86_64
  kpsim overhead --cpus 1,2,4,8,16,32,64
  kpsim overhead --cpus 1-16 --edition 2.6 --probe k,r
  kpsim overhead --kernel vmlinuz
  kpsim overhead --kernel vmlinuz --objects kprobes.o --json | jq .instructions
  kpsim overhead --noise --machine xeon-e5410/x86_64
  kpsim overhead --noise --runs 100 --hits 10000 --seed 7 --probe o
  kpsim overhead --noise --bench > old.txt; benchstat old.txt new.txt
  kpsim overhead --json | jq 'select(.error > 0.05)'
  kpsim overhead fit
  kpsim overhead script > measure-probes; sudo bash measure-probes > mine.csv
  kpsim overhead calibrate mine.csv > mine.profile
  kpsim overhead --profile mine.profile
  kpsim overhead pauses
  kpsim overhead maxactive
  kpsim overhead probes
  kpsim overhead price hook-unsynced
  kpsim overhead nominal --arch arm64 --mhz 2400 > my-arm.profile

The flags of these: kpsim overhead table --help (the word table may be left out).

Exit status: 0, 2 bad input, 3 a bug of the simulator, 130 interrupted.`
