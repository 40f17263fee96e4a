package mutants

import (
	"slices"

	// the packages that have faults, and that nothing else here imports
	_ "kpsim/engine/bpf"
	_ "kpsim/engine/debugger"
	_ "kpsim/engine/staticcall"

	"kpsim/smp/kapi"
)

// planted are the mutants of the faults that stand in the code which they break (kapi.DefineFault): in the clients of
// the waist beside kprobes, and in the kernel below. A row says where one shows; the rest is said there.
var planted = plant(
	Mutant{Name: "site-forgotten", Scenario: "traced-again", Property: "clients-called"},
	Mutant{Name: "oldest-client-first", Scenario: "fprobe-shared", Property: "clients-called"},
	Mutant{Name: "fprobe-hook-lost", Scenario: "fprobe-leaves", Property: "fprobe-pairs"},
	Mutant{Name: "beneath-ignored", Scenario: "livepatch-stacked", Property: "newest-version"},
	Mutant{Name: "direct-not-modified", Scenario: "direct-modified", Property: "newest-version"},
	Mutant{Name: "debugger-forgets", Scenario: "debugger-comes-and-goes", Property: "owned-breakpoint"},
	Mutant{Name: "debugger-unwritten", Scenario: "debugger-busy", Property: "last-setting"},
	Mutant{Name: "label-as-is", Scenario: "key-shared", Property: "last-setting"},
	Mutant{Name: "label-forgotten", Scenario: "key-comes-again", Property: "sites-agree",
		Also: []string{"last-setting"}},
	Mutant{Name: "label-only-here", Scenario: "key-comes-again", Property: "sites-agree",
		Also: []string{"last-setting"}},
	Mutant{Name: "label-one-table", Scenario: "key-tables", Property: "sites-agree",
		Also: []string{"last-setting"}},
	Mutant{Name: "static-call-same", Scenario: "static-call-shared", Property: "last-setting"},
	Mutant{Name: "static-call-unlisted", Scenario: "key-comes-again", Property: "sites-agree",
		Also: []string{"last-setting"}},
	Mutant{Name: "static-call-unlocked", Scenario: "static-call-shared", Property: "sites-agree"},
	Mutant{Name: "prefix-kept", Scenario: "locks-come-again", Property: "sites-agree"},
	Mutant{Name: "alternative-skipped", Scenario: "alternatives-both", Property: "sites-agree",
		Also: []string{"last-setting", "right-result"}},
	Mutant{Name: "ftrace-blind", Scenario: "foreign-fentry", Property: "foreign-bytes"},
	Mutant{Name: "uprobe-tree-first", Scenario: "uprobe-comes", Property: "uprobe-once"},
	Mutant{Name: "uprobe-unlocked", Scenario: "uprobe-comes", Property: "uprobe-once"},
	Mutant{Name: "uprobe-unwaited", Scenario: "uprobe-leaves", Property: "uprobe-once"},
	Mutant{Name: "bpf-image-uncounted", Scenario: "bpf-sleeps", Property: "no-use-after-free",
		Also: []string{"no-oops"}},
	Mutant{Name: "bpf-image-entered", Scenario: "bpf-enters", Property: "no-use-after-free",
		Also: []string{"no-oops"}},
	Mutant{Name: "bpf-image-left", Scenario: "bpf-leaves", Property: "no-use-after-free",
		Also: []string{"no-oops"}},
	Mutant{Name: "bpf-exits-late", Scenario: "bpf-exits", Property: "programs-called"},
	Mutant{Name: "bpf-halves", Scenario: "bpf-sleeps-again", Property: "no-oops",
		Also: []string{"no-start-inside", "no-use-after-free", "programs-called"}},
	Mutant{Name: "ftrace-trampoline-early", Scenario: "ftrace-trampoline", Property: "no-use-after-free",
		Also: []string{"clients-called"}},
	Mutant{Name: "ftrace-call-stored", Scenario: "ftrace-call", Property: "whole-instructions"},
	Mutant{Name: "ftrace-site-kept", Scenario: "ftrace-two", Property: "clients-called",
		Also: []string{"text-restored", "no-use-after-free"}},
	Mutant{Name: "bpf-dispatcher-reused", Scenario: "bpf-dispatcher", Property: "right-result"},
	Mutant{Name: "bpf-tail-order", Scenario: "bpf-tail-call", Property: "no-oops"},
	Mutant{Name: "bpf-tail-unwaited", Scenario: "bpf-tail-call", Property: "no-oops"},
	Mutant{Name: "uprobe-filter-unasked", Scenario: "uprobe-filter", Property: "uprobe-once"},
	Mutant{Name: "uprobe-remove-any", Scenario: "uprobe-needed", Property: "uprobe-once"},
	Mutant{Name: "uprobe-remove-unlocked", Scenario: "uprobe-removes", Property: "uprobe-once"},
	Mutant{Name: "uretprobe-unreferenced", Scenario: "uretprobe-returns", Property: "uprobe-once"},
	Mutant{Name: "uretprobe-unlocked", Scenario: "uretprobe-beside", Property: "uprobe-once"},
	Mutant{Name: "uretprobe-longjmp", Scenario: "uretprobe-longjmp", Property: "uprobe-once"},
	Mutant{Name: "uprobe-call-unsynced", Scenario: "uprobe-call-stale", Property: "whole-instructions"},
	Mutant{Name: "uprobe-call-torn", Scenario: "uprobe-call", Property: "whole-instructions"},
	Mutant{Name: "uprobe-call-blind", Scenario: "uprobe-call-again", Property: "whole-instructions",
		Also: []string{"text-restored"}},
	Mutant{Name: "uprobe-sent-back", Scenario: "uprobe-beside-probe", Property: "uprobe-once"},
	Mutant{Name: "uprobe-flag-cleared", Scenario: "uprobe-threads", Property: "uprobe-once"},
	Mutant{Name: "label-unsynced", Scenario: "riscv64-label", Property: "last-setting"},
	Mutant{Name: "label-stopped", Scenario: "arm64-label", Property: "progress"},
	Mutant{Name: "whole-torn", Scenario: "ppc64le-label", Property: "whole-instructions"},
	Mutant{Name: "sites-unsynced", Scenario: "riscv64-livepatch", Property: "clients-called",
		Also: []string{"newest-version"}},
	Mutant{Name: "sites-unstopped", Scenario: "riscv64-ftrace-unpreempted", Property: "no-start-inside"},
)

// plant completes rows of planted.
func plant(rows ...Mutant) []Mutant {
	known := kapi.KnownFaults()
	for i := range rows {
		m := &rows[i]
		f := slices.IndexFunc(known, func(f kapi.FaultInfo) bool { return f.Name == m.Name })
		if f < 0 {
			panic("mutants: no code has the fault " + m.Name)
		}
		m.Says, m.Source = known[f].Says, known[f].Source
		m.Apply = func(w *Wiring) { w.Kernel.Plant(kapi.Fault(f)) }
	}
	return rows
}
