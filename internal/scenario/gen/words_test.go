package gen

import (
	"testing"

	"github.com/stretchr/testify/require"

	"kpsim/internal/scenario/lang"
	"kpsim/smp/arch/target"
)

// Drawn scenarios are ones that the language takes, and print as what they are.
func TestWords(t *testing.T) {
	for p := range tongues {
		if !p.Serves(target.Drawn) {
			continue
		}
		t.Run(p.String(), func(t *testing.T) {
			for seed := range uint64(500) {
				sc, _ := Of(&Recipe{Seed: seed}, On{Machines: MachinesOf(p)})
				src := lang.Print(sc)
				_, err := lang.Load("drawn.star", []byte(src), nil)
				require.NoError(t, err, "%d:\n%s", seed, src)
			}
		})
	}
}
