package gen

import (
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"kpsim/internal/scenario"
	"kpsim/internal/scenario/lang"
)

// TestRecipe: a recipe that is written and read is the same, and draws the same scenario.
func TestRecipe(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		r := Recipe{Seed: rapid.Uint64().Draw(t, "seed")}
		_, parts := Of(&r, On{})
		for range rapid.IntRange(0, 4).Draw(t, "parts") {
			r = r.With(rapid.SampledFrom(parts).Draw(t, "part"), rapid.Uint64().Draw(t, "its seed"))
		}
		again, err := ReadRecipe(r.Marshal())
		require.NoError(t, err)
		require.Equal(t, r.Hash(), again.Hash())
		one, _ := Of(&r, On{})
		two, _ := Of(&again, On{})
		printed := lang.Print(one)
		require.Equal(t, printed, lang.Print(two))
		require.Less(t, len(printed), scenario.MaxSource/20) // fuzz doesn't check it
	})
}

// TestPart: another seed for a part changes what is drawn in it, and leaves the other parts'
// streams as they are.
func TestPart(t *testing.T) {
	for seed := uint64(1); seed < 40; seed++ {
		r := Recipe{Seed: seed}
		one, _ := Of(&r, On{})
		other := r.With("sources", seed+1000)
		two, _ := Of(&other, On{})
		one.Sources, two.Sources, one.Name, two.Name = nil, nil, "", ""
		if one.Says == "" { // in one of the library the part has tasks, too
			require.Equal(t, lang.Print(one), lang.Print(two))
		}
	}
}

// TestReadRecipe: what is no recipe is refused with its line.
func TestReadRecipe(t *testing.T) {
	for text, want := range map[string]string{
		"":                     "line 1: it is empty",
		"seed":                 "line 1: \"seed\" is no line of a recipe",
		"seed x":               "line 1: ",
		"part a 1":             "line 1: ",
		"seed 1\npart a":       "line 2: \"part a\" is no line of a recipe",
		"seed 1\nseed 2":       "line 2: ",
		"seed 1\npart a -1":    "line 2: ",
		"seed 1\npart a 1 2\n": "line 2: ",
	} {
		_, err := ReadRecipe([]byte(text))
		require.ErrorContains(t, err, want, text)
	}
}

// FuzzReadRecipe: whatever is read as a recipe is written and read again the same.
func FuzzReadRecipe(f *testing.F) {
	f.Add([]byte("seed 1\npart k0 7\n"))
	f.Fuzz(func(t *testing.T, text []byte) {
		r, err := ReadRecipe(text)
		if err != nil {
			return
		}
		again, err := ReadRecipe(r.Marshal())
		require.NoError(t, err)
		require.Equal(t, r.Hash(), again.Hash())
	})
}
