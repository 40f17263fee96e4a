package ctest_test

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"kpsim/internal/litmus/ctest"
)

// A test of the collection is searched up to a number of states: a few times a few of
// them in other orders, to see outcomes early, and once more. Tests that have an outcome to
// be seen get more tries of more states.
const (
	fewTries  = 6
	fewStates = 1_500
	tries     = 80
	tryStates = 2_000
	allStates = 8_000
)

// lookFor searches for a state in which the condition holds (Yes) or doesn't (No).
func lookFor(test *ctest.Test, goal ctest.Truth) (v verdict) {
	times, states := uint64(fewTries), fewStates
	if test.Result == "Sometimes" {
		times, states = tries, tryStates
	}
	for seed := range times + 1 {
		if seed == times {
			states = allStates
		}
		v = search(test, goal, seed%2 == 0, states, seed)
		if v.err != nil || v.seen || v.unseen && goal == ctest.No || !v.capped && seed%2 == 0 {
			return v
		}
	}
	return v
}

// beyond are tests that the maintainer's collection judges by more than we have, and
// why.
var beyond = []struct {
	re  *regexp.Regexp
	why string
}{
	{regexp.MustCompile(`/auto/C-LB-.*-Ok\.litmus$|LB-ctls-diffvals-postif|crypto-control-data|C-AS-OOTA-1|C-PPOCA|C-viro`), "load buffering past an if: a load that guesses"},
	{regexp.MustCompile(`/C-srcu-nest-[578]\.`), "SRCU sections that overlap count as one"},
	{regexp.MustCompile(`/C-srcu-mb-5\.`), "a barrier after an unlock counts where it stands"},
	{regexp.MustCompile(`/C-WillDeacon-MP`), "the read of an atomic_inc isn't ordered by an rmb"},
	{regexp.MustCompile(`/manual/plain/`), "plain accesses that compilers merge, split or repeat"},
}

// A row is a family of the collection.
type row struct {
	family                                   string
	never, neverCapped, neverSeen            int
	sometimes, sometimesMissed, sometimesCap int
	always, deadlock, wrong, unread          int
}

// TestCollection runs the public collection of litmus tests of the memory model's
// maintainer (github paulmckrcu/litmus), if KPSIM_LITMUS_C names a copy. Nothing that is
// Never may be seen, and of what is Sometimes 95 in 100 must be. KPSIM_LITMUS_ONLY is a
// part of paths, for a shorter run.
func TestCollection(t *testing.T) {
	root := os.Getenv("KPSIM_LITMUS_C")
	if root == "" {
		t.Skip("KPSIM_LITMUS_C names no folder of litmus tests")
	}
	var rows []*row
	for _, path := range litmusFiles(t, root) {
		rel, err := filepath.Rel(root, path)
		if err != nil {
			t.Fatal(err)
		}
		family := filepath.Dir(rel)
		if family == "auto" {
			family += "/" + strings.Join(strings.SplitN(filepath.Base(rel), "-", 3)[:2], "-")
		}
		i := slices.IndexFunc(rows, func(r *row) bool { return r.family == family })
		if i < 0 {
			i = len(rows)
			rows = append(rows, &row{family: family})
		}
		examine(t, path, rows[i])
	}
	total := &row{family: "all"}
	t.Logf("%-22s %6s %6s %5s  %9s %6s %6s  %6s %8s %5s %6s",
		"family", "Never", "capped", "seen", "Sometimes", "missed", "capped", "Always", "DEADLOCK", "wrong", "unread")
	for _, r := range append(rows, total) {
		t.Logf("%-22s %6d %6d %5d  %9d %6d %6d  %6d %8d %5d %6d", r.family, r.never, r.neverCapped, r.neverSeen,
			r.sometimes, r.sometimesMissed, r.sometimesCap, r.always, r.deadlock, r.wrong, r.unread)
		if r != total {
			total.add(r)
		}
	}
	if total.neverSeen > 0 {
		t.Errorf("%d that are Never were seen", total.neverSeen)
	}
	if n := total.sometimes; os.Getenv("KPSIM_LITMUS_ONLY") == "" && 100*(total.sometimesMissed+total.sometimesCap) > 5*n {
		t.Errorf("of %d that are Sometimes %d weren't seen", n, total.sometimesMissed+total.sometimesCap)
	}
}

func (r *row) add(o *row) {
	r.never += o.never
	r.neverCapped += o.neverCapped
	r.neverSeen += o.neverSeen
	r.sometimes += o.sometimes
	r.sometimesMissed += o.sometimesMissed
	r.sometimesCap += o.sometimesCap
	r.always += o.always
	r.deadlock += o.deadlock
	r.wrong += o.wrong
	r.unread += o.unread
}

func litmusFiles(t *testing.T, root string) (files []string) {
	only := os.Getenv("KPSIM_LITMUS_ONLY")
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err == nil && strings.HasSuffix(path, ".litmus") && strings.Contains(path, only) {
			files = append(files, path)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	slices.Sort(files)
	return files
}

// judged are the results of the collection that say what is to be seen.
var judged = regexp.MustCompile(`Result:\s*(Never|Sometimes|Always|DEADLOCK)`)

// examine runs one test and enters what came of it.
func examine(t *testing.T, path string, r *row) {
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if !judged.Match(text) || !strings.HasPrefix(string(text), "C ") {
		return // no verdict, or another language
	}
	test, err := ctest.Parse(path, text)
	if err != nil {
		r.unread++
		t.Log(err)
		return
	}
	note := func(says string, v verdict) (known bool) {
		for _, b := range beyond {
			if b.re.MatchString(path) {
				says += ": " + b.why
				known = true
			}
		}
		t.Logf("%s: %s, but %s after %d states", path, test.Result, says, v.states)
		return known
	}
	v := lookFor(test, ctest.Yes)
	if v.err != nil {
		r.wrong++
		t.Log(v.err)
		return
	}
	switch test.Result {
	case "Never":
		r.never++
		if v.seen {
			r.neverSeen++
			note("it is seen", v)
		} else if v.capped {
			r.neverCapped++
		}
	case "Sometimes":
		r.sometimes++
		if v.capped && !v.seen {
			r.sometimesCap++
			note("not seen", v)
		} else if !v.seen {
			r.sometimesMissed++
			if !note("not seen", v) {
				t.Errorf("%s can't be seen, and no reason is known", path)
			}
		}
	case "Always":
		r.always++
		if w := lookFor(test, ctest.No); !v.seen || w.unseen {
			r.wrong++
			note(fmt.Sprintf("seen: %v, its opposite: %v", v.seen, w.unseen), v)
		}
	case "DEADLOCK":
		r.deadlock++
		if v = search(test, ctest.Unknown, true, allStates, 0); !v.stuck {
			r.wrong++
			note("nothing is stuck", v)
		}
	}
}
