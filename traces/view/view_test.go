package view_test

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"kpsim/internal/testkit/tracetest"
	"kpsim/kprobes/kpev"
	"kpsim/smp/smpev"
	"kpsim/traces"
	"kpsim/traces/view"
)

var update = flag.Bool("update", false, "write what comes out to testdata; read the diff")

// The text of all logs:
//
//	f      f+1       f+4  f+5       f+8
//	push   mov       push mov       ret       linked
//	55     48 89 e5  53   48 89 fa  c3
//	e9     1b 00 00  1f                       optimized: jump to the detour
const (
	f      = 0xffffffff81000000
	slots  = 0xffffffffa0000000
	detour = slots + 0x20
	kernel = 0xffffffff82100000
)

// Tasks: idle tasks and stoppers of two CPUs, and the tasks that run there.
var taskNames = []string{"idle/0", "idle/1", "stopper/0", "stopper/1", "prober", "caller", "optimizer"}

const (
	prober    = 4
	caller    = 5
	optimizer = 6
)

func begin() *tracetest.Trace {
	tr := tracetest.New()
	tr.Load(f, "55", "48 89 e5", "53", "48 89 fa", "c3")
	tr.Expect(caller, 0, 77)
	tr.On(0, 0).Emit(smpev.Switch, 0, prober, 1)
	return tr
}

// arm registers the probe, with a slot.
func arm(h tracetest.Hand) {
	h.ApiEnter(kpev.Register, 0, f).Lock(1).Alloc(slots, 2, kpev.SlotMem).Store(slots, 0x55, 0xcc)
	h.Emit(kpev.Arm, f, 0, 0).Store(f, 0xcc)
	sync(h, 2, 4)
}

// sync has one CPU answer to an IPI.
func sync(h tracetest.Hand, mask, why uint64) {
	h.Emit(smpev.SendIPI, mask, 1, 0).Emit(smpev.Serialise, why, 0, 0)
}

func answer(h tracetest.Hand, ip, why uint64) {
	h.Trap(smpev.VecCall, ip).Emit(smpev.Serialise, why, 0, 0).Return(smpev.VecCall, ip)
}

// queue hands out the detour and ends the registration.
func queue(h tracetest.Hand) {
	h.Alloc(detour, 20, kpev.DetourMem)
	h.Store(detour, 0x54, 0x9c, 0x48, 0x8d, 0x64, 0x24, 0xe8, 0x57, 0x56, 0x52, 0x51, 0x50, 0x41, 0x50, 0x41, 0x51)
	h.Emit(kpev.Optimizing, f, 0, 0).Unlock(1).ApiReturn(kpev.Register, 0, 0)
	h.Emit(smpev.Switch, prober, 0, 1)
	h.On(255, traces.NoTask).Emit(smpev.Fire, 0x80, 0, 0)
	h.On(0, 0).Emit(smpev.Wake, optimizer, 0, 0).Emit(smpev.Switch, 0, optimizer, 1)
}

// hit runs f with the breakpoint, once.
func hit(h tracetest.Hand) {
	h.Break(f).Pre(0).Own(f, kpev.OwnerKprobe).Resume(slots)
	h.Exec(slots, 0x55).Break(slots+1).Own(slots+1, kpev.OwnerKprobe).Resume(f + 1)
}

func rest(h tracetest.Hand, call uint64) {
	h.Exec(f+1, 0x48, 0x89, 0xe5).Exec(f+4, 0x53).Exec(f+5, 0x48, 0x89, 0xfa).CallEnd(call, 77)
}

var jump = []byte{0xe9, 0x1b, 0x00, 0x00, 0x1f}

func input(tr *tracetest.Trace, cpus int) view.Input {
	return view.Input{
		Events: tr.Events, Arch: tr.Arch, CPUs: cpus, KernelIP: kernel,
		Names: view.Names{
			Symbol: func(a uint64) string {
				switch {
				case a >= f && a < f+9:
					return fmt.Sprintf("victim+%#x", a-f)
				case a >= slots && a < slots+0x1000:
					return fmt.Sprintf("slots+%#x", a-slots)
				}
				return fmt.Sprintf("%#x", a)
			},
			Task: func(id uint64) string {
				if id < uint64(len(taskNames)) {
					return taskNames[id]
				}
				return fmt.Sprintf("task%d", id)
			},
			Lock:   func(uint64) string { return "kprobe_mutex" },
			Probe:  func(uint64) string { return "k" },
			Source: func(i uint64) string { return []string{"work@optimizer", "timer@cpu1", "nmi@cpu1"}[i-0x80] },
		},
	}
}

// golden compares the output of view with testdata.
func golden(t *testing.T, name string, in view.Input) {
	t.Helper()
	var b strings.Builder
	if err := view.Interleaving(&b, in); err != nil {
		t.Fatal(err)
	}
	b.WriteString("\n---- story\n")
	for _, s := range view.Story(in) {
		fmt.Fprintf(&b, "%6d  %s\n", s.Seq, s.Text)
	}
	compare(t, name, b.String())
}

func compare(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", name+".txt")
	if *update {
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if got != string(want) {
		t.Errorf("%s isn't what comes out (go test -update writes it; read the diff):\n%s", path, got)
	}
}
