package extract

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"kpsim/internal/nearest"
	"kpsim/internal/search/replay"
	"kpsim/internal/ui/cli"
	"kpsim/smp/arch/target"
)

// A Test is the litmus test of a run.
type Test struct {
	r     *record
	run   *replay.Replay
	name  string
	trace string
	kept  []step
	weak  bool // the run isn't sequentially consistent
	text  string
}

// Make makes a litmus test from a replay's run, which it runs again. trace is the file's name.
// words names the words that the test is to have; without names it takes the words that matter.
// An error says what no litmus test can express.
func Make(r *replay.Replay, trace, name string, words []string) (*Test, error) {
	if on := r.Rig.Scenario.Machine.Arch; !on.Serves(target.StoreOrder) {
		return nil, fmt.Errorf("a litmus test of compiled code is in X86_64, and the run's is of %s; --to "+
			"columns shows it in that form, for people", on)
	}
	t := &Test{r: recordOf(r), run: r, trace: trace, name: testName(name)}
	named, err := t.r.named(words)
	if err != nil {
		return nil, err
	}
	t.kept, t.weak = t.r.cut(named)
	if len(t.kept) == 0 {
		return nil, errors.New("CPUs share no word of memory that is known in this run, so that there is nothing " +
			"to ask: a litmus test needs a word that two CPUs access and one stores to (under sc, of " +
			"compiled code)")
	}
	if len(t.words()) > mostWords {
		return nil, fmt.Errorf(
			"CPUs share %d words; a litmus test has %d at most: name those that matter with --words, of %s",
			len(t.words()), mostWords, t.sharedNames())
	}
	if err := t.write(); err != nil {
		return nil, err
	}
	return t, nil
}

// testName makes a name for the test's first line.
func testName(s string) string {
	s = strings.Map(func(r rune) rune {
		if r > ' ' && r < 0x7f && !strings.ContainsRune(`{}"*()`, r) {
			return r
		}
		return '_'
	}, s)
	if s == "" {
		return "trace"
	}
	return s[:min(len(s), 100)]
}

// words are the numbers of the words that the test has.
func (t *Test) words() (list []int) {
	for i := range t.r.words {
		if t.has(i) {
			list = append(list, i)
		}
	}
	return list
}

// sharedNames lists the words that CPUs share, for messages: a few of them.
func (t *Test) sharedNames() string {
	var names []string
	for i := range t.r.words {
		if t.r.words[i].why == "" {
			names = append(names, t.r.words[i].name)
		}
	}
	if n := len(names); n > namesMost {
		return cli.List(names[:namesMost]) + fmt.Sprintf(" and %d more", n-namesMost)
	}
	return cli.List(names)
}

const namesMost = 8

// named finds the words with these names. A symbol alone names all words that lie in it. The
// result is nil if there are no names.
func (r *record) named(names []string) (map[int]bool, error) {
	if len(names) == 0 {
		return nil, nil
	}
	found := make(map[int]bool)
	var all []string
	for i := range r.words {
		all = append(all, r.words[i].name)
	}
	for _, name := range names {
		n := len(found)
		for i := range r.words {
			w := &r.words[i]
			symbol, _, _ := strings.Cut(w.name, "+")
			if name != w.name && name != symbol {
				continue
			}
			if w.why != "" {
				return nil, fmt.Errorf("--words: %s %s: a litmus test can't say that; leave it out", w.name, w.why)
			}
			found[i] = true
		}
		if len(found) == n && len(all) == 0 {
			return nil, fmt.Errorf("--words: CPUs share no word that is known in this run")
		} else if len(found) == n {
			return nil, fmt.Errorf("--words: CPUs share no word called %q; %s", name, listed(name, all))
		}
	}
	return found, nil
}

// listed is what may have been meant, or the names that there are.
func listed(name string, all []string) string {
	symbols := slices.Clone(all)
	for _, name := range all {
		symbol, _, _ := strings.Cut(name, "+")
		symbols = append(symbols, symbol)
	}
	if s := nearest.DidYouMean(name, symbols); s != "" {
		return s
	}
	if n := len(all); n > namesMost {
		return "there are " + cli.List(all[:namesMost]) + fmt.Sprintf(" and %d more", n-namesMost)
	}
	return "there are " + cli.List(all)
}

// where says where an access is in the run.
func (t *Test) where(a *access) string {
	task := t.r.m.Tasks().All()[a.task].Name
	switch {
	case a.guess:
		return fmt.Sprintf("%s: the kernel's routines, and the CPU held nothing after them", task)
	case a.in == nil:
		name, n, text := t.r.m.Names().SpotName(a.spot)
		if text {
			return fmt.Sprintf("%s in %s+%#x: an interrupt", task, name, n)
		}
		return fmt.Sprintf("%s in %s, step %d", task, name, n)
	}
	return fmt.Sprintf("%s in %s: %v", task, t.r.name(a.in.At()), a.in)
}

// says are the sentences of the comment.
func (t *Test) says() (list []string) {
	sc := t.run.Rig.Scenario
	list = append(list, fmt.Sprintf("Made by kpsim export --to litmus from %s: scenario %s, memory model %v.",
		t.trace, sc.Name, sc.Machine.Memory))
	if p := t.run.Property; p != nil {
		list = append(list, fmt.Sprintf("The run breaks %s %s: %s. What comes after that is left out.",
			p.ID, p.Name, t.run.Message))
	}
	if t.weak {
		list = append(list, "The run isn't sequentially consistent. The test has the words of memory by which it "+
			"isn't; the condition is what the run saw, and the initial values what was there before.")
	} else {
		list = append(list, "The run is sequentially consistent in the words that are known: each model allows "+
			"what it saw.")
	}
	var out []string
	cells := 0
	for i := range t.r.words {
		if w := &t.r.words[i]; w.cell {
			if !t.has(i) {
				cells++
			}
		} else if w.why != "" {
			out = append(out, w.name+", which "+w.why)
		} else if !t.has(i) {
			out = append(out, w.name)
		}
	}
	if n := len(out); n > namesMost {
		out = append(out[:namesMost], fmt.Sprintf("%d more", n-namesMost))
	}
	if cells > 0 {
		out = append(out, fmt.Sprintf("%d variables of the kernel's routines", cells))
	}
	left := "Also left out: what only one CPU accesses, loads that saw no more than others, and branches, which " +
		"are as the run took them."
	if len(out) > 0 {
		left = "Shared too, and left out: " + strings.Join(out, "; ") + ". " + left
	}
	list = append(list, left)
	if slices.ContainsFunc(t.words(), func(i int) bool { return t.r.words[i].cell }) {
		list = append(list, "Variables of the kernel's routines have numbers as values: the first one in the run "+
			"is 0, the next one in their order 1, and so on. kpsim litmus --memory tso says what x86 allows.")
	}
	return list
}
