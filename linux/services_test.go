package linux_test

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"kpsim/internal/scenario/library"
	"kpsim/internal/testkit/kerneltest"
	"kpsim/linux"
	"kpsim/linux/closure"
	"kpsim/smp/arch"
)

var (
	servicesAll = flag.Bool("services-all", false,
		"break every service of the boundary in every way, and compare with docs/linux-boundary.md (-update: write it)")
	servicesNew  = flag.Bool("services-new", false, "with -services-all: only what the page hasn't yet")
	servicesDraw = flag.Int("services-drawn", 3, "how many of them are broken otherwise")
	servicesSeed = flag.Uint64("services-seed", 1, "what they are drawn from")
	update       = flag.Bool("update", false, "with -services-all: write docs/linux-boundary.md")
)

// boundaryPage has each service, and by what is noticed that it is broken.
const boundaryPage = "../docs/linux-boundary.md"

// Each service is broken in each way, and what notices it is what the page says.
func TestServicesBroken(t *testing.T) {
	if !*servicesAll {
		t.Skip("minutes long: -services-all")
	}
	list := linux.Faults()
	by := make([]string, len(list))
	done := make([]bool, len(list))
	if *servicesNew {
		fromPage(t, list, by, done)
	}
	callers := make(map[string]map[string]bool)
	for _, e := range editions {
		b := newBattery(t, e.series, e.edition, library.Names())
		calling(b.k, callers)
		for i := range list {
			if f := &list[i]; by[i] == "" && !done[i] && (f.Equal == "" || e == editions[0]) {
				if s := b.noticed(t, f); s != "" {
					by[i] = e.series + ", " + s
				}
				t.Logf("%s: %s, %s: %s", e.series, f.Row, f.Says, by[i])
			}
		}
	}
	for i := range list {
		f := &list[i]
		if missed := f.Equal + f.Miss; (by[i] == "") != (missed != "") {
			t.Errorf("%s, %s: noticed by %q, and the table of faults says %q", f.Row, f.Says, by[i], missed)
		}
	}
	page := boundaryText(list, by, callers)
	if *update {
		require.NoError(t, os.WriteFile(boundaryPage, []byte(page), 0o644))
	}
	was, err := os.ReadFile(boundaryPage)
	require.NoError(t, err)
	require.Equal(t, string(was), page, "run it with -update")
}

// fromPage takes what the page says of faults, of those that it has.
func fromPage(t *testing.T, list []linux.Fault, by []string, done []bool) {
	page, err := os.ReadFile(boundaryPage)
	require.NoError(t, err)
	for line := range strings.Lines(string(page)) {
		cells := strings.Split(strings.Trim(line, "| \n"), " | ")
		i := slices.IndexFunc(list, func(f linux.Fault) bool {
			return len(cells) == 4 && cells[0] == "`"+f.Row+"`" && cells[1] == f.Says
		})
		if i < 0 {
			continue
		}
		if done[i] = true; cells[2] != "–" {
			by[i] = cells[2]
		}
	}
}

