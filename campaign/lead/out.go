package lead

// An outs holds the units that were handed out and have no result. It keeps their number per need, which each step
// asks for.
type outs struct {
	needs map[string]string // what the unit needs, by its key
	count map[string]int    // the number of units, by need
}

func newOuts() outs { return outs{make(map[string]string), make(map[string]int)} }

func (o *outs) has(key string) bool {
	_, there := o.needs[key]
	return there
}

func (o *outs) add(key, needs string) {
	o.drop(key)
	o.needs[key] = needs
	o.count[needs]++
}

func (o *outs) drop(key string) {
	if needs, there := o.needs[key]; there {
		delete(o.needs, key)
		o.count[needs]--
	}
}

func (o *outs) clear() {
	clear(o.needs)
	clear(o.count)
}

func (o *outs) len() int { return len(o.needs) }
