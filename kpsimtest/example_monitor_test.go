package kpsimtest_test // yours

import (
	"fmt"
	"testing"

	"kpsim/kpsimtest"
	"kpsim/smp/smpev"
	"kpsim/traces"
)

// oneWriter is a monitor of one's own: text is written by cpu0 only.
type oneWriter struct{ stores int }

func (m *oneWriter) Event(e *traces.Event) *traces.Finding {
	if m.stores++; e.CPU != 0 {
		return &traces.Finding{Place: e.A, Message: fmt.Sprintf("cpu%d stores to text", e.CPU)}
	}
	return nil
}

// A monitor of one's own is told of each store to text.
func TestOneWriter(t *testing.T) {
	m := new(oneWriter)
	kpsimtest.Monitor(t, "jump-label-flip", m, []traces.Kind{smpev.TextStore}, kpsimtest.Runs(100))
	t.Log(m.stores, "stores in 100 runs")
}
