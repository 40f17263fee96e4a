package faults

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"time"
)

// A Kind is a kind of fault.
type Kind string

// The kinds of fault.
const (
	WorkerKilled Kind = "worker-killed" // kill -9; another one starts
	WorkerEnded  Kind = "worker-ended"  // SIGTERM; another one starts
	// SIGSTOP for longer than the lease: it delivers a unit late, after another worker made it
	WorkerStopped  Kind = "worker-stopped"
	ServerKilled   Kind = "server-killed"    // kill -9; it starts again in the same folder
	LeaderKilled   Kind = "leader-killed"    // in a cluster: kill -9 of the server that leads a stream
	Cut            Kind = "cut"              // all connections are closed
	Slow           Kind = "slow"             // connections are slow, in delay and bytes a second
	Silent         Kind = "silent"           // nothing comes through, and nothing is closed
	ServerDiskFull Kind = "server-disk-full" // for some seconds
	WorkerDiskFull Kind = "worker-disk-full" // one worker has no room for the kernel, another one has
	ClocksApart    Kind = "clocks-apart"     // workers and servers up to days apart; a server's clock jumps
	Twice          Kind = "twice"            // units are handed out twice, results delivered twice
	Poison         Kind = "poison"           // a unit fails on every worker
)

// Kinds lists all kinds of fault.
var Kinds = []Kind{WorkerKilled, WorkerEnded, WorkerStopped, ServerKilled, LeaderKilled, Cut, Slow, Silent,
	ServerDiskFull, WorkerDiskFull, ClocksApart, Twice, Poison}

// exclusiveKinds are the kinds that need an arrangement of their own, and so occur once, from the beginning.
var exclusiveKinds = []Kind{LeaderKilled, ServerDiskFull, WorkerDiskFull, Poison}

// A Fault is one fault of a schedule.
type Fault struct {
	At       time.Duration // since the first unit was handed out
	Kind     Kind
	Target   int           // a worker, a stream, a way to fail
	Duration time.Duration // time until it is mended
}

func (f Fault) String() string {
	return fmt.Sprintf("%v %s %d for %v", f.At, f.Kind, f.Target, f.Duration)
}

// A Schedule is drawn from a seed.
type Schedule struct {
	Seed         uint64
	Servers      int // 1, or 3 in a cluster
	Workers      int
	ClockOffsets []time.Duration // how far each worker's clock is from the server's
	Faults       []Fault         // by time; the first one drawn is Main
	Main         Kind
}

func (s *Schedule) String() string {
	var list []string
	for _, f := range s.Faults {
		list = append(list, f.String())
	}
	return fmt.Sprintf("seed %d: servers %d, workers %d, %s: %s",
		s.Seed, s.Servers, s.Workers, s.Main, strings.Join(list, "; "))
}

// Lease is the silence after which a unit is handed out again, in all schedules.
const Lease = 2 * time.Second

// Draw draws a schedule. Its main kind follows from the seed: as many consecutive seeds as there are kinds have each
// kind once.
func Draw(seed uint64) *Schedule {
	r := rand.New(rand.NewPCG(seed, 1))
	between := func(a, b time.Duration) time.Duration {
		return (a + time.Duration(r.Int64N(int64(b-a)))).Round(10 * time.Millisecond)
	}
	s := &Schedule{Seed: seed, Servers: 1, Workers: 2 + r.IntN(2), Main: Kinds[seed%uint64(len(Kinds))]}
	draw := func(k Kind) Fault {
		f := Fault{At: between(200*time.Millisecond, 2500*time.Millisecond), Kind: k, Target: r.IntN(60),
			Duration: between(100*time.Millisecond, time.Second)}
		switch k {
		case WorkerStopped:
			f.Duration = between(Lease+500*time.Millisecond, Lease+2*time.Second)
		case Slow, Silent:
			f.Duration = between(time.Second, 5*time.Second)
		case ServerDiskFull:
			f.Duration = between(time.Second, 4*time.Second)
		case LeaderKilled:
			f.Duration = between(500*time.Millisecond, 3*time.Second)
		}
		return f
	}
	s.Faults = append(s.Faults, draw(s.Main))
	others := slices.DeleteFunc(slices.Clone(Kinds), func(k Kind) bool { return slices.Contains(exclusiveKinds, k) })
	switch s.Main {
	case LeaderKilled:
		s.Servers = 3
		others = []Kind{WorkerKilled, WorkerEnded, WorkerStopped, Twice}
	case WorkerDiskFull:
		others = []Kind{WorkerKilled, Cut, Twice}
	case Poison:
		others = []Kind{WorkerEnded, WorkerStopped, Cut, Twice}
	}
	for range r.IntN(4) {
		s.Faults = append(s.Faults, draw(others[r.IntN(len(others))]))
	}
	slices.SortStableFunc(s.Faults, func(a, b Fault) int { return int(a.At - b.At) })
	s.ClockOffsets = make([]time.Duration, s.Workers)
	if slices.ContainsFunc(s.Faults, func(f Fault) bool { return f.Kind == ClocksApart }) {
		for i := range s.ClockOffsets {
			s.ClockOffsets[i] = between(-48*time.Hour, 48*time.Hour).Round(time.Second)
		}
	}
	return s
}
