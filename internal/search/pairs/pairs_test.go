package pairs_test

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
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
		"keys": {`
g = text("g", "31c0 0f1f440000 c3")
one = text("one", "b801000000 c3")
work = text("work", "8d4701 0f1f440000 c3 8d4702 c3")
key = jump_label("key", at = work + 3, target = work + 9)
s = static_call("s", sites = [g + 2])
task("t", ops = [label_on(key), label_on(key), label_off(key),
    set_call(s, one), set_call(s, one), set_call(s, None)])`, []string{
			"label_on, jump label: off", "label_on, jump label: on", "label_off, jump label: on",
			"set_call, static call: calling nothing", "set_call, static call: calling that already",
			"set_call, static call: calling another"}},
		"text that is changed once, and a debugger's": {`
g = text("g", "b801000000 f0ff07 c3")
alternative(g, "b802000000")
lock_prefix(g + 5)
task("t", ops = [smp_locks(False), smp_locks(True), apply_alternatives(), apply_alternatives(), set_breakpoint(f + 4),
    call(f, 1, changed = True), clear_breakpoint(f + 4), register(k), call(f, 1, changed = True)])`, []string{
			"apply_alternatives, alternatives: applied",
			"apply_alternatives, alternatives: not applied",
			"call, function: a breakpoint of a debugger in it",
			"call, function: a breakpoint of a probe in its function",
			"call, function: a probe in it waiting to be optimized",
			"clear_breakpoint, breakpoint: set",
			"register, kprobe: absent",
			"set_breakpoint, breakpoint: absent",
			"smp_locks(False), lock prefixes: written",
			"smp_locks(True), lock prefixes: removed"}},
		"clients of ftrace": {`
g = text("g", "0f1f440000 8d4701 c3")
h = text("h", "8d4702 c3")
fentry(g)
p = fprobe("p", [g], entry = h)
q = fprobe("q", [g], entry = h)
task("t", ops = [tracer(True), register_direct(g, h), patch_func(g, h), livepatch(True),
    register_fprobe(p), register_fprobe(q),
    unregister_fprobe(p), unpatch_func(g), unregister_direct(g), tracer(False), unregister_fprobe(q)])`, []string{
			"livepatch(True), client that changes paths: a direct call at a site",
			"livepatch(True), client that changes paths: a live patch at a site",
			"livepatch(True), client that changes paths: a tracer on",
			"livepatch(True), client that changes paths: off",
			"patch_func, live patch: a direct call at its site",
			"patch_func, live patch: a tracer at its site",
			"patch_func, live patch: absent",
			"register_direct, direct call: a tracer at its site",
			"register_direct, direct call: absent",
			"register_fprobe, fprobe: a direct call at its site",
			"register_fprobe, fprobe: a live patch at its site",
			"register_fprobe, fprobe: a tracer at its site",
			"register_fprobe, fprobe: absent",
			"register_fprobe, fprobe: another fprobe at its site",
			"tracer(False), tracer: an fprobe at a site",
			"tracer(False), tracer: on",
			"tracer(True), tracer: off",
			"unpatch_func, live patch: a direct call at its site",
			"unpatch_func, live patch: a tracer at its site",
			"unpatch_func, live patch: an fprobe at its site",
			"unpatch_func, live patch: patched",
			"unregister_direct, direct call: a tracer at its site",
			"unregister_direct, direct call: an fprobe at its site",
			"unregister_direct, direct call: there",
			"unregister_fprobe, fprobe: a direct call at its site",
			"unregister_fprobe, fprobe: a live patch at its site",
			"unregister_fprobe, fprobe: a tracer at its site",
			"unregister_fprobe, fprobe: another fprobe at its site",
			"unregister_fprobe, fprobe: registered"}},
		"a uprobe's users": {`
g = text("g", "90 c3")
h = text("h", "90 c3")
task("t", ops = [hit_uprobe(g), register_uprobe(g, ret = h), hit_uprobe(g), register_uprobe(h),
    unregister_uprobe(g), unregister_uprobe(h)])`, []string{
			"hit_uprobe, uprobe: absent",
			"hit_uprobe, uprobe: its user registered",
			"register_uprobe, uprobe: absent",
			"register_uprobe, uprobe: another user registered",
			"unregister_uprobe, uprobe: another user registered",
			"unregister_uprobe, uprobe: its user registered"}},
		"a module": {`
g = text("g", "8d4701 c3", at = 0xffffffff81200000)
m = module("m", funcs = [g])
i = kprobe("i", g)
task("t", ops = [insmod(m), register(i), disable(i), rmmod(m), enable(i)])`, []string{
			"disable, kprobe: armed by a breakpoint",
			"enable, kprobe: disabled",
			"enable, kprobe: gone with its module",
			"enable, kprobe: its module not loaded",
			"insmod, module: not loaded",
			"register, kprobe: absent",
			"rmmod, module: a disabled probe in it",
			"rmmod, module: live"}},
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
		assert.Equal(t, slices.Compact(row.want), slices.Compact(got), name)
	}
}
