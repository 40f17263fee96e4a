package properties

import (
	"fmt"

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
