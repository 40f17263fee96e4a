// Package toy has one of each kind of place that is changed. TestGuarded runs it.
package toy

import "errors"

// Most is a constant that isn't in a function: it is left alone.
const Most = 3

type counter struct {
	n, sum int
	log    []string
}

func (c *counter) add(by, times int) {
	for range times {
		c.sum += by
		c.n++
	}
}

// Sum adds from to to, both in, and says how many it added; of an empty range neither.
func Sum(from, to int) (sum, n int, err error) {
	if from > to || to < 0 && from < 0 {
		return 0, 0, errors.New("nothing to add")
	}
	c := new(counter)
	for i := from; i <= to; i++ {
		c.add(i, 1)
	}
	c.log = append(c.log, "summed")
	switch {
	case c.n == Most:
		c.log = append(c.log, "most")
		fallthrough
	default:
		c.note(func() string { return "done" })
	}
	return c.sum, c.n, nil
}

func (c *counter) note(f func() string) { c.log = append(c.log, f()) }
