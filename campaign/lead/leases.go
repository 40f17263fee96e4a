package lead

// leases holds the units that were handed out and not delivered, counted by what they need.
type leases struct {
	needs map[string]string // what the unit needs, by its key
	count map[string]int    // the number of units, by need
}

func newLeases() leases { return leases{make(map[string]string), make(map[string]int)} }

func (o *leases) has(key string) bool {
	_, found := o.needs[key]
	return found
}

func (o *leases) add(key, needs string) {
	o.drop(key)
	o.needs[key] = needs
	o.count[needs]++
}

func (o *leases) drop(key string) {
	if needs, found := o.needs[key]; found {
		delete(o.needs, key)
		o.count[needs]--
	}
}

func (o *leases) clear() {
	clear(o.needs)
	clear(o.count)
}

func (o *leases) len() int { return len(o.needs) }
