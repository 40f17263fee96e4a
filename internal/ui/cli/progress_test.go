package cli

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// watched is a program on a terminal whose clock goes on by a second each time it is looked at,
// and the lines that it has shown.
func watched() (p *Program, lines func() []string) {
	var out, seen bytes.Buffer
	p = New(&out, &seen)
	now := time.Unix(0, 0)
	p.Live, p.Clock = true, func() time.Time {
		now = now.Add(time.Second)
		return now
	}
	return p, func() (list []string) {
		for _, l := range strings.Split(seen.String(), "\r\x1b[K") {
			if l != "" {
				list = append(list, l)
			}
		}
		return list
	}
}

// What is done in parts has one total, and what a part leaves out counts as done.
func TestProgressOfParts(t *testing.T) {
	p, lines := watched()
	g := p.Watch("all", 40, "run")
	g.Part("1/2 one", 30)
	g.Update(10, 1)
	g.Aside("1/2 one, a second look")
	g.Update(1000, 1)
	g.Part("2/2 two", 10)
	g.Update(5, 0)
	g.Complete()
	require.Equal(t, []string{
		"1/2 one: 0 of 40 runs, 0 %",
		"1/2 one: 10 of 40 runs, 25 %, 9s left; 10 runs, 1 violation, 5 runs/s",
		"1/2 one, a second look: 30 of 40 runs, 75 %, 2s left",
		"1/2 one, a second look: 30 of 40 runs, 75 %, 2s left; 1000 runs, 1 violation, 500 runs/s",
		"2/2 two: 30 of 40 runs, 75 %, 3s left",
		"2/2 two: 35 of 40 runs, 87 %, 1s left; 5 runs, 0 violations, 2 runs/s",
		"2/2 two: 40 of 40 runs, 100 %; 5 runs, 0 violations, 2 runs/s",
	}, lines())
}

// The time left isn't estimated from next to nothing, or from a moment. For a search until a time it is known.
func TestProgressConcludesNothingYet(t *testing.T) {
	p, lines := watched()
	g := p.Watch("all", 1000, "run")
	g.At(200, "a moment")
	g = p.Watch("all", 1000, "run")
	g.At(1, "little")
	g.At(9, "little")
	g.At(10, "enough")
	p.WatchFor("programs", 400*time.Second).Note("some")
	require.Equal(t, []string{
		"all: 200 of 1000 runs, 20 %; a moment",
		"all: 1 of 1000 runs, 0 %; little",
		"all: 9 of 1000 runs, 0 %; little",
		"all: 10 of 1000 runs, 1 %, 4m57s left; enough",
		"programs: 1s of 6m40s, 0 %, 6m39s left; some",
	}, lines())
}

// A unit that takes long is known in millionths, and a search until a time by the clock.
func TestProgressOfLongParts(t *testing.T) {
	p, lines := watched()
	g := p.WatchParts("proofs", 2, "scenario")
	g.Part("one", 1)
	g.Share(500_000, 7, 0)
	g.Share(400_000, 8, 0) // there is more than was known: what is done stays
	g.Part("two", 1)
	g.Far(0.5, "half")
	g.Complete()
	g = p.WatchFor("programs", 4*time.Second)
	g.Note("some")
	g.Complete()
	require.Equal(t, []string{
		"one: 0 of 2 scenarios, 0 %",
		"one: 0 of 2 scenarios, 25 %, 9s left; 7 runs, 0 violations, 4 runs/s",
		"one: 0 of 2 scenarios, 25 %, 12s left; 8 runs, 0 violations, 3 runs/s",
		"two: 1 of 2 scenarios, 50 %, 6s left",
		"two: 1 of 2 scenarios, 75 %, 2s left; half",
		"two: 2 of 2 scenarios, 100 %; half",
		"programs: 1s of 4s, 25 %, 3s left; some",
		"programs: 4s of 4s, 100 %; some",
	}, lines())
}

// The line makes room for what is printed, and there is none where there is no terminal.
func TestProgressMakesRoom(t *testing.T) {
	var both bytes.Buffer
	p := New(&both, &both)
	p.Watch("all", 2, "run").Update(1, 0)
	require.Empty(t, both.String())
	now := time.Unix(0, 0)
	p.Live, p.Clock = true, func() time.Time {
		now = now.Add(time.Second)
		return now
	}
	p.Watch("all", 2, "run").Update(1, 0)
	p.Indented("", "a row")
	require.True(t, strings.HasSuffix(both.String(), " runs/s\r\x1b[Ka row\n"), "%q", both.String())
	require.Nil(t, p.Watch("nothing", 0, "run"))
}
