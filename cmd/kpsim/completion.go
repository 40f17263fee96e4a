package main

import (
	"fmt"

	"kpsim/internal/eval/matrix"
	"kpsim/internal/eval/overhead/pages"
	"kpsim/internal/scenario/library"
	"kpsim/internal/ui/cli"
	"kpsim/internal/ui/cli/flags"
	"kpsim/internal/ui/cli/inputs"
	"kpsim/internal/verbs/catalogue"
	"kpsim/internal/verbs/report"
	"kpsim/kprobes/mutants"
	"kpsim/linux/closure"
	"kpsim/smp"
	"kpsim/smp/fetch"
)

type completionCmd struct {
	Shell string `arg:"" help:"bash, zsh or fish."`
}

// Help implements kong.HelpProvider.
func (completionCmd) Help() string {
	return `Print a script by which a shell completes commands, flags and names.

Prints a script for a shell, by which it completes commands, flags, the names of scenarios, mutants, strategies, editions, machines and the like, and files that fit (NAME.kps where a trace is wanted). The script asks kpsim itself, so it needs no renewal.

Examples:

  source <(kpsim completion bash)
  kpsim completion bash > ~/.local/share/bash-completion/completions/kpsim
  kpsim completion zsh > ~/.zsh/completions/_kpsim
  kpsim completion fish > ~/.config/fish/completions/kpsim.fish

The folder of zsh has to be in its fpath, before compinit is run.

Exit status: 0, or 2 for bad input.`
}

func (c *completionCmd) Run(p *cli.Program) (int, error) {
	if err := cli.Known("shell", c.Shell, shellNames()); err != nil {
		return 0, err
	}
	_, err := fmt.Fprint(p.Out, flags.Scripts[c.Shell])
	return cli.OK, err
}

func shellNames() []string { return []string{"bash", "zsh", "fish"} }

type completeCmd struct {
	Words []string `arg:"" optional:""`
}

// Help implements kong.HelpProvider.
func (*completeCmd) Help() string {
	return "Print what the last word may become; completion's scripts ask it."
}

func (c *completeCmd) Run(p *cli.Program) (int, error) {
	words := make([]string, len(c.Words))
	for i, w := range c.Words {
		words[i] = flags.Unquoted(w)
	}
	for _, w := range flags.Complete(newParser(verbs, p.Out, p.Err).Model.Node, words, namings) {
		fmt.Fprintln(p.Out, w)
	}
	return cli.OK, nil
}

// namings has the names that complete a flag, by the flag's name, or an argument, by its name in
// brackets. Other flags and arguments are completed with files if their placeholder says so, or
// else not at all.
var namings = map[string]flags.Names{
	"--ignore":    flags.Fixed(inputs.PropertyNames),
	"--mutant":    flags.Fixed(mutants.Known),
	"--without":   flags.Fixed(library.Names),
	"--mutants":   flags.Fixed(mutants.Names),
	"--strategy":  flags.Fixed(inputs.StrategyNames),
	"--edition":   flags.Fixed(inputs.DrawnEditions),
	"--preempt":   flags.Fixed(inputs.DrawnPreempts),
	"--fetch":     flags.Fixed(fetch.Names),
	"--memory":    flags.Fixed(smp.Orderings),
	"--machine":   flags.Fixed(pages.MachineIDs),
	"--probe":     flags.Fixed(pages.ProbeIDs),
	"--profile":   flags.Fixed(func() []string { return []string{"k61", "k612"} }),
	"--tier":      flags.Fixed(pages.TierNames),
	"--schedule":  flags.Fixed(pages.ScheduleNames),
	"--patch":     flags.Fixed(pages.PatchNames),
	"--to":        flags.Fixed(func() []string { return report.Exports }),
	"--with":      flags.Fixed(closure.Known),
	"<file|name>": flags.Either(flags.Fixed(library.Names), flags.Files(".star")),
	"<scenario>":  flags.Either(flags.Fixed(library.Names), flags.Files(".star")),
	"<what>":      flags.Either(flags.Fixed(library.Names), flags.Files(".star", ".kps")),
	"<listed>":    flags.Fixed(catalogue.Listed),
	"<trace>":     flags.Files(".kps"),
	"<beside>":    flags.Files(".kps"),
	"<object>":    flags.Either(flags.Fixed(library.Names), flags.Files(".o", ".ko", ".star", ".kps")),
	"<file>":      flags.Files(""),
	"<files>":     flags.Files(""),
	"<file.csv>":  flags.Files(".csv"),
	"<test>":      flags.Files(".litmus"),
	"<name>":      flags.Fixed(mutants.Names),
	"<row>":       flags.Fixed(matrix.RowNames),
	"<shell>":     flags.Fixed(shellNames),
	"<command>":   flags.Fixed(commandWords),
}
