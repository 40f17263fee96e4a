package traces

import (
	"fmt"
	"testing"
)

func TestReadable(t *testing.T) {
	place := func(a uint64) string {
		if a < 0xffffffff81000000 {
			return fmt.Sprintf("user+%#x", a-0x400000)
		}
		return fmt.Sprintf("f+%#x", a-0xffffffff81000000)
	}
	task := func(id uint64) string { return fmt.Sprintf("caller %d", id) }
	lock := func(id uint64) string { return fmt.Sprintf("mutex %d", id) }
	for _, c := range [][2]string{
		{"", ""},
		{"cpu1 task5 runs 0f 05 at 0xffffffff81000003: bytes", "cpu1 caller 5 runs 0f 05 at f+0x3: bytes"},
		{"task12, then 0xffffffff81000000, and 0xffffffff81000010", "caller 12, then f+0x0, and f+0x10"},
		{"takes lock12, which task1 has", "takes mutex 12, which caller 1 has"},
		{"cpu1 runs e8 be at 0x40013d: bytes", "cpu1 runs e8 be at user+0x13d: bytes"},
		// What only looks like one, and the number of no task.
		{"ends task 3 with 0x7fff; task255 tasks4 0xffffzz taskless lock 1 lock0 locks1",
			"ends task 3 with 0x7fff; task255 tasks4 0xffffzz taskless lock 1 lock0 locks1"},
	} {
		if got := Readable(c[0], place, task, lock); got != c[1] {
			t.Errorf("%q: %q, want %q", c[0], got, c[1])
		}
	}
}
