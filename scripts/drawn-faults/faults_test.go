package main

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"kpsim/scripts/drawn-faults/on"
)

var update = flag.Bool("update", false, "rewrite testdata/faults.txt")

// toy loads the package of testdata, from the root of the repository.
func toy(t *testing.T) []*room {
	t.Helper()
	t.Chdir("../..")
	rooms, err := load([]string{"scripts/drawn-faults/testdata/toy"})
	require.NoError(t, err)
	return rooms
}

func TestFaultsOfAFileAreListed(t *testing.T) {
	golden, err := filepath.Abs("testdata/faults.txt")
	require.NoError(t, err)
	var b strings.Builder
	for _, x := range toy(t)[0].faults {
		fmt.Fprintf(&b, "%d %s\n", x.Line, strings.TrimPrefix(x.ID, "scripts/drawn-faults/testdata/toy/"))
	}
	if *update {
		require.NoError(t, os.WriteFile(golden, []byte(b.String()), 0o644))
	}
	want, err := os.ReadFile(golden)
	require.NoError(t, err)
	assert.Equal(t, string(want), b.String())
}

func TestADrawIsTheSameForASeed(t *testing.T) {
	rooms := toy(t)
	ids := func(seed uint64) (list []string) {
		for _, x := range draw(rooms, 10, seed) {
			list = append(list, x.ID)
		}
		return list
	}
	assert.Len(t, ids(1), 10)
	assert.Equal(t, ids(1), ids(1))
	assert.NotEqual(t, ids(1), ids(2))
}

func TestFaultsAreNamed(t *testing.T) {
	rooms := toy(t)
	drawn := draw(rooms, 5, 1)
	file := filepath.Join(t.TempDir(), "ids")
	text := "no such fault\n"
	for _, x := range drawn {
		text += x.ID + "\n"
	}
	require.NoError(t, os.WriteFile(file, []byte(text), 0o644))
	list, err := (&options{Only: file}).choose(rooms)
	require.NoError(t, err)
	assert.ElementsMatch(t, drawn, list)
}

// All faults that don't clash go into one program, which does what it did until one is
// chosen; nearly all of them are seen then.
func TestFaultsAreGuardedAndNoticed(t *testing.T) {
	rooms := toy(t)
	noticed, equal := 0, []string{}
	for seed := range uint64(3) {
		list := draw(rooms, 100, seed)
		require.Greater(t, len(list), 15)
		dir := t.TempDir()
		binary, err := build(rooms, list, dir, "./scripts/drawn-faults/testdata/run")
		require.NoError(t, err)
		o := &options{Search: []string{"explore"}, Limit: 10 * time.Second, Memory: 8192, Jobs: 2}
		r, err := open(filepath.Join(dir, "results"), head{tree(rooms), seed, len(list)})
		require.NoError(t, err)
		require.NoError(t, o.all(binary, list, r))
		assert.Equal(t, unnoticed, r.get(none, "explore").How)
		for _, x := range list {
			switch trial := r.get(x.ID, "explore"); {
			case trial.noticed():
				noticed++
				assert.NotEqual(t, neverReached, trial.Far, x.ID)
			case trial.Far == on.Changed:
				equal = append(equal, x.Before)
			}
		}
	}
	assert.Greater(t, noticed, 30)
	for _, before := range equal { // what is logged is shown nowhere, and times is always 1
		assert.Regexp(t, `log|note|most|done|c\.n == Most|< 0|from > to|Most in|^c\.sum \+= by; |^loop: { c\.sum`,
			before)
	}
}

func TestLinesStayWhereTheyAre(t *testing.T) {
	rooms := toy(t)
	of := make(map[int]*Fault)
	for n, x := range draw(rooms, 100, 1) {
		of[n] = x
	}
	text := rooms[0].texts["scripts/drawn-faults/testdata/toy/toy.go"]
	assert.Equal(t, strings.Count(string(text), "\n"), strings.Count(string(rewrite(text, of)), "\n"))
}

func TestWhatIsAgainstExpectation(t *testing.T) {
	for _, k := range []struct{ out, how, by string }{
		{`{"scenario":"a","property":"T1","observation":"Never","expected":true}`, unnoticed, ""},
		{`{"scenario":"a","property":"T1","observation":"Sometimes","violations":3,"expected":true}`, unnoticed, ""},
		{`{"scenario":"a","property":"T1","observation":"Sometimes","violations":3,"expected":false}`, violation,
			"a: T1"},
		{`{"scenario":"a","property":"T1","observation":"Never","expected":false,"reason":"expected Sometimes"}`,
			missing, "a: T1: expected Sometimes"},
		{`{"edition":"6.9","programs":3,"violations":0}`, unnoticed, ""},
		{`{"edition":"6.9","preempt":"none","programs":3,"violations":2,"broken":{"T1":2},"seeds":[7]}`, violation,
			"6.9 none seed 7: T1"},
		{`{"property":"T1","seed":7,"deviations":3,"trace":"x"}`, violation, "seed 7: T1"},
		{`{"property":"T1","program":"fuzz-7","deviations":3}`, violation, "fuzz-7: T1"},
		{"no JSON\n" + `{"property":"T1","seed":7}`, violation, "seed 7: T1"},
	} {
		how, by, _ := first(strings.NewReader(k.out + "\n"))
		assert.Equal(t, k.how, how, k.out)
		assert.Equal(t, k.by, by, k.out)
	}
	for _, k := range []struct {
		code      int
		said, how string
	}{
		{3, "kpsim: bug of the simulator: panic: x\n", crash},
		{2, "goroutine stack exceeds\nfatal error: stack overflow\n", crash},
		{2, "kpsim: a.star: refused\n", refused},
		{1, "", status},
		{137, "", crash},
	} {
		how, _ := ended(k.code, k.said)
		assert.Equal(t, k.how, how, k.said)
	}
}

