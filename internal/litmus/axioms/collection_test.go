package axioms_test

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"kpsim/internal/litmus/axioms"
	"kpsim/internal/litmus/ctest"
)

// longest is how long a test of the collection may take.
const longest = 5 * time.Second

// beyond are tests whose comments say that the model isn't what it should be, or that the test isn't
// right.
var beyond = regexp.MustCompile(`/C-JO-OOTA-[356]\.|/C-srcu-nest-4\.`)

// TestCollection asks about each test of the public collection of the memory model's maintainer
// (github paulmckrcu/litmus), if KPSIM_LITMUS_C names a copy. KPSIM_LITMUS_ONLY is a part of
// paths, for a shorter run. Verdicts are those of the comments, but where accesses race: some of
// those comments are older than today's model, or are about compilers.
func TestCollection(t *testing.T) {
	root := os.Getenv("KPSIM_LITMUS_C")
	if root == "" {
		t.Skip("KPSIM_LITMUS_C names no folder of litmus tests")
	}
	count := make(map[string]int)
	var slowest time.Duration
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(path, ".litmus") ||
			!strings.Contains(path, os.Getenv("KPSIM_LITMUS_ONLY")) {
			return err
		}
		text, err := os.ReadFile(path)
		if err != nil || !strings.HasPrefix(string(text), "C ") {
			return err
		}
		test, err := ctest.Parse(path, text)
		if err != nil || test.Prop == nil {
			if test == nil && strings.Contains(string(text), "Result: ") {
				t.Log(err)
				count["unread"]++
			}
			return nil
		}
		begin := time.Now()
		v, r, err := judge(test)
		took := time.Since(begin)
		if slowest = max(slowest, took); took > longest {
			t.Errorf("%v, %d candidates: %s", took.Round(time.Millisecond), r.Candidates, path)
		}
		if err != nil {
			t.Log(err)
			v = "error"
		}
		count[test.Result+", "+v]++
		judged := slices.Contains([]string{"Never", "Sometimes", "Always", "DEADLOCK"}, test.Result)
		if judged && test.Result != v && (v != "Always" || test.Result != "Sometimes") {
			if says := fmt.Sprintf("%s: %s, and the axioms say %s, race %v", path, test.Result, v,
				r.Race); r.Race == nil &&
				!beyond.MatchString(path) {
				t.Error(says)
			} else {
				t.Log(says)
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Log(count, slowest)
}

// judge is the verdict of the axioms.
func judge(test *ctest.Test) (verdict string, r *axioms.Result, err error) {
	return judgeAtMost(test, 1_000_000)
}

func judgeAtMost(test *ctest.Test, most int) (verdict string, r *axioms.Result, err error) {
	r, err = axioms.Search(test, axioms.Options{Most: most, Text: func(get axioms.Get) string {
		return text(test, get)
	}})
	if err != nil {
		return "", r, err
	}
	holds, not := false, false
	for _, o := range r.Outcomes {
		holds, not = holds || o.Holds, not || !o.Holds
	}
	switch {
	case holds && not:
		return "Sometimes", r, nil
	case !r.Complete:
		return "given up", r, nil
	case holds:
		return "Always", r, nil
	case not:
		return "Never", r, nil
	}
	return "DEADLOCK", r, nil
}

// text names a final state by all that the condition names.
func text(test *ctest.Test, get axioms.Get) string {
	var b []byte
	var walk func(p *ctest.Prop)
	walk = func(p *ctest.Prop) {
		if p == nil {
			return
		}
		for _, a := range p.Args {
			walk(a)
		}
		if p.Op == "=" || p.Op == "!=" {
			b = fmt.Appendf(b, "%d ", get(p.Thread, p.Local, p.Location))
			walk(p.With)
		}
	}
	walk(test.Prop)
	walk(test.Filter)
	return string(b)
}
