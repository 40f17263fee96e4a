package main

import (
	"io"
	"strings"
	"testing"

	"github.com/alecthomas/kong"
	"github.com/stretchr/testify/require"

	"kpsim/internal/testkit/flagstest"
	"kpsim/internal/ui/cli"
)

// A flag that is given twice is refused, or both of its values are taken.
func TestTwice(t *testing.T) {
	parser := func() *kong.Kong { return newParser(verbs, io.Discard, io.Discard) }
	flagstest.Twice(t, parser().Model.Node, func(args []string) (*kong.Context, error) { return parser().Parse(args) })

	out, errs := new(strings.Builder), new(strings.Builder)
	require.Equal(t, cli.BadInput, run([]string{"explore", "--seed", "1", "safe-none", "--seed=2"}, out, errs))
	require.Empty(t, out.String())
	require.Equal(t, "kpsim: --seed: it is given 2 times, and has one value; give it once\n", errs.String())
}
