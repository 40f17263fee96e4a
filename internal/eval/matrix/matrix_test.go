package matrix

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"kpsim/internal/search/rig"
	"kpsim/internal/testkit/thorough"
	"kpsim/kprobes/mutants"
	"kpsim/properties"
	"kpsim/traces"
)

// brief is an effort for tests. It finds what the table below says, and nothing that
// isn't there.
var brief = Effort{Deviations: 1, Drawn: 800 / slow, Seed: 1}

func rowsOf(t *testing.T, names ...string) []Row {
	t.Helper()
	rows, err := Select(names)
	require.NoError(t, err)
	return rows
}

// Each cell can be built and run, with its site where it is said to be.
func TestRows(t *testing.T) {
	seen := make(map[string]bool)
	for i, r := range Rows() {
		require.False(t, seen[r.Name], r.Name)
		seen[r.Name] = true
		_, ok := RowByName(r.program.canary)
		require.True(t, ok, "%s: no row %s", r.Name, r.program.canary)
		if r.Mutant != "" {
			_, ok := mutants.ByName(r.Mutant)
			require.True(t, ok, "%s: no mutant %s", r.Name, r.Mutant)
		}
		for k, c := range Columns() {
			places := r.offsets()
			offset := places[(i+k)%len(places)]
			sc, err := r.Scenario(c, offset)
			require.NoError(t, err)
			require.Equal(t, uint64(offset), uint64(sc.Texts[0].At)%chunk)
			require.Equal(t, 2, sc.Machine.CPUs)
			require.Equal(t, c.Preempt, sc.Machine.Preempt.String())
			require.Equal(t, c.Fetch, sc.Machine.Fetch.String())
			require.Equal(t, cmp.Or(r.program.arch, "x86-64"), sc.Machine.Arch.String())
			if k == 0 {
				rig, err := rig.New(sc, r.Mutant)
				require.NoError(t, err, r.Name)
				rig.Close()
			}
		}
	}
	require.Len(t, X86.Rows(), 55)
	require.Len(t, Others.Rows(), 51)
	require.Equal(t, X86.Rows(), rowsOf(t))
	_, err := Select([]string{"raw/naive", "arm64"})
	require.ErrorContains(t, err, "raw/naive is of x86 and arm64/probe/shared-no-grace is not")
	fred := brief
	fred.FRED = true
	require.NoError(t, fred.CheckSubject(&X86))
	require.ErrorContains(t, fred.CheckSubject(&Others), "--fred")
	_, err = Select([]string{"jum"})
	require.ErrorContains(t, err, `no row is called "jum"`)
	require.Len(t, rowsOf(t, "jump/sched", "raw/poke-1"), 4)
}

// What a brief search finds: the classes of kprobes.txt, in either direction.
func TestCells(t *testing.T) {
	for _, x := range []struct{ row, preempt, fetch, want string }{
		{"jump/none/stop_machine", "none", "coherent", "Never 1"},
		{"riscv64/site/stop_machine", "none", "coherent", "Never 1"},
		{"arm64/probe/arm", "none", "stale", "T3"},
		{"life/none/stop_machine", "none", "coherent", "S1"},
		{"sync/arm", "none", "stale", "T3"},
		{"raw/poke-3", "none", "stale", "B1"},
		{"raw/stop", "none", "stale", "T1"},
		{"nmi/stop_machine", "none", "coherent", "T1"},
	}[:thorough.Of(4, 8)] {
		m, err := Run(Job{Rows: rowsOf(t, x.row), Columns: []Column{{x.preempt, x.fetch}}, Effort: brief})
		require.NoError(t, err)
		require.Len(t, m.Cells, 1)
		c := m.Cells[0]
		got, _, _ := strings.Cut(c.Short(), "/")
		require.Equal(t, x.want, got, "%+v", x)
		if c.Verdict == Never {
			require.Equal(t, brief.Deviations, c.Deviations)
			require.Positive(t, c.All)
			require.Equal(t, brief.Drawn/chunk*chunk, c.Drawn, "alike at 8, 4 and 2 offsets")
		} else {
			require.Len(t, c.Broken[0].Witness.Schedule, c.Broken[0].Length)
			require.Contains(t, c.Broken[0].Offsets, c.Broken[0].Offset)
		}
	}
}

