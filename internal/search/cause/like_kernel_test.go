package cause

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"kpsim/internal/scenario/lang"
	"kpsim/internal/scenario/library"
	"kpsim/internal/testkit/kerneltest"
	"kpsim/internal/testkit/thorough"
	"kpsim/internal/ui/cli/inputs"
	"kpsim/linux"
	"kpsim/properties"
	"kpsim/traces"
)

// TestLooksLike: the witnesses of kernels' finds look like the finds that they are of. Of two it
// isn't known: they break a property that kpsim's own engine doesn't break with the mutant.
func TestLooksLike(t *testing.T) {
	k, err := linux.Open(kerneltest.Path(t, "6.1"))
	require.NoError(t, err)
	linux.Give(k)
	for i, w := range []struct {
		name  string
		finds []string
	}{
		{"F1-globally-off-alone", []string{"enable-lost"}},
		{"W1-rescued", []string{"rescued-warned"}},
		{"L4-switches", []string{"disarm-lost"}},
		{"P2-neighbours", []string{"blocked-lost"}},
		{"L2-reuse-disabled", []string{"reuse-disabled"}},
		{"W1-ftrace-probe", []string{"ftrace-by-post"}},
		{"W1-module-unload", []string{"unload-kept", "reuse-disabled"}},
		{"H1-forced-freed", []string{"forced-freed", "cancel-rcu"}},
		{"A1-handlers-at-work", nil},
		{"O1-register-race", nil},
	} {
		if i >= 3 && !thorough.Set() {
			continue
		}
		path := filepath.Join("../../../traces/kernels", "6.1-"+w.name+".kps")
		f, err := inputs.ReadTrace(path)
		require.NoError(t, err)
		q, _ := inputs.PropertyByID(f.Property)
		names, err := LooksLike(k, q, f)
		require.NoError(t, err)
		require.Equal(t, w.finds, names, w.name)
	}
}

// TestLooksLikeShared: a post_handler that isn't called looks like detour-post at unregister, if its place was shared.
func TestLooksLikeShared(t *testing.T) {
	const program = `
machine(cpus = 2, preempt = "full", arch = "arm64")
f = text("f", "91000400 91000400 d65f03c0")
a = kprobe("a", at = f)
b = kprobe("b", at = f, post = [count()])
task("prober", cpu = 0, ops = [register(a), register(b), unregister(a), unregister(b)])
task("caller", cpu = 1, ops = [call(f, 1, returns = 3)])
timer(cpu = 1)
`
	k, err := linux.Open(kerneltest.PathOn(t, "arm64", "7.2"))
	require.NoError(t, err)
	for source, finds := range map[string][]string{
		program: {"detour-post"},
		strings.NewReplacer("register(a), ", "", "unregister(a), ", "").Replace(program): nil,
	} {
		names, err := LooksLike(k, &properties.PostCalled, &traces.File{Scenario: source})
		require.NoError(t, err)
		require.Equal(t, finds, names, source)
	}
}

// TestSigns: a message is a find's sign only in a program that can show that find.
func TestSigns(t *testing.T) {
	const program = `
machine(cpus = 2)
v = elf("victim.o")
enter = text("enter", "31c0 c3", at = 0xffffffff81100000)
work = text("work", "31c0 c3", at = 0xffffffff81101000)
m = module("m", funcs = [work], init_funcs = [enter], init = enter)
k = kprobe("k", at = AT)
task("prober", ops = [register(k), OPS])
never()
`
	const leaves = "cpu0 optimizing_work leaves victim+0x0 disarmed, and cc stands there"
	const reads = "cpu0 optimizing_work reads or writes enter+0x1, in the freed module's section at enter+0x0"
	for _, w := range []struct {
		property    *properties.Property
		message, at string
		ops         string
		find        string // "": none
	}{
		{&properties.TextAgrees, leaves, "v.victim", "optimization(False), enabled(False)", "disarm-lost"},
		{&properties.TextAgrees, leaves, "v.victim", "optimization(False), enabled(True)", ""},
		{&properties.TextAgrees, leaves, "v.victim", "enabled(False)", ""},
		{&properties.AllOff, leaves, "v.victim", "optimization(False), enabled(False)", ""},
		{&properties.NoUseAfterFree, reads, "enter", "insmod(m)", "check-unlocked"},
		{&properties.NoUseAfterFree, reads, "work", "insmod(m)", ""},
		{&properties.NoUseAfterFree, strings.Replace(reads, "optimizing_work", "prober", 1), "enter", "insmod(m)", ""},
	} {
		text := strings.NewReplacer("AT", w.at, "OPS", w.ops).Replace(program)
		sc, err := lang.Load("signs.star", []byte(text), library.Open)
		require.NoError(t, err)
		find := ""
		if s := signOf(w.property, &traces.File{Message: w.message}, sc); s != nil {
			find = strings.Join(s.finds, " ")
		}
		require.Equal(t, w.find, find, "%s: %s", w.message, text)
	}
}
