package rig

import (
	"testing"

	"github.com/stretchr/testify/require"

	"kpsim/internal/scenario"
	"kpsim/internal/scenario/gen"
	"kpsim/internal/scenario/lang"
	"kpsim/internal/testkit/searchtest"
	"kpsim/internal/testkit/thorough"
	"kpsim/kprobes"
	"kpsim/kprobes/kpev"
	"kpsim/kprobes/mutants"
	"kpsim/kprobes/rules"
	"kpsim/properties"
	"kpsim/sched"
	"kpsim/traces"
)

// A history is calls written down by hand.
type history struct{ l Linear }

func (h *history) event(k traces.Kind, task uint8, a, b, c uint64) *history {
	h.l.Event(&traces.Event{Kind: k, Task: task, A: a, B: b, C: c})
	return h
}

func (h *history) begin(task uint8, api uint64) *history {
	return h.event(kpev.ApiEnter, task, api, 1, 0)
}
func (h *history) end(task uint8, api, errno uint64) *history {
	return h.event(kpev.ApiReturn, task, api, 1, errno)
}

func (h *history) does(task uint8, api, errno uint64) *history {
	return h.begin(task, api).end(task, api, errno)
}

// finds is what is there at the end.
func (h *history) finds(there, disabled bool) *history {
	h.l.calls = append(h.l.calls, linearCall{what: linearRead, about: 1, there: there, value: disabled,
		from: h.l.now + 1, to: h.l.now + 2})
	return h
}

func (h *history) write(task uint8, on, done uint64) *history {
	return h.event(kpev.Enabled, task, on, done, 0)
}

const (
	reg, unreg, enable, disable = kpev.Register, kpev.Unregister, kpev.Enable, kpev.Disable

	einval = uint64(kprobes.EINVAL)
)

// TestLinearHistories: which histories have an order, by hand.
func TestLinearHistories(t *testing.T) {
	for _, c := range []struct {
		says  string
		holds bool
		h     func(h *history)
	}{
		{"one after another", true, func(h *history) {
			h.does(1, reg, 0).does(1, reg, einval).does(1, disable, 0).does(1, unreg, 0).does(1, enable,
				einval).finds(false, false)
		}},
		{"two register, and one has it", true, func(h *history) {
			h.begin(1, reg).begin(2, reg).end(1, reg, einval).end(2, reg, 0).finds(true, false)
		}},
		{"two register, and both have it", false, func(h *history) {
			h.begin(1, reg).begin(2, reg).end(1, reg, 0).end(2, reg, 0).finds(true, false)
		}},
		{"two register, and both have it, for somebody unregisters in between", true, func(h *history) {
			h.begin(1, reg).begin(2, reg).begin(3, unreg).end(1, reg, 0).end(2, reg, 0).end(3, unreg, 0).finds(true,
				false)
		}},
		{"both have it, and who unregisters came too late to be in between", false, func(h *history) {
			h.begin(1, reg).begin(2, reg).end(1, reg, 0).end(2, reg, 0).does(3, unreg, 0).finds(false, false)
		}},
		{"two unregister, and both did", false, func(h *history) {
			h.does(1, reg, 0).begin(1, unreg).begin(2, unreg).end(1, unreg, 0).end(2, unreg, 0).finds(false, false)
		}},
		{"two register, and neither has it", false, func(h *history) {
			h.does(1, reg, 0).does(1, unreg, 0).begin(1, reg).begin(2, reg).end(1, reg, einval).end(2, reg,
				einval).finds(false, false)
		}},
		{"disabled and enabled at once, and it is disabled", true, func(h *history) {
			h.does(1, reg, 0).begin(1, disable).begin(2, enable).end(1, disable, 0).end(2, enable, 0).finds(true, true)
		}},
		{"and it is enabled", true, func(h *history) {
			h.does(1, reg, 0).begin(1, disable).begin(2, enable).end(1, disable, 0).end(2, enable, 0).finds(true, false)
		}},
		{"disabled, then enabled: it can't be disabled", false, func(h *history) {
			h.does(1, reg, 0).does(1, disable, 0).does(2, enable, 0).finds(true, true)
		}},
		{"an enable that overlaps all has nothing to enable", true, func(h *history) {
			h.begin(2, enable).does(1, reg, 0).does(1, unreg, 0).end(2, enable, einval).finds(false, false)
		}},
		{"an enable while it was registered all the time is refused", false, func(h *history) {
			h.does(1, reg, 0).begin(2, enable).does(1, disable, 0).end(2, enable, einval).finds(true, true)
		}},
		{"both switch off, and one has changed it", true, func(h *history) {
			h.write(1, 0, 0).write(2, 0, 0).event(kpev.Printk, 2, uint64(kpev.LineDisarmed), 0, 0).write(1, 0,
				1).write(2, 0, 1)
		}},
		{"both switch off, and both have changed it", false, func(h *history) {
			h.write(1, 0, 0).write(2, 0, 0).event(kpev.Printk, 2, uint64(kpev.LineDisarmed), 0, 0)
			h.event(kpev.Printk, 1, uint64(kpev.LineDisarmed), 0, 0).write(1, 0, 1).write(2, 0, 1)
		}},
		{"switched off, and nothing has changed", false, func(h *history) { h.write(1, 0, 0).write(1, 0, 1) }},
	} {
		h := &history{}
		c.h(h)
		got := h.l.check(func(uint64) linearAbout { return linearAbout{toggles: true, fixed: true} })
		require.Equal(t, c.holds, got == "", "%s: %s", c.says, got)
	}
}

