package change

import (
	"kpsim/internal/search/explore"
	"kpsim/internal/search/rig"
	"kpsim/properties"
	"kpsim/traces"
)

// A counter counts the runs of a shard by what they break. It implements explore.Look, and
// forwards to another Look.
type counter struct {
	inner  explore.Look // nil: none
	broken map[kind]uint64
}

// newCounter returns a function that makes counters; they forward to the Looks made by inner, if
// not nil.
func newCounter(inner func() explore.Look) func() explore.Look {
	return func() explore.Look {
		c := &counter{broken: make(map[kind]uint64)}
		if inner != nil {
			c.inner = inner()
		}
		return c
	}
}

// Begin implements explore.Look.
func (c *counter) Begin(r *rig.Rig) {
	if c.inner != nil {
		c.inner.Begin(r)
	}
}

// Took implements explore.Look.
func (c *counter) Took(r *rig.Rig, run *rig.Run) {
	run.EachBroken(func(p *properties.Property, f *traces.Finding, _ properties.Set) {
		c.broken[kind{p.Name, r.ReadsAs(f.Message)}]++
	})
	if c.inner != nil {
		c.inner.Took(r, run)
	}
}

// End implements explore.Look.
func (c *counter) End(r *rig.Rig) {
	if c.inner != nil {
		c.inner.End(r)
	}
}

// kinds adds up what the runs of an exploration broke.
func kinds(res *explore.Result) map[kind]uint64 {
	all := make(map[kind]uint64)
	for _, l := range res.Looks {
		for k, n := range l.(*counter).broken {
			all[k] += n
		}
	}
	return all
}
