package twoengines_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"kpsim/internal/scenario"
	"kpsim/internal/scenario/gen"
	"kpsim/internal/scenario/lang"
	"kpsim/internal/search/twoengines"
	"kpsim/kprobes/rules"
	"kpsim/linux"
	"kpsim/linux/vmlinux/kerneltest"
)

// Each known series, and the edition that has its protocols.
var pairs = []struct {
	series, edition string
	rules           rules.Edition
}{{"6.1", "6.5", rules.Edition65}, {"6.12", "6.9", rules.Edition69}}

// A drawn program that a single task runs is answered alike by a kernel's own engine and
// by kpsim's, to the last register that a handler sees.
func TestSerial(t *testing.T) {
	for _, pair := range pairs {
		t.Run(pair.series, func(t *testing.T) {
			k, err := linux.Open(kerneltest.Path(t, pair.series))
			require.NoError(t, err)
			linux.Give(k)
			rapid.Check(t, func(t *rapid.T) {
				m := scenario.Machine{CPUs: 2, Preempt: scenario.PreemptDynamic, Edition: pair.rules}
				m.Settle()
				s := twoengines.Serial(gen.DrawOn(t, m))
				compare(t, s, k, pair.edition)
			})
		})
	}
}

// compare runs a serial scenario on both engines.
func compare(t rapid.TB, s *scenario.Scenario, k *linux.Kernel, edition string) {
	one, two, err := twoengines.On(s, k, edition)
	if err != nil {
		t.Fatalf("%v\n%v", err, s)
	}
	kernels, err := twoengines.Of(one)
	if err != nil {
		t.Fatalf("%v\n%v", err, one)
	}
	ours, err := twoengines.Of(two)
	if err != nil {
		t.Fatalf("%v\n%v", err, two)
	}
	if d := twoengines.Differences(kernels, ours); d != "" {
		t.Fatalf("%s\n%s", d, program(two))
	}
}

// program is what a scenario does, without its text.
func program(s *scenario.Scenario) string {
	out := lang.Print(s)
	if i := strings.Index(out, "\nk0 = "); i > 0 {
		return out[i+1:]
	}
	return out
}
