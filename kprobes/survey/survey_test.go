package survey_test

import (
	"os"
	"testing"

	"github.com/stretchr/testify/require"

	"kpsim/kprobes/rules"
	"kpsim/kprobes/survey"
	"kpsim/smp/image"
)

// load loads an object of smp/image's testdata.
func load(t testing.TB, name string, k rules.Kernel) *survey.Survey {
	data, err := os.ReadFile("../../smp/image/testdata/" + name)
	require.NoError(t, err)
	o, err := image.ParseELF(name, data)
	require.NoError(t, err)
	m, err := o.Load(0xffffffffc0000000, image.StockBoot, nil)
	require.NoError(t, err)
	return survey.New(m, k)
}

// TestSites: each of the module's tables shows in a verdict: BUG, static call, jump
// label, fentry site, exception table, blacklist, init text, thunk.
func TestSites(t *testing.T) {
	for name, k := range map[string]rules.Kernel{"module61.o": rules.K61, "module612.o": rules.K612} {
		s := load(t, name, k)
		found := make(map[string]bool)
		for i := range s.Module.Symbols {
			for _, r := range s.Rows(&s.Module.Symbols[i], false) {
				switch r.Why.Kind {
				case rules.InSite, rules.SiteInRegion:
					found[r.Why.Site.String()] = true
				default:
					found[r.Why.Kind.String()] = true
				}
			}
		}
		want := []string{"BUG", "static call", "jump label", "through ftrace", "exception-table entry", "blacklisted",
			"init text, freed"}
		if k == rules.K61 { // from 6.9 on the rest of such a function may be optimized
			want = append(want, "jump to a thunk")
		}
		for _, w := range want {
			require.True(t, found[w], "%s: %s in %v", name, w, found)
		}
	}
}

// TestEveryByte: with every there is a row for each byte, in order, and the rows of
// instructions are the same as without.
func TestEveryByte(t *testing.T) {
	s := load(t, "module612.o", rules.K612)
	for i := range s.Module.Symbols {
		sym := &s.Module.Symbols[i]
		var starts []survey.Row
		starts = append(starts, s.Rows(sym, false)...)
		var again []survey.Row
		rows := s.Rows(sym, true)
		require.Len(t, rows, sym.Size)
		for off, r := range rows {
			require.Equal(t, off, r.Offset)
			if r.Delta != 0 {
				require.Len(t, r.Bytes, r.Delta, "%s+%#x: an endbr64", sym.Name, off)
			}
			if r.Inside {
				require.NotZero(t, r.Errno, "%s+%#x: a probe inside an instruction", sym.Name, off)
				continue
			}
			again = append(again, r)
		}
		require.Equal(t, starts, again)
	}
}

// TestPadding: the fill up to the page isn't counted.
func TestPadding(t *testing.T) {
	s := load(t, "module61.o", rules.K61)
	var totals survey.Totals
	bytes := 0
	for i := range s.Module.Symbols {
		sym := &s.Module.Symbols[i]
		bytes += sym.Size
		totals.Add(s.Rows(sym, false))
	}
	require.Greater(t, bytes, 4000)
	require.Less(t, totals.Instructions, 100)
	refused := 0
	for _, n := range totals.Refused {
		refused += n
	}
	require.Equal(t, totals.Instructions, totals.Registrable+refused)
}

// A function that is all padding is neither counted nor shown.
func TestFunctions(t *testing.T) {
	s := load(t, "load.o", rules.K612)
	var totals survey.Totals
	for i := range s.Module.Symbols {
		totals.Add(s.Rows(&s.Module.Symbols[i], true))
	}
	require.Len(t, s.Module.Symbols, 10)
	require.Equal(t, 9, totals.Functions, "one is a nop")
	require.Equal(t, 31, totals.Instructions)
}

// TestSiteBehindFunction: a site at the beginning of the next function affects a region
// that extends beyond its own.
func TestSiteBehindFunction(t *testing.T) {
	data, err := os.ReadFile("testdata/behind.o")
	require.NoError(t, err)
	o, err := image.ParseELF("behind.o", data)
	require.NoError(t, err)
	m, err := o.Load(0x40000000, image.StockBoot, nil)
	require.NoError(t, err)
	s := survey.New(m, rules.K61)
	f, ok := m.Symbol("f")
	require.True(t, ok)
	row := s.Row(f, 0)
	require.Zero(t, row.Errno)
	require.Equal(t, rules.Reason{Kind: rules.SiteInRegion, Site: rules.SiteFentry, At: 5}, row.Why)
}
