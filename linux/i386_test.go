package linux_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"kpsim/internal/scenario/lang"
	"kpsim/internal/scenario/library"
	"kpsim/internal/scenario/onlinux"
	"kpsim/internal/search/rig"
	"kpsim/internal/testkit/kerneltest"
	"kpsim/internal/testkit/thorough"
	"kpsim/linux"
	"kpsim/linux/boot"
	"kpsim/properties"
	"kpsim/sched"
	"kpsim/smp"
	"kpsim/smp/arch"
)

func open386(t testing.TB) *linux.Kernel {
	k, err := linux.Open(kerneltest.I386(t))
	require.NoError(t, err)
	linux.Give(k)
	return k
}

// whole386 registers probes of a kernel for i386, has them hit by breakpoints, with copies that
// are boosted and not, and through detours, turns one off and on, and takes all away. Sites
// of ftrace and a jump label have that kernel's own nop.
const whole386 = `
machine(cpus = 2, arch = "i386", preempt = "full")
f = text("f", "55 89e5 53 8d1c10 89d8 5b 5d c3") # push %ebp; mov %esp,%ebp; push %ebx; lea (%eax,%edx),%ebx; mov %ebx,%eax; …
g = text("g", "0f1f440000 52 8d0402 5a c3")      # a site of ftrace; push %edx; lea (%edx,%eax),%eax; pop %edx
h = text("h", "8d4000 0f1f440000 83c001 c3")     # a jump label
on = text("on", "83c002 c3")
fentry(g)
l = jump_label("l", at = h + 3, target = on)
a = kprobe("a", at = f, pre = [count()])
b = kprobe("b", at = f + 4, pre = [count()], post = [count()])
c = kprobe("c", at = g, pre = [count()])
r = kretprobe("r", at = f, entry = [count()], handler = [count()], maxactive = 1)
task("prober", cpu = 0, ops = [
    register(a, errno = 0), call(f, 2, 3, returns = 5), wait_optimized(), call(f, 2, 3, returns = 5),
    register(b, errno = 0), call(f, 2, 3, returns = 5), disable(a), call(f, 2, 3, returns = 5), enable(a), wait_optimized(),
    register(c, errno = 0), call(g, 2, 3, returns = 5), register(r, errno = 0), call(f, 2, 3, returns = 5),
    label_on(l), call(h, 1, returns = 3), label_off(l), call(h, 1, returns = 2),
    unregister(r), unregister(c), unregister(b), unregister(a), call(f, 2, 3, returns = 5), call(g, 2, 3, returns = 5)])
task("caller", cpu = 1, ops = [call(f, 1, 1, returns = 2), call(g, 1, 1, returns = 2), schedule()], repeat = 2)
timer(cpu = 1)
`

func TestI386(t *testing.T) {
	k := open386(t)
	sc, err := lang.Parse("whole386", []byte(whole386))
	require.NoError(t, err)
	r := rigOf(t, k, sc)
	require.Equal(t, k.Arch(), sc.Machine.Processor())
	shape, run := r.Survey(0)
	require.Equal(t, smp.Passed, run.Outcome, "%v %v", run.Finding, run.Err)
	s := sched.NewRandom(sched.Params{Shape: shape})
	for i := range uint64(60) {
		s.Begin(i)
		run := r.Run(s)
		s.End(run.Counts.Points)
		require.Equal(t, smp.Passed, run.Outcome, "%v %v", run.Finding, run.Err)
	}
}

// A wait for tasks that does nothing is found on a kernel for i386, and on none that waits.
func TestI386Canary(t *testing.T) {
	for _, broken := range []bool{false, true} {
		k := open386(t)
		if broken {
			require.Positive(t, k.Without("synchronize_rcu_tasks"))
		}
		sc, err := library.Load("second-instruction-386")
		require.NoError(t, err)
		r := rigOf(t, k, sc)
		s := sched.NewSticky(sched.Params{Length: r.Run(new(sched.Default)).Counts.Points})
		found := -1
		for i := range thorough.Of[uint64](100, 400) {
			s.Begin(i)
			run := r.Run(s)
			s.End(run.Counts.Points)
			if run.Property != nil {
				require.Equal(t, properties.NoStartInside.ID, run.Property.ID)
				found = int(i)
				break
			}
		}
		require.Equal(t, broken, found >= 0, "schedule %d", found)
		t.Log("found by schedule", found)
	}
}

