package flags

import (
	"os"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestTypeset: what a word processor makes of a command line is named, with what to type.
func TestTypeset(t *testing.T) {
	t.Chdir(t.TempDir())
	for _, c := range []struct{ arg, want string }{
		{"--seed", ""}, {"-", ""}, {"", ""}, {"safe-none", ""}, {"mine.star", ""}, {"--where=a\u2013b", ""},
		{"\u2013seed", "\u2013seed: \u2013 is a dash, not a hyphen: type --seed"},
		{"\u2014seed", "\u2014seed: \u2014 is a dash, not a hyphen: type --seed"},
		{"\u2013-runs=5", "\u2013-runs=5: \u2013 is a dash, not a hyphen: type --runs=5"},
		{"-\u2013runs", "-\u2013runs: \u2013 is a dash, not a hyphen: type --runs"},
		{"\u2013h", "\u2013h: \u2013 is a dash, not a hyphen: type -h"},
		{"\u22125", "\u22125: \u2212 is a minus sign, not a hyphen: type -5"},
		{"\u201c100\u201d", "\u201c100\u201d: it has typographic quotation marks, which a shell doesn't remove: type 100"},
		{"--runs=\u201c100\u201d", "--runs=\u201c100\u201d: it has typographic quotation marks, which a shell doesn't " +
			"remove: type --runs=100"},
		{"\u201e--runs=100\u201c", "\u201e--runs=100\u201c: it has typographic quotation marks, which a shell doesn't " +
			"remove: type --runs=100"},
	} {
		err := Typeset([]string{"explore", c.arg})
		if c.want == "" {
			require.NoError(t, err, c.arg)
		} else {
			require.EqualError(t, err, c.want)
		}
	}
	require.NoError(t, os.WriteFile("\u2013seed", nil, 0o600))
	require.NoError(t, Typeset([]string{"\u2013seed"}), "a file")
}
