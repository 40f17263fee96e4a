package library_test

import (
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"kpsim/internal/scenario"
	"kpsim/internal/scenario/gen"
	"kpsim/internal/scenario/lang"
	"kpsim/internal/scenario/library"
	"kpsim/internal/testkit/gentest"
)

// TestParse: lang.Parse reads back what lang.Print prints, for the library and for drawn scenarios.
func TestParse(t *testing.T) {
	parsed := func(t require.TestingT, s *scenario.Scenario) {
		again, err := lang.Parse("trace.kps", []byte(lang.Print(s)))
		require.NoError(t, err, lang.Print(s))
		require.Equal(t, s, again, lang.Print(s))
	}
	t.Run("drawn", rapid.MakeCheck(func(t *rapid.T) { parsed(t, gentest.Draw(t)) }))
	t.Run("fuzz", rapid.MakeCheck(func(t *rapid.T) { parsed(t, gentest.DrawAny(t)) }))
	t.Run("edition", rapid.MakeCheck(func(t *rapid.T) {
		m := rapid.SampledFrom(gen.Machines()).Draw(t, "machine")
		sc, _ := gen.Of(&gen.Recipe{Seed: rapid.Uint64().Draw(t, "seed")}, gen.On{Machines: []scenario.Machine{m}})
		parsed(t, sc)
	}))
	for _, s := range library.All() {
		parsed(t, s)
	}
}
