package cause

import (
	"slices"

	"kpsim/internal/search/explore"
	"kpsim/internal/search/parallel"
	"kpsim/internal/search/shrink"
)

// looksMost is the number of ways of a property that are shrunk, most frequent first.
const looksMost = 6

// FurtherMost is the number of ways of a property that are kept besides that of the main witness.
const FurtherMost = 3

// A Further is a way in which a property was broken that its main witness
// (explore.Result.Witnesses) doesn't show. Two ways may have one cause: the same freed bytes may
// be executed as text or used as a return address.
type Further struct {
	*Cause
	Witness *shrink.Witness
	Runs    uint64 // runs that broke the property in this way
}

// FurtherOf returns the further ways of an exploration: by property in the order of the
// catalogue, and the most frequent first. It shrinks one run of each way, and omits ways whose
// witness has the cause of another.
func FurtherOf(spec explore.Spec, res *explore.Result) (list []Further, err error) {
	for _, main := range res.Witnesses {
		of, err := furtherThan(main, spec, res.Readings(main.Property.Name))
		if err != nil {
			return nil, err
		}
		list = append(list, of...)
	}
	return list, nil
}

// same reports whether two witnesses of one property count as one: their causes are equal, or
// they read alike after shrinking.
func (c *Cause) same(d *Cause) bool { return c.Key() == d.Key() || c.Message == d.Message }

// furtherThan returns the ways to break main's property that main doesn't show.
func furtherThan(main *shrink.Witness, spec explore.Spec, ways []explore.Reading) (list []Further, err error) {
	if len(ways) < 2 {
		return nil, nil
	}
	known, err := Of(main, spec.Scenario.Name)
	if err != nil {
		return nil, err
	}
	ways = slices.DeleteFunc(ways, func(w explore.Reading) bool { return w.Words == known.Message })
	ways = ways[:min(len(ways), looksMost)]
	looked := make([]Further, len(ways))
	err = parallel.Each(len(ways), func(i int) error {
		witnesses, err := shrink.Witnesses(spec.Origin(), ways[i].Found)
		if err != nil {
			return err
		}
		c, err := Of(witnesses[0], spec.Scenario.Name)
		looked[i] = Further{c, witnesses[0], ways[i].Runs}
		return err
	})
	for _, l := range looked {
		if err != nil || l.same(known) {
			continue
		}
		if i := slices.IndexFunc(list, func(f Further) bool { return l.same(f.Cause) }); i >= 0 {
			list[i].Runs += l.Runs
		} else if len(list) < FurtherMost {
			list = append(list, l)
		}
	}
	return list, err
}
