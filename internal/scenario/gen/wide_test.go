package gen

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"kpsim/internal/scenario"
	"kpsim/internal/scenario/act"
	"kpsim/internal/scenario/lang"
	"kpsim/smp/arch/x86"
)

// Every encoding of the lists is one that the processor has, alone and behind others.
func TestEncodings(t *testing.T) {
	for _, list := range [][][]byte{encodings[:], refusedInsns[:]} {
		for _, b := range list {
			if b[0] == 0x62 && len(b) < 6 {
				b = append(append([]byte(nil), b...), 0xc2)
			}
			for rest := b; len(rest) > 0; {
				in, err := x86.Decode(rest, tastesAt)
				require.NoError(t, err, "%x", b)
				rest = rest[in.Len:]
			}
		}
	}
}

// The corners are in some of the programs that are drawn, and programs with them are read.
func TestWide(t *testing.T) {
	in := make(map[string]int)
	for seed := range uint64(800) {
		sc, _ := Of(&Recipe{Seed: seed + 1}, On{Contract: true})
		for i := range sc.Tasks {
			in[sc.Tasks[i].Name]++
		}
		for i := range sc.Probes {
			in[sc.Probes[i].Name]++
		}
		for _, name := range []string{tastesName, entryName, patchedName, "__cfi_f", "__pfx_f"} {
			if sc.Text(name) != nil {
				in[name]++
				require.NotEmpty(t, Boundaries(sc, name))
			}
		}
		for i := range sc.Probes {
			if p := &sc.Probes[i]; p.DataSize > scenario.MaxRet {
				require.Equal(t, scenario.ProbeKretprobe, p.Kind)
			}
		}
	}
	for _, name := range []string{tastesName, "taste0", "odd", entryName, "entrant", "site0", "crowd", "crowd0.0",
		"sibling", "array0", "large", "behind", "outside", "before", "does0", "joint0", "joiner", "few", "gone0",
		"gone1", "init", patchedName, "patcher", "patchee", "behind-site"} {
		require.NotZero(t, in[name], name)
	}
}

// TestScenes: some of the programs that are drawn are scenes, and they are of several subjects.
func TestScenes(t *testing.T) {
	in := make(map[string]int)
	for seed := range uint64(400) {
		sc, _ := Of(&Recipe{Seed: seed + 1}, On{})
		for _, name := range []string{"stays", "lent"} { // of drawModular and drawLent
			if sc.Text(name) != nil {
				in[name]++
			}
		}
	}
	require.Len(t, in, 2, "%v", in)
}

// TestBoundaries: where boundaries aren't checked no probe is within an instruction, in what is
// made from a scenario of the library either, where such a probe is refused.
func TestBoundaries(t *testing.T) {
	any, within := 0, 0
	for seed := uint64(901000200); seed < 901001800; seed++ {
		sc, _ := Of(&Recipe{Seed: seed}, On{})
		if sc.Machine.AnyByte {
			any++
		}
		for i := range sc.Probes {
			if p := &sc.Probes[i]; p.Kind == scenario.ProbeKprobe && p.Func != "" &&
				!slices.Contains(Boundaries(sc, p.Func), p.Offset) {
				within++
				require.False(t, sc.Machine.AnyByte, "seed %d: %s is within an instruction", seed, p.Name)
			}
		}
	}
	require.NotZero(t, any)
	require.NotZero(t, within)
}

// A debugger's breakpoints and uprobes are in programs for a kernel that can be beside them,
// and leave the rest as it is.
func TestTrapsOfOthers(t *testing.T) {
	debugged, uprobed := 0, 0
	for seed := range uint64(300) {
		// a scene may be about one of these: without them something else is drawn
		if c := newRecipes(&Recipe{Seed: seed + 1}); isScene(c) {
			continue
		}
		plain, _ := Of(&Recipe{Seed: seed + 1}, On{Contract: true, Few: true})
		sc, _ := Of(&Recipe{Seed: seed + 1}, On{Contract: true, Few: true, Debugger: true, Uprobes: true})
		if plain.Text(debuggedName) != nil || plain.Text(uprobedName) != nil {
			t.Fatalf("seed %d: without either there is one", seed+1)
		}
		if sc.Does(act.HitUprobe) && sc.Text(uprobedName) == nil {
			continue // it is derived from a built-in one that hits a uprobe, and the other one isn't
		}
		of := func(name string) bool {
			return slices.Contains([]string{debuggedName, uprobedName, "debugger", "debuggee", "uprober", "at-uprobed"},
				name)
		}
		debugged += b2i(sc.Text(debuggedName) != nil)
		uprobed += b2i(sc.Text(uprobedName) != nil)
		sc.Texts = slices.DeleteFunc(sc.Texts, func(x scenario.Text) bool { return of(x.Name) })
		sc.Probes = slices.DeleteFunc(sc.Probes, func(x scenario.Probe) bool { return of(x.Name) })
		sc.Tasks = slices.DeleteFunc(sc.Tasks, func(x scenario.Task) bool { return of(x.Name) })
		require.Equal(t, lang.Print(plain), lang.Print(sc), "seed %d", seed+1)
	}
	require.Greater(t, debugged, 3)
	require.Greater(t, uprobed, 3)
	t.Log("of 300 programs", debugged, "have a debugger,", uprobed, "a uprobe")
}

// isScene reports whether a recipe's answers draw a scene, if they derive nothing from a built-in scenario.
func isScene(c Choices) bool {
	c.Part("theme")
	return c.One(sceneIn)
}

func b2i(b bool) int {
	if b {
		return 1
	}
	return 0
}
