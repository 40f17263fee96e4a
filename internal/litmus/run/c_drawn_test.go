package run

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// cText writes the plan as a test in C whose condition names all there is.
func (p *plan) cText() string {
	var b strings.Builder
	var all []string
	b.WriteString("C drawn\n{}\n")
	for i, t := range p.threads {
		fmt.Fprintf(&b, "P%d(int *x, int *y, int *z)\n{\n", i)
		for r := range p.regs {
			fmt.Fprintf(&b, "\tint %s = 0;\n", regNames[r])
			all = append(all, fmt.Sprintf("%d:%s=0", i, regNames[r]))
		}
		for k := range t {
			a := &t[k]
			loc, reg := locNames[a.loc], regNames[a.reg]
			fmt.Fprintf(&b, "\t%s\n", map[string]string{
				"store":   fmt.Sprintf("WRITE_ONCE(*%s, %d);", loc, a.val),
				"keep":    fmt.Sprintf("WRITE_ONCE(*%s, %s);", loc, reg),
				"load":    fmt.Sprintf("%s = READ_ONCE(*%s);", reg, loc),
				"xchg":    fmt.Sprintf("%s = xchg(%s, %s);", reg, loc, reg),
				"lockadd": fmt.Sprintf("atomic_add(%d, %s);", a.val, loc),
				"fence":   "smp_mb();",
			}[a.what])
		}
		b.WriteString("}\n")
	}
	for l := range p.locs {
		all = append(all, locNames[l]+"=0")
	}
	return b.String() + "exists (" + strings.Join(all, ` /\ `) + ")\n"
}

// TestCDrawn: of drawn programs in C the machine has the outcomes that the abstract machine
// has under sc and tso, and under lkmm at least those; what lkmm has besides is TestCShapes'.
func TestCDrawn(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := drawPlan(t)
		for i := range p.threads {
			for k := range p.threads[i] {
				if a := &p.threads[i][k]; a.what == "add" {
					a.what = "store"
				}
			}
		}
		text := p.cText()
		for _, m := range models {
			_, r := searchC(t, text, m)
			require.Equal(t, slices.Sorted(maps.Keys(p.outcomes(m))), texts(r), "under %s: %s", m, text)
		}
		if len(p.threads) > 2 {
			return // lkmm has many states
		}
		_, r := searchC(t, text, LKMM)
		for s := range p.outcomes(TSO) {
			require.Contains(t, texts(r), s, "%s", text)
		}
	})
}
