package review

import (
	"bytes"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"kpsim/internal/scenario/library"
	"kpsim/internal/search/change"
	"kpsim/internal/testkit/kerneltest"
	"kpsim/internal/ui/cli"
	"kpsim/internal/ui/cli/inputs/kernels"
	"kpsim/linux/source"
)

// searched makes the rounds of a review of a few scenarios, as if no others could be run.
func searched(t *testing.T, c *Review, names ...string) *found {
	t.Helper()
	c.Traces, c.Seed = t.TempDir(), 1
	before, after, err := c.kernels()
	require.NoError(t, err)
	r := &found{c: c, before: before, after: after, src: source.Of(after, ""),
		kept: change.OpenBaseline(before, "")}
	r.code = change.CodeOf(before, after, r.src)
	require.NoError(t, r.readPatch())
	r.reached = make([]uint64, len(r.code.Places))
	list := &items{seen: make(map[string]bool)}
	for _, name := range names {
		sc, err := library.Load(name)
		require.NoError(t, err)
		list.add(item{sc, nil, c.Runs}, before, after)
	}
	require.Len(t, list.items, len(names))
	require.NoError(t, c.rounds(cli.New(new(bytes.Buffer), new(bytes.Buffer)), r, list))
	return r
}

// A review looks at everything first and then spends its budget; what it says depends on the budget, not on the
// number of workers.
func TestBudget(t *testing.T) {
	path := kerneltest.Path(t, "6.12")
	o, _ := compiledFor(t, path, func(s string) string {
		return strings.Replace(s, "\tsynchronize_rcu_tasks();\n", "\tcpu_relax();\n\tsynchronize_rcu_tasks();\n", 1)
	})
	names := []string{"second-instruction", "debugger-twice", "full-rcu", "ftrace-emptied", "arrays-of-jumps"}
	var everything []row
	for _, c := range []struct {
		what            string
		budget          uint64
		workers         int
		runs            []uint64 // of each scenario, with the change
		deeper, shallow int
		short           string
	}{
		{"everything", 3000, 1, []uint64{150, 600, 150, 30, 150}, 4, 0, ""},
		{"everything, by several", 3000, 3, []uint64{150, 600, 150, 30, 150}, 4, 0, ""},
		{"nothing beyond the first runs", 0, 1, []uint64{30, 30, 30, 30, 30}, 0, 4,
			"The budget ended the search: 4 scenarios got fewer runs than they should"},
		{"a little, and the dear one gets nothing", 100, 2, nil, 3, 4, "`--budget 400` goes on."},
	} {
		r := searched(t, &Review{Kernel: kernels.Kernel{Kernel: cli.FileName(path),
			Objects: []cli.FileName{cli.FileName(o)}}, Runs: 150, Budget: c.budget, Workers: c.workers}, names...)
		var runs []uint64
		for i := range r.rows {
			require.Equal(t, names[i], r.rows[i].name, "the order is that of the list")
			runs = append(runs, r.rows[i].after.Runs)
		}
		t.Logf("%s: runs %v, %+v", c.what, runs, r.depth)
		if c.runs != nil {
			require.Equal(t, c.runs, runs, c.what)
		}
		require.Equal(t, len(names), r.depth.firsts, c.what)
		require.Equal(t, c.deeper, r.depth.deeper, c.what)
		require.Equal(t, c.shallow, r.depth.shallow, c.what)
		require.Contains(t, r.shortOf(), c.short, c.what)
		require.Equal(t, c.short == "", r.shortOf() == "", c.what)
		require.Empty(t, r.gained, c.what)
		if c.shallow == 0 {
			if everything == nil {
				everything = r.rows
			}
			require.Equal(t, everything, r.rows)
		}
	}
}

// Two findings of a property are shown.
func TestChosen(t *testing.T) {
	var list []*shown
	for _, n := range []string{"a", "b", "c"} {
		list = append(list, &shown{name: n, brk: new(change.Break)})
	}
	require.Len(t, chosen(list, true), shownOf)
	require.Equal(t, "a", chosen(list, true)[0].name)
	require.Empty(t, chosen(nil, false))
}

// Something is plainly worse if several scenarios say so, or a serial program's answer does.
func TestPlain(t *testing.T) {
	of := func(gained ...int) (list []*search) {
		for _, n := range gained {
			list = append(list, &search{beside: &change.Beside{Gained: make([]change.Break, n)}})
		}
		return append(list, new(search))
	}
	for _, c := range []struct {
		what    string
		list    []*search
		answers int
		plain   bool
	}{
		{"nothing", of(0, 0, 0, 0), 0, false},
		{"many verdicts of one scenario", of(5, 0, 0), 0, false},
		{"two scenarios", of(1, 0, 1), 0, false},
		{"three", of(1, 1, 0, 1), 0, true},
		{"an answer", of(0), 1, true},
	} {
		o := &rounds{r: &found{compared: compared{answers: make([]change.Answer, c.answers)}}, list: c.list}
		require.Equal(t, c.plain, o.plain(), c.what)
	}
	require.True(t, slices.IsSorted([]string{gained, "lost ", "unsure "}), "gained verdicts are shown first")
}

// What the budget was too small for is said, and what goes on; reviews of named scenarios have none.
func TestShortOf(t *testing.T) {
	for _, c := range []struct {
		d     depth
		named []string
		says  string // between what is said always
	}{
		{depth{}, nil, ""},
		{depth{shallow: 1}, nil, "1 scenario got fewer runs than they should"},
		{depth{unsettled: 2}, nil, "2 findings of few runs stayed unsure"},
		{depth{shallow: 7, unsettled: 1}, nil,
			"7 scenarios got fewer runs than they should, and 1 finding of few runs stayed unsure"},
		{depth{shallow: 7}, []string{"full-rcu"}, ""},
	} {
		r := &found{c: &Review{Budget: 100, Scenarios: c.named}, rounded: rounded{depth: c.d}}
		if c.says != "" {
			c.says = "The budget ended the search: " + c.says + ". `--budget 400` goes on."
		}
		require.Equal(t, c.says, r.shortOf())
	}
}
