package review

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"kpsim/internal/cli"
	"kpsim/internal/cli/inputs"
	"kpsim/internal/eval/overhead/kernelcost"
	"kpsim/internal/report"
	"kpsim/internal/scenario/lang"
	"kpsim/internal/search/cause"
	"kpsim/internal/search/change"
	"kpsim/linux"
	"kpsim/linux/source"
)

// found is what a review shows.
type found struct {
	c             *Review
	ofPrograms    bool          // of two kpsims: then there are no kernels
	sides         [sides]string // what each is
	before, after *linux.Kernel
	src           *source.Source // of after
	code          *change.Code

	patched   []string // the files of the patch
	lines     []line   // that were changed
	linesLeft int      // of a patch, beyond linesMost
	removed   int      // lines of a patch
	reached   []uint64
	runsAfter uint64

	rows       []row
	gained     []verdict // that only after breaks, or far more often
	lost       []verdict // that only before does
	both       []verdict
	unsure     []verdict // that few runs of after break
	odds       change.Odds
	behaviours []behaviour
	dies       []left // what before runs and after doesn't
	partly     string // why not all was run; "": all was
	left       []left

	programs, mended      int
	answers               []change.Answer
	files                 []string // of the answers that were written
	hitsBefore, hitsAfter []kernelcost.Hit
	uncovered             string // why nothing is known of lines
}

// A row is a scenario that both sides ran.
type row struct {
	name          string
	before, after change.Run
	reached       uint64 // runs with the change that came to the place that most came to
	unreached     bool
	long          bool
}

// A verdict is a property that one side breaks.
type verdict struct {
	scenario string
	change.Break
	trace     string   // the witness's file
	like      []string // known finds that the witness looks like
	says      string
	sentences []string
	replay    string // the line to type
}

// property names what is broken, and the known finds that the witness looks like.
func (v *verdict) property() string {
	if v.like == nil {
		return v.Property
	}
	return v.Property + ", like " + strings.Join(v.like, " or ")
}

// shares are the counts of both sides, and those of the witness' program if it was asked.
func (v *verdict) shares() (now, was string) {
	now, was = share(v.Violations, v.Runs), share(v.Base, v.BaseRuns)
	if c := v.Confirmed; c != nil {
		now += "; of its witness' program " + share(c.Violations, c.Runs)
		was += "; of the witness' program " + share(c.Base, c.BaseRuns)
	}
	return now, was
}

// A behaviour is what one side alone answers.
type behaviour struct {
	scenario string
	gone     bool // only before did
	change.End
}

// add takes what a scenario has shown, and writes its witnesses.
func (r *found) add(p *cli.Program, it *item, b *change.Beside) error {
	w := row{name: it.sc.Name, before: b.Stats.Before, after: b.Stats.After, unreached: b.Unreached, long: b.Long}
	for _, n := range b.Reached {
		w.reached = max(w.reached, n)
	}
	r.rows = append(r.rows, w)
	r.runsAfter += b.Stats.After.Runs
	for i, n := range b.Reached {
		r.reached[i] += n
	}
	for _, side := range []struct {
		list []change.Break
		to   *[]verdict
		line func(words ...string) string
		end  string
	}{
		{b.Gained, &r.gained, r.c.Kernel.Line, ""}, {b.Lost, &r.lost, r.beforeLine, "-before"},
		{b.Both, &r.both, nil, ""},
		{b.Unsure, &r.unsure, r.c.Kernel.Line, ""},
	} {
		for i, k := range side.list {
			v := verdict{scenario: it.sc.Name, Break: k}
			if k.Witness != nil && side.line != nil {
				end := side.end
				if slices.ContainsFunc(side.list[:i], func(l change.Break) bool { return l.Property == k.Property }) {
					end += fmt.Sprintf("-%d", i+1)
				}
				c, err := cause.Of(k.Witness, it.sc.Name)
				if err != nil {
					return err
				}
				v.like = c.Like
				v.trace = filepath.Join(r.c.Traces, inputs.TraceName(it.sc.Name)+"-"+k.Property+end+".kps")
				if it.in != nil {
					it.in.FoundIn(k.Witness.File)
				}
				if _, err := inputs.WriteTrace(v.trace, k.Witness.File); err != nil {
					why, remedy := inputs.Unsaved(err, v.trace)
					return fmt.Errorf("%s; %s", why, remedy)
				}
				v.says, v.sentences = report.Told(p, k.Witness.File)
				v.replay = side.line("replay", v.trace)
			}
			if n := len(r.both); side.line == nil && i > 0 && r.both[n-1].Property == k.Property { // in other words
				r.both[n-1].Violations += k.Violations
				r.both[n-1].Base += k.Base
				continue
			}
			*side.to = append(*side.to, v)
		}
	}
	if len(b.Gained)+len(b.Lost) > 0 { // a run that ends early answers less
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

// sureOf is in how many scenarios a property must have been gained to be sure.
const sureOf = 3

// sure reports whether the change is known to break a property: then it isn't asked in every
// other scenario of which few runs break it whether that is chance.
func (r *found) sure(property string) bool {
	n := 0
	for i := range r.gained {
		if r.gained[i].Property == property {
			n++
		}
	}
	return n >= sureOf
}

// beforeLine is a command's line on the kernel before.
func (r *found) beforeLine(words ...string) string {
	k := inputs.Kernel{Kernel: r.c.Before, Objects: r.c.BeforeObjects}
	if k.Kernel == "" {
		k.Kernel = r.c.Kernel.Kernel
	}
	return k.Line(words...)
}

// answersMost is how many programs that are answered otherwise are written.
const answersMost = 5

// write writes the programs that are answered otherwise.
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

// worse says what is worse than before, a sentence each.
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
