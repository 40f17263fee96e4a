package search_test

import (
	"flag"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"kpsim/internal/scenario/library"
	"kpsim/internal/search/explore"
	"kpsim/internal/search/replay"
	"kpsim/internal/search/searchtest"
	"kpsim/kprobes/mutants"
	"kpsim/properties"
	"kpsim/sched"
	"kpsim/smp"
	"kpsim/traces"
)

var rerecord = flag.Bool("rerecord", false, "explore again and write traces/corpus anew; commit it by itself, and say why")

const corpusDir = "../../traces/corpus"

type row struct{ file, scenario, mutant string }

// corpus is what the committed traces show, PROPERTY-CAUSE: where each is found.
var corpus = []row{
	{"T2-second-instruction", "second-instruction", ""},
	{"T2-preempted", "second-instruction-preempted", ""},
	{"T2-rcu-for-tasks", "full-rcu", ""},
	{"T2-no-quiesce", "safe-none", "no-quiesce"},
	{"T2-no-stop", "stop-machine-alone", "no-stop"},
	{"T1-torn-jump", "torn-jump", ""},
	{"T1-nmi-on-text", "nmi-on-text", ""},
	{"T1-no-sync-1", "jump-label-flip", "no-sync-1"},
	{"T1-no-sync-2", "jump-label-flip", "no-sync-2"},
	{"T1-no-sync-unopt", "torn-jump-bp", "no-sync-unopt"},
	{"T1-int3-after-tail", "jump-label-flip", "int3-after-tail"},
	{"T1-stop-without-sync-core", "stop-machine-stale", "stop-without-sync-core"},
	{"T3-no-sync-arm", "no-sail-past", "no-sync-arm"},
	{"B1-no-sync-3", "jump-label-flip", "no-sync-3"},
	{"B1-no-sync-disarm", "no-sail-past", "no-sync-disarm"},
	{"L1-no-grace", "safe-none", "no-grace"},
	{"L3-ignore-sysctl", "optimization-off", "ignore-sysctl"},
	{"S1-stop-machine-free", "stop-machine-free", ""},
	{"S1-cancel-rcu", "cancel-detour", "cancel-rcu"},
	{"R2-objpool-last", "return-nmi", "objpool-last"},
	{"T2-stack-regions", "stack-check-detour", "stack-regions"},
	{"T3-enable-lost", "globally-off", "enable-lost"},
	{"O1-disarm-trampoline", "trampoline-off", "disarm-trampoline"},
	{"K1-lock-in-nmi", "return-nmi-locked", "lock-in-nmi"},
	{"A2-detour-post", "detour-post", "detour-post"},
	{"A2-boost-post", "boosted-post", "boost-post"},
	{"T4-check-unlocked", "module-init", "check-unlocked"},
	{"S1-cancel-rcu-pages", "cancel-detour-pages", "cancel-rcu"},
	{"T2-tasks-by-rcu", "safe-full", "rcu-for-tasks"},
	{"B1-publish-late", "jump-label-flip", "publish-late"},
	{"B1-unsorted-batch", "batch-poke", "unsorted-batch"},
	{"B1-byte-first", "no-sail-past", "byte-first"},
	{"L2-saved-armed", "no-sail-past", "saved-armed"},
	{"B1-hidden-first", "no-sail-past", "hidden-first"},
	{"A1-swap-in-two", "boosted-post", "swap-in-two"},
	{"L1-shared-no-grace", "ftrace-probe", "shared-no-grace"},
	{"S1-boost-preempt", "cancel-detour", "boost-preempt"},
	{"X2-rip-kept", "handlers-at-work", "rip-kept"},
	{"X2-rip-of-buffer", "handlers-at-work", "rip-of-buffer"},
	{"A1-missed-by-point", "handlers-at-work", "missed-by-point"},
	{"X2-path-ignored", "handlers-at-work", "path-ignored"},
	{"A1-detour-disabled", "stack-check-detour", "detour-disabled"},
	{"X1-detour-nested", "handlers-at-work", "detour-nested"},
	{"R2-empty-late", "return-frameless", "empty-late"},
	{"T4-optimize-disarmed", "switches", "optimize-disarmed"},
	{"T3-arm-before-clear", "globally-off", "arm-before-clear"},
	{"P4-optimize-post", "detour-post", "optimize-post"},
	{"T2-unscanned-jumps", "unsafe-regions", "unscanned-jumps"},
	{"T2-unscanned-indirect", "unsafe-regions", "unscanned-indirect"},
	{"L2-reuse-disabled", "reuse-disabled", "reuse-disabled"},
	{"L4-disarm-lost", "switches", "disarm-lost"},
	{"T2-saved-at-prepare", "neighbours", "saved-at-prepare"},
	{"P2-retry-lost", "neighbours", "retry-lost"},
	{"P2-cancel-lost", "neighbours", "cancel-lost"},
	{"T3-ftrace-by-post", "ftrace-probe", "ftrace-by-post"},
	{"S1-free-early", "register-storm-none", "free-early"},
	{"L2-no-restore", "no-sail-past", "no-restore"},
	{"X1-if-leak", "no-sail-past", "if-leak"},
	{"X2-jng-and", "function-at-work", "jng-and"},
	{"P1-lost-kick", "safe-none", "lost-kick"},
	{"K1-hotplug-last", "hotplug", "hotplug-last"},
	{"K1-hotplug-nested", "hotplug-stop", "hotplug-nested"},
	{"K1-flush-locked", "safe-none", "flush-locked"},
	{"K1-grace-atomic", "safe-full", "grace-atomic"},
	{"K1-grace-in-section", "safe-full", "grace-in-section"},
	{"K1-open-spinlocks", "return-irq", "open-spinlocks"},
	{"T2-flag-early", "flag-early", "flag-early"},
	{"A1-entry-ignored", "return-probes", "entry-ignored"},
	{"E1-re-register", "return-probes", "re-register"},
	{"R2-no-flush", "return-exit", "no-flush"},
	{"R2-holder-refs", "return-storm", "holder-refs"},
	{"B1-batch-dropped-early", "batch-poke", "batch-dropped-early"},
	{"O1-module-kept", "module-unload", "module-kept"},
	{"C1-handlers-closed", "globally-off", "handlers-closed"},
	{"P1-one-worker", "stack-check", "one-worker"},
	{"T2-ignore-extable", "page-fault-sleeps", "ignore-extable"},
	{"R1-hook-first", "return-probes", "hook-first"},
	{"R1-frame-unchecked", "return-frameless", "frame-unchecked"},
	{"R1-ret-addr-kept", "return-siblings", "ret-addr-kept"},
	{"R1-ret-addr-lost", "return-storm", "ret-addr-lost"},
	{"T2-past-the-end", "unsafe-regions", "past-the-end"},
	{"B1-fault-in-copy", "fault-in-copy", "fault-in-copy"},
	{"T1-no-sync-unopt-2", "torn-jump-bp", "no-sync-unopt-2"},
	{"T2-stop-early", "stop-machine-alone", "stop-early"},
	{"T2-optimized-late", "safe-none", "optimized-late"},
	{"P2-never-again", "neighbours", "never-again"},
	{"T4-arm-over", "neighbours", "arm-over"},
	{"C1-detour-preempt", "globally-off", "detour-preempt"},
	{"S1-slot-before-grace", "slot-before-grace", "slot-before-grace"},
	{"K1-text-unlocked", "safe-none", "text-unlocked"},
	{"A2-post-skipped", "boosted-post", "post-skipped"},
	{"A1-missed-uncounted", "handlers-at-work", "missed-uncounted"},
	{"A1-return-not-hooked", "return-probes", "return-not-hooked"},
	{"E2-asked-unlocked", "register-race", "asked-unlocked"},
	{"P3-back-off", "under-load", "back-off"},
	{"P3-grace-idle", "under-load", "grace-idle"},
	{"P4-jump-kept", "unoptimized", "jump-kept"},
	{"T4-mark-kept", "optimization-off", "mark-kept"},
	{"F1-list-bare", "switches", "list-bare"},
	{"K1-labels-last", "lock-orders", "labels-last"},
	{"K1-modules-last", "lock-orders", "modules-last"},
	{"O1-no-ref-wait", "batch-beside-probe", "no-ref-wait"},
	{"B1-leave-tf", "fault-in-copy", "leave-tf"},
	{"O1-entry-returns", "return-probes", "entry-returns"},
	{"X1-no-regs-copy", "return-global", "no-regs-copy"},
	{"B1-no-break", "return-global", "no-break"},
	{"X2-boost-any", "boost-room", "boost-any"},
	{"T2-copy-regs", "handlers-at-work", "copy-regs"},
	{"A1-arm-disabled", "switches", "arm-disabled"},
	{"A1-run-disabled", "stack-check-detour", "run-disabled"},
	{"E1-toggle-any", "switches", "toggle-any"},
	{"L4-arm-disarmed", "globally-off", "arm-disarmed"},
	{"A2-detour-stops", "detour-post", "detour-stops"},
	{"T3-no-module-ref", "module-unload", "no-module-ref"},
	{"R2-objpool-five", "return-nmi-five", "objpool-last"},
	{"P1-objpool-seven", "return-nmi-seven", "objpool-last"},
	{"R2-objpool-leak", "return-nmi-leak", "objpool-last"},
	{"S1-cancel-rcu-interrupted", "cancel-detour-interrupted", "cancel-rcu"},
	{"F1-enable-lost", "globally-off-alone", "enable-lost"},
	{"A2-post-by-list", "post-leaves", "post-by-list"},
	{"S1-tasks-without-grace", "idle-interrupted", "tasks-without-grace"},
}

