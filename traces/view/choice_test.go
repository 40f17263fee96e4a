package view_test

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"kpsim/traces"
	"kpsim/traces/view"
)

func TestChoice(t *testing.T) {
	for line, want := range map[string]string{
		"cpu1 in victim+0x1, 1st time: timer@cpu1":        "timer@cpu1 fires while cpu1 stands in victim+0x1",
		"cpu0 in sync_core step 1, 3rd time: cpu1":        "cpu1 goes on while cpu0 stands in sync_core step 1",
		"cpu0 in sync_core step 1, 3rd time: cpu0":        "cpu0 goes on in sync_core step 1",
		"ipi@cpu1 in idle, 1st time: cpu1":                "cpu1 goes on in idle before it takes its IPI",
		"ipi@cpu1 in idle, 1st time: cpu0":                "cpu0 goes on before cpu1 takes its IPI in idle",
		"ipi@cpu1 in idle, 1st time: ipi@cpu1":            "cpu1 takes its IPI in idle",
		"cpu0 in flipper, 2nd time: ipi@cpu1":             "cpu1 takes its IPI while cpu0 stands in flipper",
		"cpu1 in victim+0x0, 1st time, fetch: older 1":    "cpu1 fetches bytes at victim+0x0 that are no longer in memory",
		"cpu1 in victim+0x0, 1st time, fetch: fresh":      "cpu1 fetches the newest bytes at victim+0x0",
		"cpu1 in idle, 1st time, task: other":             "cpu1 switches to other",
		"cpu0 in idle, 1st time: work@kprobe_optimizer":   "work@kprobe_optimizer fires while cpu0 stands in idle",
		"cpu1 in victim+0x1, 1st time, cost: 2":           "cpu1 takes its time at victim+0x1",
		"timer@cpu0 in idle, 1st time: timer@cpu0":        "timer@cpu0 fires",
		"cpu1 in timer handler iret, 1st time: cpu0":      "cpu0 goes on while cpu1 stands in timer handler iret",
		"cpu2 in optimized_callback, 3rd time: nmi@cpu1":  "nmi@cpu1 fires while cpu2 stands in optimized_callback",
		"cpu1 in schedule, 3rd time: preempt@cpu1":        "preempt@cpu1 fires while cpu1 stands in schedule",
		"cpu0 in text_poke_bp step 3, 3rd time: ipi@cpu0": "cpu0 takes its IPI while cpu0 stands in text_poke_bp step 3",
	} {
		list, err := traces.ParseSchedule(line)
		if assert.NoError(t, err) {
			assert.Equal(t, want, view.Choice(list[0]), line)
		}
	}
}
