package kapi

// Each passes everything that the cell holds to count and f, for states: the number of
// replaced values that may still be read, those values, oldest first, the newest value, and
// then, for each value that a CPU holds, the CPU and the value.
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
