package run

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"kpsim/internal/litmus/ctest"
	"kpsim/internal/litmus/x86test"
	"kpsim/sim"
	"kpsim/smp"
	"kpsim/smp/kapi"
	"kpsim/smp/kernel"
	"kpsim/traces"
)

// A kernelC is a test in C whose locks and RCU are those of smp/kernel: the ones that
// scenarios have.
type kernelC struct {
	*C
	m     *smp.Machine
	k     *kernel.Kernel
	locks []kapi.Spinlock // by location
}

func newKernelC(t *testing.T, test *ctest.Test, preemptible bool) *kernelC {
	c, err := NewC(test, LKMM)
	require.NoError(t, err)
	m, err := smp.New(LKMM.config(len(test.Threads)), &traces.Log{})
	require.NoError(t, err)
	t.Cleanup(m.Close)
	p := &kernelC{C: c, m: m, k: kernel.Boot(m, kernel.Config{Preemptible: preemptible}),
		locks: make([]kapi.Spinlock, len(test.Locations))}
	c.by = func(k *cThread) ctest.Machine { return &kernelThread{k, p} }
	require.NoError(t, c.Build(m))
	m.Freeze()
	return p
}

// run makes one run.
func (p *kernelC) run(ch sim.Chooser) smp.Outcome {
	p.m.Reset(ch)
	p.k.Reset()
	p.Begin()
	for i := range p.locks {
		p.locks[i] = p.k.Locks.NewSpinlock("lock", false)
	}
	return p.m.Run()
}

// A kernelThread is the machine as a thread's interpreter sees it.
type kernelThread struct {
	*cThread
	p *kernelC
}

// Lock implements ctest.Machine.
func (k *kernelThread) Lock(location int) { k.p.locks[location].Lock(k.x) }

// Unlock implements ctest.Machine.
func (k *kernelThread) Unlock(location int) { k.p.locks[location].Unlock(k.x) }

// ReadLock implements ctest.Machine.
func (k *kernelThread) ReadLock(int) { k.p.k.RCU.ReadLock(k.x) }

// ReadUnlock implements ctest.Machine.
func (k *kernelThread) ReadUnlock(int) { k.p.k.RCU.ReadUnlock(k.x) }

// Synchronize implements ctest.Machine.
func (k *kernelThread) Synchronize(int) { k.p.k.RCU.Synchronize(k.x, kapi.QuiesceRCU) }

// anyAnswer answers as it happens, and mostly goes on with who moves.
type anyAnswer struct {
	sim.Rand
	stays int // of so many answers all but one
}

// Choose implements sim.Chooser.
func (a *anyAnswer) Choose(p *sim.Point) (pick, hold int) {
	if p.Kind == sim.Step && a.N(a.stays) != 0 {
		return p.Pick(p.First), 0
	}
	return a.N(p.N), 0
}

// drawnSeen reports whether one of n drawn runs ends as the test's condition says.
func (p *kernelC) drawnSeen(t *testing.T, n int) bool {
	for i := range n {
		a := &anyAnswer{stays: 1 << (i % 4)}
		a.Seed(uint64(i), 0)
		end := p.run(a)
		require.NoError(t, p.Err())
		if end != smp.Passed {
			continue
		}
		if _, holds, counts := p.Outcome(p.m); counts && holds {
			return true
		}
	}
	return false
}

// TestKernelsOwnShapes: locks and RCU of the kernel keep what those of the memory model do.
func TestKernelsOwnShapes(t *testing.T) {
	seen := 0
	for _, s := range cShapes {
		text := cText(s.cond, s.bodies...)
		if !strings.Contains(text, "spin_lock(") && !strings.Contains(text, "rcu_read") {
			continue
		}
		for _, preemptible := range []bool{false, true} {
			c, err := ctest.Parse("t", []byte(text))
			require.NoError(t, err)
			found := newKernelC(t, c, preemptible).drawnSeen(t, 2000)
			require.False(t, found && !strings.Contains(s.in, "lkmm"), s.name)
			if found {
				seen++
			}
		}
	}
	require.Positive(t, seen)
	t.Logf("%d seen", seen)
}

// TestKernelsOwn: what locks and RCU of the memory model promise, those of the kernel do, in
// drawn runs of the tests in KPSIM_LITMUS_C's folder that have locks or RCU.
func TestKernelsOwn(t *testing.T) {
	dir := os.Getenv("KPSIM_LITMUS_C")
	if dir == "" {
		t.Skip("KPSIM_LITMUS_C names no folder of tests")
	}
	count := make(map[string]int)
	require.NoError(t, filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || filepath.Ext(path) != ".litmus" {
			return err
		}
		text, err := os.ReadFile(path)
		require.NoError(t, err)
		s := string(text)
		if x86test.Language(s) != "C" || strings.Contains(s, "srcu_") ||
			!strings.Contains(s, "rcu_read_lock") && !strings.Contains(s, "spin_lock") {
			return nil
		}
		c, err := ctest.Parse(path, text)
		if err != nil || c.Prop == nil || c.Result != "Never" && c.Result != "Sometimes" || len(c.Threads) > 5 {
			return nil
		}
		seen := false
		for _, preemptible := range []bool{false, true} {
			p := newKernelC(t, c, preemptible)
			seen = p.drawnSeen(t, 1500) || seen
			p.m.Close()
		}
		if c.Result == "Never" && seen {
			t.Errorf("seen: %s", strings.TrimPrefix(path, dir))
		}
		kind := "RCU: "
		if strings.Contains(s, "spin_lock") {
			kind = "locks: "
		}
		if seen {
			count[kind+c.Result+", seen"]++
		} else {
			count[kind+c.Result+", not seen"]++
		}
		return nil
	}))
	t.Log(count)
	for _, kind := range []string{"RCU: Never, not seen", "RCU: Sometimes, seen", "locks: Never, not seen",
		"locks: Sometimes, seen"} {
		require.NotZero(t, count[kind], kind)
	}
}
