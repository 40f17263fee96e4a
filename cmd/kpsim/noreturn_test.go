package main

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"kpsim/properties/harness"
	"kpsim/sim"
	"kpsim/traces"
)

func TestChoicesInWords(t *testing.T) {
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
			assert.Equal(t, want, inWords(list[0]), line)
		}
	}
}

// What is said of each way that the odds can go.
func TestBlamedInWords(t *testing.T) {
	odds := func(fails int, event uint32) harness.Odds {
		return harness.Odds{Runs: 100, Fails: fails, Event: event, Low: float64(fails) / 100, High: float64(fails) / 100}
	}
	first := traces.Deviation{Mover: "cpu1", Name: "f", Off: 1, Text: true, Occ: 1, Kind: sim.Step, Alt: "timer@cpu1"}
	last := traces.Deviation{Mover: "cpu0", Name: "idle", Occ: 2, Kind: sim.Step, Alt: "cpu1"}
	none := harness.Blame{Question: -1}
	blame := func(deviation, before, after int, label traces.Deviation) harness.Blame {
		return harness.Blame{Question: 7, Deviation: deviation, Label: label, Before: odds(before, 0), After: odds(after, 0)}
	}
	for _, test := range []struct {
		lost harness.NoReturn
		want []string
	}{
		{harness.NoReturn{FromStart: true, Curve: []harness.Odds{odds(90, 0)}}, []string{
			"There is none: 90 % of the runs fail from the start, whatever is chosen.",
		}},
		{harness.NoReturn{Sharp: true, Point: blame(1, 2, 80, first), Worst: none}, []string{
			"It is deviation 1, timer@cpu1 fires while cpu1 stands in f+0x1: with it 80 % fail, without it 2 %.",
		}},
		{harness.NoReturn{Sharp: true, Point: blame(2, 2, 80, last), Worst: none}, []string{
			"It is the last deviation, cpu1 goes on while cpu0 stands in idle: with it 80 % fail, without it 2 %.",
		}},
		{harness.NoReturn{Point: blame(0, 49, 51, last), From: odds(20, 30), To: odds(76, 44), Worst: harness.Blame{
			Question: 3, Deviation: 1, Label: first, Before: odds(1, 0), After: odds(20, 0)}}, []string{
			"No one choice is it: from event 30 to event 44 the odds creep from 20 % to 76 %.",
			"They pass 1/2 at question 7, a default answer: cpu1 goes on while cpu0 stands in idle.",
			"Of the deviations number 1 raises them most, timer@cpu1 fires while cpu1 stands in f+0x1: from 1 % to 20 %.",
		}},
		{harness.NoReturn{Point: blame(2, 49, 51, last), From: odds(20, 30), To: odds(76, 44), Worst: none}, []string{
			"No one choice is it: from event 30 to event 44 the odds creep from 20 % to 76 %.",
			"They pass 1/2 at question 7, deviation 2: cpu1 goes on while cpu0 stands in idle.",
		}},
	} {
		e := &explained{schedule: []traces.Deviation{first, last}, lost: &test.lost}
		assert.Equal(t, test.want, blamed(e))
	}
	assert.Equal(t, []string{"0 %", "0.2 %", "50 %", "99 %", "100 %"},
		[]string{percent(0), percent(0.002), percent(0.5), percent(0.999), percent(1)})
}
