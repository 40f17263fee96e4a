package fuzz_test

import (
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"kpsim/internal/scenario/gen"
	"kpsim/internal/search/explore"
	"kpsim/internal/search/fuzz"
	"kpsim/internal/search/pairs"
	"kpsim/properties"
)

// few are rounds that a test has time for.
var few = fuzz.Rounds{Islands: 2, Programs: 8,
	Start: []gen.Recipe{{Seed: 70}, {Seed: 71, Parts: []gen.Part{{Name: "callers", Seed: 3}}}}}

func island(t *testing.T, s *fuzz.Session, round, number uint64) *fuzz.Island {
	t.Helper()
	i, err := s.Island(round, number, nil)
	require.NoError(t, err)
	return i
}

// fold folds an island as it comes from elsewhere.
func fold(t *testing.T, s *fuzz.Session, i *fuzz.Island) []*fuzz.Program {
	t.Helper()
	read, err := fuzz.ReadIsland(i.Marshal())
	require.NoError(t, err)
	list, err := s.Fold(read, nil)
	require.NoError(t, err)
	return list
}

// TestIslands: an island is the same bytes whichever session makes it, in whichever order,
// and making it changes nothing. One session makes each as soon as it can and folds its own;
// another makes none before it has folded all that it may; a third makes them at once.
func TestIslands(t *testing.T) {
	const rounds = 4
	spec := fuzz.Spec{Seed: 5, Each: 2, Rounds: few}
	a, b := session(t, spec), session(t, spec)
	var made []*fuzz.Island
	for round := range uint64(rounds) {
		for number := range few.Islands {
			made = append(made, island(t, a, round, number))
		}
		for number := range few.Islands {
			fold(t, a, made[round*few.Islands+number])
		}
	}
	texts := make(map[string]bool)
	parents := false
	for _, i := range made {
		texts[string(i.Marshal())] = true
	}
	require.Len(t, texts, len(made))

	for round := range uint64(rounds - 1) {
		for number := range few.Islands {
			for _, p := range fold(t, b, made[round*few.Islands+number]) {
				parents = parents || len(p.Recipe.Parts) > 0 && round > 1
			}
		}
	}
	require.True(t, parents, "programs are made from others")
	for round := uint64(rounds); round > 2; { // the last first, also those of a round that was folded
		round--
		for number := few.Islands; number > 0; {
			number--
			require.Equal(t, string(made[round*few.Islands+number].Marshal()),
				string(island(t, b, round, number).Marshal()))
		}
	}
	for number := range few.Islands {
		fold(t, b, made[(rounds-1)*few.Islands+number])
	}
	require.Equal(t, a.Coverage(), b.Coverage())
	require.Equal(t, [3]uint64{a.Programs, a.Runs, a.Next}, [3]uint64{b.Programs, b.Runs, b.Next})

	var at [2]string // of two sessions, and of two goroutines on one
	var wg sync.WaitGroup
	for k, s := range []*fuzz.Session{a, b} {
		wg.Go(func() {
			if i, err := s.Island(rounds, 1, nil); err == nil {
				at[k] = string(i.Marshal())
			}
		})
	}
	other := island(t, a, rounds, 1)
	wg.Wait()
	require.Equal(t, string(other.Marshal()), at[0])
	require.Equal(t, at[0], at[1])
}

// TestSeeds: programs that aren't made from others are the next ones of the session, those of
// islands that are made at once too; the recipes that were given come first.
func TestSeeds(t *testing.T) {
	s := session(t, fuzz.Spec{Seed: 1000, Each: 1, Fresh: true, Rounds: few})
	for all := range 3 * few.Islands {
		for n, p := range fold(t, s, island(t, s, all/few.Islands, all%few.Islands)) {
			number := all*few.Programs + uint64(n)
			if number < uint64(len(few.Start)) {
				require.Equal(t, few.Start[number], p.Recipe)
				continue
			}
			require.Equal(t, gen.Recipe{Seed: 1000 + number}, p.Recipe)
		}
	}
	require.Equal(t, 1000+3*few.Islands*few.Programs, s.Next)
}

// TestIslandsFind: a step that is left out is found by rounds too, and the exploration of the
// program makes the same runs.
func TestIslandsFind(t *testing.T) {
	s := session(t, fuzz.Spec{Seed: 1, Each: 5, Mutant: mutantFound, Rounds: fuzz.Rounds{Islands: 2, Programs: 24}})
	for round := uint64(0); round < 4; round, _ = s.Folded() {
		_, number := s.Folded()
		for _, p := range fold(t, s, island(t, s, round, number)) {
			i := slices.IndexFunc(p.Broken, func(b fuzz.Broke) bool {
				return b.Property == properties.OwnedBreakpoint.Name
			})
			if i < 0 {
				continue
			}
			require.NoError(t, s.Describe(p))
			require.NotEmpty(t, p.Parts)
			spec, err := s.Explore(&p.Recipe, p.Broken[i].First+1)
			require.NoError(t, err)
			spec.Blind = true
			again, err := explore.Run(spec)
			require.NoError(t, err)
			require.Equal(t, uint64(1), again.Broken[properties.OwnedBreakpoint.Name])
			return
		}
	}
	t.Fatal("it isn't found")
}

