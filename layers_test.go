package kpsim

import (
	"fmt"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// A layer is a package and what it may do.
type layer struct {
	pkg   string
	may   []string // import of this module; "*" is every package in the table but those of cmd
	free  []string // of bans: rules or import paths; "*" for a package that is no part of a run
	owned bool     // mutable fields say who owns them
}

// layers is the table of doc.go and the architecture, lowest first. A package
// that isn't here fails the test: decide where it belongs, and add its row.
var layers = []layer{
	{pkg: "sim", free: []string{"iter", "runtime"}}, // fibres are iter.Pull; a bug says where it is
	{pkg: "sched", may: []string{"sim", "traces"}},
	{pkg: "internal/lazyregexp", free: []string{"sync"}},
	{pkg: "traces", may: []string{"internal/lazyregexp", "sim"}},
	{pkg: "smp/arch"},
	{pkg: "smp/arch/x86", may: []string{"smp/arch"}, free: []string{"unsafe"}},
	// An instruction begins with its Op: one conversion.
	{pkg: "smp/arch/riscv64", may: []string{"smp/arch"}, free: []string{"unsafe"}},
	{pkg: "smp/arch/arm64", may: []string{"smp/arch"}, free: []string{"unsafe"}},
	{pkg: "smp/arch/ppc64", may: []string{"smp/arch"}, free: []string{"unsafe"}},
	{pkg: "internal/testkit/archtest", may: []string{"smp/arch"}, free: []string{"*"}}, // runs emulators, has golden files
	{pkg: "smp/arch/target", may: []string{"smp/arch", "smp/arch/arm64", "smp/arch/ppc64", "smp/arch/riscv64",
		"smp/arch/x86"}},
	{pkg: "smp/fetch", may: []string{"sim"}},
	{pkg: "smp/lkmm", may: []string{"sim"}},
	{pkg: "smp/image/objfile"},
	{pkg: "smp/image", may: []string{"internal/lazyregexp", "smp/arch", "smp/arch/x86", "smp/image/objfile"},
		free: []string{"sync"}},
	{pkg: "smp/kapi", may: []string{"smp/arch", "traces"}},
	{pkg: "smp/cycles", may: []string{"smp/kapi"}},
	{pkg: "smp/smpev", may: []string{"traces"}},
	{pkg: "kprobes/kpev", may: []string{"smp/smpev", "traces"}},
	// tables made when first used
	{pkg: "kprobes/rules", may: []string{"smp/arch", "smp/arch/x86"}, free: []string{"sync"}},
	{pkg: "kprobes/era", may: []string{"kprobes/rules", "sim", "smp/kapi"}},
	// for reports, not for runs
	{pkg: "kprobes/survey", may: []string{"smp/arch", "smp/arch/x86", "smp/image", "kprobes/rules"},
		free: []string{"*"}},
	{pkg: "traces/view", may: []string{"traces", "sim", "smp/arch", "smp/smpev", "kprobes/kpev",
		"linux/linuxev"}, free: []string{"*"}},
	{pkg: "traces/export", may: []string{"traces", "traces/view", "smp/smpev"}, free: []string{"*"}},
	// golden files
	{pkg: "internal/testkit/tracetest", may: []string{"traces", "sim", "smp/arch", "smp/arch/x86", "smp/smpev",
		"kprobes/kpev"}, free: []string{"os"}},
	{pkg: "smp", may: []string{"sim", "traces", "smp/arch", "smp/arch/x86", "smp/fetch", "smp/image", "smp/lkmm",
		"smp/cycles", "smp/kapi", "smp/smpev"}, free: []string{"sync"}},
	{pkg: "smp/kernel", may: []string{"sim", "traces", "smp", "smp/arch", "smp/arch/target", "smp/fetch", "smp/image",
		"smp/cycles", "smp/kapi", "smp/smpev"}, owned: true},
	{pkg: "linux/vmlinux/xz", free: []string{"*"}}, // reads files, before a run
	{pkg: "internal/kept", free: []string{"*"}},    // reads and writes a cache, before and after runs
	// reads files, before a run
	{pkg: "linux/vmlinux", may: []string{"internal/kept", "internal/regular", "linux/vmlinux/xz", "smp/arch", "smp/arch/target",
		"smp/arch/x86", "smp/image/objfile"}, free: []string{"*"}},
	{pkg: "linux/overlay", may: []string{"internal/regular", "linux/vmlinux", "smp/arch", "smp/arch/target",
		"smp/image/objfile"},
		free: []string{"*"}},
	{pkg: "linux/closure", may: []string{"linux/vmlinux", "smp/arch", "smp/arch/arm64", "smp/arch/ppc64",
		"smp/arch/riscv64", "smp/arch/target", "smp/arch/x86"}, free: []string{"*"}},
	{pkg: "linux/mutate", may: []string{"internal/nearest", "linux/closure", "linux/vmlinux", "sim", "smp/arch",
		"smp/arch/arm64", "smp/arch/ppc64", "smp/arch/riscv64", "smp/arch/target", "smp/arch/x86"}, free: []string{"*"}},
	// where files lie, before a run
	{pkg: "linux/vmlinux/shelf", may: []string{"internal/regular"}, free: []string{"*"}},
	{pkg: "scripts"}, // texts of scripts
	// runs a compiler, before a run
	{pkg: "linux/compile", may: []string{"internal/kept", "linux/vmlinux/shelf", "scripts"}, free: []string{"*"}},
	{pkg: "internal/patches", may: []string{"internal/lazyregexp"}, free: []string{"*"}}, // reads files, before a run
	{pkg: "internal/edits", may: []string{"internal/patches", "linux/compile"}, free: []string{"*"}},
	// for tests
	{pkg: "internal/testkit/kerneltest", may: []string{"linux/vmlinux", "linux/vmlinux/shelf"}, free: []string{"*"}},
	{pkg: "engine/jumplabel", may: []string{"smp/arch", "smp/kapi"}, owned: true},
	{pkg: "engine/staticcall", may: []string{"smp/arch", "smp/kapi"}, owned: true},
	{pkg: "engine/ftrace", may: []string{"linux/linuxev", "smp/arch", "smp/kapi", "smp/smpev"}, owned: true},
	{pkg: "smp/byhand", may: []string{"smp", "smp/arch", "smp/arch/target", "smp/kapi", "smp/kernel", "smp/smpev",
		"traces"}, owned: true},
	{pkg: "engine/debugger", may: []string{"smp/arch", "smp/kapi", "smp/smpev"}, owned: true},
	{pkg: "engine/uprobe", may: []string{"smp/arch", "smp/kapi", "smp/smpev"}, owned: true},
	{pkg: "engine/livepatch", may: []string{"engine/ftrace", "smp/arch", "smp/kapi", "smp/smpev"}, owned: true},
	{pkg: "engine/fprobe", may: []string{"engine/ftrace", "smp/arch", "smp/kapi", "smp/smpev"}, owned: true},
	{pkg: "engine/bpf", may: []string{"engine/ftrace", "smp/arch", "smp/kapi", "smp/smpev", "traces"}, owned: true},
	{pkg: "engine", may: []string{"engine/fprobe", "engine/ftrace", "engine/jumplabel", "engine/staticcall",
		"smp/arch", "smp/kapi",
		"traces"}},
	// never smp, never smp/kernel
	{pkg: "kprobes", may: []string{"kprobes/era", "engine", "engine/ftrace", "traces", "smp/arch", "smp/arch/x86",
		"smp/arch/arm64", "smp/arch/ppc64", "smp/arch/riscv64", "smp/kapi", "kprobes/kpev", "kprobes/rules"},
		owned: true},
	{pkg: "kprobes/plug", may: []string{"kprobes/era", "engine", "kprobes", "kprobes/kpev", "linux/linuxev", "smp/arch",
		"smp/kapi", "traces"}},
	{pkg: "linux/linuxev", may: []string{"smp/smpev", "traces"}},
	// never smp, never smp/kernel
	{pkg: "linux", may: []string{"engine", "engine/fprobe", "engine/ftrace", "engine/jumplabel", "engine/staticcall",
		"kprobes/kpev",
		"linux/closure", "linux/linuxev", "linux/overlay", "linux/vmlinux", "smp/arch", "smp/arch/arm64",
		"smp/arch/ppc64", "smp/arch/riscv64",
		"smp/arch/target", "smp/arch/x86", "smp/kapi", "smp/smpev", "traces"}, free: []string{"sync"}},
	{pkg: "linux/boot", may: []string{"engine", "engine/all", "kprobes/kpev", "linux", "linux/closure", "linux/compile",
		"linux/mutate", "smp/arch/target", "linux/overlay", "linux/vmlinux/shelf",
		"sched", "smp", "smp/arch", "smp/kapi", "smp/kernel", "traces"}, free: []string{"sync"}},
	// for reports, not for runs
	{pkg: "linux/source", may: []string{"internal/regular", "linux", "linux/vmlinux", "linux/vmlinux/shelf",
		"smp/arch"}, free: []string{"*"}},
	{pkg: "engine/all", may: []string{"engine", "kprobes/plug"}}, // and each engine that is Go
	{pkg: "properties", may: []string{"internal/nearest", "traces", "sim", "smp/arch", "smp/smpev", "kprobes/kpev",
		"linux/linuxev"}},
	// its history is read when first asked for
	{pkg: "kprobes/mutants", may: []string{"kprobes/era", "engine/bpf", "engine/debugger", "engine/ftrace",
		"engine/fprobe", "engine/jumplabel", "engine/livepatch", "engine/staticcall", "engine/uprobe", "kprobes", "kprobes/kpev",
		"kprobes/rules", "smp/arch", "smp/arch/riscv64", "smp/arch/x86", "smp/kapi", "smp/kernel", "smp/smpev"},
		free: []string{"sync"}},
	{pkg: "internal/nearest"},
	{pkg: "internal/regular", free: []string{"*"}}, // opens files, before a run
	// reads what the program was built from
	{pkg: "internal/version", may: []string{"internal/lazyregexp", "internal/regular"}, free: []string{"*"}},
	{pkg: "internal/scenario", may: []string{"*"}},
	{pkg: "internal/scenario/onlinux", may: []string{"engine", "engine/ftrace", "internal/scenario", "kprobes/era",
		"kprobes/rules", "linux", "linux/boot", "smp/arch/target"}},
	{pkg: "internal/scenario/act", may: []string{"*"}},
	{pkg: "internal/scenario/edit", may: []string{"internal/scenario", "internal/scenario/act"}},
	{pkg: "internal/scenario/vet", may: []string{"smp/kapi", "internal/scenario/act", "kprobes/era",
		"internal/scenario", "kprobes/survey", "smp/arch", "smp/arch/x86", "smp/image"}},
	{pkg: "internal/scenario/lang", may: []string{"*"}, free: []string{"*"}},
	{pkg: "internal/scenario/library", may: []string{"internal/nearest", "internal/scenario", "internal/scenario/lang",
		"sim"}, free: []string{"*"}},
	{pkg: "internal/scenario/tidy", may: []string{"internal/scenario/lang", "sim", "traces"}, free: []string{"*"}},
	{pkg: "internal/scenario/forms", may: []string{"internal/scenario", "internal/scenario/act", "smp/arch",
		"smp/arch/target"}, free: []string{"*"}},
	{pkg: "internal/scenario/gen", may: []string{"*"}, free: []string{"*"}},
	{pkg: "internal/testkit/gentest", may: []string{"*"}, free: []string{"*"}}, // for tests
	{pkg: "internal/search/rig", may: []string{"*"}},
	// for tests
	{pkg: "internal/testkit/searchtest", may: []string{"internal/scenario", "internal/scenario/lang",
		"internal/scenario/library", "traces"}, free: []string{"*"}},
	{pkg: "internal/search/parallel", free: []string{"*"}}, // workers, above the machines
	{pkg: "internal/search/replay", may: []string{"*"}, free: []string{"*"}},
	{pkg: "internal/search/calls", may: []string{"internal/search/replay", "internal/search/rig", "linux/linuxev",
		"linux/source", "sched", "sim", "smp", "smp/arch", "smp/kapi", "traces", "traces/view"}},
	{pkg: "internal/search/shrink", may: []string{"*"}, free: []string{"*"}},
	{pkg: "internal/search/explore", may: []string{"*"}, free: []string{"*"}},
	{pkg: "internal/search/results", may: []string{"*"}, free: []string{"*"}},
	{pkg: "internal/search/proof", may: []string{"*"}, free: []string{"*"}},
	{pkg: "internal/search/cause", may: []string{"*"}, free: []string{"*"}},
	{pkg: "internal/search/pairs", may: []string{"*"}, free: []string{"sync"}},
	{pkg: "internal/search/fuzz", may: []string{"*"}, free: []string{"*"}},
	{pkg: "internal/search/session", may: []string{"*"}, free: []string{"*"}},
	{pkg: "internal/search/mutantsearch", may: []string{"*"}, free: []string{"*"}},
	{pkg: "internal/search/twoengines", may: []string{"*"}, free: []string{"*"}},
	{pkg: "internal/search/change", may: []string{"*"}, free: []string{"*"}},
	{pkg: "internal/search/small", may: []string{"*"}, free: []string{"*"}},
	{pkg: "internal/search/blame", may: []string{"*"}, free: []string{"*"}},
	// reads files, before a run
	{pkg: "internal/litmus/ctest", may: []string{"internal/lazyregexp", "internal/nearest", "sim", "smp/lkmm"}, free: []string{"*"}},
	{pkg: "internal/litmus/axioms", may: []string{"internal/litmus/ctest", "smp/lkmm"}, free: []string{"*"}},
	// reads files, before a run
	{pkg: "internal/litmus/x86test", may: []string{"internal/lazyregexp"}, free: []string{"*"}},
	{pkg: "internal/litmus/extract", may: []string{"internal/ui/cli", "internal/lazyregexp", "internal/litmus/x86test",
		"internal/nearest", "internal/search/replay", "sched", "sim", "smp", "smp/arch", "smp/arch/target",
		"smp/arch/x86", "smp/kapi", "smp/smpev", "traces", "traces/view"}, free: []string{"*"}},
	{pkg: "internal/litmus/run", may: []string{"internal/litmus/axioms", "internal/litmus/ctest",
		"internal/litmus/x86test", "sched", "sim", "smp", "smp/arch", "smp/arch/x86", "smp/kapi", "smp/lkmm", "traces"},
		free: []string{"*"}},
	{pkg: "internal/litmus", may: []string{"*"}, free: []string{"*"}},
	{pkg: "internal/search", may: []string{"*"}, free: []string{"*"}}, // a map, and tests
	{pkg: "internal/ui/page/plot", free: []string{"*"}},
	// plots
	{pkg: "internal/ui/page", may: []string{"internal/lazyregexp", "internal/ui/page/plot", "internal/version"},
		free: []string{"*"}},
	{pkg: "internal/testkit/pagetest", free: []string{"*"}}, // runs a browser
	{pkg: "internal/ui/viewer", may: []string{"traces", "traces/view", "internal/ui/page", "internal/version"},
		free: []string{"*"}},
	{pkg: "internal/ui/verdict", may: []string{"properties", "sim", "traces"}, free: []string{"*"}}, // golden files
	{pkg: "internal/ui/cli", may: []string{"sim", "traces", "traces/view", "internal/nearest", "internal/ui/page",
		"internal/regular", "internal/lazyregexp", "internal/ui/verdict", "internal/version"}, free: []string{"*"}},
	{pkg: "internal/ui/table", may: []string{"internal/ui/cli", "internal/ui/page"}, free: []string{"*"}},
	{pkg: "internal/ui/cli/flags", may: []string{"internal/ui/cli", "internal/ui/cli/inputs", "internal/lazyregexp",
		"internal/nearest", "smp/image"}, free: []string{"*"}},
	// for tests
	{pkg: "internal/testkit/flagstest", may: []string{"internal/ui/cli/flags", "internal/testkit/thorough"},
		free: []string{"*"}},
	{pkg: "internal/ui/cli/manual", may: []string{"internal/ui/cli/flags"}, free: []string{"*"}},
	{pkg: "internal/ui/cli/inputs", may: []string{"*"}, free: []string{"*"}},
	{pkg: "internal/ui/cli/inputs/kernels", may: []string{"*"}, free: []string{"*"}},
	{pkg: "internal/ui/cli/inputs/drawable", may: []string{"internal/scenario", "internal/scenario/gen",
		"internal/ui/cli/inputs", "smp/arch/target"}, free: []string{"*"}},
	// for tests
	{pkg: "internal/testkit/thorough", free: []string{"*"}},
	// is kpsim in tests
	{pkg: "internal/testkit/proctest/served", free: []string{"*"}},
	// runs kpsim
	{pkg: "internal/testkit/proctest", may: []string{"internal/testkit/proctest/served"}, free: []string{"*"}},
	// workers, above those of search
	{pkg: "internal/eval/matrix", may: []string{"*"}, free: []string{"*"}},
	{pkg: "internal/eval/overhead", may: []string{"*"}, free: []string{"*"}}, // statistics
	{pkg: "internal/eval/overhead/pages", may: []string{"*"}, free: []string{"*"}},
	{pkg: "internal/eval/overhead/kernelcost", may: []string{"*"}, free: []string{"*"}},
	{pkg: "internal/eval/review", may: []string{"*"}, free: []string{"*"}},
	{pkg: "internal/eval/bisect", may: []string{"*"}, free: []string{"*"}}, // runs git
	{pkg: "internal/eval/watch", may: []string{"*"}, free: []string{"*"}},  // watches files
	{pkg: "internal/eval/bench", may: []string{"*"}, free: []string{"*"}},
	{pkg: "internal/eval/matrix/pages", may: []string{"*"}, free: []string{"*"}},
	{pkg: "internal/eval/mutants", may: []string{"*"}, free: []string{"*"}},
	{pkg: "internal/verbs/check", may: []string{"*"}, free: []string{"*"}},
	{pkg: "internal/verbs/kernelinfo", may: []string{"*"}, free: []string{"*"}},
	{pkg: "internal/verbs/format", may: []string{"internal/scenario/tidy", "internal/ui/cli"}, free: []string{"*"}},
	{pkg: "internal/verbs/catalogue", may: []string{"*"}, free: []string{"*"}},
	{pkg: "internal/verbs/start", may: []string{"internal/ui/cli", "sim"}, free: []string{"*"}}, // writes a file
	{pkg: "internal/verbs/report", may: []string{"*"}, free: []string{"*"}},
	{pkg: "internal/verbs/small", may: []string{"*"}, free: []string{"*"}},
	{pkg: "internal/verbs/findings", may: []string{"*"}, free: []string{"*"}},
	{pkg: "internal/verbs/shell", may: []string{"*"}, free: []string{"*"}},
	{pkg: "kprobes/scenariotest", free: []string{"*"}},  // its tests play scenarios
	{pkg: "scripts/remove-lines", free: []string{"*"}},  // runs the tests
	{pkg: "scripts/covered", free: []string{"*"}},       // builds kpsim and runs it
	{pkg: "cmd/kpsim/docstest", free: []string{"*"}},    // its tests run kpsim
	{pkg: "cmd/kpsim/scripttest", free: []string{"*"}},  // its tests run kpsim
	{pkg: "cmd/kpsim/packagetest", free: []string{"*"}}, // its tests install kpsim
	{pkg: "cmd/kpsim", may: []string{"*"}, free: []string{"*"}},
	{pkg: "campaign/build", free: []string{"*"}}, // a module of its own: searches on many computers
	{pkg: "campaign/plan", may: []string{"*"}, free: []string{"*"}},
	{pkg: "campaign/unit", may: []string{"*"}, free: []string{"*"}},
	{pkg: "campaign/board", may: []string{"campaign/plan", "campaign/unit", "internal/ui/cli"}, free: []string{"*"}},
	{pkg: "campaign/gate", may: []string{"campaign/board", "campaign/plan", "campaign/unit", "internal/ui/cli"},
		free: []string{"*"}},
	{pkg: "campaign/hub", may: []string{"internal/ui/cli"}, free: []string{"*"}},
	{pkg: "campaign/lead", may: []string{"campaign/board", "campaign/plan", "campaign/unit", "internal/ui/cli",
		"internal/verbs/findings", "internal/search/fuzz"}, free: []string{"*"}},
	{pkg: "campaign/work", may: []string{"*"}, free: []string{"*"}},
	{pkg: "campaign/web", may: []string{"campaign/board", "internal/ui/page", "internal/version"}, free: []string{"*"}},
	{pkg: "campaign/load", may: []string{"*"}, free: []string{"*"}}, // its tests run servers and thousands of workers
	{pkg: "campaign/desk", may: []string{"*"}, free: []string{"*"}},
	{pkg: "campaign/cmd/kpsim-campaign", may: []string{"*"}, free: []string{"*"}},
	{pkg: "campaign/faults", may: []string{"*"}, free: []string{"*"}},
	{pkg: "campaign", free: []string{"*"}},                      // its map
	{pkg: "kpsimtest", may: []string{"*"}, free: []string{"*"}}, // for tests of other modules
	{pkg: "kpsimtest/build", may: []string{"internal/scenario", "internal/scenario/lang", "internal/ui/cli/inputs"},
		free: []string{"*"}},
	{pkg: "kpsimtest/draw", may: []string{"internal/scenario/gen", "internal/testkit/gentest", "kpsimtest/build"}, free: []string{"*"}},
	{pkg: "scripts/compare-builds", free: []string{"*"}}, // runs two builds of kpsim
	{pkg: "scripts/drawn-faults/on", free: []string{"*"}},
	{pkg: "scripts/drawn-faults", may: []string{"scripts/drawn-faults/on"}, free: []string{"*"}}, // builds kpsim
}

// bannedImports would let something other than the strategy decide a run.
var bannedImports = []struct{ path, instead string }{
	{"time", "simulated time is sim.Time"},
	{"math/rand", "draw from a sim.Rand that is passed down"},
	{"crypto/rand", "draw from a sim.Rand that is passed down"},
	{"sync", "one run is one thread; workers live in internal/search/parallel"},
	{"os", "a run reads nothing from outside; load before it"},
	{"unsafe", "addresses differ from run to run"},
	{"runtime", "a run doesn't depend on the Go scheduler"},
	{"reflect", "name the types"},
	{"maps", "its iterators are ranges over a map; keep a slice"},
	{"iter", "fibres are sim.Fibre"},
}

// bannedNames are names of packages that collect dust.
var bannedNames = []string{"util", "utils", "common", "helpers", "types"}

const fileLinesMax = 500

func TestLayers(t *testing.T) {
	h := newHouse(t, ".")
	h.checkAll()
	for _, f := range h.findings {
		t.Error(f)
	}
}

// Each rule fires on files planted in testdata/layers/RULE, a small tree of
// packages: at the lines that say // want RULE, and nowhere else.
func TestLayersPlanted(t *testing.T) {
	roots, err := filepath.Glob("testdata/layers/*")
	if err != nil || len(roots) == 0 {
		t.Fatal("nothing is planted", err)
	}
	long := filepath.Join(t.TempDir(), "lines")
	write(t, filepath.Join(long, "kprobes/long.go"), "package kprobes // want lines\n"+
		strings.Repeat("//\n", fileLinesMax))
	write(t, filepath.Join(long, "kprobes/just.go"), "package kprobes\n"+strings.Repeat("//\n", fileLinesMax-1))
	write(t, filepath.Join(long, "kprobes/op_table.go"), "package kprobes\n"+strings.Repeat("//\n", fileLinesMax))

	for _, root := range append(roots, long) {
		t.Run(filepath.Base(root), func(t *testing.T) {
			h := newHouse(t, root)
			h.checkAll()
			var got []string
			for _, f := range h.findings {
				got = append(got, fmt.Sprintf("%s:%d: %s", f.pos.Filename, f.pos.Line, f.rule))
			}
			slices.Sort(got)
			got = slices.Compact(got) // two fields written in one line are two findings
			if want := wants(t, h); !slices.Equal(got, want) {
				t.Errorf("found\n\t%s\nwant\n\t%s", strings.Join(got, "\n\t"), strings.Join(want, "\n\t"))
			}
		})
	}
}

// Every rule has something planted, so that none is dead.
func TestLayersEveryRulePlanted(t *testing.T) {
	planted := []string{"lines"} // made by TestLayersPlanted
	roots, _ := filepath.Glob("testdata/layers/*")
	for _, root := range roots {
		for _, w := range wants(t, newHouse(t, root)) {
			planted = append(planted, w[strings.LastIndex(w, " ")+1:])
		}
	}
	for _, r := range rules {
		if !slices.Contains(planted, r) {
			t.Errorf("rule %s: nothing planted in testdata/layers", r)
		}
	}
}

// wants returns the findings that the comments of a tree ask for.
func wants(t *testing.T, h *house) []string {
	t.Helper()
	var out []string
	for _, dir := range h.dirs() {
		for _, path := range goFiles(t, filepath.Join(h.root, dir)) {
			fset := token.NewFileSet()
			f, err := parser.ParseFile(fset, path, nil, parser.ParseComments)
			if err != nil {
				t.Fatal(err)
			}
			for _, g := range f.Comments {
				for _, c := range g.List {
					if _, list, ok := strings.Cut(c.Text, "// want "); ok {
						for rule := range strings.FieldsSeq(list) {
							out = append(out, fmt.Sprintf("%s:%d: %s", path, fset.Position(c.Pos()).Line, rule))
						}
					}
				}
			}
		}
	}
	slices.Sort(out)
	return out
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}
