package review

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"kpsim/internal/eval/overhead/kernelcost"
	"kpsim/internal/scenario/lang"
	"kpsim/internal/search/change"
	"kpsim/internal/search/shrink"
	"kpsim/internal/ui/cli"
	"kpsim/internal/ui/cli/inputs"
	"kpsim/internal/ui/cli/inputs/kernels"
	"kpsim/linux"
	"kpsim/linux/source"
)

// A found holds the results of a review.
type found struct {
	c             *Review
	ofPrograms    bool          // two kpsims are compared, so there are no kernels
	sides         [sides]string // descriptions of the sides
	before, after *linux.Kernel
	src           *source.Source // source of the kernel after the change
	code          *change.Code
	kept          *change.Baseline // what the unchanged kernel has shown

	patchedLines
	rounded
	compared

	rows       []row
	gained     []difference // broken only after the change, or far more often
	lost       []difference // broken only before the change
	both       []difference
	unsure     []difference // broken by few runs after the change
	odds       change.Odds
	behaviours []behaviour
	dies       []left // scenarios that run before and fail after the change
	partly     string // why not everything was run; "": everything was
	left       []left

	hitsBefore, hitsAfter []kernelcost.Hit
}

// compared holds the answers of serial programs, and what register_kprobe makes of instructions.
type compared struct {
	programs, mended int
	asked            int // instructions that register_kprobe was asked about
	answers          []change.Answer
	files            []string // files written for differing answers
}

// A rounded holds how deeply the rounds searched, and what their witnesses show.
type rounded struct {
	depth   depth
	stories map[*shrink.Witness]*shown

	searched []*search
}

// patchedLines are the lines of the patch, and in how many runs each was reached.
type patchedLines struct {
	patched   []string // files that the patch changes
	lines     []line   // changed lines
	linesLeft int      // number of the patch's lines beyond linesMost
	removed   int      // number of lines that the patch removes
	reached   []uint64
	by        [][]reacher // of each place
	runsAfter uint64
	uncovered string // why the lines' coverage isn't known
}

// A reacher is a scenario whose runs with the change reached a place.
type reacher struct {
	Scenario string `json:"scenario"`
	Runs     uint64 `json:"runs"`
	Of       uint64 `json:"of"`
}

// A row is a scenario that both sides ran.
type row struct {
	name          string
	before, after change.Run
	reached       uint64 // runs with the change that reached the most visited place
	unreached     bool
	fewer         bool // it had fewer runs than it should
}

// A difference is a property that only one side breaks.
type difference struct {
	scenario string
	change.Break
	trace     string   // the witness's file
	like      []string // known finds that the witness resembles
	says      string
	sentences []string
	replay    string // the command that replays it
}

// property names the broken property, and the known finds that the witness resembles.
func (v *difference) property() string {
	if v.like == nil {
		return v.Property
	}
	return v.Property + ", like " + strings.Join(v.like, " or ")
}

// shares formats the counts of both sides, and those of the witness' program if it was run.
func (v *difference) shares() (now, was string) {
	now, was = share(v.Violations, v.Runs), share(v.Base, v.BaseRuns)
	if c := v.Near; c != nil && c.Runs > 0 {
		now += "; near its witness' schedule " + share(c.Violations, c.Runs)
		was += "; near that schedule " + share(c.Base, c.BaseRuns)
	}
	if c := v.Confirmed; c != nil {
		now += "; of its witness' program " + share(c.Violations, c.Runs)
		was += "; of the witness' program " + share(c.Base, c.BaseRuns)
	}
	return now, was
}

// A behaviour is an answer that only one side gives.
type behaviour struct {
	scenario string
	gone     bool // given only before the change
	change.End
}

