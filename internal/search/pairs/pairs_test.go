package pairs_test

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"kpsim/internal/scenario"
	"kpsim/internal/scenario/act"
	"kpsim/internal/scenario/lang"
	"kpsim/internal/scenario/library"
	"kpsim/internal/search/pairs"
	"kpsim/internal/search/rig"
	"kpsim/sched"
)

// TestRows: each operation is about a sort of object that has states, or about nothing but its task, and
// what undoes an operation is undone by it.
func TestRows(t *testing.T) {
	features := map[uint64]bool{}
	for _, p := range pairs.All() {
		require.False(t, features[p.Feature()], "%s is there twice", &p)
		require.True(t, pairs.Is(p.Feature()))
		features[p.Feature()] = true
	}
	for _, k := range act.All() {
		require.NotEmpty(t, k.Object, "%v: what is it about?", k)
		require.Equal(t, k.Object != scenario.Nothing, slices.ContainsFunc(pairs.All(), func(p pairs.Pair) bool {
			return p.Operation == k.Word || p.Operation == k.Word+"(True)"
		}), "%v", k)
		if k.Inverse != "" {
			other := act.Named(k.Inverse)
			require.NotNil(t, other, k.Word)
			require.Equal(t, k.Object, other.Object, k.Word)
			require.True(t, k.Undoes(other) && other.Undoes(k) && !k.Like(other), k.Word)
		}
	}
	require.True(t, act.Register.Like(act.RegisterAll) && act.UnregisterAll.Undoes(act.Register))
}

// TestReached: the pairs of a program whose states are known, call by call, and watching it changes nothing.
func TestReached(t *testing.T) {
	for name, row := range map[string]struct {
		program string
		want    []string
	}{
		"a probe alone": {`
task("t", ops = [register(k), wait_optimized(), disable(k), wait_optimized(), unregister(k)])`, []string{
			"register, kprobe: absent",
			"wait_optimized, optimizer: a probe waiting to be optimized",
			"wait_optimized, optimizer: kprobes on", "wait_optimized, optimizer: optimization on",
			"disable, kprobe: armed by a jump",
			"wait_optimized, optimizer: a probe waiting to be unoptimized",
			"wait_optimized, optimizer: a probe armed by a jump",
			"unregister, kprobe: disabled"}},
		"a joined one, and the file": {`
task("t", ops = [enabled(False), register(k), register_all([j]), enabled(True), unregister(j)])`, []string{
			"enabled(False), file enabled: kprobes on", "enabled(False), file enabled: optimization on",
			"register, kprobe: absent", "register, kprobe: kprobes switched off",
			"register_all, kprobe: absent", "register_all, kprobe: joined",
			"register_all, kprobe: kprobes switched off",
			"enabled(True), file enabled: kprobes off", "enabled(True), file enabled: optimization on",
			"unregister, kprobe: armed by a breakpoint", "unregister, kprobe: joined"}},
		"the sysctl, and a CPU": {`
task("t", ops = [optimization(False), offline(1), optimization(True), online(1)])`, []string{
			"optimization(False), sysctl: kprobes on", "optimization(False), sysctl: optimization on",
			"offline, CPU: online", "optimization(True), sysctl: kprobes on",
			"optimization(True), sysctl: optimization off", "optimization(True), sysctl: a CPU offline",
			"online, CPU: offline"}},
		"two tasks": {`
task("t", cpu = 0, ops = [register(k), unregister(k)])
task("u", cpu = 0, ops = [unregister(k), register(k), disable(j)])`, []string{
			"register, kprobe: absent", "register, kprobe: the inverse under way in another task",
			"unregister, kprobe: armed by a breakpoint", "unregister, kprobe: waiting to be optimized",
			"unregister, kprobe: absent", "unregister, kprobe: the same under way in another task",
			"disable, kprobe: absent", "disable, kprobe: joined", "disable, kprobe: waiting to be optimized"}},
	} {
		sc, err := lang.Load(name, []byte(`
machine(edition = "6.9", cpus = 2)
f = text("f", "554889e5 89f8 83c003 5d c3", at = 0xffffffff81100000)
k = kprobe("k", f, pre = [count()])
j = kprobe("j", f, pre = [count()], post = [count()])
`+row.program+`
never()
`), library.Open)
		require.NoError(t, err, name)
		r, err := rig.New(sc, "")
		require.NoError(t, err, name)
		plain := r.Run(new(sched.Default))
		require.Nil(t, plain.Property, "%s: %s", name, r.Message(&plain))
		var got []string
		w := new(pairs.Watch)
		w.Begin(r, func(feature uint64) {
			for _, p := range pairs.All() {
				if p.Feature() == feature {
					got = append(got, p.String())
				}
			}
		})
		w.Run()
		run := r.Run(new(sched.Default))
		require.Equal(t, plain.Digest, run.Digest, name)
		r.Close()
		slices.Sort(got)
		slices.Sort(row.want)
		require.Equal(t, slices.Compact(row.want), slices.Compact(got), name)
	}
}
