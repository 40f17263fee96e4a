package main

import (
	"io"
	"reflect"
	"strings"
	"testing"

	"github.com/alecthomas/kong"
	"github.com/stretchr/testify/require"

	"kpsim/internal/ui/cli"
	"kpsim/internal/ui/cli/flags"
)

// Help says of each number and time of a campaign what it counts and what it is if it isn't given,
// and each is in an example. Those of kpsim explore and kpsim fuzz are told there.
func TestFlagHelp(t *testing.T) {
	parser := newParser(new(commands), io.Discard, io.Discard)
	for _, n := range parser.Model.Children {
		for _, f := range n.Flags {
			_, _, ranged := flags.RangeOf(f.Value)
			name := n.Name + " --" + f.Name
			if !ranged || f.Hidden || ofKpsim(n.Target.Type(), f) && campaignHelp[name] == "" {
				continue
			}
			require.Regexp(t, `Default.*: |[Dd]efault: |[(]the default[)]: `, f.Help, name)
			if n.Name == "run" || n.Name == "fuzz" || n.Name == "work" || n.Name == "start" {
				if help := n.Detail; campaignHelp[name] != "" || n.Name != "run" && n.Name != "fuzz" {
					require.Contains(t, help, " --"+f.Name+" ", name)
				}
			}
		}
	}
	for _, command := range []string{"run", "fuzz"} {
		for _, want := range []string{"unit", "at once", "one per processor", "report is the same"} {
			require.Contains(t, campaignHelp[command+" --workers"], want)
		}
	}
}

// ofKpsim reports whether a flag is one of kpsim's own, which its help tells of.
func ofKpsim(command reflect.Type, f *kong.Flag) bool {
	for i := range command.NumField() {
		field := command.Field(i)
		if field.Anonymous && field.Type.Kind() == reflect.Struct {
			if strings.HasPrefix(field.Type.PkgPath(), "kpsim/internal/verbs/findings") {
				for k := range field.Type.NumField() {
					if strings.EqualFold(field.Type.Field(k).Name, strings.ReplaceAll(f.Name, "-", "")) {
						return true
					}
				}
			} else if ofKpsim(field.Type, f) {
				return true
			}
		}
	}
	return false
}

// What has no effect is refused.
func TestStartHasNoWorkers(t *testing.T) {
	out, errs := new(strings.Builder), new(strings.Builder)
	require.Equal(t, cli.BadInput, run([]string{"start", "--workers", "2", "torn-jump"}, out, errs))
	require.Equal(t, "kpsim-campaign: --workers: start makes no units; give it to a worker: kpsim-campaign work "+
		"--cores N\n", errs.String())
}