// Some of them, drawn, are noticed as the page says; the page has all that there are.
func TestServicesDrawn(t *testing.T) {
	page, err := os.ReadFile(boundaryPage)
	require.NoError(t, err)
	list, lines := linux.Faults(), []string(nil)
	for line := range strings.Lines(string(page)) {
		if strings.HasPrefix(line, "| `") && strings.Count(line, " | ") == 3 {
			lines = append(lines, strings.TrimSpace(line))
		}
	}
	require.Len(t, lines, len(list), "%s: write it anew with -services-all -update", boundaryPage)
	const series = "6.12"
	draws := rand.New(rand.NewPCG(*servicesSeed, 0))
	drawn := 0
	var b *battery
	for _, i := range draws.Perm(len(list)) {
		f := &list[i]
		cells := strings.Split(strings.Trim(lines[i], "| "), " | ")
		require.Equal(t, []string{"`" + f.Row + "`", f.Says}, cells[:2], "%s: write it anew with -services-all -update",
			boundaryPage)
		name, known := strings.CutPrefix(cells[2], series+", `")
		if drawn++; !known || drawn > *servicesDraw {
			drawn -= int(b2u(!known))
			continue
		}
		name, _, _ = strings.Cut(name, "`")
		if path := filepath.Join(ownScenarios, name+".star"); exists(path) {
			name = path
		}
		if b == nil {
			b = newBattery(t, series, "6.9", nil)
		}
		b.rows = nil
		b.add(t, name)
		is := b.noticed(t, f)
		t.Logf("%s, %s: %s; the page: %s", f.Row, f.Says, is, cells[2])
		require.NotEmpty(t, is, "%s, %s", f.Row, f.Says)
	}
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

func b2u(b bool) uint64 {
	if b {
		return 1
	}
	return 0
}

// calling notes which functions of a kernel's closure call which service.
func calling(k *linux.Kernel, to map[string]map[string]bool) {
	at := make(map[uint64]string)
	for _, s := range linux.Boundary() {
		for _, name := range s.Names {
			if sym, ok := k.Image.Symbol(name); ok {
				at[sym.Addr] = s.Names[0]
			}
		}
	}
	for i := range k.Closure.Inside {
		f := &k.Closure.Inside[i]
		k.Closure.Decode(f, func(in arch.Inst) {
			target, ok := in.Target()
			row := at[uint64(target)]
			if s, kind := k.Closure.Target(f, in); row == "" && kind == closure.Outer {
				row = at[s.Addr]
			}
			if !ok || row == "" {
				return
			}
			if to[row] == nil {
				to[row] = make(map[string]bool)
			}
			to[row][closure.Base(f.Name)] = true
		})
	}
}

// boundaryText is the page.
func boundaryText(list []linux.Fault, by []string, callers map[string]map[string]bool) string {
	var s strings.Builder
	noticed := 0
	for i := range by {
		noticed += int(b2u(by[i] != ""))
	}
	fmt.Fprintf(&s, `# The boundary

What a kernel's own engine calls besides itself is done in Go, by the services of [linux](../linux/doc.go). The first table has the contract of each, and the functions of the closure that call
it, in 6.1 or 6.12. A call of anything else ends the run, by name and with the calls that are open, whether it is made by name or through a pointer.

In the second table each service is broken on purpose, in each way that makes sense for it, one at a time. The broken kernel has to boot. Then come the scenarios of the library that call the
service, and those of `+"`linux/testdata/services`"+`; a part of the recorded rows of real kernels (the exam); and the scenarios as one task does them, compared with kpsim's engine
([two engines](two-engines.md)). The first that notices is named: by the property that is broken and isn't by the kernel as it is, or by one that isn't broken any more. %d of %d are noticed.
Of the others the last column says why: either nothing could tell, or no test does.

This page is made by `+"`go test ./linux -run TestServicesBroken -services-all -update`"+`; a part of it is drawn and held by each run of the tests.

| service | contract | called by |
|---|---|---|
`, noticed, len(list))
	for _, row := range linux.Boundary() {
		var names []string
		for name := range callers[row.Names[0]] {
			names = append(names, name)
		}
		slices.Sort(names)
		fmt.Fprintf(&s, "| %s | %s | %s |\n", quoted(row.Names), row.Contract, quoted(names))
	}
	s.WriteString("\n| service | broken how | noticed by | else |\n|---|---|---|---|\n")
	for i := range list {
		f, missed := &list[i], "–"
		switch {
		case f.Equal != "":
			missed = "nothing could tell: " + f.Equal
		case f.Miss != "":
			missed = "no test does: " + f.Miss
		}
		is := by[i]
		if is == "" {
			is = "–"
		}
		fmt.Fprintf(&s, "| `%s` | %s | %s | %s |\n", f.Row, f.Says, is, missed)
	}
	return s.String()
}

func quoted(names []string) string {
	if len(names) == 0 {
		return "–"
	}
	return "`" + strings.Join(names, "`, `") + "`"
}

// editions are the series that services are broken on, and kpsim's edition with the same
// protocols.
var editions = []struct{ series, edition string }{{"6.12", "6.9"}, {"6.1", "6.5"}}

// ownScenarios is where the scenarios lie that are for services alone.
const ownScenarios = "testdata/services"

// open opens a kernel that a test changes.
func open(t *testing.T, series string) *linux.Kernel {
	k, err := linux.Open(kerneltest.Path(t, series))
	require.NoError(t, err)
	return k
}
