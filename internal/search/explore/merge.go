package explore

import (
	"errors"
	"fmt"
	"slices"

	"kpsim/internal/search/rig"
	"kpsim/internal/search/shrink"
)

// Merge adds up the parts of an exploration. They must be the parts of the spec's share or, if
// the spec says 0 of 0, of shares 1 to n; the result is then that of Explore without shares.
func Merge(spec Spec, parts []Part) (*Result, error) {
	spec.fill()
	r := &Result{Broken: make(map[string]uint64), After: make(map[string]uint64), Complete: spec.Most}
	r.Parts = InOrder(parts)
	if err := spec.wants(r.Parts); err != nil {
		return nil, err
	}
	var sample Sample
	for i := range r.Parts {
		s := &r.Parts[i]
		r.Probed = rig.JoinProbed(r.Probed, s.Probes)
		sample.add(&s.Stats)
		r.Runs += s.Runs
		r.Counts.Add(&s.Counts)
		for name, n := range s.Broken {
			r.Broken[name] += n
		}
		for name, n := range s.After {
			r.After[name] += n
		}
		if s.Violations > 0 && (r.Violations == 0 || s.First < r.First) {
			r.First = s.First
		}
		if s.look != nil {
			r.Looks = append(r.Looks, s.look)
		}
		r.Violations += s.Violations
		if !s.Complete {
			r.Complete = -1
		}
		for k := range s.Found {
			if _, _, _, err := s.Found[k].Recording(); err != nil {
				return nil, err
			}
		}
	}
	if r.Runs == 0 && spec.Shares <= 1 { // with few runs a share may have none
		return nil, errors.New("nothing was run")
	}
	r.Census = rig.CensusOf(r.Probed)
	for i := range r.Parts {
		r.Census.During += r.Parts[i].During
	}
	if spec.Blind {
		return r, nil
	}
	r.Stats = sample.sum(spec.Scenario)
	var err error
	if r.Witnesses, err = shrink.Witnesses(spec.Origin(), r.Found()); err != nil {
		return r, err
	}
	for _, w := range r.Witnesses {
		if r.Witness == nil || w.Smaller(r.Witness) {
			r.Witness = w
		}
	}
	return r, nil
}

// wants returns an error unless the parts are exactly those of the spec.
func (spec *Spec) wants(parts []Part) error {
	own := spec.own()
	for i, index := range own {
		switch {
		case i < len(parts) && parts[i].Index == index:
		case i > 0 && i < len(parts) && parts[i].Index == parts[i-1].Index:
			return fmt.Errorf("part %d is there twice", parts[i].Index)
		default:
			return fmt.Errorf("part %d of the exploration is missing", index)
		}
	}
	if len(parts) > len(own) {
		return fmt.Errorf("%d parts, where %d were wanted", len(parts), len(own))
	}
	return nil
}

// Found returns the best run for each broken property, shard by shard.
func (r *Result) Found() (list []shrink.Found) {
	for i := range r.Parts {
		list = append(list, r.Parts[i].Found...)
	}
	return list
}

// InOrder returns parts in the order of their shards.
func InOrder(parts []Part) []Part {
	list := slices.Clone(parts)
	slices.SortFunc(list, func(a, b Part) int { return a.Index - b.Index })
	return list
}
