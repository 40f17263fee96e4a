package work_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"kpsim/campaign/board"
	"kpsim/campaign/desk"
	"kpsim/campaign/gate"
	"kpsim/campaign/hub"
	"kpsim/campaign/lead"
	"kpsim/campaign/plan"
	"kpsim/campaign/unit"
	"kpsim/campaign/work"
	"kpsim/internal/ui/cli"
	"kpsim/internal/verbs/findings"
)

// campaign runs one whose units are made by a function, by a worker of so many cores, and returns
// its last status.
func campaign(t *testing.T, cores int, longest time.Duration,
	make func(ctx context.Context, u *plan.Unit) (unit.Result, error)) *board.Status {
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	h, err := hub.Start(hub.Options{Dir: t.TempDir(), Listen: "127.0.0.1:0"})
	require.NoError(t, err)
	defer h.Stop()
	nc, err := h.Connect(hub.Lead)
	require.NoError(t, err)
	defer nc.Close()
	require.NoError(t, hub.Ready(ctx, nc))
	b, err := board.Make(ctx, nc, 1)
	require.NoError(t, err)

	answers, err := gate.Serve(ctx, b)
	require.NoError(t, err)
	defer answers.Stop()
	makes, err := h.Connect(hub.Worker)
	require.NoError(t, err)
	defer makes.Close()
	asks, err := h.Connect(hub.Client)
	require.NoError(t, err)
	defer asks.Close()

	runs := uint64(1000)
	s, err := plan.Explore(cli.New(io.Discard, io.Discard),
		&findings.Explore{Scenarios: []string{"torn-jump"}, Runs: &runs, Seed: 1, Strategy: "portfolio",
			Traces: t.TempDir()})
	require.NoError(t, err)
	s.Bundle[0] = 1
	within, stop := context.WithCancel(ctx)
	var ended sync.WaitGroup
	ended.Go(func() {
		_ = lead.New(b, lead.Options{Name: "lead", Lease: time.Second, Tick: 20 * time.Millisecond}).Run(within)
	})
	w := work.New(makes,
		work.Options{Name: "worker", Build: "b", Cores: cores, Longest: longest,
			Make: func(_ *plan.Campaign, u *plan.Unit) (unit.Result, error) {
				return make(within, u)
			}})
	ended.Go(func() { _ = w.Run(within) })
	state, err := desk.Start(ctx, gate.Client{Conn: asks},
		&plan.Campaign{Name: "c", Build: "b", Searches: []*plan.Search{s}})
	require.NoError(t, err)
	for state.State != board.Ended {
		time.Sleep(20 * time.Millisecond)
		require.NoError(t, ctx.Err(), "it doesn't end")
		state, _, err = b.State(ctx, state.ID)
		require.NoError(t, err)
	}
	status, err := b.LatestStatus(ctx, state.ID)
	require.NoError(t, err)
	stop()
	ended.Wait()
	return status
}

// runs is what a unit of one shard shows.
func runs(u *plan.Unit) unit.Result {
	return unit.Result{Data: fmt.Appendf(nil, `[{"index":%d,"runs":1}]`, u.From)}
}

// What fails each time it is made is set aside after three failures, and told; the rest is made.
func TestPoison(t *testing.T) {
	tries := make(chan bool, 100)
	status := campaign(t, 2, 0, func(_ context.Context, u *plan.Unit) (unit.Result, error) {
		if u.From == 5 {
			tries <- true
			return unit.Result{}, errors.New("it is poison")
		}
		return runs(u), nil
	})
	require.Len(t, tries, 3)
	require.Equal(t, 1, status.SetAside)
	require.Equal(t, 16, status.Done)
	require.EqualValues(t, 15, status.Runs)
	require.Len(t, status.Troubles, 3)
	require.Equal(t, "it is poison", status.Troubles[0].Why)
}

// A unit that hangs counts as failed, too, though its worker lives.
func TestHangs(t *testing.T) {
	status := campaign(t, 4, 200*time.Millisecond, func(ctx context.Context, u *plan.Unit) (unit.Result, error) {
		if u.From == 5 {
			<-ctx.Done()
			return unit.Result{}, unit.ErrStopped
		}
		return runs(u), nil
	})
	require.Equal(t, 1, status.SetAside)
	require.Equal(t, 16, status.Done)
	require.Contains(t, status.Troubles[0].Why, "it isn't finished after 200ms")
}
