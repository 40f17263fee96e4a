package kernel_test

import (
	"errors"
	"runtime"
	"strings"
	"testing"
	"time"

	"kpsim/engine/jumplabel"
	"kpsim/sched"
	"kpsim/sim"
	"kpsim/smp"
	"kpsim/smp/arch/x86"
	"kpsim/smp/fetch"
	"kpsim/smp/kapi"
	"kpsim/smp/smpev"
	"kpsim/traces"
)

// A busy machine uses every service at once: text is patched both ways, slots
// come and go, works are queued, grace periods are waited for, all CPUs call
// text that is being patched, and each kind of source fires.
type busy struct {
	*rig
	how string // in which of the ways it is to end
}

var errBoom = errors.New("boom")

var endings = []struct {
	how  string
	want smp.Outcome
}{
	{"passed", smp.Passed},
	{"violated", smp.Violated},
	{"stuck", smp.Stuck},
	{"exhausted", smp.Exhausted},
	{"refused", smp.Refused},
	{"panic", smp.Passed}, // recovered
}

// finder takes the second store to text for a finding.
type finder struct {
	b      *busy
	stores int
}

func (f *finder) Event(e *traces.Event) *traces.Finding {
	if f.stores++; f.b.how == "violated" && f.stores == 2 {
		return &traces.Finding{Message: "a store"}
	}
	return nil
}

func newBusy(t testing.TB, md mode) *busy {
	b := &busy{rig: newRig(t, md, smp.Config{CPUs: 3, Fetch: fetch.Mixing, Budget: 20_000}), how: "passed"}
	for c := range 3 {
		b.source(smp.TimerSource, c, 3)
		b.source(smp.NMISource, c, 1)
		b.source(smp.PreemptSource, c, 2)
	}
	f := b.text("f", 0x0c, "0f 1f 44 00 00 50 58 c3 90 c3") // the label lies across two chunks
	g := b.text("g", 0x40, "f4")
	label, _ := b.labels.Add(false, jumplabel.Place{At: f, Target: f + 8})
	find := &finder{b: b}
	b.log.Subscribe(find, smpev.TextStore)
	never := b.flag()

	// As an engine: made at boot, and anew in each run.
	var mutex kapi.Mutex
	var work kapi.DelayedWork
	engine := func() {
		mutex = b.k.Locks.NewMutex("mutex")
		work = b.k.Work.NewDelayedWork("work", func(x kapi.Context) {
			mutex.Lock(x)
			defer mutex.Unlock(x)
			label.Set(x, true, &b.k.Poke)
		})
	}
	engine()
	before := b.reset
	b.reset = func() {
		before()
		find.stores = 0
		engine()
	}
	b.onInterrupt(func(x *smp.Ctx) { x.Call(f) })

	b.Tasks().AddProgram("patcher", 0, func(x *smp.Ctx) {
		mutex.Lock(x)
		defer mutex.Unlock(x)
		label.Set(x, true, &b.k.Poke)
		at, _ := b.k.Exec.Alloc(x, 8, slotMem)
		b.k.Text.Poke(x, at, []byte{0x90, 0xc3})
		x.Call(at)
		switch b.how {
		case "stuck":
			x.Sleep(&never.up)
		case "refused":
			x.Call(g)
		case "panic":
			panic(errBoom)
		case "exhausted":
			x.Regs().R[x86.RCX] = 0
			for {
				x.Call(f)
			}
		}
		b.k.RCU.Synchronize(x, kapi.QuiesceSched)
		b.k.Exec.Free(x, at, 8, slotMem)
		label.Set(x, false, &b.k.Poke)
	})
	b.Tasks().AddProgram("worker", 1, func(x *smp.Ctx) {
		work.Queue(x)
		b.k.Sync.Core(x, syncOwn)
		x.Call(f)
		work.Flush(x)
		b.k.RCU.Synchronize(x, kapi.QuiesceRCU)
	})
	b.Tasks().AddProgram("stopper", 2, func(x *smp.Ctx) {
		b.k.Stop.Machine(x, func(x kapi.Context) { x.Step("stopped", 1) })
		b.k.RCU.Synchronize(x, kapi.QuiesceTasks)
	})
	for c := range 3 {
		b.Tasks().AddProgram("runner", c, func(x *smp.Ctx) {
			for range 4 {
				x.Call(f)
				b.k.CondResched(x)
			}
			b.k.User(x)
			mutex.Lock(x)
			defer mutex.Unlock(x)
			x.Call(f)
		})
	}
	return b
}

// end runs the machine to one of the endings, and reports whether it came there.
func (b *busy) end(i int, ch sim.Chooser) (ok bool) {
	b.how = endings[i].how
	defer func() {
		if p := recover(); p != nil {
			if b.how != "panic" || p != errBoom {
				panic(p)
			}
			ok = true
		}
	}()
	return b.run(ch) == endings[i].want && b.how != "panic"
}

// schedule is run number i of one of the searching strategies.
func schedule(i uint64) sched.Strategy {
	p := sched.Params{Seed: 5, Length: 400, Mean: 8}
	s := []sched.Strategy{sched.NewRandom(p), sched.NewSticky(p),
		sched.NewRandom(sched.Params{Seed: 6, Length: 60})}[i%3]
	s.Begin(i)
	return s
}

