package report

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"kpsim/internal/search/blame"
	"kpsim/sim"
	"kpsim/traces"
)

// What is said of each way that the odds can go.
func TestBlamedInWords(t *testing.T) {
	odds := func(fails int, event uint32) blame.Odds {
		return blame.Odds{Runs: 100, Fails: fails, Event: event, Low: float64(fails) / 100, High: float64(fails) / 100}
	}
	first := traces.Deviation{Mover: "cpu1", Name: "f", Off: 1, Text: true, Occ: 1, Kind: sim.Step, Alt: "timer@cpu1"}
	last := traces.Deviation{Mover: "cpu0", Name: "idle", Occ: 2, Kind: sim.Step, Alt: "cpu1"}
	none := blame.Choice{Question: -1}
	b := func(deviation, before, after int, label traces.Deviation) blame.Choice {
		return blame.Choice{Question: 7, Deviation: deviation, Label: label, Before: odds(before, 0),
			After: odds(after, 0)}
	}
	for _, test := range []struct {
		lost blame.Point
		want []string
	}{
		{blame.Point{FromStart: true, Curve: []blame.Odds{odds(90, 0)}}, []string{
			"There is none: 90 % of the runs fail from the start, whatever the choices.",
		}},
		{blame.Point{Sharp: true, Point: b(1, 2, 80, first), Worst: none}, []string{
			"It is deviation 1, timer@cpu1 fires while cpu1 stands in f+0x1: with it 80 % fail, without it 2 %.",
		}},
		{blame.Point{Sharp: true, Point: b(2, 2, 80, last), Worst: none}, []string{
			"It is the last deviation, cpu1 goes on while cpu0 stands in idle: with it 80 % fail, without it 2 %.",
		}},
		{blame.Point{Questions: 9, Point: b(0, 49, 51, last), From: odds(20, 30), To: odds(76, 44), Worst: blame.Choice{
			Question: 3, Deviation: 1, Label: first, Before: odds(1, 0), After: odds(20, 0)}}, []string{
			"No one choice is it: from event 30 to event 44 the odds creep from 20 % to 76 %.",
			"They pass 1/2 at question 7, a default answer: cpu1 goes on while cpu0 stands in idle.",
			"Among the deviations number 1 raises them most, timer@cpu1 fires while cpu1 stands in f+0x1: from 1 % to 20 %.",
		}},
		{blame.Point{Questions: 9, Point: b(2, 49, 51, last), From: odds(20, 30), To: odds(76, 44), Worst: none},
			[]string{
				"No one choice is it: from event 30 to event 44 the odds creep from 20 % to 76 %.",
				"They pass 1/2 at question 7, deviation 2: cpu1 goes on while cpu0 stands in idle.",
			}},
		{blame.Point{Point: b(2, 49, 51, last), From: odds(20, 30), To: odds(100, 44), Worst: none}, []string{
			"No one choice is it: from event 30 to the end the odds creep from 20 % to 100 %.",
			"They pass 1/2 at question 7, deviation 2: cpu1 goes on while cpu0 stands in idle.",
		}},
	} {
		e := &explanation{schedule: []traces.Deviation{first, last}, noReturn: &test.lost}
		assert.Equal(t, test.want, noReturnLines(e))
	}
	assert.Equal(t, []string{"0 %", "0.2 %", "50 %", "99 %", "100 %"},
		[]string{percent(0), percent(0.002), percent(0.5), percent(0.999), percent(1)})
}
