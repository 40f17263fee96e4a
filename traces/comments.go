package traces

import (
	"slices"
	"strings"
)

// formatSchedule prints deviations, one per line, each after its comments.
func formatSchedule(list []Deviation, comments [][]string) string {
	var b strings.Builder
	for i := 0; i <= len(list); i++ {
		if i < len(comments) {
			for _, line := range comments[i] {
				b.WriteString(line)
				b.WriteByte('\n')
			}
		}
		if i < len(list) {
			b.WriteString(list[i].String())
			b.WriteByte('\n')
		}
	}
	return b.String()
}

// SetSchedule replaces the schedule. A comment stays with its deviation: if the number of
// deviations is unchanged, with the one of the same number; otherwise with the same deviation,
// if it is still there. Comments at the top and at the bottom stay there.
func (f *File) SetSchedule(list []Deviation) {
	was, comments := f.Schedule, f.Comments
	f.Schedule, f.Comments = list, nil
	if comments == nil {
		return
	}
	f.Comments = make([][]string, len(list)+1)
	for i, lines := range comments {
		to := i
		switch {
		case i == len(was):
			to = len(list)
		case i > 0 && len(list) != len(was):
			to = slices.Index(list, was[i])
		}
		if to >= 0 {
			f.Comments[to] = append(slices.Clone(f.Comments[to]), lines...)
		}
	}
}