// A used machine is as a new one: over schedules in any order, some of which
// end before their time, the digests are the same.
func TestResetEqualsFresh(t *testing.T) {
	const runs = 300 / slow
	for _, md := range []mode{modes[0], modes[3]} {
		t.Run(md.name, func(t *testing.T) {
			ending := func(i int) int { return i / 3 % len(endings) }
			want := make([]uint64, runs)
			counts := make([]smp.Counts, runs)
			different := map[uint64]bool{}
			for i := range runs {
				b := newBusy(noCleanup{t}, md)
				if !b.end(ending(i), schedule(uint64(i))) {
					t.Fatalf("run %d didn't end %s: %v\n%s", i, endings[ending(i)].how, b.Refusal(), b.Inspect().Dump())
				}
				want[i], counts[i] = b.log.Digest(), b.Counts()
				different[want[i]] = true
				b.Close()
			}
			if len(different) < runs*9/10 {
				t.Errorf("only %d different digests in %d runs", len(different), runs)
			}
			used := newBusy(t, md)
			var r sim.Rand
			r.Seed(1, 1)
			order := make([]int, runs)
			for i := range order {
				order[i] = i
			}
			for i := range order {
				j := i + r.N(runs-i)
				order[i], order[j] = order[j], order[i]
			}
			for _, i := range order {
				used.end(ending(i), schedule(uint64(i)))
				if used.log.Digest() != want[i] || used.Counts() != counts[i] {
					t.Fatalf("run %d, %s: digest %#x and %+v on a used machine, %#x and %+v on a new one", i,
						endings[ending(i)].how, used.log.Digest(), used.Counts(), want[i], counts[i])
				}
			}
		})
	}
}

// A hold saves questions, and changes nothing.
func TestHoldChangesNothing(t *testing.T) {
	for _, md := range modes {
		b := newBusy(t, md)
		held := &held{}
		for i := range uint64(60) {
			held.Strategy = schedule(i)
			out := b.run(held)
			digest, counts := b.log.Digest(), b.Counts()
			if got := b.run(sched.NoHold{Strategy: schedule(i)}); got != out || b.log.Digest() != digest ||
				b.Counts() != counts {
				t.Fatalf("%s, run %d: %v %#x %+v with holds, %v %#x %+v without", md.name, i, out, digest, counts, got,
					b.log.Digest(), b.Counts())
			}
		}
		if held.n == 0 {
			t.Error("nothing was held")
		}
	}
}

// held counts what a strategy holds.
type held struct {
	sched.Strategy
	n int
}

func (h *held) Choose(p *sim.Point) (pick, hold int) {
	pick, hold = h.Strategy.Choose(p)
	h.n += hold
	return pick, hold
}

// A run is a function of its recorded answers.
func TestReplay(t *testing.T) {
	for _, md := range modes {
		b := newBusy(t, md)
		for i := range uint64(30) {
			rec := &sched.Recorder{Strategy: schedule(i), All: i%2 == 0}
			rec.Begin(i)
			b.run(rec)
			rec.End(b.Counts().Points)
			digest := b.log.Digest()
			replay := sched.NewExact(rec.Recording())
			replay.Begin(0)
			b.run(replay)
			replay.End(b.Counts().Points)
			if b.log.Digest() != digest {
				t.Fatalf("%s, run %d: the replay has another digest", md.name, i)
			}
		}
	}
}

// noCleanup is for a test that closes its machines itself.
type noCleanup struct{ testing.TB }

func (noCleanup) Cleanup(func()) {}

// Machines that are closed leave nothing, however their runs ended.
func TestCloseLeavesNothing(t *testing.T) {
	count := func() int { // fibres end a moment after they are stopped
		n := runtime.NumGoroutine()
		for range 100 {
			runtime.Gosched()
			time.Sleep(time.Millisecond / 10)
			n = min(n, runtime.NumGoroutine())
		}
		return n
	}
	heap := func() uint64 {
		runtime.GC()
		runtime.GC()
		var s runtime.MemStats
		runtime.ReadMemStats(&s)
		return s.HeapAlloc
	}
	machines := 1000 / slow
	if testing.Short() {
		machines = 100
	}
	before, kept := count(), uint64(0)
	for i := range machines {
		b := newBusy(noCleanup{t}, modes[i%len(modes)])
		for k := range 2 {
			e := (i/len(modes) + k) % len(endings)
			if !b.end(e, schedule(uint64(i))) {
				t.Fatalf("machine %d didn't end %s\n%s", i, endings[e].how, b.Inspect().Dump())
			}
		}
		b.Close()
		if i == machines/10 {
			kept = heap()
		}
	}
	if after := count(); after > before {
		t.Errorf("%d goroutines before, %d after", before, after)
	}
	if now := heap(); now > kept+kept/2+1<<20 {
		t.Errorf("the heap was %d kB after a tenth of the machines and is %d kB", kept>>10, now>>10)
	}
}

// A machine that is run again and again doesn't grow, whatever the runs' ends.
func TestRunsDontGrow(t *testing.T) {
	b := newBusy(t, modes[3])
	heap := func() uint64 {
		runtime.GC()
		var s runtime.MemStats
		runtime.ReadMemStats(&s)
		return s.HeapAlloc
	}
	kept := uint64(0)
	for i := range 600 {
		b.end(i%len(endings), schedule(uint64(i)))
		if i == 100 {
			kept = heap()
		}
	}
	if now := heap(); now > kept+kept/4+256<<10 {
		t.Errorf("the heap was %d kB after 100 runs and is %d kB after 600", kept>>10, now>>10)
	}
}

// What a stuck machine says is where each CPU and waiter stands.
func TestDump(t *testing.T) {
	b := newBusy(t, modes[0])
	b.end(2, sim.Always0{})
	for _, want := range []string{"cpu0", "cpu2", "task patcher"} {
		if !strings.Contains(b.Inspect().Dump(), want) {
			t.Errorf("the dump doesn't name %s:\n%s", want, b.Inspect().Dump())
		}
	}
}
