package gate

import (
	"testing"

	"github.com/stretchr/testify/require"

	"kpsim/campaign/board"
)

func TestNext(t *testing.T) {
	id, last, err := next(nil, "n")
	require.NoError(t, err)
	require.Equal(t, "n-1", id)
	require.Empty(t, last)
	states := []*board.State{{ID: "n-2", Name: "n", State: board.Ended},
		{ID: "n-10", Name: "n", State: board.Cancelled},
		{ID: "n-9", Name: "n", State: board.Ended}, {ID: "m-30", Name: "m", State: board.Ended}}
	id, last, err = next(states, "n")
	require.NoError(t, err)
	require.Equal(t, "n-11", id)
	require.Equal(t, "n-9", last)
}