// mutantFound is one that few programs find.
const mutantFound = "no-sync-disarm"

// TestIslandOrder: islands that can't be made or folded yet, or any more, are refused.
func TestIslandOrder(t *testing.T) {
	spec := fuzz.Spec{Seed: 2, Each: 1, Rounds: fuzz.Rounds{Islands: 2, Programs: 2}}
	s := session(t, spec)
	for _, c := range []struct {
		round, number uint64
		says          string
	}{
		{0, 2, "a round has 2 islands"}, {1 << 40, 0, "a round has 2 islands"},
		{2, 0, "is planned from the 1 rounds before the last, and 0 are folded"},
	} {
		_, err := s.Island(c.round, c.number, nil)
		require.ErrorContains(t, err, c.says)
	}
	second := island(t, s, 0, 1)
	_, err := s.Fold(second, nil)
	require.ErrorContains(t, err, "island 0 of round 0 is folded next")
	for range 4 {
		for range 2 {
			round, number := s.Folded()
			fold(t, s, island(t, s, round, number))
		}
	}
	_, err = s.Island(0, 0, nil)
	require.ErrorContains(t, err, "too old")
	_, err = s.Batch(1)
	require.ErrorContains(t, err, "islands, not batches")

	for _, bad := range []fuzz.Rounds{{Programs: 3}, {Islands: 3}, {Islands: 1 << 20, Programs: 1},
		{Islands: 1, Programs: 1 << 20}} {
		_, err := fuzz.New(fuzz.Spec{Each: 1, Rounds: bad})
		require.Error(t, err)
	}
	plain := session(t, fuzz.Spec{Each: 1})
	_, err = plain.Island(0, 0, nil)
	require.ErrorContains(t, err, "isn't divided")
}

// TestIslandStops: an island that is stopped has no result.
func TestIslandStops(t *testing.T) {
	spec := fuzz.Spec{Seed: 2, Each: 1, Rounds: few, Stop: new(atomic.Bool)}
	s := session(t, spec)
	programs := 0
	i, err := s.Island(0, 0, func(*gen.Recipe) {
		if programs++; programs == 2 {
			spec.Stop.Store(true)
		}
	})
	require.ErrorIs(t, err, fuzz.ErrStopped)
	require.Nil(t, i)
	require.Equal(t, 2, programs)
}

