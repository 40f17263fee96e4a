package findings

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"kpsim/internal/search/cause"
	"kpsim/internal/search/explore"
	"kpsim/internal/ui/cli"
	"kpsim/internal/ui/cli/inputs"
	"kpsim/internal/verbs/report"
)

// A furtherRow is a way in which a property was broken that the row's witness doesn't show (package cause).
type furtherRow struct {
	Runs       uint64   `json:"runs"` // out of the row's violations
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
func (c *Explore) saveFurther(j *job, r *row, name string) (written []string) {
	n := 2
	for _, f := range r.Further {
		path := filepath.Join(c.Traces, c.furtherName(j, name, &n)+".kps")
		f.Trace = &path
		j.FoundIn(f.cause.Witness.File)
		if text, err := inputs.WriteTrace(path, f.cause.Witness.File); err != nil {
			f.Trace, f.Text = nil, string(text)
			f.Unsaved, f.remedy = inputs.Unsaved(err, path)
			f.long = errors.As(err, new(*inputs.Unreadable))
		}
		written = append(written, path)
	}
	return written
}

// further prints the further ways of a row.
func (r *printer) further(w *row) {
	for _, f := range w.Further {
		like := ""
		if f.Like != nil {
			like = ", like " + strings.Join(f.Like, ", ")
		}
		r.p.Indented(cli.Indent, fmt.Sprintf("also, in another way%s: %s; %d of %s",
			like, report.Headline(r.p, f.cause.Witness.File), f.Runs, cli.Number(w.Runs, "run")))
		if f.Trace == nil {
			printSchedule(r.p, f.cause.Witness.Schedule)
			r.p.ToType(cli.Number(f.Deviations, "deviation")+", not saved; to find it again:",
				r.c.line(w.job, r.c.Mutant))
			continue
		}
		r.p.ToType(cli.Number(f.Deviations, "deviation")+"; to replay:", r.c.Kernel.Line("replay", *f.Trace))
	}
}
