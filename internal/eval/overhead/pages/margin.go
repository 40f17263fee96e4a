package pages

import (
	"fmt"

	"kpsim/internal/eval/overhead"
	"kpsim/internal/ui/table"
)

// A margin is how far off a prediction may be, by the errors of figures when each is left out of the fit; nil is of a
// profile that doesn't say.
type margin struct {
	relative float64 // to what it is of; 0 or more
	figures  int     // that were left out
	// largest: it is the largest error of a profile's few figures, which covers no share that could be said. Else it
	// covers 95 %.
	largest bool
}

// marginOf is that of a user's profile.
func marginOf(u *overhead.UserProfile) *margin {
	if u.Figures == 0 {
		return nil
	}
	return &margin{u.LeftOut, u.Figures, true}
}

// A leftOut is where a figure lies by a margin, in its unit. One of both is there, or none.
type leftOut struct {
	Predicted *overhead.Interval // by a margin that covers 95 %
	Largest   *overhead.Interval // by the largest error
}

// around is where a prediction lies.
func (m *margin) around(v float64) (l leftOut) {
	if m == nil {
		return l
	}
	i := overhead.Predicted(v, m.relative)
	if m.largest {
		l.Largest = &i
	} else {
		l.Predicted = &i
	}
	return l
}

// head is the name of the margin's column, none if there is no margin.
func (m *margin) head() []string {
	switch {
	case m == nil:
		return nil
	case m.largest:
		return []string{"largest left out"}
	}
	return []string{"left out 95 %"}
}

// cell is that of the margin's column, none if there is no margin.
func (m *margin) cell(format string, v float64) []string {
	if m == nil {
		return nil
	}
	return []string{intervalCell(format, overhead.Predicted(v, m.relative))}
}

// column is the margin's in a table of microseconds.
func (m *margin) column(late bool, usec func([]lineJSON) float64) table.Column[[]lineJSON] {
	return table.Column[[]lineJSON]{Head: m.head()[0], Late: late,
		Value: func(l []lineJSON) any { return m.cell("%.3f", usec(l))[0] }}
}

// noMargin says why there is no such column.
const noMargin = "The profile doesn't say how far off it is: it has no line left-out, which kpsim overhead calibrate " +
	"writes with two figures or more."

// says is what the columns are.
func (m *margin) says() string {
	switch {
	case m == nil:
		return noMargin
	case m.largest:
		return fmt.Sprintf("Largest left out: by the largest error, %.1f %%, of the profile's %d figures when each "+
			"is left out of the fit. It is no interval at 95 %%: how often it holds depends on the probe and on the "+
			"errors (docs/intervals.md).", 100*m.relative, m.figures)
	}
	return "Left out 95 %: what a figure would be that nothing was fitted to, by the errors of the figures when each " +
		"is left out of the fit."
}

// bars says in a caption what the bars are, "" if there are none.
func (m *margin) bars() string {
	switch {
	case m == nil || m.relative >= 1:
		return ""
	case m.largest:
		return fmt.Sprintf(" A bar is largest left out: the largest error, %.1f %%, of the profile's %d figures when "+
			"each is left out of the fit, and no interval at 95 %%; what is assumed isn't in it.",
			100*m.relative, m.figures)
	}
	return fmt.Sprintf(" A bar is left out 95 %%: %.1f %%, as figures err that are left out of the fit; what "+
		"is assumed isn't in it.", 100*m.relative)
}
