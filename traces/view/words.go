package view

import (
	"fmt"
	"math/bits"
	"strings"

	"kpsim/smp/smpev"
)

const done = smpev.Done

// interrupts reports whether a vector is an interrupt's: an IPI, a timer, an NMI.
func interrupts(v uint64) bool { return v >= 32 || v == smpev.VecNMI }

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

// plainWords says what went wrong for each property, to a reader who doesn't know the
// property: what a CPU did or, if the sentence begins with a capital, what became true. "%"
// stands for the place; if no place is known, it is left out.
var plainWords = map[string]string{
	"A1": "A hit of a probe was lost, counted twice or handled while it was disabled%.",
	"A2": "A probe's post_handler never ran though its pre_handler had%.",
	"B1": "hit an unowned breakpoint or single step%.",
	"C1": "ran a probe's handler in the wrong context%.",
	"C2": "came back with preemption, interrupts or the running probe other than before%.",
	"E1": "got a wrong answer from a call of the probes' API%.",
	"E2": "The calls of the probes' API answered what no order of them explains.",
	"F1": "The list of probes doesn't agree with the probes that there are%.",
	"F2": "read what was not so at any moment of the read%.",
	"H1": "misused kernel memory%.",
	"H2": "Memory of a probe that is gone was never freed%.",
	"H3": "Something of a probe was left behind when all work was done%.",
	"J1": "found at a patched site another instruction than was set last%.",
	"J2": "A patched site doesn't hold what was set last%.",
	"J3": "A hit of a uprobe called the wrong handlers, or went wrong%.",
	"K1": "broke the rules of locking: this can deadlock or corrupt%.",
	"L1": "ran a probe's handler% after the probe had been unregistered.",
	"L2": "The text stayed patched though its probe is gone%.",
	"L3": "wrote a jump, or left one,% though optimization was switched off.",
	"L4": "wrote to a probe's text, or left it patched,% though all probes were switched off.",
	"M1": "A module was held by nobody who may, or let go while it was in use%.",
	"N1": "A client of a function's entry missed a call, or was called while not registered%.",
	"N2": "broke the pairs of an fprobe's calls and returns%.",
	"N3": "A call of a function was handled by the wrong BPF programs%.",
	"O1": "died of an unhandled fault%.",
	"P1": "The run never ended: it is stuck.",
	"P2": "A probe that could be a jump was never made one again%.",
	"P3": "A call of the probes' API never returned.",
	"P4": "A jump stayed where none may stand%.",
	"P5": "A grace period didn't end in time.",
	"R1": "A return probe's handler didn't run once for each call, or was told a wrong address%.",
	"R2": "A return probe's records of calls were mixed up or lost%.",
	"S1": "went into, or freed too early, code memory that was in use%.",
	"T1": "ran a blend of an old and a new instruction%.",
	"T2": "ran code from the middle of an instruction%.",
	"T3": "ran past a probe without hitting it%.",
	"T4": "The text isn't what kprobes takes it to be%.",
	"T5": "was sent to a wrong copy of the probed instruction%.",
	"T6": "wrote over what another patcher had written, without a look at it%.",
	"U2": "ran another version of a function than was set last%.",
	"U1": "called old and new functions of one live patch in one call chain%.",
	"W1": "hit a WARN of the kernel's own code%.",
	"X1": "ended a call with another result than without probes%.",
	"X2": "got a wrong result%.",
}

// plain says in a sentence what went wrong, for a reader who has never seen the property:
// which CPU did what, and where. It is empty if nothing is broken.
func (t *teller) plain() string {
	if t.in.Property == "" {
		return ""
	}
	id, _, _ := strings.Cut(t.in.Property, " ")
	words, ok := plainWords[id]
	if !ok {
		return t.headline()
	}
	who, place := "A CPU", t.in.Place
	if place != "" && t.in.PlaceAt != 0 {
		place = t.text.place(t.in.PlaceAt) // executable memory is named after its purpose
	}
	if t.at < len(t.in.Events) {
		e := &t.in.Events[t.at]
		if e.CPU != Machine {
			who = cpuSet(1 << (e.CPU & 63))
		}
		switch {
		case id == "S1" && e.Kind == smpev.Free:
			words = "freed code memory that was still in use%."
		case id == "S1" && e.Kind != smpev.Free:
			words = "went into code memory that had been freed%."
		}
	} else if id == "S1" {
		words = "Code memory of a probe was left behind, or freed twice%."
	}
	does := words[0] >= 'a' && words[0] <= 'z'
	switch {
	case place == kernelCode:
		place = " in " + place
	case place != "" && does:
		place = " at " + place
	case place != "":
		place = " (" + place + ")"
	}
	words = strings.Replace(words, "%", place, 1)
	if does {
		words = who + " " + words
	}
	return words
}