// What is printed depends neither on the workers nor on what else is searched.
func TestWorkers(t *testing.T) {
	columns := []Column{{"none", "stale"}, {"full", "coherent"}}
	var first Table
	for _, workers := range []int{1, 3} {
		m, err := Run(Job{Rows: rowsOf(t, "raw/naive", "raw/poke-3"), Columns: columns, Effort: brief,
			Workers: workers})
		require.NoError(t, err)
		if first == nil {
			first = m.Table()
			require.Len(t, first, 4)
		}
		require.Equal(t, first, m.Table())
	}
	m, err := Run(Job{Rows: rowsOf(t, "raw/poke-3"), Columns: columns[1:], Effort: brief})
	require.NoError(t, err)
	require.Equal(t, first[key("raw/poke-3", columns[1])], m.Cells[0].Short())
}

// A Never whose canary isn't found is blind.
func TestBlind(t *testing.T) {
	r := rowsOf(t, "raw/stop_machine")[0]
	p := *r.program
	p.canary, r.program = "raw/breakpoint", &p
	m, err := Run(Job{Rows: []Row{r}, Columns: []Column{{"none", "coherent"}}, Effort: brief})
	require.NoError(t, err)
	require.True(t, m.Cells[0].Blind)
	require.Equal(t, "blind", m.Cells[0].Short())
}

// Offsets are alike whose stores are made in the same pieces: the five bytes in one
// chunk, the head apart from the tail, or the tail in two.
func TestAlike(t *testing.T) {
	for _, x := range []struct {
		row  string
		want []int
	}{
		{"raw/breakpoint", []int{0, 4, 5, 6}},   // a head of one byte, a tail of 4, 3+1, 2+2, 1+3
		{"raw/stop_machine", []int{0, 5, 6, 7}}, // five bytes, as 4+1 twice, 3+2, 2+3, 1+4
	} {
		r := rowsOf(t, x.row)[0]
		s, err := newSearcher(&r, Column{"none", "coherent"}, brief, new(atomic.Bool))
		require.NoError(t, err)
		own, err := s.apart()
		require.NoError(t, err)
		require.Equal(t, x.want, own, x.row)
	}
}

// Every schedule there is, if they are not too many, and then of the models of fetch that allow
// less, too; else those of at most so many deviations, and drawn ones.
func TestFull(t *testing.T) {
	job := Job{Rows: rowsOf(t, "raw/stop_machine"), Columns: Columns()[:2],
		Effort: Effort{Deviations: 1, Drawn: 80, Seed: 1, States: 15_000}}
	m, err := Run(job)
	require.NoError(t, err)
	for _, c := range m.Cells {
		require.Equal(t, "Never all", c.Short())
		require.Zero(t, c.Drawn)
	}
	require.Equal(t, "stale", m.Cells[0].By)
	job.Columns, job.Effort.States = job.Columns[:1], 10
	m, err = Run(job)
	require.NoError(t, err)
	for _, c := range m.Cells {
		require.Equal(t, "Never 1", c.Short())
		require.Equal(t, uint64(80), c.Drawn)
	}
}

// What is known isn't searched again, unless it was another search.
func TestKnown(t *testing.T) {
	job := Job{Rows: rowsOf(t, "raw/naive"), Columns: Columns()[:2], Effort: brief}
	m, err := Run(job)
	require.NoError(t, err)
	var b bytes.Buffer
	for _, c := range m.Cells {
		j, err := json.Marshal(c)
		require.NoError(t, err)
		b.Write(append(j, '\n'))
	}
	job.Known, err = ReadCells(b.Bytes())
	require.NoError(t, err)
	require.Len(t, job.Known, 2)
	for _, c := range job.Known {
		c.Broken[0].Length = 1
		c.Broken[0].Offsets = []int{6}
	}
	again := func() []int {
		m, err := Run(job)
		require.NoError(t, err)
		return m.Cells[0].Broken[0].Offsets
	}
	require.Equal(t, []int{6}, again())
	job.Effort.Seed++
	require.Greater(t, len(again()), 1)

	_, err = ReadCells([]byte("{}\n"))
	require.ErrorContains(t, err, "line 1")
	_, err = ReadCells([]byte("\n{\"nothing\":1}"))
	require.ErrorContains(t, err, "line 2")
}

