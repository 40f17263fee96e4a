package traces

import (
	"strconv"
	"strings"
)

// lowest is the lowest address that a scenario's text or data has (vm.mmap_min_addr of the kernel).
const lowest = 0x10000

// Readable replaces numbers in a finding by names: its addresses, which are hexadecimal and at
// least lowest; its tasks, task0 and up; and its locks, lock1 and up, which include things that
// are waited for like a lock. Monitors don't know the names; place, task and lock return them.
func Readable(message string, place, task, lock func(uint64) string) string {
	words := strings.Split(message, " ")
	for i, w := range words {
		bare := strings.TrimRight(w, ",.;:")
		name := bare
		if digits, ok := strings.CutPrefix(bare, "0x"); ok {
			if n, err := strconv.ParseUint(digits, 16, 64); err == nil && n >= lowest {
				name = place(n)
			}
		} else if digits, ok := strings.CutPrefix(bare, "task"); ok {
			if n, err := strconv.ParseUint(digits, 10, 8); err == nil && n < uint64(NoTask) {
				name = task(n)
			}
		} else if digits, ok := strings.CutPrefix(bare, "lock"); ok {
			if n, err := strconv.ParseUint(digits, 10, 32); err == nil && n > 0 {
				name = lock(n)
			}
		}
		words[i] = name + w[len(bare):]
	}
	return strings.Join(words, " ")
}
