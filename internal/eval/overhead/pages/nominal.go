package pages

import (
	"fmt"

	"kpsim/internal/eval/overhead"
	"kpsim/internal/ui/cli"
	"kpsim/smp/cycles"
)

// Nominal is kpsim overhead nominal.
type Nominal struct {
	Arch string `default:"x86_64" placeholder:"ARCH" help:"The architecture. Default: x86_64."`
	Name string `default:"My machine" placeholder:"NAME" help:"What tables call the machine. Default: My machine."`
	MHz  int    `name:"mhz" range:"10..100000" default:"2000" placeholder:"MHZ" help:"Its clock. Default: 2000."`
}

// Help implements kong.HelpProvider.
func (*Nominal) Help() string {
	return `Print a profile to change by hand: each event's price in round numbers, all of them assumed.

For machines that no figures are of, as all of arm64 and riscv64, and for readers who can't measure: measuring needs Linux. Replace the prices that you know; the text after a # is printed beside what is priced, so say there where yours is from. The lines that patches depend on most:

  send-ipi     sending an IPI, on the CPU that sends it
  sync_core    a serialising instruction: cpuid or iret on x86, isb on arm64
  breakpoint   delivery of #BP, or of brk, to the handler's first instruction
  trap         delivery of any other exception or interrupt, an IPI too
  iret         the return from either
  cache-line   getting a line that another CPU has written
  point        an access to something shared, a store to text too

Flushing the instruction cache by address has no price of its own: put what it takes into sync_core.

Examples:

  kpsim overhead nominal > mine.profile
  kpsim overhead nominal --arch arm64 --mhz 2400 --name Board > board.profile
  kpsim overhead price arm64-label --profile board.profile

Exit status: 0, 2 bad input.`
}

func (c *Nominal) Run(p *cli.Program) (int, error) {
	u := overhead.NominalProfile(c.Name, c.Arch, float64(c.MHz))
	text := u.Text(func(cycles.Event) string { return "assumed, a round number" })
	if _, err := overhead.ReadProfile("the profile", text); err != nil {
		return 0, fmt.Errorf("--name, --arch: %w", err)
	}
	fmt.Fprintf(p.Out, "# Prices to change by hand, for kpsim overhead --profile and kpsim overhead price: cycles of each "+
		"event.\n# Nothing here was measured.\n\n%s", text)
	return cli.OK, nil
}
