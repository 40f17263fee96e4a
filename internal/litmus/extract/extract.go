package extract

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"kpsim/internal/cli"
	"kpsim/internal/nearest"
	"kpsim/internal/search/replay"
	"kpsim/sim"
	"kpsim/smp"
	"kpsim/smp/smpev"
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

// Of makes the test of a replay's run, which is made again for that. trace is the file's
// name. words are those that the test is to have, by their names; none: those that matter.
// Errors say what can't be said.
func Of(r *replay.Replay, trace, name string, words []string) (*Test, error) {
	t := &Test{r: recordOf(r), run: r, trace: trace, name: testName(name)}
	if err := t.hidden(); err != nil && len(words) == 0 {
		return nil, err
	}
	named, err := t.r.named(words)
	if err != nil {
		return nil, err
	}
	t.kept, t.weak = t.r.cut(named)
	if len(t.kept) == 0 {
		return nil, errors.New("compiled code shares no word of memory in this run, so that there is nothing to ask: a litmus test needs a word that two CPUs access and one stores to" + t.cells())
	}
	if len(t.words()) > mostWords {
		return nil, fmt.Errorf("CPUs share %d words; a litmus test has %d at most: name those that matter with --words, of %s", len(t.words()), mostWords, t.sharedNames())
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

// hidden refuses a run whose order is in the cells of the kernel's routines: a load of an
// older version, under the kernel's model.
func (t *Test) hidden() error {
	for _, d := range t.run.Taken {
		if d.Kind == sim.Version {
			return errors.New("in this run CPUs see older values of variables of the kernel's routines (cells), which can't be said as a litmus test yet; --words says it of what compiled code shares")
		}
	}
	return nil
}

// cells says which cells CPUs held stores to.
func (t *Test) cells() string {
	var names []string
	for i := range t.run.Rig.Log.Events {
		if e := &t.run.Rig.Log.Events[i]; e.Kind == smpev.Held && e.C == 0 {
			if name := replay.CellName(t.r.m, e.A); !slices.Contains(names, name) {
				names = append(names, name)
			}
		}
	}
	if names == nil {
		return ""
	}
	return "; what CPUs hold in it are variables of the kernel's routines (cells), which can't be said yet: " + cli.List(names)
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

// named finds the words of names: of a symbol alone all that lie in it. nil: none is named.
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
			return nil, fmt.Errorf("--words: compiled code shares no word in this run")
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
	task := t.r.m.Tasks()[a.task].Name
	if a.in == nil {
		return fmt.Sprintf("%s: the kernel's routines, and the CPU held nothing after them", task)
	}
	return fmt.Sprintf("%s in %s: %v", task, t.r.name(a.in.At()), a.in)
}

// says are the sentences of the comment.
func (t *Test) says() (list []string) {
	sc := t.run.Rig.Scenario
	list = append(list, fmt.Sprintf("Made by kpsim export --to litmus from %s: scenario %s, memory model %v.", t.trace, sc.Name, sc.Machine.Memory))
	if p := t.run.Property; p != nil {
		list = append(list, fmt.Sprintf("The run breaks %s %s: %s. What comes after that is left out.", p.ID, p.Name, t.run.Message))
	}
	if t.weak {
		list = append(list, "The run isn't sequentially consistent. The test has the words of memory by which it isn't; the condition is what the run saw.")
	} else {
		list = append(list, "The run is sequentially consistent in what compiled code shares: each model allows what it saw.")
	}
	var out []string
	for i := range t.r.words {
		if w := &t.r.words[i]; w.why != "" {
			out = append(out, w.name+", which "+w.why)
		} else if !t.has(i) {
			out = append(out, w.name)
		}
	}
	if n := len(out); n > namesMost {
		out = append(out[:namesMost], fmt.Sprintf("%d more", n-namesMost))
	}
	left := "Also left out: what only one CPU accesses, loads that saw no more than others, and branches, which are as the run took them."
	if len(out) > 0 {
		left = "Shared too, and left out: " + strings.Join(out, "; ") + ". " + left
	}
	list = append(list, left)
	if t.run.Rig.Scenario.Machine.Memory == smp.LKMM {
		list = append(list, "Under this model only variables of the kernel's routines are out of order, which aren't here.")
	}
	return list
}
