package session

import (
	"os"
	"path/filepath"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"kpsim/internal/scenario"
	"kpsim/internal/scenario/act"
	"kpsim/internal/scenario/library"
	"kpsim/internal/search/explore"
	"kpsim/internal/testkit/searchtest"
	"kpsim/kprobes"
	"kpsim/kprobes/era"
	"kpsim/kprobes/kpev"
	"kpsim/sched"
	"kpsim/sim"
	"kpsim/smp"
	"kpsim/smp/kapi"
	"kpsim/traces"
)

func session(t *testing.T, name string) *Session {
	sc, err := library.Load(name)
	require.NoError(t, err)
	s, err := New(sc, "", new(sched.Default))
	require.NoError(t, err)
	t.Cleanup(s.Close)
	return s
}

// A session stands until it is asked for something, does it to its end, and
// stands again.
func TestSession(t *testing.T) {
	s := session(t, "safe-full")
	m := s.Rig.Machine
	require.Zero(t, m.Interactive().Steps())
	require.Nil(t, s.Run)

	ran := 0
	require.NoError(t, s.Do(1, "ran", func(*smp.Ctx) { ran++ }))
	require.Equal(t, 1, ran)
	at := m.Interactive().Steps()
	require.NotZero(t, at)
	require.Zero(t, s.Step(5), "there is nothing to step")
	require.Equal(t, at, m.Interactive().Steps())

	require.NoError(t, s.Begin(0, "waits", func(x *smp.Ctx) { x.Step("one", 1); x.Step("two", 2); ran++ }))
	require.ErrorContains(t, s.Begin(0, "another", nil), "still at waits")
	require.Equal(t, uint64(2), s.Step(2))
	require.Equal(t, 1, ran)
	require.NoError(t, s.Finish())
	require.Equal(t, 2, ran)
	require.Nil(t, s.Run)
}

// A scenario's tasks begin when they are let go, and its probes are registered
// by hand.
func TestSessionTasks(t *testing.T) {
	s := session(t, "safe-full")
	for _, task := range s.Tasks() {
		require.True(t, task.Held())
		require.NoError(t, s.Wake(task))
	}
	require.ErrorContains(t, s.Wake(s.Tasks()[0]), "has begun already")
	require.NoError(t, s.All())
	for _, task := range s.Tasks() {
		require.True(t, task.Dead())
	}
	require.Nil(t, s.Run, "%v", s.Run)
}

// A probe that a session adds is hit and counted like those of the scenario.
func TestSessionProbe(t *testing.T) {
	s := session(t, "safe-full")
	f := s.Rig.Scenario.Texts[0].Name
	count := []scenario.Step{{Kind: scenario.StepCount}}
	require.NoError(t, s.AddProbe(scenario.Probe{Name: "mine", Func: f, Pre: count, Post: count}))
	require.Error(t, s.AddProbe(scenario.Probe{Name: "mine", Func: f}))
	var errno kprobes.Errno
	ended := func(e kprobes.Errno, _ uint64) { errno = e }
	require.NoError(t, s.Op(0, "register", scenario.Op{Kind: act.Register, Target: "mine"}, false, ended))
	require.Zero(t, errno)
	require.NoError(t, s.Op(0, "register", scenario.Op{Kind: act.Register, Target: "mine"}, false, ended))
	require.Equal(t, kprobes.EINVAL, errno)
	for range 3 {
		require.NoError(t, s.Op(1, "call", scenario.Op{Kind: act.Call, Target: f, Changed: true}, false, ended))
	}
	k, ok := s.Probe("mine")
	require.True(t, ok)
	require.Equal(t, [2]int{3, 3}, [2]int{s.Counts(uint64(k), kpev.Pre), s.Counts(uint64(k), kpev.Post)})
	missed, skipped := s.Missed(uint64(k))
	require.Zero(t, missed+skipped)
}

// The session of a trace goes along its schedule, step by step or at once, and
// is the run of the file to the last event.
func TestSessionTrace(t *testing.T) {
	paths, err := filepath.Glob(searchtest.CorpusPath(t, "*"))
	require.NoError(t, err)
	require.NotEmpty(t, paths)
	for i, path := range paths {
		data, err := os.ReadFile(path)
		require.NoError(t, err)
		file, err := traces.Parse(path, data)
		require.NoError(t, err)
		s, err := Open(path, file)
		require.NoError(t, err)
		n := uint64(1) << 20
		if i%2 == 0 {
			n = 1
		}
		for s.Step(n) > 0 {
		}
		require.NotNil(t, s.Run, path)
		require.NotNil(t, s.Run.Property, path)
		require.Equal(t, file.Property, s.Run.Property.ID, path)
		require.Equal(t, file.Message, s.Rig.Readable(s.Run.Finding.Message), path)
		// There is a lock a task, or each task goes over to a live patch, and here is one task more.
		if s.Rig.Scenario.Machine.Return != era.ReturnHashed && !s.Rig.Scenario.Does(act.PatchFunc) {
			require.Equal(t, file.Digest, s.Run.Digest, path)
		}
		require.ErrorContains(t, s.Do(0, "anything", func(*smp.Ctx) {}), "the run is over")
		require.Zero(t, s.Step(1))
		s.Close()
	}
}

