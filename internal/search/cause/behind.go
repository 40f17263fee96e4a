package cause

import (
	"slices"

	"kpsim/internal/scenario"
	"kpsim/internal/search/change"
	"kpsim/internal/search/explore"
	"kpsim/internal/search/parallel"
	"kpsim/internal/search/rig"
	"kpsim/internal/search/shrink"
	"kpsim/properties"
)

// A KnownFind is a find that an exploration went on after, because its cause is known.
type KnownFind struct {
	Further
	As   rig.Known
	Ends bool // runs end there all the same: what comes after it is garbage (properties.Lost)

	// Changed says that a changed kernel shows it far more often than the unchanged one does. Then
	// it counts as broken, and isn't gone on after.
	Changed bool
	Base    change.Run // runs of the unchanged kernel, if there is a change
}

// behindMost is the maximum number of times that an exploration is made again behind known finds. What
// is known may be hidden by what else is known.
const behindMost = 4

// Behind makes an exploration whose result is res again, so that runs go on after the finds
// whose cause is known (Cause.Known), until it shows no further known ones. It returns the last
// result, and the known finds, which aren't in that. A known find hides nothing then, except in
// runs that end with it (KnownFind.Ends).
//
// With base, the scenario on the engine without its change, the known finds are those that base shows, whatever they
// resemble. If it shows one far less often that is Changed.
func Behind(spec explore.Spec, base *scenario.Scenario, res *explore.Result) (*explore.Result, []KnownFind, error) {
	var known []KnownFind
	looked := slices.Clone(spec.Known)
	for range behindMost {
		list, err := lookAt(spec, res, &looked)
		if err != nil {
			return nil, nil, err
		}
		more, unchanged := false, (*explore.Result)(nil)
		without := spec
		for _, f := range list {
			if base == nil && !f.Known() {
				continue
			}
			if base != nil && unchanged == nil {
				without.Scenario, without.Mutant = base, ""
				if unchanged, err = explore.Run(without); err != nil {
					return nil, nil, err
				}
			}
			if unchanged != nil {
				f.Base = change.Run{Runs: unchanged.Runs, Violations: showing(base, unchanged, &f.As)}
				if f.Base.Violations == 0 {
					continue
				}
				odds := change.Odds{}
				f.Changed = odds.Worse(&change.Break{Runs: res.Runs, Violations: f.Runs, BaseRuns: f.Base.Runs,
					Base: f.Base.Violations})
			}
			f.Ends = properties.Lost.Has(f.Witness.Property)
			known = append(known, f)
			if !f.Ends && !f.Changed {
				spec.Known, more = append(spec.Known, f.As), true
			}
		}
		if !more {
			break
		}
		if res, err = explore.Run(spec); err != nil {
			return nil, nil, err
		}
	}
	return res, known, nil
}

// showing counts the runs of an exploration that show a find.
func showing(sc *scenario.Scenario, res *explore.Result, as *rig.Known) (runs uint64) {
	for _, w := range res.Readings(as.Property) {
		if rig.Uncompiled(w.Words) == as.Words && slices.ContainsFunc(w.Found, func(f shrink.Found) bool {
			return rig.SiteName(sc, f.Place) == as.Place
		}) {
			runs += w.Runs
		}
	}
	return runs
}

// lookAt finds the cause of each way of an exploration that wasn't looked at before.
func lookAt(spec explore.Spec, res *explore.Result, looked *[]rig.Known) (list []KnownFind, err error) {
	var found [][]shrink.Found
	for _, q := range properties.All {
		ways := res.Readings(q.Name)
		for i := range ways[:min(len(ways), looksMost)] {
			w := &ways[i]
			as := rig.Known{Property: q.Name, Words: rig.Uncompiled(w.Words),
				Place: rig.SiteName(spec.Scenario, w.Found[0].Place)}
			if slices.Contains(*looked, as) {
				continue
			}
			*looked = append(*looked, as)
			list = append(list, KnownFind{As: as, Further: Further{Runs: w.Runs}})
			found = append(found, w.Found)
		}
	}
	err = parallel.Each(len(list), func(i int) error {
		witnesses, err := shrink.Witnesses(spec.Origin(), found[i])
		if err != nil {
			return err
		}
		list[i].Witness = witnesses[0]
		list[i].Cause, err = Of(witnesses[0], spec.Scenario.Name)
		return err
	})
	return list, err
}