// playPath plays a trace, edited if edit isn't nil. The rig is closed when the
// test ends.
func playPath(t *testing.T, path string, edit func(f *traces.File)) (*traces.File, *replay.Replay) {
	t.Helper()
	f := searchtest.ReadTrace(t, path)
	if edit != nil {
		edit(f)
	}
	r, err := replay.Play(path, f, false)
	require.NoError(t, err)
	t.Cleanup(r.Rig.Close)
	return f, r
}

// TestCorpus: each committed trace ends in its property, at its place, with its
// digest; one of a mutant doesn't on the right engine; and each mutant has one. A file that doesn't any more is re-recorded in a commit of its own:
// go test ./internal/search -run Corpus -rerecord.
func TestCorpus(t *testing.T) {
	for _, c := range corpus {
		t.Run(c.file, func(t *testing.T) {
			path := filepath.Join(corpusDir, c.file+".kps")
			if *rerecord {
				record(t, path, c.scenario, c.mutant, c.file[:2])
			}
			f, r := playPath(t, path, nil)
			require.True(t, r.Same, r.Why)
			require.Equal(t, r.Message, f.Message)
			require.NotContains(t, f.Message, "0xffff")
			require.Empty(t, r.Drifts)
			require.Equal(t, c.file[:2], r.Property.ID)
			if c.mutant != "" {
				requireRight(t, path, f)
			}
		})
	}
	for i := range mutants.All {
		mu := &mutants.All[i]
		has := slices.ContainsFunc(corpus, func(c row) bool {
			return c.mutant == mu.Name && slices.ContainsFunc(properties.All, func(p *properties.Property) bool {
				return p.ID == c.file[:2] && (p.Name == mu.Property || slices.Contains(mu.Also, p.Name))
			})
		})
		require.Equal(t, mu.Equivalent == nil, has, "%s: a trace of what notices", mu.Name)
	}
	files, err := filepath.Glob(filepath.Join(corpusDir, "*.kps"))
	require.NoError(t, err)
	require.Len(t, files, len(corpus), "a file that no row of the table names is tested by nobody")
}

