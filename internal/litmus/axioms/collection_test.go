package axioms_test

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"kpsim/internal/litmus/axioms"
	"kpsim/internal/litmus/ctest"
)

// longest is how long a test of the collection may take.
const longest = 5 * time.Second

// TestCollection asks about each test of the public collection of the memory model's maintainer
// (github paulmckrcu/litmus), if KPSIM_LITMUS_C names a copy. KPSIM_LITMUS_ONLY is a part of
// paths, for a shorter run.
func TestCollection(t *testing.T) {
	root := os.Getenv("KPSIM_LITMUS_C")
	if root == "" {
		t.Skip("KPSIM_LITMUS_C names no folder of litmus tests")
	}
	count := make(map[string]int)
	var slowest time.Duration
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(path, ".litmus") || !strings.Contains(path, os.Getenv("KPSIM_LITMUS_ONLY")) {
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
		if took := time.Since(begin); took > longest/5 {
			slowest = max(slowest, took)
			t.Logf("%v %d candidates: %s %s %s", took.Round(time.Millisecond), r.Candidates, test.Result, v, path)
		}
		if err != nil {
			t.Log(err)
			v = "error"
		}
		count[test.Result+", "+v]++
		if test.Result != v && (v != "Always" || test.Result != "Sometimes") && strings.Contains("Never Sometimes Always DEADLOCK", test.Result) && test.Result != "" {
			t.Logf("%s: %s, and the axioms say %s, race %v", path, test.Result, v, r.Race)
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
	r, err = axioms.Search(test, axioms.Options{Most: 2_000_000, Text: func(get axioms.Get) string {
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
		if len(p.Args) == 0 {
			b = fmt.Appendf(b, "%d ", get(p.Thread, p.Local, p.Location))
			walk(p.With)
		}
	}
	walk(test.Prop)
	walk(test.Filter)
	return string(b)
}
