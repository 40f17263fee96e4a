package desk

import (
	"testing"

	"github.com/stretchr/testify/require"

	"kpsim/campaign/board"
)

func TestCompare(t *testing.T) {
	of := func(name string, runs uint64, seconds float64, broken map[string]uint64) board.ScenarioEnd {
		return board.ScenarioEnd{Scenario: name, Runs: runs, Seconds: seconds, Broken: broken}
	}
	before := &board.State{ID: "n-1", ScenarioEnds: []board.ScenarioEnd{
		of("same", 100, 5, map[string]uint64{"no-start-inside": 3}),
		of("fixed", 100, 5, map[string]uint64{"whole-instructions": 3}),
		of("worse", 100, 5, nil), of("slow", 100, 5, nil), of("noise", 100, 0.1, nil), of("left-out", 100, 5, nil),
	}}
	now := &board.State{ID: "n-2", ScenarioEnds: []board.ScenarioEnd{
		of("same", 100, 6, map[string]uint64{"no-start-inside": 9}), of("fixed", 200, 9, nil),
		of("worse", 100, 5, map[string]uint64{"no-start-inside": 1}), of("slow", 100, 8, nil),
		of("noise", 100, 0.9, nil),
		of("added", 10, 1, nil),
	}}
	var says []string
	for _, c := range Compare(before, now) {
		says = append(says, c.What+" "+c.Scenario+" "+c.Property)
	}
	require.Equal(t, []string{"new worse no-start-inside",
		"new added ", "gone fixed whole-instructions", "gone left-out ", "slower slow "}, says)
	require.Empty(t, Compare(before, before))
}
