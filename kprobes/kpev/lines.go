package kpev

import (
	"fmt"
	"strings"
)

// A Line identifies a line that the kernel prints. It is the argument of a Printk event,
// because an event holds no text.
type Line uint64

// The lines. The two numbers printed in them are a and b of the event.
const (
	LineArmed             Line = iota + 1 // all probes were armed
	LineDisarmed                          // all probes were disarmed
	LineOptimized                         // jumps are allowed again
	LineUnoptimized                       // jumps are forbidden
	LineAllowed                           // LineOptimized of 5.16 and later
	LineForbidden                         // LineUnoptimized of 5.16 and later
	LineRetBug                            // no instance is known for a return (until 5.10)
	LineRetLost                           // LineRetBug of 5.11 to 5.14
	LineRethookLost                       // LineRetBug of 5.18 and later
	LineUnrecoverable                     // a hit on a CPU that can't keep track of it (until 4.15)
	LineUnrecoverableBare                 // LineUnrecoverable of 4.16 and later
	LineArmedSome                         // LineArmed where some probes couldn't be armed (4.16 and later)
	LineDisarmedSome                      // LineDisarmed where some probes couldn't be disarmed (4.16 and later)
	LineEnabledSome                       // LineArmedSome of 5.16 and later
	LineDisabledSome                      // LineDisarmedSome of 5.16 and later
	LineFtraceArm                         // a WARN: ftrace refuses a site (until 4.15)
	// a WARN: ftrace refuses the client that has the site in its filter (until 4.15)
	LineFtraceInit
	LineReentered // LineUnrecoverable of riscv and arm64
	lineCount
)

// Prefixed is added to a line that begins with the subsystem's name, as the lines of
// kprobes do since 5.16.
const Prefixed Line = 1 << 16

// formats holds the lines with the verbs of fmt. Recorded lines are those of
// list_format.txt; older ones are those that kernels of the time log.
var formats = [lineCount]string{
	LineArmed:       "Kprobes globally enabled",
	LineDisarmed:    "Kprobes globally disabled",
	LineOptimized:   "Kprobes globally optimized",
	LineUnoptimized: "Kprobes globally unoptimized",
	LineAllowed:     "kprobe jump-optimization is enabled. All kprobes are optimized if possible.",
	LineForbidden:   "kprobe jump-optimization is disabled. All kprobes are based on software breakpoint.",
	LineRetBug:      "kretprobe BUG!: Processing kretprobe %x @ %x",
	LineRetLost:     "Oops! Kretprobe fails to find correct return address.",
	LineRethookLost: "rethook: Return address not found! Maybe there is a bug in the kernel",

	LineUnrecoverable:     "Unrecoverable kprobe detected at %x.",
	LineUnrecoverableBare: "Unrecoverable kprobe detected.",

	LineArmedSome:    "Kprobes globally enabled, but failed to arm %d out of %d probes",
	LineDisarmedSome: "Kprobes globally disabled, but failed to disarm %d out of %d probes",
	LineEnabledSome: "Kprobes globally enabled, but failed to enable %d out of %d probes. Please check which " +
		"kprobes are kept disabled via debugfs.",
	LineDisabledSome: "Kprobes globally disabled, but failed to disable %d out of %d probes. Please check " +
		"which kprobes are kept enabled via debugfs.",

	LineReentered: "Failed to recover from reentered kprobes.",

	LineFtraceArm:  "Failed to arm kprobe-ftrace at %x (-%d)",
	LineFtraceInit: "Failed to init kprobe-ftrace (-%d)",
}

// verbs is how many numbers each line contains.
var verbs = [lineCount]int{LineRetBug: 2, LineUnrecoverable: 1, LineArmedSome: 2, LineDisarmedSome: 2,
	LineEnabledSome: 2, LineDisabledSome: 2, LineFtraceArm: 2, LineFtraceInit: 1}

// A Switch is a file that an administrator writes to.
type Switch uint8

const (
	NoSwitch     Switch = iota
	EnabledFile         // kprobes/enabled
	Optimization        // the sysctl debug.kprobes-optimization
)

// Switched returns the switch that a line is about, and whether it was turned on.
func (l Line) Switched() (s Switch, on bool) {
	switch l &^ Prefixed {
	case LineArmed, LineArmedSome, LineEnabledSome:
		return EnabledFile, true
	case LineDisarmed, LineDisarmedSome, LineDisabledSome:
		return EnabledFile, false
	case LineOptimized, LineAllowed:
		return Optimization, true
	case LineUnoptimized, LineForbidden:
		return Optimization, false
	}
	return NoSwitch, false
}

// Failed reports whether a line says that probes couldn't be armed.
func (l Line) Failed() bool {
	switch l &^ Prefixed {
	case LineArmedSome, LineEnabledSome, LineFtraceArm, LineFtraceInit:
		return true
	}
	return false
}

// Text returns the line that a Printk event [line, a, b] prints, without the time.
func Text(line Line, a, b uint64) string {
	prefix := ""
	if line&Prefixed != 0 {
		prefix = "kprobes: "
	}
	n := line &^ Prefixed
	if n == 0 || n >= lineCount {
		return fmt.Sprintf("%sline %d: %#x %#x", prefix, uint64(n), a, b)
	}
	return prefix + fmt.Sprintf(formats[n], []any{a, b}[:verbs[n]]...)
}

// LineOf returns the line that a printk format prints. The format is as a kernel passes it,
// with its level and the subsystem's name. ok is false if no line has that format.
func LineOf(format string) (line Line, ok bool) {
	if strings.HasPrefix(format, "\x01") && len(format) > 1 {
		format = format[2:]
	}
	format, prefixed := strings.CutPrefix(format, "kprobes: ")
	format = strings.TrimSuffix(format, "\n")
	for n, text := range formats {
		if n > 0 && text == format {
			if prefixed {
				return Line(n) | Prefixed, true
			}
			return Line(n), true
		}
	}
	return 0, false
}
