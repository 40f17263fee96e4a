package view

import (
	"fmt"
	"math/bits"
	"strings"

	"kpsim/kprobes/kpev"
	"kpsim/smp/smpev"
)

const done = smpev.Done

var vectorNames = [256]string{
	smpev.VecDE: "#DE", smpev.VecDB: "#DB", smpev.VecNMI: "NMI", smpev.VecBP: "#BP", smpev.VecUD: "#UD",
	smpev.VecDF: "#DF", smpev.VecGP: "#GP", smpev.VecPF: "#PF",
	smpev.VecTimer: "timer interrupt", smpev.VecResch: "reschedule interrupt", smpev.VecCall: "call IPI",
}

func vector(v uint64) string {
	if v < uint64(len(vectorNames)) && vectorNames[v] != "" {
		return vectorNames[v]
	}
	return fmt.Sprintf("vector %#x", v)
}

// interrupts reports whether a vector comes from outside: an IPI, a timer, an NMI.
func interrupts(v uint64) bool { return v >= 32 || v == smpev.VecNMI }

// whyNames are the reasons of kapi.Why: what has just been done that other CPUs
// must see.
var whyNames = [...]string{
	1: "text_poke_bp, breakpoint written", 2: "text_poke_bp, tail written", 3: "text_poke_bp, head written",
	4: "armed", 5: "disarmed", 6: "unoptimizing, breakpoint written", 7: "unoptimizing, tail restored",
	8: "leaving stop_machine", 9: "own store", 10: "memory unmapped",
}

// whySelf is the sync that only the CPU makes that has stored.
const whySelf = 9

func why(n uint64) string {
	if n < uint64(len(whyNames)) && whyNames[n] != "" {
		return whyNames[n]
	}
	if n == 0 {
		return "serialising instruction"
	}
	return fmt.Sprintf("reason %d", n)
}

var ownerNames = [...]string{
	smpev.OwnerPoke: "text-poke handler", smpev.OwnerKprobe: "kprobes",
	smpev.OwnerRemoved: "kprobes: breakpoint already removed", smpev.OwnerFault: "fault fix-up",
}

func owner(n uint64) string {
	if n < uint64(len(ownerNames)) && ownerNames[n] != "" {
		return ownerNames[n]
	}
	return fmt.Sprintf("owner %d", n)
}

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

// numbered names bytes by their numbers.
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
