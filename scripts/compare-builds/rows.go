package main

import (
	"encoding/json"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
)

// listed has the names that the old build lists.
type listed struct {
	Scenarios []struct{ Name string }
	Mutants   []struct{ Name string }
}

func (l listed) scenarios() (names []string) {
	for _, s := range l.Scenarios {
		names = append(names, s.Name)
	}
	return names
}

func (l listed) mutants() (names []string) {
	for _, m := range l.Mutants {
		names = append(names, m.Name)
	}
	return names
}

// The commands given to a shell: they look at text, calls, registers, and steps, and write files.
const (
	sessionLooks = `where
call victim 3 5
kprobe p at victim+1 post
kprobe q at victim rdi=7
register p q
text victim
call victim 3 5 on 1
disable p
wait
x victim 5
call victim 3 5 on 1 &
step 2
step cpu1 3
regs 1
events
unregister p q
wait
hits
sysctl debug.kprobes-optimization
echo 0 > /sys/kernel/debug/kprobes/enabled
cat /sys/kernel/debug/kprobes/list
`
	sessionRuns = "run\nwhere\nhits\nevents\n"
	sessionHelp = "help\n"
)

// rowsOf returns the table's rows. A quick table has every third or tenth case of the slow rows.
func rowsOf(b *bench, quick bool) ([]row, error) {
	var l listed
	out := b.run(0, invocation{args: []string{"list", "--json"}})
	if out.err != nil {
		return nil, out.err
	}
	if err := json.Unmarshal([]byte(out.text), &l); err != nil {
		return nil, fmt.Errorf("kpsim list --json: %w", err)
	}
	corpus, err := tracesIn("traces/corpus")
	if err != nil || len(corpus) == 0 || len(l.Scenarios) == 0 || len(l.Mutants) == 0 {
		return nil, fmt.Errorf("%d traces in traces/corpus, %d scenarios, %d mutants: run it in the repository",
			len(corpus), len(l.Scenarios), len(l.Mutants))
	}
	p := plan{quick: quick, scenarios: l.scenarios(), mutants: l.mutants(), corpus: corpus,
		editions: map[string][]string{}}
	accepted := func(args ...string) (list []string) {
		for _, s := range p.scenarios {
			if b.run(0, invocation{args: append(slices.Clip(args), s)}).status < 2 {
				list = append(list, s)
			}
		}
		return list
	}
	for _, e := range []string{"2.6", "4.15"} { // not every scenario can run in an old edition
		p.editions[e] = accepted("run", "--edition", e)
	}
	p.probed = accepted("check", "--all") // nor has every processor probes
	return slices.Concat(p.lists(), p.searches(), p.traces(), p.text(), p.drawn(), p.tables(), p.sessions()), nil
}

// tracesIn returns the traces below dir, as an invocation names them.
func tracesIn(dir string) (traces []string, err error) {
	err = filepath.WalkDir(dir, func(path string, _ fs.DirEntry, err error) error {
		if strings.HasSuffix(path, ".kps") {
			traces = append(traces, "repo/"+path)
		}
		return err
	})
	return traces, err
}

// A plan has what the rows are made from.
type plan struct {
	quick                      bool
	scenarios, mutants, corpus []string
	editions                   map[string][]string // the scenarios that can run in it
	probed                     []string            // the scenarios that check accepts
}

// of returns small if the plan is quick, and all otherwise.
func (p plan) of(all, small string) string {
	if p.quick {
		return small
	}
	return all
}

// every returns all names, or every nth if the plan is quick.
func (p plan) every(n int, names []string) []string {
	if !p.quick {
		return names
	}
	var some []string
	for i := 0; i < len(names); i += n {
		some = append(some, names[i])
	}
	return some
}

// lines makes a row of command lines.
func lines(name string, commands ...string) row {
	r := row{name: name}
	for _, c := range commands {
		r.invocations = append(r.invocations, invocation{args: strings.Fields(c)})
	}
	return r
}

// each makes a row of one command line for each name, put in place of %s.
func each(name, command string, names []string) row {
	r := row{name: name}
	for _, n := range names {
		r.invocations = append(r.invocations, invocation{args: strings.Fields(fmt.Sprintf(command, n))})
	}
	return r
}

func (p plan) lists() []row {
	return []row{
		lines("list", "list", "list --json", "list scenarios", "list T2 no-quiesce safe-none"),
		lines("editions", "editions", "editions --json"),
		lines("completion", "completion bash", "completion zsh", "completion fish"),
	}
}

// bulky are the scenarios that a minute has no room for: their states are large or many.
const bulky = "cancel-detour-interrupted cancel-detour-pages function-at-work handlers-at-work module-init " +
	"module-unload neighbours register-storm-full register-storm-none under-load unoptimized"

