package view

import (
	"fmt"
	"math/bits"
	"strings"

	"kpsim/kprobes/kpev"
	"kpsim/smp/smpev"
)

const done = smpev.Done

// interrupts reports whether a vector is an interrupt's: an IPI, a timer, an NMI.
func interrupts(v uint64) bool { return v >= 32 || v == smpev.VecNMI }

var flavourNames = [...]string{smpev.GPSched: "RCU-sched", smpev.GPRcu: "RCU", smpev.GPTasks: "RCU-tasks"}

func flavour(n uint64) string {
	if n < uint64(len(flavourNames)) && flavourNames[n] != "" {
		return flavourNames[n]
	}
	return fmt.Sprintf("flavour %d", n)
}

var apiNames = [...]string{kpev.Register: "register", kpev.Unregister: "unregister", kpev.Enable: "enable", kpev.Disable: "disable"}

func api(n uint64) string {
	if n < uint64(len(apiNames)) && apiNames[n] != "" {
		return apiNames[n]
	}
	return fmt.Sprintf("api %d", n)
}

// cpuSet prints a set of CPUs: cpu0, cpu2-7.
func cpuSet(mask uint64) string {
	if mask == 0 {
		return "nobody"
	}
	var parts []string
	for mask != 0 {
		from := bits.TrailingZeros64(mask)
		n := bits.TrailingZeros64(^(mask >> from))
		s := fmt.Sprintf("cpu%d", from)
		if n > 1 {
			s += fmt.Sprintf("-%d", from+n-1)
		}
		parts = append(parts, s)
		if from+n >= 64 {
			break
		}
		mask = mask >> (from + n) << (from + n)
	}
	return strings.Join(parts, ", ")
}

// count prints a number of things.
func count(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, many)
}

// numbered prints byte numbers.
func numbered(from, to int) string {
	switch {
	case from == to:
		return fmt.Sprintf("byte %d", from)
	case to == from+1:
		return fmt.Sprintf("bytes %d and %d", from, to)
	}
	return fmt.Sprintf("bytes %d to %d", from, to)
}

func wasWere(n int) string {
	if n == 1 {
		return "was"
	}
	return "were"
}