func TestWhatIsShownIsComparedWithoutTimes(t *testing.T) {
	shown := func(out string) string {
		_, _, s := first(strings.NewReader(out))
		return s
	}
	const a = `{"points":3,"schedules_per_s":7,"violations":0}`
	assert.Equal(t, shown(a), shown(strings.Replace(a, "7", "8", 1)))
	assert.NotEqual(t, shown(a), shown(strings.Replace(a, "3", "4", 1)))
	assert.NotEqual(t, shown(a), shown(a+"\n"+a))
}

func TestASearchWithoutEndIsNotNoticed(t *testing.T) {
	file := filepath.Join(t.TempDir(), "sleeps")
	require.NoError(t, os.WriteFile(file, []byte("#!/bin/sh\nsleep 60\n"), 0o755))
	o := &options{Limit: 100 * time.Millisecond, Memory: 8192}
	trial, err := o.search(file, "explore", 0)
	require.NoError(t, err)
	assert.Equal(t, late, trial.How)
	assert.Less(t, trial.Seconds, 30.0)
}

func TestResultsAreTakenUpAgain(t *testing.T) {
	name := filepath.Join(t.TempDir(), "results")
	h := head{"tree", 1, 2}
	r, err := open(name, h)
	require.NoError(t, err)
	require.NoError(t, r.add(&trial{Fault: &Fault{ID: "a"}, Search: "storm", How: violation, By: "T1"}))
	_, err = r.file.WriteString(`{"id":"b","sea`) // killed here
	require.NoError(t, err)
	require.NoError(t, r.file.Close())

	r, err = open(name, h)
	require.NoError(t, err)
	assert.Equal(t, "T1", r.get("a", "storm").By)
	assert.Nil(t, r.get("b", "storm"))
	require.NoError(t, r.add(&trial{Fault: &Fault{ID: "b"}, Search: "storm", How: unnoticed}))
	require.NoError(t, r.file.Close())
	r, err = open(name, h)
	require.NoError(t, err)
	assert.Equal(t, unnoticed, r.get("b", "storm").How)
	_, err = open(name, head{"another", 1, 2})
	assert.ErrorContains(t, err, "other sources or another seed")
}

func TestEquivalents(t *testing.T) {
	name := filepath.Join(t.TempDir(), "equal")
	read := func(text string) (map[string]string, error) {
		require.NoError(t, os.WriteFile(name, []byte(text), 0o644))
		return equivalents(name)
	}
	list, err := read("# these\na b: c\n\tno one reads it\n\nd\n  nor this\n")
	require.NoError(t, err)
	assert.Equal(t, map[string]string{"a b: c": "no one reads it", "d": "nor this"}, list)
	_, err = read("a\nb\n\twhy\n")
	assert.ErrorContains(t, err, ":2: the fault above has no reason")
	_, err = read("\twhy\n")
	assert.ErrorContains(t, err, ":1: a reason without a fault")
	_, err = read("a\n")
	assert.ErrorContains(t, err, "the last fault has no reason")
}

func TestTheTable(t *testing.T) {
	o := &options{Search: []string{"explore", "fuzz"}}
	x := func(id, kind string) *Fault { return &Fault{ID: id, Kind: kind, File: "a.go", Line: 3, Before: id} }
	list := []*Fault{x("a", dropped), x("b", dropped), x("c", dropped), x("d", dropped), x("e", negated),
		x("f", negated)}
	r := &results{done: make(map[string]*trial)}
	for id, hows := range map[string][2]string{
		"a": {violation, violation}, "b": {unnoticed, crash}, "c": {unnoticed, unnoticed}, "d": {unnoticed, late},
		"e": {unnoticed, unnoticed}, "f": {unnoticed, ""},
	} {
		for i, how := range hows {
			far := on.Changed
			if id == "c" {
				far = neverReached
			}
			if how != "" {
				t := &trial{Fault: x(id, ""), Search: o.Search[i], How: how, Far: far}
				r.done[t.key()] = t
			}
		}
	}
	var b strings.Builder
	o.report(&b, o.verdicts(list, r, map[string]string{"e": "no one reads it"}))
	assert.Contains(t, b.String(), "| statement dropped | 4 | 0 | 1 | 1 | 1 | 1 | 50 % |\n")
	assert.Contains(t, b.String(), "| condition negated | 1 | 1 | 0 | 0 | 0 | 0 | - |\n")
	assert.Contains(t, b.String(), "| all | 5 | 1 | 1 | 1 | 1 | 1 | 50 % |\n")
	assert.Contains(t, b.String(), "`d` becomes `` (not to its end: `fuzz`)")
	assert.Contains(t, b.String(), "`e` becomes ``: no one reads it")
}