func (p plan) searches() []row {
	runs := p.of("300", "12")
	provable := slices.DeleteFunc(slices.Clone(p.scenarios), func(s string) bool {
		return p.quick && slices.Contains(strings.Fields(bulky), s)
	})
	return []row{
		each("explore", "explore --workers 1 --seed 1 --runs "+runs+" %s", p.scenarios),
		each("explore --json", "explore --workers 1 --seed 7 --json --runs "+runs+" %s", p.every(3, p.scenarios)),
		each("explore --all-properties", "explore --workers 1 --all-properties --runs "+runs+" %s",
			p.every(10, p.scenarios)),
		each("explore --edition 2.6", "explore --workers 1 --edition 2.6 --runs "+runs+" %s",
			p.every(3, p.editions["2.6"])),
		each("explore --edition 4.15", "explore --workers 1 --edition 4.15 --runs "+runs+" %s",
			p.every(6, p.editions["4.15"])),
		each("explore --strategy",
			"explore --workers 1 --runs "+runs+" safe-none second-instruction jump-label-flip --strategy %s",
			strings.Fields("portfolio sticky arriving pct pos guided random deviations default")),
		each("explore --mutant", "explore --workers 1 --runs "+p.of("2000", "150")+
			" safe-none return-storm --mutant %s",
			p.every(12, p.mutants)),
		lines("explore --self-check",
			"explore --workers 1 --self-check="+p.of("200", "20")+" --runs 100 safe-none return-nmi function-at-work"),
		lines("explore --as-shipped",
			"explore --workers 1 --runs "+runs+" --edition 4.15 --as-shipped no-sail-past globally-off",
			"explore --workers 1 --runs "+runs+" --fetch mixing --unbiased torn-jump"),
		each("run", "run %s", p.every(2, p.scenarios)),
		each("run --seed --json", "run --seed 3 --json %s", p.every(2, p.scenarios)),
		each("verify", "verify --deviations 1 --workers 1 --runs "+p.of("400", "40")+" %s", p.every(4, provable)),
		each("verify --json", "verify --deviations 1 --workers 1 --json --runs "+p.of("300", "40")+" %s",
			p.every(8, provable)),
		each("verify --by classes", "verify --deviations 1 --by classes --workers 1 --runs "+p.of("1000", "40")+" %s",
			p.every(8, provable)),
		each("verify --full", "verify --full --runs "+p.of("5000", "100")+" %s",
			strings.Fields("jump-label-flip torn-jump-bp safe-none second-instruction cancel-detour return-exit")),
		each("verify --full --by classes", "verify --full --by classes --races --runs "+p.of("5000", "100")+" %s",
			strings.Fields("jump-label-flip torn-jump-bp safe-none second-instruction")),
	}
}

func (p plan) traces() []row {
	rows := []row{
		each("replay", "replay %s", p.corpus),
		each("replay --json", "replay --json %s", p.every(4, p.corpus)),
		each("replay --all", "replay --all %s", p.every(6, p.corpus)),
		each("explain", "explain --runs "+p.of("200", "20")+" %s", p.every(3, p.corpus)),
		each("explain --json", "explain --json --runs 20 %s", p.every(10, p.corpus)),
		each("shrink", "shrink --out small.kps %s", p.every(6, p.corpus)),
		each("shrink --json", "shrink --json --out small.kps %s", p.every(12, p.corpus)),
		each("view --html", "view --html view.html %s", p.every(10, p.corpus)),
		each("view --passing", "view --passing --html view.html %s", p.every(20, p.corpus)),
		lines("view two", "view --html view.html "+p.corpus[0]+" "+p.corpus[len(p.corpus)-1]),
	}
	for _, to := range []string{"ftrace", "chrome", "json", "columns"} {
		rows = append(rows, each("export --to "+to, "export --to "+to+" %s", p.every(8, p.corpus)))
	}
	return rows
}

func (p plan) text() []row {
	objects := strings.Fields("repo/cmd/kpsim/testdata/mine/mine.o repo/cmd/kpsim/testdata/mine/reasons.o " +
		"repo/internal/scenario/testdata/module.ko repo/internal/scenario/testdata/percpu.ko")
	return []row{
		each("check", "check --all %s", p.every(3, p.probed)),
		each("check --json", "check --json --every-byte %s", p.every(4, p.probed)),
		each("check objects", "check --all %s", objects),
		each("check objects --json", "check --json --every-byte %s", objects),
		each("check --edition", "check --all --edition 2.6 %s", objects),
		each("check --profile", "check --all --profile k61 --config RETPOLINE,IBT %s", objects),
		each("check --html", "check --html check.html %s", objects),
		lines("disasm", "disasm second-instruction victim", "disasm --at 1 second-instruction victim",
			"disasm repo/cmd/kpsim/testdata/mine/mine.o checksum",
			"disasm --at 0x14 --profile k61 repo/cmd/kpsim/testdata/mine/mine.o checksum",
			"disasm repo/internal/scenario/testdata/module.ko pure",
			"disasm --edition 2.6 repo/internal/scenario/testdata/module.ko heavy"),
	}
}