// add adds the results of a scenario, and writes its witnesses.
func (r *found) add(s *search) error {
	it, b := &s.item, s.beside
	w := row{name: it.sc.Name, before: b.Stats.Before, after: b.Stats.After, unreached: b.Unreached,
		fewer: !b.Done() && b.Stats.After.Runs < b.Full}
	for _, n := range b.Reached {
		w.reached = max(w.reached, n)
	}
	r.rows = append(r.rows, w)
	r.runsAfter += b.Stats.After.Runs
	r.by = append(r.by, make([][]reacher, max(len(b.Reached)-len(r.by), 0))...)
	for i, n := range b.Reached {
		if r.reached[i] += n; n > 0 {
			r.by[i] = append(r.by[i], reacher{it.sc.Name, n, b.Stats.After.Runs})
		}
	}
	for _, side := range []struct {
		list []change.Break
		to   *[]difference
		line func(words ...string) string
		end  string
	}{
		{b.Gained, &r.gained, r.c.Kernel.Line, ""}, {b.Lost, &r.lost, r.beforeLine, "-before"},
		{b.Both, &r.both, nil, ""},
		{append(b.Unsure, opened(b)...), &r.unsure, r.c.Kernel.Line, ""},
	} {
		for i, k := range side.list {
			v := difference{scenario: it.sc.Name, Break: k}
			if k.Witness != nil && side.line != nil {
				end := side.end
				if slices.ContainsFunc(side.list[:i], func(l change.Break) bool { return l.Property == k.Property }) {
					end += fmt.Sprintf("-%d", i+1)
				}
				if w := r.stories[k.Witness]; w != nil {
					v.like, v.says, v.sentences = w.like, w.says, w.story
				}
				v.trace = filepath.Join(r.c.Traces, inputs.TraceName(it.sc.Name)+"-"+k.Property+end+".kps")
				if it.in != nil {
					it.in.FoundIn(k.Witness.File)
				}
				if _, err := inputs.WriteTrace(v.trace, k.Witness.File); err != nil {
					why, remedy := inputs.Unsaved(err, v.trace)
					return fmt.Errorf("%s; %s", why, remedy)
				}
				v.replay = side.line("replay", v.trace)
			}
			// the same property with another wording
			if n := len(r.both); side.line == nil && i > 0 && r.both[n-1].Property == k.Property {
				r.both[n-1].Violations += k.Violations
				r.both[n-1].Base += k.Base
				continue
			}
			*side.to = append(*side.to, v)
		}
	}
	if len(b.Gained)+len(b.Lost) > 0 { // a run that ends early gives fewer answers
		return nil
	}
	for _, e := range b.New {
		r.behaviours = append(r.behaviours, behaviour{it.sc.Name, false, e})
	}
	for _, e := range b.Gone {
		r.behaviours = append(r.behaviours, behaviour{it.sc.Name, true, e})
	}
	return nil
}

// opened lists the findings of few runs that were left open.
func opened(b *change.Beside) (list []change.Break) {
	for _, o := range b.Open {
		list = append(list, *o)
	}
	return list
}

// beforeLine returns a command line for the kernel before the change.
func (r *found) beforeLine(words ...string) string {
	k := kernels.Kernel{Kernel: r.c.Before, Objects: r.c.BeforeObjects}
	if k.Kernel == "" {
		k.Kernel = r.c.Kernel.Kernel
	}
	return k.Line(words...)
}

// answersMost is the maximum number of programs with differing answers that are written.
const answersMost = 5

// write writes the programs with differing answers.
func (r *found) write() error {
	for i := range r.answers[:min(len(r.answers), answersMost)] {
		a := &r.answers[i]
		path := filepath.Join(r.c.Traces, inputs.TraceName(a.Program.Name)+".star")
		if err := cli.WriteWhole(path, []byte(lang.Print(a.Program)+"\n")); err != nil {
			return fmt.Errorf("%s", cli.Cause(err, path))
		}
		r.files = append(r.files, path)
	}
	return nil
}

// worse lists what is worse than before, one sentence each.
func (r *found) worse() (says []string) {
	if n := len(r.gained); n > 0 {
		says = append(says, cli.Number(n, "verdict")+" that only the changed engine has, or has far more often")
	}
	if n := len(r.answers); n > 0 {
		says = append(says, cli.Number(n, "program")+" answered neither by the rules nor as before")
	}
	if n := len(r.dies); n > 0 {
		says = append(says, cli.Number(n, "scenario")+" that can't be run any more")
	}
	n := 0
	worst := cost{}
	costs := r.costs()
	for i := range costs {
		if c := &costs[i]; r.slower(c) {
			if n++; n == 1 || c.more() > worst.more() {
				worst = *c
			}
		}
	}
	if n > 0 {
		says = append(says, fmt.Sprintf("%s of hit dearer by more than %d %%: %s by %.0f %%", cli.Number(n, "kind"),
			r.c.Slower, worst.after.Says, 100*worst.more()))
	}
	return says
}