// requireRight plays a trace of a mutant on the right engine, which breaks nothing
// along it.
func requireRight(t *testing.T, path string, f *traces.File) {
	right := *f
	right.Origin = slices.DeleteFunc(slices.Clone(f.Origin), func(r traces.Remark) bool { return r.Key == traces.OriginMutant })
	require.Less(t, len(right.Origin), len(f.Origin))
	rig, err := replay.Open(path, &right)
	require.NoError(t, err)
	defer rig.Close()
	run := rig.Play(sched.NewAnchored(f.Schedule, rig.Machine.Names()))
	require.NotEqual(t, smp.Refused, run.Outcome, "%v", run.Err)
	require.Nil(t, run.Property, "the right engine breaks it, too: %+v", run.Finding)
}

// record explores until it has a witness of the property. Other properties may
// be broken more often under a mutant: seeds are gone through.
func record(t *testing.T, path, name, broken, property string) {
	sc, err := library.Load(name)
	require.NoError(t, err)
	for seed := range uint64(200) {
		res, err := explore.Run(explore.Spec{Scenario: sc, Mutant: broken, Runs: 20_000, Seed: seed, Workers: 1, Stop: true})
		require.NoError(t, err)
		if seed == 0 && (res.Witness == nil || len(res.Witness.Schedule) > 0) { // more runs may have a shorter one
			res, err = explore.Run(explore.Spec{Scenario: sc, Mutant: broken, Runs: 20_000, Seed: seed, Workers: 1})
			require.NoError(t, err)
		}
		if w := res.Witness; w != nil && w.Property.ID == property {
			require.NoError(t, os.WriteFile(path, w.File.Marshal(), 0o644))
			return
		}
	}
	t.Fatalf("no witness of %s in %s", property, name)
}