// What a kernel can't run because of what it, or the scenario, is for is one line.
func TestI386Refused(t *testing.T) {
	k := open386(t)
	of64, err := library.Load("safe-full")
	require.NoError(t, err)
	require.EqualError(t, onlinux.Set(of64, k),
		fmt.Sprintf("it is for x86-64, and the kernel %s for i386; leave the kernel out", k.Image.Release))
	of32, err := library.Load("safe-386")
	require.NoError(t, err)
	other, err := linux.Open(kerneltest.Path(t, "6.1"))
	require.NoError(t, err)
	require.EqualError(t, onlinux.Set(of32, other),
		fmt.Sprintf("it is for i386, and the kernel %s for x86-64; leave the kernel out", other.Image.Release))

	linux.Give(other)
	asks, err := lang.Parse("asks",
		[]byte("machine(arch = \"i386\", engine = \"linux\")\nf = text(\"f\", \"40 c3\")\ntask(\"t\", ops = [call(f)])\n"))
	require.NoError(t, err)
	_, err = rig.New(asks, "")
	require.ErrorContains(t, err, "it is for i386, and the kernel "+other.Image.Release+
		" for x86-64; give a kernel of i386")

	require.Equal(t, 32, k.MostCPUs())
	_, err = boot.Kernel(k, 33)
	require.ErrorContains(t, err, "it is built for 32 CPUs at most, and the machine has 33; give the machine fewer")
	_, err = boot.Kernel(k, 32)
	require.NoError(t, err)

	calls, err := lang.Parse("calls",
		[]byte(strings.Replace(whole386, "l = jump_label",
			"m = text(\"m\", \"0f1f440000 c3\")\ns = static_call(\"s\", sites = [m])\nl = jump_label", 1)))
	require.NoError(t, err)
	require.ErrorContains(t, onlinux.Set(calls, k), `static call "s": the kernel is built without sites of static calls`)
	_, err = linux.Open(k.Image.Path, "overlay/testdata/small.o")
	require.EqualError(t, err,
		"overlay/testdata/small.o: is for another processor than the kernel: compile it for i386")
	_, err = linux.Open(filepath.Join(filepath.Dir(k.Image.Path), "vmlinuz"), "overlay/testdata/small.o")
	require.ErrorContains(t, err, "give the vmlinux with its symbols and DWARF")
}

// Objects that were compiled of the kernel's source, unedited, do what the kernel for i386 does.
func TestI386Objects(t *testing.T) {
	path := kerneltest.I386(t)
	var files []string
	for _, name := range []string{"kernel/kprobes.o", "kernel/trace/rethook.o", "arch/x86/kernel/kprobes/core.o",
		"arch/x86/kernel/kprobes/opt.o", "arch/x86/kernel/kprobes/ftrace.o", "arch/x86/kernel/rethook.o",
		"arch/x86/kernel/alternative.o"} {
		files = append(files, filepath.Join(filepath.Dir(path), "objects", name))
	}
	if _, err := os.Stat(files[0]); err != nil {
		release := filepath.Base(filepath.Dir(path))
		t.Skipf("no objects of %s at hand: run scripts/kernel-objects %s", release, release)
	}
	k, err := linux.Open(path, files...)
	require.NoError(t, err)
	linux.Give(k)
	require.True(t, k.Replaced(arch.Addr(symbolBelow(t, k, "register_kprobe"))))
	sc, err := lang.Parse("whole386", []byte(whole386))
	require.NoError(t, err)
	r := rigOf(t, k, sc)
	shape, run := r.Survey(0)
	require.Equal(t, smp.Passed, run.Outcome, "%v %v", run.Finding, run.Err)
	s := sched.NewRandom(sched.Params{Shape: shape})
	for i := range uint64(40) {
		s.Begin(i)
		run := r.Run(s)
		s.End(run.Counts.Points)
		require.Equal(t, smp.Passed, run.Outcome, "%v %v", run.Finding, run.Err)
	}
}

// symbolBelow returns where the kernel itself has a function, whatever lies over it.
func symbolBelow(t *testing.T, k *linux.Kernel, name string) uint64 {
	for _, s := range k.Image.Symbols() {
		if s.Name == name && !s.Laid() {
			return s.Addr
		}
	}
	t.Fatalf("no %s", name)
	return 0
}

// The table of names of an i386 kernel has no data: data isn't named by the end of text because of that.
func TestDataNames386(t *testing.T) {
	k := open386(t)
	for _, name := range []string{"optimizing_work", "kprobe_mutex"} {
		data, ok := k.Image.Symbol(name)
		require.True(t, ok)
		got, off, ok := k.Symbol(arch.Addr(data.Addr))
		require.True(t, ok)
		require.Equal(t, name, got)
		require.Zero(t, off)
		got, _, ok = k.Symbol(arch.Addr(data.Addr + 1))
		require.False(t, ok, "%s+1 is known as %s", name, got)
	}
	optimizer, _ := k.Image.Symbol("kprobe_optimizer")
	got, off, ok := k.Symbol(arch.Addr(optimizer.Addr + 5))
	require.True(t, ok)
	require.Equal(t, "kprobe_optimizer", got)
	require.Equal(t, 5, off)
}
