package findings

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"kpsim/internal/search/explore"
	"kpsim/internal/search/fuzz"
	"kpsim/internal/testkit/searchtest"
	"kpsim/internal/ui/cli"
	"kpsim/internal/ui/cli/inputs"
	"kpsim/kprobes/mutants"
	"kpsim/properties"

	"kpsim/internal/testkit/thorough"
)

// TestFuzzCauses: an engine with several faults breaks one property for several causes. Each is
// shown once, with the fault that it looks like, whatever the number of workers; those that look
// like none come first in the end.
func TestFuzzCauses(t *testing.T) {
	thorough.Only(t, "20 s; TestFuzzRounds has a session, and internal/search/cause its causes")
	run := func(seed uint64, workers int) (out string, finds []fuzzFind, all fuzzRow) {
		t.Chdir(t.TempDir())
		c := &Fuzz{Seed: seed, Each: 3, Programs: 40, Edition: "2.6", Workers: workers,
			Broken: inputs.Broken{AsShipped: true}, Traces: "traces", Form: cli.Form{JSON: true}}
		var printed bytes.Buffer
		p := cli.New(&printed, new(bytes.Buffer))
		_, err := c.Run(p)
		require.NoError(t, err)
		p.Flush()
		out = printed.String()
		for line := range strings.Lines(out) {
			var f fuzzFind
			require.NoError(t, json.Unmarshal([]byte(line), &f))
			if f.Property != "" {
				finds = append(finds, f)
			} else if strings.Contains(line, `"edition":"all"`) {
				require.NoError(t, json.Unmarshal([]byte(line), &all))
			}
		}
		return out, finds, all
	}
	var out string
	var finds []fuzzFind
	var all fuzzRow
	seed, two := uint64(0), false
	for !two { // most sessions of so few programs show two causes of one property
		seed++
		require.LessOrEqual(t, seed, uint64(5), "no second cause is shown: %v", finds)
		out, finds, all = run(seed, 1)
		causes, of := make(map[string]bool), make(map[string]int)
		for _, f := range finds {
			key := f.Property + ": " + strings.Join(f.Like, ", ")
			if f.Like == nil {
				key += f.Message
			}
			require.False(t, causes[key], "%s is shown twice", key)
			causes[key] = true
			of[f.Property]++
			two = two || of[f.Property] > 1
			require.FileExists(t, f.Trace)
		}
	}
	require.Len(t, all.Causes, len(finds))
	for i := range all.Causes[1:] {
		require.False(t, all.Causes[i+1].New && !all.Causes[i].New, "what is new comes first")
	}
	for _, c := range all.Causes {
		require.True(t, 0 < c.Shown && c.Shown <= c.Looked && c.Looked <= c.Broken, c)
	}
	three, _, _ := run(seed, 3)
	seconds := func(s string) string { // of the last line, the time
		before, after, _ := strings.Cut(s, `"seconds":`)
		_, after, _ = strings.Cut(after, ",")
		return before + after
	}
	require.Equal(t, seconds(out), seconds(three))
}

// TestBehind: each run breaks copies, since a copy leads elsewhere, before it can show that the result is another.
func TestBehind(t *testing.T) {
	spec := explore.Spec{Scenario: searchtest.Load(t, `machine(cpus = 1, edition = "4.15")
odd = text("odd", "31c0 4889e1 6a18 51 9c 6a10 488d1508000000 52 48cf 0f1f440000 39f7 7c03 83c007 c3")
does = kprobe("does", at = odd + 9)
task("prober", cpu = 0, ops = [register(does), call(odd, 5, 2)])
`), Mutant: mutants.AsShipped, Runs: 20, Seed: 1}
	first, err := explore.Run(spec)
	require.NoError(t, err)
	require.Len(t, first.Broken, 1)
	list, err := behind(spec)
	require.NoError(t, err)
	require.Len(t, list, 2)
	require.Equal(t, []string{"detour-misplaced"}, list[0].cause.Like)
	require.Empty(t, list[0].past)
	require.Same(t, &properties.Transparent, list[1].w.Property)
	require.Equal(t, []string{"detour-misplaced"}, list[1].past)
}

// TestFuzzBehindAKnownCause: programs that break a property in the same words as others are looked at, too, as
// far as the questions go that the session has asked.
func TestFuzzBehindAKnownCause(t *testing.T) {
	of := kindOf{"progress", 1}
	c := new(Fuzz)
	c.start()
	list := []*fuzz.Program{{Broken: []fuzz.Broke{{Property: of.property, Kind: of.kind, Runs: 1}}},
		{Broken: []fuzz.Broke{{Property: of.property, Kind: of.kind, Runs: 1}}}}
	require.Len(t, c.planLooks(list, false), 1,
		"the first of a kind is looked at, and nothing is known yet of what that takes")
	c.causes.kinds[of] = &fuzzKind{programs: 5, looked: 1, asked: lookAsks}
	c.total.Points = 2 * looksShare * lookAsks
	for _, l := range c.planLooks(list, false) {
		require.True(t, l.goPast, "looks behind known finds have a budget of their own, which is whole")
	}
	c.causes.beyond, c.causes.beyondAsked = 1, c.total.Points
	require.Len(t, c.planLooks(list, false), 1, "another look takes as much as the first")
	require.Empty(t, c.planLooks(list, true), "the time is over")
	c.total.Points = 3 * looksShare * lookAsks
	require.Len(t, c.planLooks(list, false), 2)
	c.total.Points = looksShare * lookAsks
	require.Empty(t, c.planLooks(list, false))
	list[1].Broken[0].Kind = 2
	require.Len(t, c.planLooks(list, true), 1, "the first of another kind is looked at")
}
