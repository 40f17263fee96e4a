package load

import (
	"context"
	"flag"
	"fmt"
	"math/rand/v2"
	"os/exec"
	"slices"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/stretchr/testify/require"

	"kpsim/campaign/board"
	"kpsim/campaign/desk"
	"kpsim/campaign/gate"
	"kpsim/campaign/hub"
	"kpsim/campaign/plan"
	"kpsim/campaign/unit"
	"kpsim/campaign/work"
	"kpsim/internal/search/results"
	"kpsim/internal/verbs/findings"
)

type ctx = context.Context

var (
	large       = flag.Bool("load", false, "measure with -connections workers and a million units; some minutes")
	connections = flag.Int("connections", 2000, "with -load: how many workers there are")
	coresEach   = flag.Int("cores", 1, "with -load: of how many cores each")
	over        = flag.Duration("over", 30*time.Second, "with -load: for how long it is measured")
	toFill      = flag.Bool("fill", true, "with -load: go on to a million results, and begin the server again")
	profile     = flag.String("profile", "",
		"with -load: write profiles of the server to LOAD.NAME, FILL.NAME, REST.NAME and BEGIN.NAME, of its memory to "+
			"LOAD-heap.NAME, …")
)

// The build of the campaign's workers.
const build = "load00000000"

// units is how many units the large campaign has, and each how many a scenario has: no more.
const units, each = 1 << 20, 1 << 16

// campaign plans a campaign of so many units, which are shards of scenarios that aren't there.
func campaign(t testing.TB, n int) *plan.Campaign {
	t.Helper()
	const points = 48_000_000 // one run is one shard
	s := &plan.Search{Flags: &findings.Explore{}}
	for left := n; left > 0; left -= each {
		e := &results.Explored{Name: fmt.Sprintf("load-%d", len(s.Scenarios)), Runs: uint64(min(left, each))}
		s.Scenarios, s.Points, s.Canary, s.Bundle = append(s.Scenarios, e), append(s.Points, points),
			append(s.Canary, ""),
			append(s.Bundle, 1)
		require.EqualValues(t, e.Runs, s.Units(len(s.Bundle)-1))
	}
	return &plan.Campaign{Name: "load", Build: build, Searches: []*plan.Search{s}}
}

// result is what a unit shows: a part with that number of random characters, of which half is left when it
// is packed.
func result(u *plan.Unit, size int) unit.Result {
	draw := rand.NewPCG(uint64(u.From), 1)
	noise := make([]byte, 0, size)
	for len(noise) < size {
		noise = fmt.Appendf(noise, "%016x", draw.Uint64())
	}
	data := fmt.Appendf(nil, `[{"index":%d,"runs":1,"counts":{"Points":48000000},"found":[{"message":"%s"}]}]`, u.From,
		noise)
	return unit.Result{Data: data, Took: time.Second}
}

// A crew is workers that run.
type crew struct {
	made atomic.Int64
	stop func()
}

// hire has so many workers work, each on a connection of its own. A unit takes a while.
func hire(t testing.TB, s *server, n, cores int, each time.Duration) *crew {
	t.Helper()
	within, cancel := context.WithCancel(t.Context())
	c := new(crew)
	var all sync.WaitGroup
	c.stop = func() { cancel(); all.Wait() }
	t.Cleanup(c.stop)
	conns := make([]*nats.Conn, n)
	ahead := make(chan int)
	var join sync.WaitGroup
	for range 32 {
		join.Go(func() {
			for i := range ahead {
				var err error
				if conns[i], err = s.join(hub.Worker); err != nil {
					t.Error(err)
				}
			}
		})
	}
	for i := range n {
		ahead <- i
	}
	close(ahead)
	join.Wait()
	require.False(t, t.Failed())
	for i, nc := range conns {
		o := work.Options{Name: fmt.Sprintf("sham-%04d.%d", i, i), Build: build, Cores: cores, Dir: t.TempDir()}
		o.Make = func(_ *plan.Campaign, u *plan.Unit) (unit.Result, error) {
			select {
			case <-within.Done():
				return unit.Result{}, unit.ErrStopped
			case <-time.After(each):
			}
			c.made.Add(1)
			return result(u, 2048+u.From%6144), nil
		}
		all.Go(func() {
			defer nc.Close()
			_ = work.New(nc, o).Run(within)
		})
	}
	return c
}

// asked measures how long the board takes to say how far a campaign is.
func asked(t testing.TB, b gate.Client, id string, times int, pause time.Duration) string {
	t.Helper()
	var took []time.Duration
	for range times {
		began := time.Now()
		require.NoError(t, board.Retry(t.Context(), func(ctx ctx) error {
			_, err := b.LatestStatus(ctx, id)
			return err
		}))
		took = append(took, time.Since(began))
		time.Sleep(pause)
	}
	return figures(took)
}

// own is how much processor time this process has had.
func own() time.Duration {
	var u syscall.Rusage
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &u)
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

func figures(took []time.Duration) string {
	slices.Sort(took)
	round := func(d time.Duration) time.Duration { return d.Round(10 * time.Microsecond) }
	return fmt.Sprintf("median %v, worst of %d %v", round(took[len(took)/2]), len(took), round(took[len(took)-1]))
}

// status measures how long the command takes that says how far a campaign is.
func (s *server) status(times int) string {
	s.Helper()
	var took []time.Duration
	for range times {
		began := time.Now()
		out, err := exec.Command(s.exe, "status", "--dir", s.dir).CombinedOutput()
		require.NoError(s, err, "%s", out)
		took = append(took, time.Since(began))
	}
	return figures(took)
}

