package rig_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"kpsim/internal/scenario"
	"kpsim/internal/scenario/act"
	"kpsim/internal/scenario/lang"
	"kpsim/internal/scenario/library"
	"kpsim/internal/scenario/onlinux"
	"kpsim/internal/search/rig"
	"kpsim/internal/testkit/kerneltest"
	"kpsim/linux"
	"kpsim/sched"
	"kpsim/smp"
)

// byHand does what a patcher of its own can do and no scenario of the library does.
const byHand = `
machine(cpus = 2)
d = data("d", size = 8)
f = text("f", "0f1f440000 31c0 c3")
t = code("t", "31c0 c3", mapped = False)
task("patcher", cpu = 0, ops = [save_text(f, d), map(t), write(t, "31c0c3"), flush(t, 3), serialise(), membarrier(),
    on_fault(t, goto = f), protect(t, False), call(t, returns = 0), unprotect(t),
    stop_outside(f, 5), move(f, to = f + 5), resume()])
task("thread", cpu = 1, ops = [call(f, returns = 0), schedule()], repeat = 2)
`

// notUnderKernels are the operations that no kernel's own engine has here: what reads an engine's files, and what of
// BPF needs a kernel that is built without preemption. 6.1 is built without fprobes.
var notUnderKernels = []string{"read_list", "read_enabled", "read_optimization", "read_missed", "bpf_dispatch",
	"bpf_undispatch", "bpf_tail_call"}

// TestEachOperationUnderKernels: what a task can do, it can do beside a kernel's own engine, too, but for
// notUnderKernels. Each operation is tried with the first scenarios that have it.
func TestEachOperationUnderKernels(t *testing.T) {
	const enough = 2 // scenarios of each operation
	t.Parallel()
	for _, series := range []string{"6.1", "6.12"} {
		k, err := linux.Open(kerneltest.Path(t, series))
		require.NoError(t, err)
		linux.Give(k)
		tried := make(map[*scenario.Operation]int)
		hand, err := lang.Load("by-hand.star", []byte(byHand), nil)
		require.NoError(t, err)
		for _, sc := range append(library.All(), hand) {
			if !sc.Any(func(op *scenario.Op) bool { return tried[op.Kind] < enough }) || onlinux.Set(sc, k) != nil {
				continue
			}
			r, err := rig.New(sc, "")
			if err != nil { // a setting that this kernel doesn't have
				continue
			}
			random := sched.NewRandom(sched.Params{Seed: 1, Length: r.Run(new(sched.Default)).Counts.Points})
			for i := range uint64(2) {
				random.Begin(i)
				run := r.Run(random)
				require.NotEqual(t, smp.Refused, run.Outcome, "%s: %s", sc.Name, r.Message(&run))
			}
			r.Close()
			sc.Any(func(op *scenario.Op) bool { tried[op.Kind]++; return false })
		}
		var none []string
		for _, op := range act.All() {
			if tried[op] == 0 && (op.Object != scenario.AnFprobe || k.Lacks("fprobe") == "") {
				none = append(none, op.Word)
			}
		}
		require.Equal(t, notUnderKernels, none, series)
	}
}
