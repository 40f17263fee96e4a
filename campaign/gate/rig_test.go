package gate_test

import (
	"context"
	"fmt"
	"io"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/stretchr/testify/require"

	"kpsim/campaign/board"
	"kpsim/campaign/gate"
	"kpsim/campaign/hub"
	"kpsim/campaign/lead"
	"kpsim/campaign/plan"
	"kpsim/internal/ui/cli"
	"kpsim/internal/verbs/findings"
)

// A rig is a server with a coordinator, as kpsim-campaign serve has it, on a port of its own.
type rig struct {
	*testing.T
	dir string
	hub *hub.Hub
	b   *board.Board
	js  jetstream.JetStream // of the coordinator
}

const build = "b0"

func newRig(t *testing.T) *rig {
	t.Helper()
	r := &rig{T: t, dir: t.TempDir()}
	var err error
	r.hub, err = hub.Start(hub.Options{Dir: r.dir, Listen: "127.0.0.1:0"})
	require.NoError(t, err)
	t.Cleanup(r.hub.Stop)
	nc, err := r.hub.Connect(hub.Lead)
	require.NoError(t, err)
	t.Cleanup(nc.Close)
	require.NoError(t, hub.Ready(t.Context(), nc))
	r.b, err = board.Make(t.Context(), nc, 1)
	require.NoError(t, err)
	r.js, err = jetstream.New(nc)
	require.NoError(t, err)
	g, err := gate.Serve(t.Context(), r.b)
	require.NoError(t, err)
	t.Cleanup(g.Stop)
	ended := make(chan struct{})
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		defer close(ended)
		_ = lead.New(r.b, lead.Options{Name: "lead", Dir: r.dir, Lease: 2 * time.Second, Tick: 20 * time.Millisecond}).
			Run(ctx)
	}()
	t.Cleanup(func() { cancel(); <-ended })
	return r
}

// connect connects over the network with a role's key, and nothing else of this program.
func (r *rig) connect(role string, opts ...nats.Option) *nats.Conn {
	r.Helper()
	key, err := nats.NkeyOptionFromSeed(filepath.Join(r.dir, role+".nk"))
	require.NoError(r, err)
	quiet := nats.ErrorHandler(func(*nats.Conn, *nats.Subscription, error) {})
	nc, err := nats.Connect(r.hub.URL(), append(opts, key, quiet)...)
	require.NoError(r, err)
	r.Cleanup(nc.Close)
	return nc
}

// own connects as this program does.
func (r *rig) own(role string) *nats.Conn {
	r.Helper()
	nc, err := (&hub.Where{Dir: r.dir}).Connect(role)
	require.NoError(r, err)
	r.Cleanup(nc.Close)
	return nc
}

// plan plans a campaign of a few units.
func (r *rig) plan(scenarios ...string) *plan.Campaign {
	r.Helper()
	runs := uint64(2000)
	s, err := plan.Explore(cli.New(io.Discard, io.Discard),
		&findings.Explore{Scenarios: scenarios, Runs: &runs, Seed: 1, Strategy: "portfolio", Traces: "traces"})
	require.NoError(r, err)
	for i := range s.Bundle {
		s.Bundle[i] = 1
	}
	return &plan.Campaign{Name: "c", Build: build, Searches: []*plan.Search{s}}
}

// begin starts a campaign.
func (r *rig) begin(c *plan.Campaign) {
	r.Helper()
	_, err := gate.Client{Conn: r.own(hub.Client)}.Start(r.Context(), c)
	require.NoError(r, err)
}

// take takes a unit.
func (r *rig) take(w gate.Worker) (t *gate.Assignment) {
	r.Helper()
	require.Eventually(r, func() (ok bool) {
		var err error
		t, err = w.Take(r.Context(), build, "go", time.Second)
		return err == nil
	}, time.Minute, 20*time.Millisecond)
	return t
}

// settled waits until units have been handed out and nothing more is stored in ten readings, and
// returns what is stored.
func (r *rig) settled() (last string) {
	r.Helper()
	for same := 0; same < 10; time.Sleep(50 * time.Millisecond) {
		if s := r.stored(); s != last || strings.HasPrefix(s, "WORK 0 0 ") {
			same, last = 0, s
		} else {
			same++
		}
	}
	return last
}

// stored is all that lies on the server: of each stream its subjects, with how often each was written.
// What the coordinator writes by itself is left out.
func (r *rig) stored() string {
	r.Helper()
	text := ""
	for _, name := range []string{"WORK", "DONE", "TROUBLE", "PIECES", "LARGE", "KV_CAMPAIGNS", "KV_FINDS",
		"KV_SECRET"} {
		s, err := r.js.Stream(r.Context(), name)
		require.NoError(r, err, name)
		info, err := s.Info(r.Context(), jetstream.WithSubjectFilter(">"))
		require.NoError(r, err)
		text += fmt.Sprintf("%s %d %d %d %v %d\n", name, info.State.FirstSeq, info.State.LastSeq, info.State.Msgs,
			info.State.Subjects, info.State.Consumers)
	}
	names := r.js.StreamNames(r.Context())
	n := 0
	for range names.Name() {
		n++
	}
	return text + fmt.Sprint(n, " streams")
}
