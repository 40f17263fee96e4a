package scenario_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"kpsim/internal/scenario"
	"kpsim/smp/arch"
)

// TestHandlerIPs: what handlers are to find, and of what nothing is said.
func TestHandlerIPs(t *testing.T) {
	const at arch.Addr = 0xffffffff81000000
	// push; mov; call; rep movsb; endbr64; ret
	code := []byte{0x55, 0x48, 0x89, 0xe5, 0xe8, 0, 0, 0, 0, 0xf3, 0xa4, 0xf3, 0x0f, 0x1e, 0xfa, 0xc3}
	s := &scenario.Scenario{Texts: []scenario.Text{{Name: "f", At: at, Code: code}}}
	for _, off := range []int{0, 1, 4, 9, 11, 15} {
		s.Probes = append(s.Probes, scenario.Probe{Func: "f", Offset: off})
	}
	s.Probes = append(s.Probes, scenario.Probe{Func: "f", Kind: scenario.ProbeKretprobe}, scenario.Probe{Symbol: "f"})
	require.Equal(t, []scenario.HandlerIP{
		{Pre: at + 1, Post: at + 1}, {Pre: at + 2, Post: at + 4}, {Pre: at + 5}, {Pre: at + 10}, {Pre: at + 12},
		{Pre: at + 16}, {}, {Pre: at + 1, Post: at + 1},
	}, s.HandlerIPs())

	jprobe := *s
	jprobe.Probes = append(jprobe.Probes, scenario.Probe{Func: "f", Kind: scenario.ProbeJprobe})
	require.Equal(t, make([]scenario.HandlerIP, len(jprobe.Probes)), jprobe.HandlerIPs())
	s.Probes[0].Pre = []scenario.Step{{Kind: scenario.StepSetIP}}
	require.Equal(t, make([]scenario.HandlerIP, len(s.Probes)), s.HandlerIPs())
}
