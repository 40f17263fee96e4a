package main

import (
	"fmt"

	"kpsim/internal/eval/matrix"
	"kpsim/internal/eval/overhead/pages"
	"kpsim/internal/scenario"
	"kpsim/internal/scenario/library"
	"kpsim/internal/search/small"
	"kpsim/internal/ui/cli"
	"kpsim/internal/ui/cli/flags"
	"kpsim/internal/ui/cli/inputs"
	"kpsim/internal/ui/cli/inputs/drawable"
	"kpsim/internal/ui/verdict"
	"kpsim/internal/verbs/catalogue"
	"kpsim/internal/verbs/report"
	"kpsim/internal/verbs/start"
	"kpsim/kprobes/mutants"
	"kpsim/linux/closure"
	"kpsim/properties"
	"kpsim/smp"
	"kpsim/smp/fetch"
)

type completionCmd struct {
	Shell string `arg:"" help:"bash, zsh or fish."`
}

// Help implements kong.HelpProvider.
func (completionCmd) Help() string {
	return `Print a script that makes a shell complete commands, flags and names.

The script makes a shell complete commands, flags, the names of scenarios, mutants, strategies, editions, machines and the like, and matching files (NAME.kps for a trace). The script calls kpsim, so it stays valid after an upgrade.

Examples:

  source <(kpsim completion bash)
  kpsim completion bash > ~/.local/share/bash-completion/completions/kpsim
  kpsim completion zsh > ~/.zsh/completions/_kpsim
  kpsim completion fish > ~/.config/fish/completions/kpsim.fish

For zsh, ~/.zsh/completions must be in fpath before compinit runs.

Exit status: 0, or 2 for bad input.`
}

func (c *completionCmd) Run(p *cli.Program) (int, error) {
	if err := cli.Known("shell", c.Shell, flags.Shells()); err != nil {
		return 0, err
	}
	_, err := fmt.Fprint(p.Out, flags.Scripts[c.Shell])
	return cli.OK, err
}

type completeCmd struct {
	Words []string `arg:"" optional:""`
}

// Help implements kong.HelpProvider.
func (*completeCmd) Help() string {
	return "Print the completions of the last word. The scripts of kpsim completion call this."
}

func (c *completeCmd) Run(p *cli.Program) (int, error) {
	words := make([]string, len(c.Words))
	for i, w := range c.Words {
		words[i] = flags.Unquoted(w)
	}
	for _, w := range flags.Complete(newParser(verbs, p.Out, p.Err).Model.Node, words, completions) {
		fmt.Fprintln(p.Out, w)
	}
	return cli.OK, nil
}

// completions has the names that complete a flag, by the flag's name, or an argument, by its name in
// brackets. Other flags and arguments are completed with files if their placeholder says so, otherwise
// not at all. NAME=PLACEHOLDER is for a flag that means something else in another command.
var completions = map[string]flags.Names{
	"--ignore":      flags.Fixed(inputs.PropertyNames),
	"--mutant":      flags.Fixed(mutants.Known),
	"--without":     flags.Fixed(library.Names),
	"--mutants":     flags.Fixed(mutants.Names),
	"--strategy":    flags.Fixed(inputs.StrategyNames),
	"--edition":     flags.Fixed(drawable.Editions),
	"--arch":        flags.Fixed(drawable.Processors),
	"--preempt":     flags.Fixed(drawable.Preempts),
	"--fetch":       flags.Fixed(fetch.Names),
	"--memory":      flags.Fixed(smp.Orderings),
	"--machine":     flags.Fixed(pages.MachineIDs),
	"--probe":       flags.Fixed(pages.ProbeIDs),
	"--for=PURPOSE": flags.Fixed(start.Purposes),
	"--kind":        flags.Fixed(catalogue.Kinds),
	"--engine":      flags.Fixed(scenario.Engines),
	"--property":    flags.Fixed(properties.Words),
	"--profile":     flags.Fixed(func() []string { return []string{"k61", "k612"} }),
	"--tier":        flags.Fixed(pages.TierNames),
	"--schedule":    flags.Fixed(pages.ScheduleNames),
	"--patch":       flags.Fixed(pages.PatchNames),
	"--format":      flags.Fixed(verdict.Names),
	"--to":          flags.Fixed(func() []string { return report.Exports }),
	"--with":        flags.Fixed(closure.Known),
	"<file|name>":   flags.Either(flags.Fixed(library.Names), flags.Files(".star")),
	"<scenario>":    flags.Either(flags.Fixed(library.Names), flags.Files(".star")),
	"<what>":        flags.Either(flags.Fixed(library.Names), flags.Files(".star", ".kps")),
	"<world>":       flags.Fixed(small.Names),
	"<listed>":      flags.Fixed(catalogue.Listed),
	"<trace>":       flags.Files(".kps"),
	"<beside>":      flags.Files(".kps"),
	"<object>":      flags.Either(flags.Fixed(library.Names), flags.Files(".o", ".ko", ".star", ".kps")),
	"<file>":        flags.Files(""),
	"<files>":       flags.Files(""),
	"<file.csv>":    flags.Files(".csv"),
	"<test>":        flags.Files(".litmus"),
	"<name>":        flags.Fixed(mutants.Names),
	"<row>":         flags.Fixed(matrix.RowNames),
	"<shell>":       flags.Fixed(flags.Shells),
	"<command>":     flags.Fixed(commandWords),
	"<source>":      flags.Files(".star", ".kps"),
}