// TestSmall: units that workers make at a pace are all counted, and the campaign ends.
func TestSmall(t *testing.T) {
	s := &server{TB: t, exe: built(t), dir: t.TempDir()}
	s.start()
	t.Cleanup(s.stop)
	b := s.client()
	state, err := desk.Start(t.Context(), b, campaign(t, 1000))
	require.NoError(t, err)
	hire(t, s, 20, 2, 20*time.Millisecond)
	require.Eventually(t, func() bool {
		now, err := b.State(t.Context(), state.ID)
		return err == nil && now.State == board.Ended
	}, time.Minute, 50*time.Millisecond)
	told, err := b.LatestStatus(t.Context(), state.ID)
	require.NoError(t, err)
	require.Equal(t, 1000, told.Done)
	require.EqualValues(t, 1000, told.Runs)
}

// TestLarge prints what a server holds.
func TestLarge(t *testing.T) {
	if !*large {
		t.Skip("-load measures")
	}
	s := &server{TB: t, exe: built(t), dir: t.TempDir()}
	s.start()
	t.Cleanup(s.stop)
	b := s.client()
	state, err := desk.Start(t.Context(), b, campaign(t, units))
	require.NoError(t, err)
	require.Eventually(t, func() bool {
		_, err := b.LatestStatus(t.Context(), state.ID)
		return err == nil
	}, time.Minute, 50*time.Millisecond)
	t.Logf("%d units planned, no worker: status %s; the command %s; memory %s",
		units, asked(t, b, state.ID, 50, 10*time.Millisecond), s.status(5), s.memory())

	began := time.Now()
	c := hire(t, s, *connections, *coresEach, time.Second)
	want := int64(*connections * *coresEach)
	for last := int64(0); ; {
		time.Sleep(time.Second)
		now := c.made.Load()
		if now-last > want*85/100 || time.Since(began) > 2*time.Minute {
			break
		}
		last = now
	}
	t.Logf("%d workers of %d cores are at work after %v", *connections, *coresEach,
		time.Since(began).Round(time.Second))
	time.Sleep(3 * time.Second)
	cpu, ours, made, at := s.processor(), own(), c.made.Load(), time.Now()
	told := asked(t, b, state.ID, int(*over/(250*time.Millisecond)), 250*time.Millisecond)
	seconds := time.Since(at).Seconds()
	took, n := (s.processor() - cpu).Seconds(), float64(c.made.Load()-made)
	t.Logf("for %.0f s: %.0f units/s, the server takes %.0f %% of a core, %.0f µs a unit, and the workers %.0f %%; "+
		"status %s; memory %s", seconds,
		n/seconds, took/seconds*100, took/n*1e6, (own()-ours).Seconds()/seconds*100, told, s.memory())
	t.Logf("the command status: %s", s.status(5))
	s.record("LOAD", 10)
	c.stop()
	if !*toFill {
		return
	}

	began, cpu = time.Now(), s.processor()
	var recorded sync.WaitGroup
	recorded.Go(func() { s.record("FILL", 15) })
	fill(t, s, b, state.ID)
	recorded.Wait()
	require.Eventually(t, func() bool {
		now, err := b.LatestStatus(t.Context(), state.ID)
		return err == nil && now.Done >= filled
	}, 5*time.Minute, 100*time.Millisecond)
	t.Logf("%d results after %v more, which took %v of a core; status %s; the command %s; memory %s", filled,
		time.Since(began).Round(time.Second), s.processor()-cpu, asked(t, b, state.ID, 50, 10*time.Millisecond),
		s.status(5),
		s.memory())
	cpu, at = s.processor(), time.Now()
	time.Sleep(5 * time.Second)
	t.Logf("at rest the server takes %.0f %% of a core", (s.processor()-cpu).Seconds()/time.Since(at).Seconds()*100)

	s.record("REST", 10)

	s.stop()
	began = time.Now()
	s.start()
	b = s.client() // the address is another one
	t.Logf("begun again: it listens after %v", time.Since(began).Round(time.Millisecond))
	recorded.Go(func() { s.record("BEGIN", 10) })
	defer recorded.Wait()
	require.Eventually(t, func() bool {
		now, err := b.LatestStatus(t.Context(), state.ID)
		return err == nil && now.Seconds < time.Since(began).Seconds() && now.Done >= filled
	}, 5*time.Minute, 20*time.Millisecond)
	t.Logf("and knows %d results after %v; memory %s", filled, time.Since(began).Round(time.Millisecond), s.memory())
}

// filled is how many results there are in the end, of all units; the campaign must not end.
const filled = 1_000_000

// fill has results delivered as fast as it goes, by workers that need no time for a unit.
func fill(t testing.TB, s *server, c gate.Client, id string) {
	t.Helper()
	var all sync.WaitGroup
	within, end := context.WithCancel(t.Context())
	for range 8 {
		nc, err := s.join(hub.Worker)
		require.NoError(t, err)
		defer nc.Close()
		w := gate.Worker{Conn: nc}
		all.Go(func() { // else nothing is handed out ahead
			for within.Err() == nil {
				w.SendHeartbeat(&board.Heartbeat{Name: fmt.Sprintf("fill.%p", nc), Build: build, Cores: 1024,
					Needs: []string{"go"}})
				time.Sleep(time.Second)
			}
		})
		for range 32 {
			all.Go(func() {
				for within.Err() == nil {
					u, err := w.Take(within, build, "go", time.Second)
					if err != nil {
						continue
					}
					r := result(&u.Unit, 64)
					_ = w.Deliver(within, u, &r, "fill") // what isn't delivered is handed out again
				}
			})
		}
	}
	require.Eventually(t, func() bool {
		now, err := c.LatestStatus(t.Context(), id)
		return err == nil && now.Done >= filled
	}, 20*time.Minute, time.Second)
	end()
	all.Wait()
}
