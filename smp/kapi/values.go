package kapi

// Each calls f with all that the cell holds, for states: how many values the newest has
// replaced and may still be read, these, oldest first, the newest, and then of each that a
// CPU holds the CPU, and it.
func (c *Var[T]) Each(count func(n int), f func(v T)) {
	if c.w == nil {
		count(0)
		f(c.v)
		return
	}
	count(len(c.w.old))
	for _, v := range c.w.old {
		f(v)
	}
	f(c.v)
	for i := range c.w.held {
		count(c.w.held[i].cpu)
		f(c.w.held[i].v)
	}
}
