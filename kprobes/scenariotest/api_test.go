package scenariotest

import (
	"testing"

	"github.com/stretchr/testify/require"

	"kpsim/internal/scenario"
	"kpsim/kprobes"
	"kpsim/kprobes/kpev"
	"kpsim/smp/arch/x86"
)

const (
	ok     = kprobes.Errno(0)
	einval = kprobes.EINVAL
	eilseq = kprobes.EILSEQ
)

type errno = kprobes.Errno

// TestErrnoLabel: any byte of a jump label's site, before its boundary is looked at.
func TestErrnoLabel(t *testing.T) {
	for off, want := range map[int]kprobes.Errno{0: ok, 1: eilseq, 3: einval, 4: einval, 7: einval, 8: ok} {
		sc := with(t, []scenario.Probe{on("k", "labelled", off)}, task(register("k")))
		sc.Labels = []scenario.Label{{Name: "l", Sites: []scenario.LabelSite{
			{Func: "labelled", Offset: 3, Target: "labelled_on"}}}}
		require.Equal(t, []kprobes.Errno{want}, play(t, sc, 0).errnos(), "offset %d", off)
	}
}

// TestRegistered: what a probe's registration allows (spec 6.1, 6.5, 6.6).
func TestRegistered(t *testing.T) {
	for _, test := range []struct {
		says string
		ops  []scenario.Op
		want []kprobes.Errno
	}{
		{"twice", []scenario.Op{register("a"), register("a")}, []kprobes.Errno{ok, einval}},
		{"again", []scenario.Op{register("a"), unregister("a"), register("a")}, []kprobes.Errno{ok, ok, ok}},
		{"not registered", []scenario.Op{unregister("a"), enable("a"), disable("a")},
			[]kprobes.Errno{einval, einval, einval}},
		{"no longer", []scenario.Op{register("a"), unregister("a"), unregister("a"), enable("a"), disable("a")},
			[]kprobes.Errno{ok, ok, einval, einval, einval}},
		{"idempotent", []scenario.Op{register("a"), enable("a"), disable("a"), disable("a"), enable("a"), enable("a")},
			[]kprobes.Errno{ok, ok, ok, ok, ok, ok}},
		{"refused is not registered", []scenario.Op{register("bad"), unregister("bad"), register("a")},
			[]kprobes.Errno{eilseq, einval, ok}},
		{"a disabled one is", []scenario.Op{register("a"), disable("a"), register("a"), unregister("a")},
			[]kprobes.Errno{ok, ok, einval, ok}},
		{"two of a point", []scenario.Op{register("a"), register("b"), unregister("a"), unregister("a"),
			unregister("b")}, []kprobes.Errno{ok, ok, ok, einval, ok}},
	} {
		t.Run(test.says, func(t *testing.T) {
			sc := with(t, []scenario.Probe{on("a", "victim", 0), on("b", "victim", 0), on("bad", "victim", 2)},
				task(test.ops...), onCPU(1, call("victim", 1, 2)))
			require.Equal(t, test.want, play(t, sc, 5).errnos())
			queued := waits(test.ops)
			sc.Tasks[0] = task(queued...)
			require.Equal(t, test.want, play(t, sc, 5).errnos(), "with the optimizer in between")
		})
	}
}

// waits puts a wait for the optimizer behind each operation.
func waits(ops []scenario.Op) (all []scenario.Op) {
	for _, op := range ops {
		all = append(all, op, wait)
	}
	return all
}

