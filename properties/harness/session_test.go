package harness

import (
	"os"
	"testing"

	"github.com/stretchr/testify/require"

	"kpsim/kprobes"
	"kpsim/kprobes/kpev"
	"kpsim/properties/scenario"
	"kpsim/sched"
	"kpsim/smp"
	"kpsim/traces"
)

func session(t *testing.T, name string) *Session {
	sc, err := scenario.LoadBuiltin(name)
	require.NoError(t, err)
	s, err := NewSession(sc, "", new(sched.Default))
	require.NoError(t, err)
	t.Cleanup(s.Close)
	return s
}

// A session stands until it is asked for something, does it to its end, and
// stands again.
func TestSession(t *testing.T) {
	s := session(t, "safe-full")
	m := s.Rig.Machine
	require.Zero(t, m.Steps())
	require.Nil(t, s.Run)

	ran := 0
	require.NoError(t, s.Do(1, "ran", func(*smp.Ctx) { ran++ }))
	require.Equal(t, 1, ran)
	at := m.Steps()
	require.NotZero(t, at)
	require.Zero(t, s.Step(5), "there is nothing to step")
	require.Equal(t, at, m.Steps())

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
	require.NoError(t, s.Op(0, "register", scenario.Op{Kind: scenario.OpRegister, Target: "mine"}, false, ended))
	require.Zero(t, errno)
	require.NoError(t, s.Op(0, "register", scenario.Op{Kind: scenario.OpRegister, Target: "mine"}, false, ended))
	require.Equal(t, kprobes.EINVAL, errno)
	for range 3 {
		require.NoError(t, s.Op(1, "call", scenario.Op{Kind: scenario.OpCall, Target: f, Changed: true}, false, ended))
	}
	k, ok := s.Probe("mine")
	require.True(t, ok)
	require.Equal(t, [2]int{3, 3}, [2]int{s.Counts(uint64(k), kpev.Pre), s.Counts(uint64(k), kpev.Post)})
	missed, skipped := s.Missed(uint64(k))
	require.Zero(t, missed+skipped)
}

// The session of a trace goes along its schedule, step by step or at once, and
// breaks what the trace says.
func TestSessionTrace(t *testing.T) {
	for _, name := range []string{"T2-second-instruction", "T1-torn-jump"} {
		path := "../../traces/corpus/" + name + ".kps"
		data, err := os.ReadFile(path)
		require.NoError(t, err)
		file, err := traces.Parse(path, data)
		require.NoError(t, err)
		for _, n := range []uint64{1, 1 << 20} {
			s, err := OpenSession(path, file)
			require.NoError(t, err)
			for s.Step(n) > 0 {
			}
			require.NotNil(t, s.Run, name)
			require.Equal(t, file.Property, s.Run.Property.ID)
			require.Equal(t, file.Digest, s.Run.Digest, "it is the run of the file, to the last event")
			s.Close()
		}
	}
}
