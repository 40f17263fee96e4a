package sched

import (
	"fmt"
	"math/bits"
)

// Ways is a number of schedules, which may have a thousand digits: m times two to the
// power of e. Bits that don't fit into m are dropped.
type Ways struct {
	m uint64 // its top bit is set, unless e is 0
	e uint64
}

// one is a single schedule.
var one = Ways{m: 1}

// add returns the sum.
func (w Ways) add(o Ways) Ways {
	if w.e < o.e {
		w, o = o, w
	}
	if shift := w.e - o.e; shift < 64 {
		o.m >>= shift
	} else {
		o.m = 0
	}
	sum, carry := bits.Add64(w.m, o.m, 0)
	if carry != 0 {
		sum, w.e = sum>>1|1<<63, w.e+1
	}
	return Ways{sum, w.e}
}

// String returns all digits of a number below a million, two of others: 4.2e31.
func (w Ways) String() string {
	m, e := w.m, w.e
	if e == 0 && m < 1_000_000 {
		return fmt.Sprint(m)
	}
	ten := 0 // m times two to e times ten to ten
	for ; e > 0; e-- {
		if m >= 1<<62 {
			m, ten = m/10, ten+1
		}
		m *= 2
	}
	for ; m >= 100; m /= 10 {
		ten++
	}
	return fmt.Sprintf("%d.%de%d", m/10, m%10, ten+1)
}
