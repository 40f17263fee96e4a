package gen

import (
	"testing"

	"github.com/stretchr/testify/require"

	"kpsim/internal/scenario"
	"kpsim/internal/scenario/act"
)

// Every operation of a patcher of one's own is drawn.
func TestHands(t *testing.T) {
	drawn := make(map[*scenario.Operation]int)
	for seed := range uint64(20000) {
		sc, _ := Of(&Recipe{Seed: seed}, On{})
		for _, k := range act.All() {
			if k.Traits&scenario.ByHand != 0 && sc.Does(k) {
				drawn[k]++
			}
		}
		if sc.Does(act.Write) {
			require.NoError(t, scenario.Check(sc), "seed %d", seed)
		}
	}
	for _, k := range act.All() {
		if k.Traits&scenario.ByHand != 0 {
			require.NotZero(t, drawn[k], k)
		}
	}
}