// An operation that doesn't end is left under way, and reported.
func TestSessionEndless(t *testing.T) {
	s := session(t, "safe-full")
	s.patient = 1000
	loop := func(x *smp.Ctx) {
		for {
			x.Step("loop", 1)
		}
	}
	require.ErrorContains(t, s.Do(0, "the loop", loop), "the loop doesn't come to its end in 1000 steps")
	require.ErrorContains(t, s.Do(0, "another", func(*smp.Ctx) {}), "the shell of cpu0 is still at the loop")
	require.NoError(t, s.Do(1, "another", func(*smp.Ctx) {}), "the other CPU goes on")

	s = session(t, "safe-full")
	var never kapi.Var[bool]
	wait := func(x *smp.Ctx) {
		never.Init(&s.Rig.Machine.Cells, false)
		x.Sleep(&kapi.Is[bool]{Var: &never, Want: true})
	}
	require.ErrorContains(t, s.Do(0, "the wait", wait), "nothing else can move")
	require.NoError(t, s.Do(1, "another", func(*smp.Ctx) {}))
}

// One mover alone is stepped, as far as it can be; the others stand.
func TestSessionStepBy(t *testing.T) {
	s := session(t, "safe-full")
	m := s.Rig.Machine
	two := func(x *smp.Ctx) { x.Step("one", 1); x.Step("two", 2) }
	require.NoError(t, s.Begin(0, "zero", two))
	require.NoError(t, s.Begin(1, "one", two))
	cpu1, ok := m.Names().MoverNamed("cpu1")
	require.True(t, ok)
	made := s.StepBy(cpu1, 100)
	require.NotZero(t, made)
	require.Less(t, made, uint64(100), "then it has nothing to do")
	require.Nil(t, s.errands[1].do)
	require.NotNil(t, s.errands[0].do, "the other one hasn't moved")
	_, ok = m.Names().MoverNamed("cpu2")
	require.False(t, ok)
	_, ok = m.Names().MoverNamed("timer@cpu1")
	require.True(t, ok)
	require.NoError(t, s.Finish())
	require.Nil(t, s.errands[0].do)
}

// A panic on the machine's side comes out where the session is used.
func TestSessionCrash(t *testing.T) {
	sc, err := library.Load("safe-full")
	require.NoError(t, err)
	s, err := New(sc, "", new(sched.Default))
	require.NoError(t, err)
	defer s.Rig.Close()
	require.Panics(t, func() { _ = s.Do(0, "a bug", func(*smp.Ctx) { sim.Bug("on purpose") }) })
}

// What is broken at the end of a run only is said when a session ends, or goes no
// further; a session that has something under way has no end.
func TestSessionEnd(t *testing.T) {
	sc, err := library.Load("return-nmi")
	require.NoError(t, err)
	found := 0
	for seed := uint64(0); found == 0 && seed < 2000; seed++ {
		by, err := (&explore.Spec{Scenario: sc, Strategy: "random", Seed: seed}).First()
		require.NoError(t, err)
		s, err := New(sc, "objpool-last", by)
		require.NoError(t, err)
		for _, task := range s.Tasks() {
			require.NoError(t, s.Wake(task))
		}
		require.False(t, s.End(), "there is something to do")
		require.NoError(t, s.All())
		if s.Run == nil { // else progress is broken
			require.True(t, s.End())
			if p := s.Run.Property; p != nil {
				require.Contains(t, []string{"R2", "P1"}, p.ID, "an instance is lost, or the next pop hangs")
				found++
			}
			require.False(t, s.End(), "it is over")
		}
		s.Close()
	}
	require.NotZero(t, found)

	s := session(t, "safe-full")
	require.NoError(t, s.Begin(0, "waits", func(x *smp.Ctx) { x.Sleep(kapi.Yield); x.Step("one", 1) }))
	require.False(t, s.End(), "it is under way")
	require.NoError(t, s.Finish())
	require.True(t, s.End())
	require.Nil(t, s.Run.Property)
	require.ErrorContains(t, s.All(), "the run is over")
}

// A session halts after a step, within it is at an event, and goes on to the same run.
func TestSessionHalts(t *testing.T) {
	all := session(t, "safe-full")
	for _, task := range all.Tasks() {
		require.NoError(t, all.Wake(task))
	}
	require.NoError(t, all.All())
	last := len(all.Rig.Log.Events)

	s := session(t, "safe-full")
	for _, task := range s.Tasks() {
		require.NoError(t, s.Wake(task))
	}
	s.Limit = 20
	require.ErrorIs(t, s.All(), ErrHalted)
	require.True(t, s.Halted)
	require.Equal(t, uint64(20), s.Rig.Machine.Interactive().Steps())
	require.ErrorIs(t, s.All(), ErrHalted, "it is there already")
	s.Limit = NoLimit
	for e := uint64(last / 2); e < uint64(last); e += 5 {
		s.Beyond = e
		before := len(s.Rig.Log.Events)
		require.ErrorIs(t, s.All(), ErrHalted)
		require.Greater(t, uint64(len(s.Rig.Log.Events)), e)
		if before <= int(e) {
			require.NotZero(t, s.Rig.Machine.Interactive().Steps())
		}
	}
	s.Beyond, s.Halted = NoLimit, false
	var stopped bool
	s.Halt = func(made bool) bool { stopped = made && !stopped; return stopped }
	require.Equal(t, uint64(1), s.Step(10))
	require.NotEqual(t, sim.NoMover, s.Moved())
	s.Halt, s.Halted = nil, false
	stop := new(atomic.Bool)
	stop.Store(true)
	s.Interrupt = stop
	require.ErrorIs(t, s.All(), ErrHalted)
	require.False(t, stop.Load())
	s.Halted = false
	require.NoError(t, s.All())
	require.Equal(t, all.Rig.Log.Events, s.Rig.Log.Events)
}
