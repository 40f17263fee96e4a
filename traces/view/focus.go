package view

import (
	"fmt"
	"slices"
	"strings"

	"kpsim/smp/smpev"
)

// foldedMin is the least number of rows of a call that is folded into a reference to an
// earlier one.
const foldedMin = 3

// foldCalls prints a call that equals an earlier one, row by row and without a row of
// another CPU between, in one row.
func foldCalls(rows []row) []row {
	type block struct {
		words    string
		from, to uint32
	}
	var seen []block
	var out []row
	for _, r := range rows {
		out = append(out, r)
		if r.kind != smpev.CallEnd || r.class == violates {
			continue
		}
		end := len(out) - 1
		start := end
		for start > 0 && out[start-1].cpu == r.cpu && partOfCall(&out[start-1]) {
			start--
		}
		for start < end && out[start].kind == smpev.Trap { // an interrupt before the call
			start++
		}
		named := slices.ContainsFunc(out[start:], func(r row) bool { return r.named })
		if end-start < foldedMin || named {
			continue
		}
		var b strings.Builder
		for i := start; i < end; i++ {
			fmt.Fprintf(&b, "%d %s\n", out[i].depth, out[i].text)
		}
		words := b.String()
		i := slices.IndexFunc(seen, func(s block) bool { return s.words == words })
		if i < 0 {
			seen = append(seen, block{words, out[start].seq, r.seq})
			continue
		}
		r.text += fmt.Sprintf(", having gone as in %d to %d", seen[i].from, seen[i].to)
		r.seq = out[start].seq
		out = append(out[:start], r)
	}
	return out
}

func partOfCall(r *row) bool { return r.kind != smpev.CallEnd && r.kind != smpev.Switch }

// focus drops rows until at most most are left. The last half stays, and so do named
// rows; of the others the most relevant to the site stay, later ones first.
func focus(rows []row, most int) []row {
	if len(rows) <= most {
		return rows
	}
	keep := make([]bool, len(rows))
	left := most
	mark := func(i int) {
		if left > 0 && !keep[i] {
			keep[i] = true
			left--
		}
	}
	for i := range rows {
		if rows[i].named {
			mark(i)
		}
	}
	for i := len(rows) - 1; i >= len(rows)-(most+1)/2; i-- {
		mark(i)
	}
	for w := much; w >= some; w-- {
		for i := len(rows) - 1; i >= 0; i-- {
			if rows[i].weight == w {
				mark(i)
			}
		}
	}
	for i := len(rows) - 1; i >= 0; i-- {
		mark(i)
	}
	var out []row
	gap := 0
	for i := range rows {
		lone := gap == 0 && i+1 < len(rows) && keep[i+1] // the note that it was left out would also take a row
		if !keep[i] && !lone {
			gap++
			continue
		}
		if gap > 0 {
			out = append(out, row{gap: gap})
		}
		gap = 0
		out = append(out, rows[i])
	}
	return out
}

// foldCPUs merges consecutive rows of several CPUs with the same text into one row.
func foldCPUs(rows []row) []row {
	var out []row
	for _, r := range rows {
		r.cpus = 1 << (r.cpu & 63)
		if n := len(out) - 1; n >= 0 && r.gap == 0 && out[n].gap == 0 && r.class != violates && !r.named &&
			r.cpu < 64 && out[n].cpu < 64 &&
			out[n].text == r.text && out[n].depth == r.depth && out[n].cpus&r.cpus == 0 {
			out[n].cpus |= r.cpus
			continue
		}
		out = append(out, r)
	}
	return out
}

// The constants bound quiet. Stretches shorter than foldMin aren't worth a fold. foldNear
// steps around a step that matters are shown. If more than seenMost steps matter, only those
// that the story and the schedule name do.
const (
	foldMin  = 6
	foldNear = 1
	seenMost = 150
)

// quiet returns the stretches that a reader can skip: steps that don't touch the site, that
// the story doesn't rest on, and that no deviation is at. A run without a story and a schedule
// has none.
func (l *layer) quiet() (list []Stretch) {
	told := l.told()
	if len(told) == 0 {
		return nil
	}
	mattering := slices.Clone(told)
	for i, w := range l.weights {
		if w == much {
			mattering = append(mattering, i)
		}
	}
	slices.Sort(mattering)
	if mattering = slices.Compact(mattering); len(mattering) > seenMost {
		slices.Sort(told)
		mattering = told
	}
	from := 0
	for _, i := range append(mattering, len(l.Steps)+foldNear) {
		if to := i - foldNear - 1; to-from+1 >= foldMin {
			list = append(list, Stretch{from, to})
		}
		from = max(from, i+foldNear+1)
	}
	return list
}

// told returns the steps that the story and the schedule mention.
func (l *layer) told() (list []int) {
	add := func(i int) {
		if i >= 0 {
			list = append(list, i)
		}
	}
	add(l.Violation)
	for i := range l.Story {
		add(l.Story[i].Step)
		for _, s := range l.Story[i].Rests {
			add(s)
		}
	}
	for i := range l.Deviations {
		add(l.Deviations[i].Step)
	}
	return list
}
