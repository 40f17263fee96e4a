package findings

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"kpsim/internal/search/cause"
	"kpsim/internal/search/change"
	"kpsim/internal/search/explore"
	"kpsim/internal/search/shrink"
	"kpsim/internal/ui/cli"
	"kpsim/internal/ui/cli/inputs"
	"kpsim/internal/verbs/report"
)

// A furtherRow is a way in which a property was broken that the row's witness doesn't show, or a known find (package
// cause).
type furtherRow struct {
	Property   string   `json:"property,omitempty"` // of a known find
	Ends       bool     `json:"run_ends,omitempty"` // runs end with this known find
	Runs       uint64   `json:"runs"`               // out of the row's violations
	Message    string   `json:"message"`
	Like       []string `json:"like,omitempty"` // known finds that resemble it
	Deviations int      `json:"deviations"`
	Trace      *string  `json:"trace"` // null: it isn't saved
	Unsaved    string   `json:"unsaved,omitempty"`
	Text       string   `json:"trace_text,omitempty"` // what the trace would hold

	cause  cause.Further
	remedy string // the remedy for Unsaved
	long   bool   // kpsim couldn't read the trace back. That is no error: the main witness shows the property
}

// rowWays are the ways of a row's property that its witness doesn't show, and what is known.
type rowWays struct {
	Further   []*furtherRow `json:"further_ways,omitempty"`
	Known     []*furtherRow `json:"known_finds,omitempty"` // known finds that the scenario's runs went on after
	Unchanged []change.Run  `json:"unchanged,omitempty"`   // of a find that the unchanged kernel shows less often
}

// addFurther adds the further ways of an exploration to the rows of their properties.
func (c *Explore) addFurther(j *job, res *explore.Result, rows []*row) error {
	if c.stop.Load() {
		return nil
	}
	list, err := cause.FurtherOf(c.spec(j), res)
	if err != nil {
		return err
	}
	for _, f := range list {
		i := slices.IndexFunc(rows, func(r *row) bool { return r.Property == f.Property })
		rows[i].Further = append(rows[i].Further, &furtherRow{
			Runs: f.Runs, Message: f.Witness.Message, Like: f.Like, Deviations: len(f.Witness.Schedule), cause: f,
		})
	}
	return nil
}

// addKnown adds the known finds to the first row of the scenario.
func addKnown(e *explored, rows []*row) {
	for _, f := range e.known {
		if f.Changed {
			for _, r := range rows {
				if r.Property == f.Property {
					r.Unchanged = append(r.Unchanged, f.Base)
					r.notes = append(r.notes, fmt.Sprintf("the unchanged kernel shows it in %d of %s",
						f.Base.Violations, cli.Number(f.Base.Runs, "run")))
				}
			}
			continue
		}
		rows[0].Known = append(rows[0].Known, &furtherRow{Property: f.Property, Ends: f.Ends, Runs: f.Runs,
			Message: f.Witness.Message, Like: f.Like, Deviations: len(f.Witness.Schedule), cause: f.Further})
	}
	for _, r := range rows {
		switch {
		case r.witness != nil && len(r.witness.Known) > 0:
			r.notes = append(r.notes, "its witness breaks "+strings.Join(knownProperties(r.witness), ", ")+
				" before, which is known: it may be a consequence")
		case r.witness == nil && len(rows[0].Known) > 0:
			r.notes = append(r.notes, "beside what is known")
		}
	}
}

// knownProperties lists the properties that a witness breaks and goes on after, because the find is known.
func knownProperties(w *shrink.Witness) (names []string) {
	for _, k := range w.Known {
		if !slices.Contains(names, k.Property) {
			names = append(names, k.Property)
		}
	}
	return names
}

// furtherName returns the name of the trace of a further way, beside that of the main witness.
// n counts from 2. A name used by another scenario's traces is skipped.
func (c *Explore) furtherName(j *job, name string, n *int) string {
	for {
		own := fmt.Sprintf("%s-%d", name, *n)
		*n++
		taken := func(other string) bool { return other != j.Name && inputs.TraceName(other) == own }
		if !slices.ContainsFunc(c.names, taken) {
			return own
		}
	}
}

// saveFurther writes the traces of a row's further ways beside its own, called name, and
// returns their paths.
func (c *Explore) saveFurther(j *job, list []*furtherRow, name string) (written []string) {
	n := 2
	for _, f := range list {
		written = append(written, c.saveWay(j, f, filepath.Join(c.Traces, c.furtherName(j, name, &n)+".kps")))
	}
	return written
}

// saveWay writes the trace of a way, and returns its path.
func (c *Explore) saveWay(j *job, f *furtherRow, path string) string {
	f.Trace = &path
	j.FoundIn(f.cause.Witness.File)
	if text, err := inputs.WriteTrace(path, f.cause.Witness.File); err != nil {
		f.Trace, f.Text = nil, string(text)
		f.Unsaved, f.remedy = inputs.Unsaved(err, path)
		f.long = errors.As(err, new(*inputs.Unreadable))
	}
	return path
}

// further prints the further ways of a row, and the known finds.
func (r *printer) further(w *row) {
	for _, f := range slices.Concat(w.Further, w.Known) {
		like, how, went := "", "also, in another way", ""
		if f.Like != nil {
			like = ", like " + strings.Join(f.Like, " or ")
		}
		if f.Property != "" {
			how, went = "known", ", which went on"
			if f.Ends {
				went = ", which ended there"
			}
		}
		r.p.Indented(cli.Indent, fmt.Sprintf("%s%s: %s; %d of %s%s", how, like,
			report.Headline(r.p, f.cause.Witness.File), f.Runs, cli.Number(w.Runs, "run"), went))
		if f.Trace == nil {
			printSchedule(r.p, f.cause.Witness.Schedule)
			r.p.ToType(cli.Number(f.Deviations, "deviation")+", not saved; to find it again:",
				r.c.line(w.job, r.c.Mutant))
			continue
		}
		r.p.ToType(cli.Number(f.Deviations, "deviation")+"; to replay:", r.c.Kernel.Line("replay", *f.Trace))
	}
}