func (p plan) drawn() []row {
	runs := p.of("20000", "400")
	return []row{
		lines("fuzz --edition",
			"fuzz --workers 1 --edition 6.9 --preempt none --mutant no-sync-disarm --runs "+p.of("5000", "60"),
			"fuzz --workers 1 --edition 4.15 --preempt none --as-shipped --runs "+p.of("5000", "60")),
		lines("fuzz", "fuzz --workers 1 --runs "+runs, "fuzz --workers 1 --json --seed 1000 --runs "+runs),
		lines("fuzz --mutant", "fuzz --workers 1 --mutant no-sync-disarm --runs "+p.of("5000", "100")),
		each("fuzz --print", "fuzz --print --seed %s", numbers(1, 15)),
	}
}

func (p plan) tables() []row {
	some := strings.Join(p.every(9, p.mutants), " ")
	rows := []row{
		lines("overhead", "overhead", "overhead --json", "overhead --markdown", "overhead --prose",
			"overhead --provenance --machine pentium-m/i386",
			"overhead --bench --probe k", "overhead --edition 2.6 --edition 6.9",
			"overhead --cpus 1,2,4", "overhead --cpus 1-4 --edition 2.6 --probe k,r --json"),
		lines("overhead --noise", "overhead --noise --runs "+p.of("20", "3")+" --hits 200",
			"overhead --noise --json --runs 3 --hits 200 --probe o"),
		lines("overhead fit", "overhead fit", "overhead fit --json"),
		lines("overhead pauses", "overhead pauses --cpus 2,4 --runs 5",
			"overhead pauses --json --schedule sticky --cpus 2 --runs 5 --preempt full"),
		lines("overhead maxactive", "overhead maxactive --tasks 2,4 --runs 3",
			"overhead maxactive --json --tasks 2 --edition 2.6"),
		lines("overhead probes", "overhead probes --count 1,64,1000",
			"overhead probes --json --count 64 --probe k,b,o"),
		lines("mutants", "mutants --workers 1 --seeds "+p.of("3", "1")+" --blind "+some),
		lines("mutants --json", "mutants --workers 1 --seeds 1 --json no-quiesce holder-refs"),
		lines("mutants --markdown", "mutants --workers 1 --seeds 1 --markdown no-quiesce jng-and objpool-last"),
		lines("mutants --html", "mutants --workers 1 --seeds 2 --blind --html mutants.html no-quiesce jng-and"),
		lines("bench search",
			"bench search --workers 1 --seeds "+p.of("20", "2")+
				" --time 0s --mutants no-grace,cancel-rcu --most 500 --json"),
	}
	if p.quick {
		return append(rows, lines("matrix", "matrix --workers 1 --deviations 1 --drawn 20 raw/naive"))
	}
	return append(rows,
		lines("matrix", "matrix --workers 1 --deviations 1 --drawn 400 jump/sched raw",
			"matrix --workers 1 --deviations 1 --drawn 400 --json sync/arm"),
		lines("matrix --markdown", "matrix --workers 1 --deviations 1 --drawn 400 --markdown raw",
			"matrix --workers 1 --deviations 1 --drawn 400 --html matrix.html raw"),
		lines("overhead --html", "overhead --html overhead.html"))
}

func (p plan) sessions() []row {
	shell := row{name: "shell"}
	for _, s := range strings.Fields("safe-full safe-none") {
		shell.invocations = append(shell.invocations, invocation{args: []string{"shell", s}, stdin: sessionLooks})
	}
	shell.invocations = append(shell.invocations, invocation{args: []string{"shell", "safe-none"}, stdin: sessionHelp})
	runs := row{name: "shell, run"}
	for _, s := range p.every(3, p.scenarios) {
		runs.invocations = append(runs.invocations, invocation{args: []string{"shell", "--seed", "3", s},
			stdin: sessionRuns})
	}
	along := row{name: "shell, along a trace"}
	for _, t := range p.every(8, p.corpus) {
		along.invocations = append(along.invocations,
			invocation{args: []string{"shell", t}, stdin: "step 10\n" + sessionRuns})
	}
	return []row{shell, runs, along}
}

// numbers returns the numbers from lo to hi, in text.
func numbers(lo, hi int) (s []string) {
	for i := lo; i <= hi; i++ {
		s = append(s, fmt.Sprint(i))
	}
	return s
}
