package nearest

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

const (
	nearMax = 3    // names offered
	slips   = 3    // more than so many letters wrong is another name
	longest = 1024 // bytes of a name that may be a slip
)

// DidYouMean ends a message about a name that isn't there: did you mean "victim"? It is ""
// if no name is near.
func DidYouMean(name string, names []string) string {
	near := Names(name, names)
	if len(near) == 0 {
		return ""
	}
	for i, n := range near {
		near[i] = fmt.Sprintf("%q", n)
	}
	return "did you mean " + strings.Join(near, ", ") + "?"
}

// Names returns up to three of names that name may have been meant to be, the
// nearest first: for messages such as "no function vitcim: did you mean victim?" They are a slip
// of the hand away, written in another way, or have the same words, in any order, and more.
func Names(name string, names []string) []string {
	type candidate struct {
		name string
		far  int
	}
	var near []candidate
	if len(name) > longest {
		return nil // no slip of the hand
	}
	same := written(name)
	for _, n := range names {
		if same != "" && same == written(n) {
			near = append(near, candidate{n, 0})
			continue
		}
		if far := len(name) - len(n); far > slips || -far > slips {
			continue // at least so many letters are wrong
		}
		// A third of the letters wrong, and one more, is still a slip; beyond
		// that, or with half of the other wrong, any short name would be near any other.
		if d := distance(name, n); d <= min(1+len(name)/3, slips) && 2*d < len(n) {
			near = append(near, candidate{n, d})
		}
	}
	slices.SortFunc(near, func(a, b candidate) int {
		return cmp.Or(cmp.Compare(a.far, b.far), cmp.Compare(a.name, b.name))
	})
	near = slices.Compact(near)

	if len(near) == 0 {
		list := byWords(name, names)
		return list[:min(len(list), nearMax)]
	}
	var out []string
	for _, c := range near[:min(len(near), nearMax)] {
		out = append(out, c.name)
	}
	return out
}

// distance is the number of bytes to insert, delete or replace, or of
// neighbours to swap, that make b of a (optimal string alignment).
func distance(a, b string) int {
	before, last, row := make([]int, len(b)+1), make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := 1; i <= len(a); i++ {
		before, last, row = last, row, before
		row[0] = i
		for j := 1; j <= len(b); j++ {
			cost := 1
			if a[i-1] == b[j-1] {
				cost = 0
			}
			row[j] = min(last[j]+1, row[j-1]+1, last[j-1]+cost)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				row[j] = min(row[j], before[j-2]+1)
			}
		}
	}
	return row[len(b)]
}