// TestHandlers: which handlers run, in which order (spec 1.4 to 1.8, 1.11, 4.9, 4.10).
// The probes: a, b and c at victim's first instruction, numbers 0 to 2.
func TestHandlers(t *testing.T) {
	skip := []scenario.Step{{Kind: scenario.StepSetIP, Target: "helper"}}
	set := []scenario.Step{{Kind: scenario.StepSetReg, Reg: x86.RDI, Value: 40}}
	nest := []scenario.Step{{Kind: scenario.StepCall, Target: "helper"}}
	v := func(name string, pre, post []scenario.Step) scenario.Probe {
		return scenario.Probe{Name: name, Func: "victim", Pre: pre, Post: post}
	}
	hit := call("victim", 1, 2)
	for _, test := range []struct {
		says   string
		probes []scenario.Probe
		ops    []scenario.Op
		want   []string
	}{
		{"last registered first (1.8)",
			[]scenario.Probe{v("a", count, nil), v("b", count, nil), v("c", count, nil)},
			[]scenario.Op{register("b"), register("a"), register("c"), hit}, []string{"pre 2", "pre 0", "pre 1"}},
		{"the same when optimized",
			[]scenario.Probe{v("a", count, nil), v("b", count, nil), v("c", count, nil)},
			[]scenario.Op{register("b"), register("a"), register("c"), wait, hit}, []string{"pre 2", "pre 0", "pre 1"}},
		{"post_handlers in the same order (1.4)",
			[]scenario.Probe{v("a", count, count), v("b", count, nil), v("c", count, count)},
			[]scenario.Op{register("a"), register("b"), register("c"), wait, hit},
			[]string{"pre 2", "pre 1", "pre 0", "post 2", "post 0"}},
		{"disabled ones are skipped (1.8)",
			[]scenario.Probe{v("a", count, count), v("b", count, count), v("c", count, count)},
			[]scenario.Op{register("a"), register("b"), register("c"), disable("b"), hit, enable("b"), disable("a"),
				disable("c"), hit, disable("b"), hit},
			[]string{"pre 2", "pre 0", "post 2", "post 0", "pre 1", "post 1"}},
		{"disabled ones are skipped when optimized",
			[]scenario.Probe{v("a", count, nil), v("b", count, nil)},
			[]scenario.Op{register("a"), register("b"), wait, disable("b"), hit, wait, hit, disable("a"), hit, wait,
				hit, enable("b"), hit, wait, hit},
			[]string{"pre 0", "pre 0", "pre 1", "pre 1"}},
		{"non-zero ends it, no post_handler runs (1.6, 1.8)",
			[]scenario.Probe{v("a", count, count), v("b", skip, count), v("c", count, count)},
			[]scenario.Op{register("a"), register("b"), register("c"), wait, changed("victim", 1, 2)},
			[]string{"pre 2", "pre 1", "skipped 0"}},
		{"non-zero is ignored when optimized (4.10)",
			[]scenario.Probe{v("a", count, nil), v("b", skip, nil), v("c", count, nil)},
			[]scenario.Op{register("a"), register("b"), register("c"), wait, hit}, []string{"pre 2", "pre 1", "pre 0"}},
		{"non-zero holds while it is queued (4.5)",
			[]scenario.Probe{v("a", count, nil), v("b", skip, nil), v("c", count, nil)},
			[]scenario.Op{register("a"), register("b"), register("c"), changed("victim", 1, 2)},
			[]string{"pre 2", "pre 1", "skipped 0"}},
		{"registers changed by one are seen by the next",
			[]scenario.Probe{v("a", set, nil), v("b", set, nil)},
			[]scenario.Op{register("a"), register("b"), changed("victim", 1, 2)}, []string{"pre 1", "pre 0"}},
		{"a post_handler that joins an optimized point runs at once (4.9)",
			[]scenario.Probe{v("a", count, nil), v("b", count, count)},
			[]scenario.Op{register("a"), wait, register("b"), hit, wait, hit},
			[]string{"pre 1", "pre 0", "post 1", "pre 1", "pre 0", "post 1"}},
		{"a post_handler that joins a queued point runs at once",
			[]scenario.Probe{v("a", count, nil), v("b", count, count)},
			[]scenario.Op{register("a"), register("b"), hit}, []string{"pre 1", "pre 0", "post 1"}},
		{"a post_handler that joins a point on its way out runs at once",
			[]scenario.Probe{v("a", count, nil), v("b", count, count)},
			[]scenario.Op{register("a"), wait, unregister("a"), register("b"), hit, wait, hit},
			[]string{"pre 1", "post 1", "pre 1", "post 1"}},
		{"a hit inside a handler is missed, by each member (1.11)",
			[]scenario.Probe{v("a", nest, nil), {Name: "b", Func: "helper", Pre: count},
				{Name: "c", Func: "helper", Pre: count, Post: count}},
			[]scenario.Op{register("b"), register("c"), register("a"), hit}, []string{"pre 0", "missed 2", "missed 1"}},
		{"and of an optimized probe",
			[]scenario.Probe{v("a", nest, nil), {Name: "b", Func: "helper", Pre: count}},
			[]scenario.Op{register("b"), register("a"), wait, hit}, []string{"pre 0", "missed 1"}},
		{"and from a post_handler",
			[]scenario.Probe{v("a", count, nest), {Name: "b", Func: "helper", Pre: count, Post: count}},
			[]scenario.Op{register("b"), register("a"), wait, hit}, []string{"pre 0", "post 0", "missed 1"}},
		{"emulated inside a handler",
			[]scenario.Probe{v("a", nest, nil), {Name: "b", Func: "helper", Offset: 5, Pre: count, Post: count}},
			[]scenario.Op{register("b"), register("a"), hit}, []string{"pre 0", "missed 1"}},
	} {
		t.Run(test.says, func(t *testing.T) {
			sc := with(t, test.probes, task(test.ops...))
			require.Equal(t, test.want, play(t, sc, 20).handlers())
		})
	}
}

// TestUnregisterOne: of two probes of a point the other goes on (spec 1.8, 6.7),
// and what kept the point from being optimized goes with the one (4.4).
func TestUnregisterOne(t *testing.T) {
	sc := with(t, []scenario.Probe{on("a", "victim", 0), post("b", "victim", 0)},
		task(register("a"), register("b"), wait, call("victim", 1, 2), unregister("b"), wait, call("victim", 3, 4),
			unregister("a"), wait, call("victim", 5, 6)),
		onCPU(1, call("victim", 7, 8), call("victim", 9, 10)))
	w := play(t, sc, 50)
	require.Equal(t, []string{"pre 1", "pre 0", "post 1", "pre 0"}, w.handlers())
	require.Len(t, w.of(kpev.Optimized), 1)
	require.Len(t, w.of(kpev.Unoptimized), 1)
}
