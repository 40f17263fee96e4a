package lead

// An outs is units that were handed out and have no result. How many there are is asked at each
// step, so it is counted along the way.
type outs struct {
	needs map[string]string // by a unit's key: what is needed to make it
	count map[string]int    // by that
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
