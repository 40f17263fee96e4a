package explore

import (
	"cmp"
	"slices"
	"strings"

	"kpsim/internal/search/shrink"
	"kpsim/properties"
	"kpsim/traces"
)

// A Way is the runs of a part that break a property and whose findings read alike but for
// numbers, places and names (rig.Plain). A property that is broken in two ways may have two
// causes (package cause).
type Way struct {
	Property string        `json:"property"`
	Words    string        `json:"words"`
	Runs     uint64        `json:"runs"`
	Best     *shrink.Found `json:"best,omitempty"` // the best candidate for a witness; nil: that of Part.Found
}

// MostWays is how many ways of a property a part tells apart. Runs of further ones are counted
// in Part.Broken alone.
const MostWays = 8

// ways tell the ways of a part apart.
type ways struct {
	plain func(message string) string // nil: they aren't told apart
	of    [][]*Way                    // by the number of the property, in the order in which they came
}

func (w *ways) begin(plain func(message string) string) {
	*w = ways{plain, make([][]*Way, len(properties.All))}
}

// take adds a run that breaks a property. found makes the Found of it.
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

// end lists the ways. The best candidate of each property is in main, and isn't repeated.
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

// A Reading is the runs of an exploration that break a property in one way.
type Reading struct {
	Words string
	Runs  uint64
	Found []shrink.Found // the best candidates for a witness, shard by shard
}

// Readings returns the ways in which an exploration has broken a property, the most frequent
// first.
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
					continue // a file's, and false: results.File.Check says so
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
