package main

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"kpsim/campaign/board"
	"kpsim/campaign/lead"
	"kpsim/campaign/unit"
	"kpsim/internal/ui/cli"
)

// New finds are printed and posted, known ones are printed only; a webhook that refuses is told.
func TestAnnounce(t *testing.T) {
	posted := make(chan lead.Event, 10)
	refuse := false
	hook := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var e lead.Event
		if json.NewDecoder(r.Body).Decode(&e) == nil {
			posted <- e
		}
		if refuse {
			w.WriteHeader(http.StatusTeapot)
		}
	}))
	defer hook.Close()
	var out bytes.Buffer
	errs, errsIn := io.Pipe()
	say := announcer(cli.New(&out, errsIn), false, hook.URL)

	find := func(isNew bool) *lead.Event {
		f := board.FindStatus{Cause: board.Cause{Find: unit.Find{Cause: "T1-1", Scenario: "s", Property: "T1",
			Message: "m",
			Story:   []string{"cpu1 ran."}}, First: "c-1"}, New: isNew}
		return &lead.Event{Kind: "find", Campaign: "c-2", Find: &f}
	}
	say(find(false))
	say(find(true))
	select {
	case e := <-posted:
		require.Equal(t, "find", e.Kind)
		require.True(t, e.Find.New)
		require.Equal(t, []string{"cpu1 ran."}, e.Find.Story)
	case <-time.After(time.Minute):
		t.Fatal("nothing is posted")
	}
	require.Empty(t, posted)
	require.Equal(t, "c-2: find T1-1 (known since c-1): s breaks T1: m\n    cpu1 ran.\nc-2: find T1-1 (new): s breaks "+
		"T1: m\n    cpu1 ran.\n", out.String())

	refuse = true
	go say(find(true))
	line := make([]byte, 200)
	n, err := errs.Read(line)
	require.NoError(t, err)
	require.Contains(t, string(line[:n]), "--webhook: it answered 418")
}