// TestDamaged: what can't be an island of the session is refused in a line, and leaves the
// session as it was.
func TestDamaged(t *testing.T) {
	spec := fuzz.Spec{Seed: 1, Each: 5, Mutant: mutantFound, Rounds: fuzz.Rounds{Islands: 1, Programs: 24}}
	s := session(t, spec)
	right := island(t, s, 0, 0)
	broken := -1
	for n := range right.Programs {
		if right.Programs[n].Broken != nil {
			broken = n
		}
	}
	require.GreaterOrEqual(t, broken, 0)
	for name, damage := range map[string]func(i *fuzz.Island, r *fuzz.Ran){
		"round":    func(i *fuzz.Island, _ *fuzz.Ran) { i.Round = 9 },
		"plan":     func(i *fuzz.Island, _ *fuzz.Ran) { i.Plan++ },
		"short":    func(i *fuzz.Island, _ *fuzz.Ran) { i.Programs = i.Programs[1:] },
		"no run":   func(_ *fuzz.Island, r *fuzz.Ran) { r.Runs = 0 },
		"runs":     func(_ *fuzz.Island, r *fuzz.Ran) { r.Runs = 1 << 62 },
		"points":   func(_ *fuzz.Island, r *fuzz.Ran) { r.Points = 1 << 60 },
		"during":   func(_ *fuzz.Island, r *fuzz.Ran) { r.During = r.Runs + 1 },
		"refused":  func(_ *fuzz.Island, r *fuzz.Ran) { *r = fuzz.Ran{Refused: true} },
		"both":     func(_ *fuzz.Island, r *fuzz.Ran) { r.Refused = true },
		"property": func(_ *fuzz.Island, r *fuzz.Ran) { r.Broken[0].Property = "a\nb" },
		"never":    func(_ *fuzz.Island, r *fuzz.Ran) { r.Broken[0].Runs = 0 },
		"first":    func(_ *fuzz.Island, r *fuzz.Ran) { r.Broken[0].First = r.Runs },
		"sum":      func(_ *fuzz.Island, r *fuzz.Ran) { r.Violations = 0 },
		"order": func(_ *fuzz.Island, r *fuzz.Ran) {
			r.Broken = append([]fuzz.Broke{{Property: "progress", Kind: 1, Runs: 1}}, r.Broken...)
			r.Violations++
		},
		"twice":   func(_ *fuzz.Island, r *fuzz.Ran) { r.Broken = append(r.Broken, r.Broken[0]) },
		"answers": func(_ *fuzz.Island, r *fuzz.Ran) { r.Otherwise = "so" },
		"like":    func(_ *fuzz.Island, r *fuzz.Ran) { r.Like = "loop-late" },
		"nothing": func(_ *fuzz.Island, r *fuzz.Ran) { r.Features = nil },
		"cut":     func(_ *fuzz.Island, r *fuzz.Ran) { r.Features = r.Features[:len(r.Features)-1] },
		"count":   func(_ *fuzz.Island, r *fuzz.Ran) { r.Features = append([]byte{0xff, 0xff, 0x7f}, r.Features...) },
		"padded": func(_ *fuzz.Island, r *fuzz.Ran) {
			r.Features = append([]byte{r.Features[0] | 0x80, 0}, r.Features[1:]...)
		},
		"no blocks": func(_ *fuzz.Island, r *fuzz.Ran) { r.Blocks = []byte{0} },
	} {
		i, err := fuzz.ReadIsland(right.Marshal())
		require.NoError(t, err)
		damage(i, &i.Programs[broken])
		_, err = s.Fold(i, nil)
		require.Error(t, err, name)
		require.NotContains(t, err.Error(), "\n", name)
		require.Zero(t, s.Programs, name)
	}
	_, err := s.Fold(right, func([]*fuzz.Program) error { return fuzz.ErrStopped })
	require.ErrorIs(t, err, fuzz.ErrStopped)
	require.Equal(t, fuzz.Coverage{PairsAll: len(pairs.Expected())}, s.Coverage())
	fold(t, s, right)

	for _, text := range []string{"", "{", "null", "[]", `{"round":0}`, strings.Replace(string(right.Marshal()), ",",
		", ", 1), string(right.Marshal()) + "\n", strings.Repeat("{", 1<<20)} {
		_, err := fuzz.ReadIsland([]byte(text))
		require.Error(t, err, "%.20s", text)
		require.NotContains(t, err.Error(), "\n")
	}
}

// FuzzReadIsland: nothing that is read panics, what is read is written as it was, and what a
// session takes of it is what its own bytes say.
func FuzzReadIsland(f *testing.F) {
	s, err := fuzz.New(fuzz.Spec{Seed: 3, Each: 1, Rounds: fuzz.Rounds{Islands: 1, Programs: 2}})
	require.NoError(f, err)
	for range 2 {
		round, number := s.Folded()
		i, err := s.Island(round, number, nil)
		require.NoError(f, err)
		f.Add(i.Marshal())
		_, err = s.Fold(i, nil)
		require.NoError(f, err)
	}
	i, err := s.Island(2, 0, nil)
	require.NoError(f, err)
	f.Add(i.Marshal())
	f.Fuzz(func(t *testing.T, b []byte) {
		i, err := fuzz.ReadIsland(b)
		if err != nil {
			require.NotContains(t, err.Error(), "\n")
			return
		}
		require.Equal(t, string(b), string(i.Marshal()))
		list, err := s.Read(i)
		if err != nil {
			require.NotContains(t, err.Error(), "\n")
			return
		}
		require.Len(t, list, 2)
	})
}

// FuzzFeatures: no bytes in the place of a program's features panic, and those that are taken
// are features: each once, and no more than a program can show.
func FuzzFeatures(f *testing.F) {
	s, err := fuzz.New(fuzz.Spec{Seed: 3, Each: 1, Rounds: fuzz.Rounds{Islands: 1, Programs: 2}})
	require.NoError(f, err)
	right, err := s.Island(0, 0, nil)
	require.NoError(f, err)
	f.Add(right.Programs[1].Features, []byte(nil), uint64(1))
	f.Add([]byte{2, 0, 0x81, 0}, []byte{0}, uint64(6))
	f.Add([]byte{1, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1}, []byte(nil), uint64(1))
	f.Fuzz(func(t *testing.T, features, blocks []byte, runs uint64) {
		i := &fuzz.Island{Plan: right.Plan, Programs: slices.Clone(right.Programs)}
		last := &i.Programs[1]
		last.Features, last.Blocks, last.Runs = features, blocks, runs
		list, err := s.Read(i)
		if err != nil {
			require.NotContains(t, err.Error(), "\n")
			return
		}
		require.Len(t, list, 2)
		require.LessOrEqual(t, runs, uint64(6))
	})
}
