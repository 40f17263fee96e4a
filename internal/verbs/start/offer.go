package start

import (
	"fmt"

	"kpsim/internal/ui/cli"
)

// offers are what kpsim says without a command: what one may want, and the lines to type.
var offers = []struct{ wants, line string }{
	{"a race, in one of the built-in scenarios:", "explore second-instruction"},
	{"what your patch of a kernel's probes breaks:", "review --kernel VMLINUX --patch FIX.eml"},
	{"your own function, patcher, module or litmus test:", "new mine --for patcher"},
}

// Offer prints to standard error what kpsim can be asked for. It is for a command line that has no command.
func Offer(p *cli.Program) {
	fmt.Fprintln(p.Err, "kpsim finds races in live code patching. What would you like to see?")
	for _, o := range offers {
		fmt.Fprintf(p.Err, "\n  %s\n    %s %s\n", o.wants, cli.Typed(), o.line)
	}
	fmt.Fprintf(p.Err, "\n%s list has all scenarios, %s --help all commands.\n", cli.Typed(), cli.Typed())
}