// What can't be searched is an error, and what was interrupted is left out.
func TestUndecided(t *testing.T) {
	r := rowsOf(t, "raw/breakpoint")[0]
	r.Mutant = "nobody"
	_, err := Run(Job{Rows: []Row{r}, Columns: Columns()[:1], Effort: brief})
	require.ErrorContains(t, err, "cell raw/breakpoint none coherent: no mutant is called")

	for k := 1; k <= thorough.Of(1, 2); k++ { // more than 10 schedules of one deviation, more than 200 of two
		e := Effort{Deviations: k, Drawn: 8, Seed: 1, Limit: []uint64{10, 200}[k-1]}
		_, err = Run(Job{Rows: rowsOf(t, "raw/breakpoint"), Columns: Columns()[:1], Effort: e})
		require.ErrorContains(t, err, fmt.Sprintf("not complete for %d deviations, nothing found: nothing is decided",
			k))
	}

	m, err := Run(Job{Rows: rowsOf(t, "raw/breakpoint"), Columns: Columns()[:1],
		Effort: Effort{Deviations: 2, Drawn: 8, Seed: 1}})
	require.NoError(t, err)
	require.Greater(t, m.Cells[0].All, uint64(200*len(m.Cells[0].Offsets)),
		"all that the limits above were too small for")

	var stop atomic.Bool
	stop.Store(true)
	m, err = Run(Job{Rows: rowsOf(t, "raw"), Effort: brief, Cancelled: &stop})
	require.NoError(t, err)
	require.Empty(t, m.Cells)
	require.Equal(t, 7*15, m.All)

	require.Error(t, Effort{Deviations: 1}.Check())
	require.Error(t, Effort{Drawn: 8}.Check())
	require.NoError(t, Quick.Check())
	require.NoError(t, Full.Check())
}

// What breaks one cell is tried on its neighbours: T1 with more deviations than
// a quick search of the cell by itself tries, by the witness of the cell
// beside.
func TestNeighbours(t *testing.T) {
	const name = "testdata/sync-unopt-full-mixing.kps"
	data, err := os.ReadFile(name)
	require.NoError(t, err)
	f, err := traces.Parse(name, data)
	require.NoError(t, err)
	r := rowsOf(t, "sync/unopt")[0]
	s, err := newSearcher(&r, Column{"full", "stale"}, brief, new(atomic.Bool))
	require.NoError(t, err)
	require.NoError(t, s.own())
	require.Equal(t, Never, s.cell.Verdict, "then this shows nothing")
	require.NoError(t, s.learn([]*Broken{{Property: "T1 whole-instructions", property: &properties.WholeInstructions,
		Offset: 0, Schedule: f.Schedule}}))
	require.Equal(t, Sometimes, s.cell.Verdict)
	require.Equal(t, []string{"T1"}, IDs(s.cell.Short()))
	require.Equal(t, []int{7}, s.cell.Broken[0].Offsets)
}

// Where a cell of the row is Sometimes a Never is searched deeper, at the offset of that.
func TestDeeper(t *testing.T) {
	effort := brief
	effort.Deeper = 3
	m, err := Run(Job{Rows: rowsOf(t, "raw/stop"), Columns: []Column{{"none", "coherent"}, {"none", "mixing"}},
		Effort: effort})
	require.NoError(t, err)
	require.Equal(t, Sometimes, m.Cells[1].Verdict)
	require.Equal(t, Never, m.Cells[0].Verdict)
	require.NotNil(t, m.Cells[0].Deeper)
	require.Equal(t, 3, m.Cells[0].Deeper.Deviations)
	require.Equal(t, m.Cells[1].Broken[0].Offset, m.Cells[0].Deeper.Offset)
}

// A cell names all broken properties, also those broken after another one.
func TestAllProperties(t *testing.T) {
	for _, x := range []struct {
		row string
		c   Column
		ids []string
	}{
		{"jump/none/naive", Column{"none", "stale"}, []string{"T2", "T1"}},
		{"jump/sched/naive", Column{"full", "mixing"}, []string{"T2", "T1"}},
	}[:thorough.Of(1, 2)] {
		m, err := Run(Job{Rows: rowsOf(t, x.row), Columns: []Column{x.c},
			Effort: Effort{Deviations: 2, Drawn: 8000, Seed: 1}})
		require.NoError(t, err)
		require.Subset(t, IDs(m.Cells[0].Short()), x.ids, x.row)
	}
}

// How cells are printed, and read again.
func TestShort(t *testing.T) {
	c := &Cell{Verdict: Sometimes, Broken: []*Broken{
		{Property: "T2 no-start-inside", Length: 3, Offsets: []int{0, 1, 2, 5, 7}, After: []string{"T3"}},
		{Property: "T3 no-sail-past", Length: 1, Offsets: []int{0, 1, 2, 3, 4, 5, 6, 7}},
	}}
	require.Equal(t, "T2/3@0-2,5,7 after T3, T3/1@0-7", c.Short())
	require.Equal(t, []string{"T2", "T3"}, IDs(c.Short()))
	require.Empty(t, IDs("Never all"))
	require.Equal(t, Sometimes, Table{"a none stale": c.Short()}.At("a", Column{"none", "stale"}))
}
