package board

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"kpsim/campaign/hub"
	"kpsim/campaign/plan"
	"kpsim/campaign/unit"
	"kpsim/properties"
)

// testBoard makes a board on a server of its own.
func testBoard(t *testing.T) *Board {
	t.Helper()
	h, err := hub.Start(hub.Options{Dir: t.TempDir(), Listen: "127.0.0.1:0"})
	require.NoError(t, err)
	t.Cleanup(h.Stop)
	nc, err := h.Connect(hub.Lead)
	require.NoError(t, err)
	t.Cleanup(nc.Close)
	require.NoError(t, hub.Ready(t.Context(), nc))
	b, err := Make(t.Context(), nc, 1)
	require.NoError(t, err)
	return b
}

// TestStates: all campaigns and all causes are listed, by name, those that were changed once.
func TestStates(t *testing.T) {
	b := testBoard(t)
	states, err := b.States(t.Context())
	require.NoError(t, err)
	require.Empty(t, states)
	for _, i := range []int{3, 1, 2} {
		require.NoError(t, b.CreateState(t.Context(),
			&State{ID: fmt.Sprintf("c-%d", i), Name: "c", Build: "b", State: Running, Began: time.Now()}))
		f := unit.NewFind(properties.All[i].Name, "s", "kpsim's own", fmt.Sprint("it breaks ", i), "", 2)
		_, err := b.AddFind(t.Context(), f, "c-1", "b")
		require.NoError(t, err)
	}
	_, err = b.Change(t.Context(), "c-2", func(s *State) bool { s.State = Ended; return true })
	require.NoError(t, err)
	states, err = b.States(t.Context())
	require.NoError(t, err)
	require.Len(t, states, 3)
	for i, want := range []string{Running, Ended, Running} {
		require.Equal(t, fmt.Sprintf("c-%d", i+1), states[i].ID)
		require.Equal(t, want, states[i].State)
	}
	causes, damaged, err := b.Causes(t.Context())
	require.NoError(t, err)
	require.Zero(t, damaged)
	require.Len(t, causes, 3)
	require.Less(t, causes[0].Cause, causes[1].Cause)
	_, err = b.Campaigns.Put(t.Context(), "c-9", []byte("{"))
	require.NoError(t, err)
	_, err = b.Finds.Put(t.Context(), "a/evil", []byte(`{"cause":"a/evil"}`))
	require.NoError(t, err)
	states, err = b.States(t.Context())
	require.NoError(t, err)
	require.Len(t, states, 4, "one that is damaged hides no other")
	require.Equal(t, Damaged, states[3].State)
	_, _, err = b.State(t.Context(), "c-9")
	require.ErrorContains(t, err, "campaign c-9: its state is damaged")
	causes, damaged, err = b.Causes(t.Context())
	require.NoError(t, err)
	require.Len(t, causes, 3)
	require.Equal(t, 1, damaged)
	b.Conn.Close()
	_, err = b.States(t.Context())
	require.Error(t, err)
}

// TestAny: a unit lies there until it is acknowledged or withdrawn, those of other campaigns apart.
func TestAny(t *testing.T) {
	b := testBoard(t)
	there := func(id string, want bool) {
		t.Helper()
		got, err := b.AnyQueued(t.Context(), id)
		require.NoError(t, err)
		require.Equal(t, want, got)
	}
	there("c-1", false)
	c, err := b.Work(t.Context(), "b", "go", time.Minute)
	require.NoError(t, err)
	unitOf := func(id string, n int) plan.Unit { return plan.Unit{Campaign: id, Kind: plan.Runs, From: n, To: n + 1} }
	require.NoError(t, b.Enqueue(t.Context(), "b", "go", 0, []plan.Unit{unitOf("c-2", 0), unitOf("c-1", 0)}))
	there("c-1", true)
	there("c-2", true)
	there("c-3", false)
	m, err := c.Next()
	require.NoError(t, err)
	there("c-2", true) // it is being made
	require.NoError(t, m.DoubleAck(t.Context()))
	there("c-2", false)
	there("c-1", true)
	require.NoError(t, b.Withdraw(t.Context(), "c-1"))
	there("c-1", false)
}
