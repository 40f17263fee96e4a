package pages

import (
	"kpsim/internal/ui/cli"
	"kpsim/scripts"
)

// Script is kpsim overhead script.
type Script struct{}

// Help implements kong.HelpProvider.
func (*Script) Help() string {
	return `Print the script that measures probes on a machine of yours.

Prints scripts/measure-probes, for machines that have no kpsim. Run there as root, it times hits of probes with tracefs and dd, and prints the file that kpsim overhead calibrate takes. It needs bash, awk, dd, and a kernel with CONFIG_KPROBE_EVENTS on x86; no compiler, no headers, no BPF. It takes its probes away again.

Examples:

  kpsim overhead script > measure-probes
  sudo bash measure-probes > mine.csv
  kpsim overhead script | ssh root@my-box bash -s -- --repeats 31 > mine.csv
  bash measure-probes --help

Exit status: 0, 2 bad input, 3 a bug of the simulator.`
}

// Run prints it.
func (*Script) Run(p *cli.Program) (int, error) {
	_, err := p.Out.Write(scripts.MeasureProbes)
	return cli.OK, err
}