// shared is a drawn program whose tasks call the API for each other's probes.
func shared(seed uint64, m scenario.Machine) *scenario.Scenario {
	for ; ; seed += 1 << 32 {
		if sc, _ := gen.Of(&gen.Recipe{Seed: seed}, gen.On{Machines: []scenario.Machine{m}}); sc.Shares() {
			return sc
		}
	}
}

// linearRuns runs a scenario, and returns how many runs there were in which calls
// overlapped, and what the first history was that nothing explains.
func linearRuns(t *testing.T, sc *scenario.Scenario, mu *mutants.Mutant, seed, runs uint64) (overlapped, broken int,
	wrong string) {
	t.Helper()
	require.NoError(t, lang.Check(sc))
	rig, err := New(sc, "")
	require.NoError(t, err)
	defer rig.Close()
	rig.wiring.mutant = mu
	l := rig.Judges.linear
	require.NotNil(t, l)
	strategy := sched.NewRandom(sched.Params{Seed: seed})
	for i := uint64(0); i < runs && wrong == ""; i++ {
		run, _ := rig.Next(strategy, i)
		require.NoError(t, run.Err)
		if run.Property == &properties.Linearizable {
			wrong = run.Finding.Message
		} else if run.Property != nil {
			broken++
		}
		overlapped += int(b2u(l.overlapped()))
	}
	return overlapped, broken, wrong
}

// TestLinearMutants: an answer that isn't what was done is found, and by which program.
// The first no monitor can be sure of: the calls overlap.
func TestLinearMutants(t *testing.T) {
	m := scenario.Machine{Edition: rules.Edition69, Preempt: scenario.PreemptFull}
	m.Settle()
	for _, c := range []struct {
		name string
		row  string
	}{
		{"two that register at once both do", "asked-unlocked"},
		{"what is disabled can't be disabled", "toggle-once"},
		{"what isn't registered can be enabled", "toggle-any"},
	} {
		mu := &mutants.Mutant{Apply: func(w *mutants.Wiring) { mutants.Apply(c.row, w) }}
		wrong, programs := "", 0
		for seed := uint64(0); wrong == "" && seed < 120; seed++ {
			_, _, wrong = linearRuns(t, shared(seed, m), mu, seed, 10)
			programs++
		}
		require.NotEmpty(t, wrong, c.name)
		t.Logf("%s: after %d programs: %s", c.name, programs, wrong)
	}
}

// TestLinear: whatever order the calls of programs come in, there is one in which each
// came alone.
func TestLinear(t *testing.T) {
	overlapped, runs := 0, 0
	for i, m := range gen.Machines() {
		for seed := range uint64(max(thorough.Of(2, 4)/searchtest.Slow, 1)) {
			sc := shared(seed*100+uint64(i), m)
			n, broken, wrong := linearRuns(t, sc, nil, seed, 5)
			require.Empty(t, wrong, sc.Name)
			require.Zero(t, broken, "%s breaks a property", sc.Name)
			overlapped, runs = overlapped+n, runs+5
		}
	}
	t.Logf("calls overlapped in %d of %d runs", overlapped, runs)
	require.Greater(t, overlapped, runs/20)
}
