package properties_test

import (
	"strings"
	"testing"

	"kpsim/internal/testkit/thorough"
	"kpsim/internal/testkit/tracetest"
	"kpsim/properties"
	"kpsim/sim"
	"kpsim/traces"
)

// TestCatalogue: names are unique, and a sentence is one. Which property gets a finding that
// several have is in the traces of the corpus: replayed in another order some of them differ.
func TestCatalogue(t *testing.T) {
	seen := map[string]bool{}
	for _, p := range properties.All {
		if seen[p.ID] || seen[p.Name] {
			t.Errorf("%s %s: used twice", p.ID, p.Name)
		}
		seen[p.ID], seen[p.Name] = true, true
		if !strings.HasSuffix(p.Says, ".") || strings.Contains(p.Says, "\n") {
			t.Errorf("%s: Says is one sentence: %q", p.ID, p.Says)
		}
		if got, ok := properties.ByName(p.Name); !ok || got != p {
			t.Errorf("ByName(%q) = %v, %v", p.Name, got, ok)
		}
	}
	if _, ok := properties.ByName("no-such-name"); ok {
		t.Error("ByName finds what isn't there")
	}
}

// Every message is one line: who, what, where.
func TestMessages(t *testing.T) {
	p := tracetest.NewPlayer(watches()...)
	for _, l := range logs {
		_, _, f := p.Play(l.tr)
		if f == nil {
			continue
		}
		if strings.ContainsAny(f.Message, "\n!") ||
			!strings.HasPrefix(f.Message, "cpu") && !strings.HasPrefix(f.Message, "at the end ") {
			t.Errorf("%s: %q", l.name, f.Message)
		}
	}
}

// Reset forgets: monitors that have seen other logs, whole or ended by a finding, judge
// a log as new ones do.
func TestResetForgets(t *testing.T) {
	used := tracetest.NewPlayer(watches()...)
	for i, first := range logs {
		if i%4 > 0 && !thorough.Set() {
			continue
		}
		for _, l := range logs {
			used.Play(first.tr)
			if err := l.tr.Judge(used); err != "" {
				t.Fatalf("%s after %s: %s", l.name, first.name, err)
			}
		}
	}
}

// Heads differ between scenarios: the text of the last run has no effect on this one.
func TestOtherText(t *testing.T) {
	log := func(want string, load ...string) *tracetest.Trace {
		tr := tracetest.New()
		tr.Load(f, load...).On(1, 2).Exec(f, push...).Exec(f+1, mov...)
		if want == "" {
			tr.ExpectNone()
		} else {
			tr.ExpectViolation(want, "")
		}
		return tr
	}
	list := []*tracetest.Trace{
		log("", "55", "48 89 e5"),
		log("", "55", "48 89 e5", "53", "5b"),
		log("S1", "55"),
		log("T1", "55", "48 89 e6"),
		log("T1", "55", "48", "89 e5"),
		log("T1", "55", "48 89", "e5"),
		log("T1", "55", "48 89 e5 53"),
	}
	used := tracetest.NewPlayer(watches()...)
	for _, first := range list {
		for _, l := range list {
			used.Play(first)
			if err := l.Judge(used); err != "" {
				t.Errorf("%s\n%safter\n%s", err, l, first)
			}
		}
	}
}

// A monitor allocates only for a finding.
func TestNoAllocations(t *testing.T) {
	for _, p := range properties.All {
		player := tracetest.NewPlayer(watch(p))
		for _, l := range logs {
			if l.tr.Rejects() != "" {
				continue
			}
			player.Play(l.tr)
			if n := testing.AllocsPerRun(10, func() { player.Play(l.tr) }); n > 0 {
				t.Errorf("%s on %s: %v allocations a run", p.ID, l.name, n)
			}
		}
	}
}

// Monitors don't panic on any events, and judge the same log in the same way again.
func TestNonsense(t *testing.T) {
	old, again := tracetest.NewPlayer(watches()...), tracetest.NewPlayer(watches()...)
	var kinds []traces.Kind
	for _, p := range properties.All {
		kinds = append(kinds, p.Kinds...)
	}
	var r sim.Rand
	r.Seed(1, 0)
	words := [...]uint64{0, 1, 2, 3, 0xcc, 0xe9, 0x55, f, f + 1, f + 4, slot, detour, 1 << 56, 5 << 56, 15 << 56,
		^uint64(0)}
	for range thorough.Of(600, 8_000) {
		tr := tracetest.New()
		tr.Load(f, "55", "48 89 e5", "53")
		for range 20 {
			word := func() uint64 { return words[r.N(len(words))] }
			tr.On(uint8(r.N(2)), uint8(r.N(3))-1).Emit(kinds[r.N(len(kinds))], word(), word(), word())
		}
		tr.End(true)
		id, at, a := old.Play(tr)
		id2, at2, b := again.Play(tr)
		if id != id2 || at != at2 || (a == nil) != (b == nil) || a != nil && *a != *b {
			t.Fatalf("%s, then %s on\n%s", id, id2, tr)
		}
		again = old
		old = tracetest.NewPlayer(watches()...)
	}
}
