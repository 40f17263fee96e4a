package properties

import (
	"fmt"

	"kpsim/smp/smpev"
	"kpsim/traces"
)

// found makes a finding from the event that led to it. Its message names the CPU and
// task, in one line.
func found(e *traces.Event, place uint64, format string, args ...any) *traces.Finding {
	who := fmt.Sprintf("cpu%d", e.CPU)
	if e.Task != traces.NoTask {
		who += fmt.Sprintf(" task%d", e.Task)
	}
	return &traces.Finding{Place: place, Message: who + " " + fmt.Sprintf(format, args...)}
}

// atEnd makes a finding that only the end of the run shows.
func atEnd(place uint64, format string, args ...any) *traces.Finding {
	return &traces.Finding{Place: place, Message: "at the end " + fmt.Sprintf(format, args...)}
}

// hex prints packed bytes: "e9 fb 0f 00 00".
func hex(lo, hi uint64) string {
	b, n := traces.UnpackBytes(lo, hi)
	return fmt.Sprintf("% x", b[:min(n, len(b))])
}

// subjectName names what is attached to sites of ftrace.
func subjectName(id uint64) string {
	n := id & (smpev.SubjectOps - 1)
	switch id &^ (smpev.SubjectOps - 1) {
	case smpev.SubjectFprobe:
		return fmt.Sprintf("fprobe %d", n)
	case smpev.SubjectDirect:
		return "a direct call"
	}
	return fmt.Sprintf("client %d of ftrace", n)
}

// functionName says where something leads: to a function, or, 0, to what none says.
func functionName(to uint64, none string) string {
	if to == 0 {
		return none
	}
	return fmt.Sprintf("%#x", to)
}

// callName names a call of Attach.
func callName(subject, call, value uint64) string {
	what := [...]string{smpev.AttachRegister: "register", smpev.AttachUnregister: "unregister",
		smpev.AttachModify: "modify"}[min(call, smpev.AttachModify)]
	switch {
	case subject == smpev.SubjectPatch && call == smpev.AttachRegister:
		return fmt.Sprintf("enabling live patch %d", value)
	case subject == smpev.SubjectPatch:
		return fmt.Sprintf("disabling the newest live patch of %#x", value)
	}
	return fmt.Sprintf("%s of a direct call, of %#x", what, value)
}
