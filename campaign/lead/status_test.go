package lead

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"kpsim/campaign/board"
	"kpsim/campaign/plan"
)

// TestStatusBounded: a status has the first finds, the last troubles and some workers, and says how
// many there are.
func TestStatusBounded(t *testing.T) {
	l := New(nil, Options{})
	r := newRunning(&plan.Campaign{ID: "c-1", Build: "b"}, &board.State{ID: "c-1", State: board.Running})
	for i := range 300 {
		f := board.FindStatus{New: i%3 == 0}
		f.Find.Cause = fmt.Sprint(i)
		r.finds = append(r.finds, f)
		r.trouble(board.Trouble{Why: fmt.Sprint(i), Log: strings.Repeat("x", 1<<20)})
		l.recordHeartbeat(&board.Heartbeat{Name: fmt.Sprint(i), Build: "b", Cores: 2})
	}
	s := l.status(r)
	require.Len(t, s.Finds, maxFindsListed)
	require.Len(t, s.Troubles, maxTroublesListed)
	require.Len(t, s.Workers, maxWorkersListed)
	require.Equal(t, []int{300, 100, 300, 300, 600}, []int{s.Causes, s.CausesNew, s.TroubleCount, s.WorkerCount,
		s.Cores})
	require.Equal(t, "299", s.Troubles[maxTroublesListed-1].Why)
	require.Less(t, len(s.Troubles[0].Log), maxLogBytes+10)
}
