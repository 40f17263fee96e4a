package kprobes

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// TestSpecHoles: what makes a hole. A rule without a row in one of its editions is
// one, and so is a row there whose mutants show in other editions only.
func TestSpecHoles(t *testing.T) {
	rules := []numbered{{rule: "1.2", words: "w", in: every}}
	all := coverRow{rule: "1.2", in: every, test: "t", mutants: []coverMutant{{"m", every}}}
	require.Empty(t, coverHoles(rules, []coverRow{all}))
	require.Len(t, coverHoles(rules, nil), 1)
	some := all
	some.in = every[1:]
	require.Equal(t, []string{"1.2 in 2.6: no test (w)"}, coverHoles(rules, []coverRow{some}))
	some = all
	some.mutants = []coverMutant{{"m", every[:5]}}
	require.Equal(t, []string{"1.2 in documented: no mutant, and no reason (w)"}, coverHoles(rules, []coverRow{some}))
	some.none = "why"
	require.Empty(t, coverHoles(rules, []coverRow{some}))
}
