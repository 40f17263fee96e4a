package kpev

import (
	"fmt"
	"strings"
)

// A Line is what the kernel prints, as the argument of a Printk event: an event
// holds no text.
type Line uint64

// The lines. What two numbers they have in them is a and b of the event.
const (
	LineArmed             Line = iota + 1 // all probes were armed
	LineDisarmed                          // and disarmed
	LineOptimized                         // jumps are allowed again
	LineUnoptimized                       // and forbidden
	LineAllowed                           // LineOptimized of 5.16 and later
	LineForbidden                         // LineUnoptimized of 5.16 and later
	LineRetBug                            // a return of which nothing is known (until 5.10)
	LineRetLost                           // the same of 5.11 to 5.14
	LineRethookLost                       // and of 5.18 and later
	LineUnrecoverable                     // a hit on a CPU that can't keep track of it (until 4.15)
	LineUnrecoverableBare                 // the same of 4.16 and later
	LineArmedSome                         // LineArmed where some couldn't be (4.16 and later)
	LineDisarmedSome                      // LineDisarmed, likewise
	LineEnabledSome                       // LineArmedSome of 5.16 and later
	LineDisabledSome                      // LineDisarmedSome, likewise
	LineFtraceArm                         // a WARN: ftrace refuses a site (until 4.15)
	// a WARN: ftrace refuses the client that has the site in its filter (until 4.15)
	LineFtraceInit
	lineCount
)

// Prefixed is added to a line that begins with the name of the subsystem, as
// those of kprobes do since 5.16.
const Prefixed Line = 1 << 16

// formats are the lines with the verbs of fmt; the recorded ones are those of
// list_format.txt, older ones as kernels of the time log them.
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

	LineFtraceArm:  "Failed to arm kprobe-ftrace at %x (-%d)",
	LineFtraceInit: "Failed to init kprobe-ftrace (-%d)",
}

// verbs is how many numbers each has in it.
var verbs = [lineCount]int{LineRetBug: 2, LineUnrecoverable: 1, LineArmedSome: 2, LineDisarmedSome: 2,
	LineEnabledSome: 2, LineDisabledSome: 2, LineFtraceArm: 2, LineFtraceInit: 1}

// A Switch is what an administrator writes to.
type Switch uint8

const (
	NoSwitch     Switch = iota
	EnabledFile         // kprobes/enabled
	Optimization        // the sysctl debug.kprobes-optimization
)

// Switched says which switch a line is about, and which way it has been turned.
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

// Text returns what a Printk event [line, a, b] prints, without the time.
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

// LineOf returns the line that a format of printk's prints, as a kernel passes it: with
// its level and the subsystem's name. ok false: it is none of these.
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
