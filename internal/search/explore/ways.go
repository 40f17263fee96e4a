package explore

import (
	"cmp"
	"slices"
	"strings"

	"kpsim/internal/search/shrink"
	"kpsim/properties"
	"kpsim/traces"
)

// A Way is the set of a part's runs that break a property and whose findings read alike,
// disregarding numbers, places and names (rig.Plain). A property broken in two ways may have two
// causes (package cause).
type Way struct {
	Property string        `json:"property"`
	Words    string        `json:"words"`
	Runs     uint64        `json:"runs"`
	Best     *shrink.Found `json:"best,omitempty"` // the best candidate for a witness; nil: the one in Part.Found
}

// MostWays is the maximum number of ways of a property that a part distinguishes. Runs of further
// ways only count in Part.Broken.
const MostWays = 8

// A ways distinguishes the ways of a part.
type ways struct {
	plain func(message string) string // nil: ways aren't distinguished
	of    [][]*Way                    // by the property's number, in order of appearance
}

func (w *ways) begin(plain func(message string) string) {
	*w = ways{plain, make([][]*Way, len(properties.All))}
}

// take adds a run that breaks a property; found makes its Found.
func (w *ways) take(q *properties.Property, f *traces.Finding, after bool, deviations int, found func() *shrink.Found) {
	if w.plain == nil {
		return
	}
	words, list := w.plain(f.Message), &w.of[slices.Index(properties.All, q)]
	i := slices.IndexFunc(*list, func(v *Way) bool { return v.Words == words })
	switch {
	case i >= 0:
		v := (*list)[i]
		if v.Runs++; shrink.Better(after, f.Slow, deviations, v.Best) {
			v.Best = found()
		}
	case len(*list) < MostWays:
		*list = append(*list, &Way{q.Name, words, 1, found()})
	}
}

// end lists the ways. main has the best candidate of each property, which isn't repeated.
func (w *ways) end(main []shrink.Found) (list []Way) {
	for _, of := range w.of {
		for _, v := range of {
			if slices.ContainsFunc(main, func(f shrink.Found) bool {
				return f.Property == v.Property &&
					f.Number == v.Best.Number
			}) {
				v.Best = nil
			}
			list = append(list, *v)
		}
	}
	return list
}

// A Reading is the set of an exploration's runs that break a property in one way.
type Reading struct {
	Words string
	Runs  uint64
	Found []shrink.Found // the best candidates for a witness, shard by shard
}

// Readings returns the ways in which an exploration broke a property, the most frequent first.
func (r *Result) Readings(property string) (list []Reading) {
	for i := range r.Parts {
		p := &r.Parts[i]
		for _, v := range p.Ways {
			if v.Property != property {
				continue
			}
			best := v.Best
			if best == nil {
				k := slices.IndexFunc(p.Found, func(f shrink.Found) bool { return f.Property == property })
				if k < 0 {
					continue // from a file with wrong contents, which results.File.Check reports
				}
				best = &p.Found[k]
			}
			at := slices.IndexFunc(list, func(g Reading) bool { return g.Words == v.Words })
			if at < 0 {
				at = len(list)
				list = append(list, Reading{Words: v.Words})
			}
			list[at].Runs += v.Runs
			list[at].Found = append(list[at].Found, *best)
		}
	}
	slices.SortFunc(list, func(a, b Reading) int {
		return cmp.Or(cmp.Compare(b.Runs, a.Runs), strings.Compare(a.Words, b.Words))
	})
	return list
}
