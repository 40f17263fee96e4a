package matrix

import (
	"cmp"
	"fmt"
	"hash/fnv"
	"io"
	"slices"
	"strings"
	"time"

	"kpsim/internal/nearest"
	"kpsim/internal/scenario"
	"kpsim/internal/scenario/lang"
	"kpsim/smp"
)

// A Subject is what a table is about: rows of two aren't in one table.
type Subject struct {
	Adversary string // the adversary against which a Never holds
	Places    string // where the site of a row begins
	Whole     time.Duration
}

// X86 and Others are the subjects. Whole is the time that all cells took on one core with the effort Quick, on
// 24 and 30 November 2026; rows differ by more than a factor of ten.
var (
	X86 = Subject{
		Adversary: "Two CPUs: the patcher's, which the optimizer runs on, too, and one with a caller, which " +
			"schedules and then runs the text (that of a jump label or a static call before that, too), and a task " +
			"that it can be preempted for. The caller's CPU has one timer tick and one reschedule interrupt, at any " +
			"time, and the IPIs of the patcher; in the rows nmi/ it has an NMI instead, whose handler runs the text. " +
			"The site begins at each of the 8 bytes of a chunk of text in turn; under a probe it is three " +
			"instructions of 1, 3 and 1 bytes.",
		Places: fmt.Sprintf("each of the %d offsets", chunk),
		Whole:  32 * time.Minute,
	}
	Others = Subject{
		Adversary: "Two CPUs: the patcher's, and one with a caller, which runs the text, schedules and runs it " +
			"again, " +
			"and a task that it can be preempted for. The caller's CPU has one timer tick and one reschedule " +
			"interrupt, at any time, and the IPIs of the patcher. In a chunk of 8 bytes of text the site begins in " +
			"turn wherever the processor's kernels can have one: a probe at each multiple of 2 bytes on riscv64, all " +
			"else at each multiple of 4.",
		Places: "each offset",
		Whole:  6 * time.Minute,
	}
)

// A Block is a group of rows that are read together.
type Block struct {
	Name    string
	Says    string
	Subject *Subject
	rows    *program // program of ways without one of their own
	ways    []way
}

// A program is the code that a cell runs.
type program struct {
	site, patcher string
	caller        string
	sources       string
	canary        string // the row that is known to be wrong

	arch        string // "" for x86-64
	first, step int    // the offsets of the site in its chunk; step 0 stands for 1
}

// A way is a row of a block: what is waited for, how text is written, which mutant omits something else.
type way struct {
	name, says          string
	wait, patch, mutant string
	of                  *program // nil: the block's
}

const (
	probed   = `v = text("victim", "554889e5535b5dc3", at = %#x)` + "\n" + `k = kprobe("k", at = v)` + "\n"
	labelled = `v = text("victim", "0f1f440000c3", at = %#x)` + "\n" +
		`on = text("on", "b801000000c3")` + "\n" + `l = jump_label("l", at = v, target = on)` + "\n"
	called = `v = text("victim", "0f1f440000c3", at = %#x)` + "\n" +
		`on = text("on", "b801000000c3")` + "\n" + `s = static_call("s", sites = [v])` + "\n"

	interrupts = "timer(cpu = 1)\npreempt(cpu = 1)\n"
	nmi        = "nmi(cpu = 1, run = v)\n"
)

const (
	written = "register(k), wait_optimized()"
	removed = written + ", unregister(k), wait_optimized()"
	flipped = "label_on(l), label_off(l)"
	aimed   = "set_call(s, on), set_call(s, None)"

	once  = "schedule(), call(v)"
	twice = "call(v, changed = True), schedule(), call(v, changed = True)"
)

var (
	writes    = program{site: probed, patcher: written, caller: once, sources: interrupts, canary: "jump/none/naive"}
	removes   = program{site: probed, patcher: removed, caller: once, sources: interrupts, canary: "life/none/naive"}
	flips     = program{site: labelled, patcher: flipped, caller: twice, sources: interrupts, canary: "raw/naive"}
	aims      = program{site: called, patcher: aimed, caller: twice, sources: interrupts, canary: "call/poke-3"}
	writesNMI = program{site: probed, patcher: written, caller: once, sources: nmi, canary: "nmi/naive"}
	flipsNMI  = program{site: labelled, patcher: flipped, caller: twice, sources: nmi, canary: "nmi-raw/naive"}
)

// Blocks lists the blocks of rows, in order.
var Blocks = append([]Block{
	{"jump", "The jump of an optimized kprobe is written in the place of its breakpoint. What the optimizer " +
		"waits for before, and how it writes.", &X86, &writes, crossed()},
	{"life", "The jump of an optimized kprobe is taken away again, and its detour freed.", &X86, &removes, crossed()},
	{"sync", "An optimized kprobe with the right wait (tasks), and one sync left out, while its jump is " +
		"written (poke-1 to poke-3) or taken away.", &X86, &removes, append(ofProbes, ofPatcher...)},
	{"raw", "A jump label: a nop of five bytes becomes a jump and a nop again. No CPU can stand inside one " +
		"instruction, so nothing is waited " +
		"for.", &X86, &flips, append(allPatches("none"), unwaited(ofPatcher, &flips)...)},
	{"call", "A static call: a nop of five bytes becomes a call and a nop again, which is always written by " +
		"text_poke_bp.", &X86, &aims, append(allPatches("none")[2:], unwaited(ofPatcher[:3], &aims)...)},
	{"nmi", "The jump of an optimized kprobe is written after the right wait (tasks), and the text is run by " +
		"an NMI, too.", &X86, &writesNMI, allPatches("tasks")},
	{"nmi-raw", "A jump label whose text is run by an NMI, too.", &X86, &flipsNMI, allPatches("none")},
}, others...)

// A Row is one way of patching.
type Row struct {
	Name   string // BLOCK/…
	Says   string
	Block  *Block
	Wait   string // the optimizer's wait; "" where there is none
	Patch  string // "": the processor's own way
	Mutant string // the mutant that omits something else

	program *program
}

// Preempts and Fetches are the names of the columns.
var (
	Preempts = []string{"none", "voluntary", "dynamic", "full", "lazy"}
	Fetches  = []string{"coherent", "stale", "mixing"}
)

// A Column is a machine.
type Column struct{ Preempt, Fetch string }

// Columns returns the columns in their order.
func Columns() (list []Column) {
	for _, p := range Preempts {
		for _, f := range Fetches {
			list = append(list, Column{p, f})
		}
	}
	return list
}

var (
	waits   = []string{"none", "sched", "rcu", "tasks", "stack-check"}
	patches = []string{"naive", "stop_machine", "breakpoint"}
)

// crossed returns all waits by all ways to write.
func crossed() (list []way) {
	for _, w := range waits {
		for _, p := range patches {
			list = append(list, way{name: w + "/" + p, says: "waits for " + w + ", writes by " + p, wait: w, patch: p})
		}
	}
	return list
}

// allPatches returns one wait by all ways to write.
func allPatches(wait string) (list []way) {
	for _, p := range patches {
		list = append(list, way{name: p, says: "writes by " + p, wait: wait, patch: p})
	}
	return list
}

// The ways that omit a sync.
var (
	ofProbes = []way{
		{"arm", "without the sync after the breakpoint of a probe is written", "tasks", "breakpoint", "no-sync-arm",
			&writes},
		{"disarm", "without the sync after it is taken away", "tasks", "breakpoint", "no-sync-disarm", &removes},
		{"unopt", "without the sync between the breakpoint over a jump and the tail behind it", "tasks", "breakpoint",
			"no-sync-unopt", &removes},
		{"unopt-2", "without the sync after that tail", "tasks", "breakpoint", "no-sync-unopt-2", &removes},
	}
	ofPatcher = []way{
		{"poke-1", "without the sync of text_poke_bp after the " +
			"breakpoint", "tasks", "breakpoint", "no-sync-1", &writes},
		{"poke-2", "without the sync of text_poke_bp after the tail", "tasks", "breakpoint", "no-sync-2", &writes},
		{"poke-3", "without the sync of text_poke_bp after the head", "tasks", "breakpoint", "no-sync-3", &writes},
		{"stop", "without the sync of each CPU before it leaves stop_machine", "tasks", "stop_machine",
			"stop-without-sync-core", &removes},
	}
)

// unwaited returns ways without a wait, of a program.
func unwaited(of []way, p *program) []way {
	list := slices.Clone(of)
	for i := range list {
		list[i].wait, list[i].of = "none", p
	}
	return list
}

// Rows returns the rows of a subject in their order.
func (s *Subject) Rows() (list []Row) {
	for i := range Blocks {
		b := &Blocks[i]
		if b.Subject != s {
			continue
		}
		for _, w := range b.ways {
			list = append(list, Row{b.Name + "/" + w.name, w.says, b, w.wait, w.patch, w.mutant, cmp.Or(w.of, b.rows)})
		}
	}
	return list
}

// Rows returns all rows.
func Rows() []Row { return append(X86.Rows(), Others.Rows()...) }

// RowByName returns the row of that name.
func RowByName(name string) (Row, bool) {
	for _, r := range Rows() {
		if r.Name == name {
			return r, true
		}
	}
	return Row{}, false
}

// RowNames returns the names that Select accepts: blocks, parts of blocks, rows.
func RowNames() (names []string) {
	for _, r := range Rows() {
		for i, c := range r.Name {
			if c == '/' && !slices.Contains(names, r.Name[:i]) {
				names = append(names, r.Name[:i])
			}
		}
		names = append(names, r.Name)
	}
	return names
}

// Select returns the rows whose names are given, or begin with a given name and a slash; those of x86
// if none are given. All are of one subject.
func Select(names []string) (list []Row, err error) {
	for _, n := range names {
		found := false
		for _, r := range Rows() {
			found = found || r.is(n)
		}
		if !found {
			return nil, fmt.Errorf("no row is called %q; %s", n, cmp.Or(nearest.DidYouMean(n, RowNames()),
				"blocks are jump, life, sync, raw, call, nmi and nmi-raw, rows as jump/sched/naive, "+
					"sync/arm; of other processors riscv64, arm64/label, ppc64le/site/torn"))
		}
	}
	if len(names) == 0 {
		return X86.Rows(), nil
	}
	for _, r := range Rows() {
		if slices.ContainsFunc(names, r.is) {
			list = append(list, r)
		}
	}
	if first, last := list[0], list[len(list)-1]; first.Block.Subject != last.Block.Subject {
		return nil, fmt.Errorf("%s is of x86 and %s is not: these are two tables; ask for one after the "+
			"other", first.Name,
			last.Name)
	}
	return list, nil
}

func (r *Row) is(name string) bool { return r.Name == name || strings.HasPrefix(r.Name, name+"/") }

// chunk is the number of bytes that one store can write, and so the number of offsets of a site.
const chunk = 8

// offsets returns where in its chunk the site is put in turn.
func (r *Row) offsets() (list []int) {
	for at := r.program.first; at < chunk; at += max(r.program.step, 1) {
		list = append(list, at)
	}
	return list
}

// siteBase is the address of the site at offset 0, the beginning of a chunk.
const siteBase uint64 = 0xffffffff81000100

// Scenario returns a cell's program with the site offset bytes after the beginning of a chunk.
func (r *Row) Scenario(c Column, offset int) (*scenario.Scenario, error) {
	name, src := r.source(c, offset)
	return lang.Load(name+".star", []byte(src), nil)
}

func (r *Row) source(c Column, offset int) (name, src string) {
	name = strings.NewReplacer("/", "-").Replace(fmt.Sprintf("matrix/%s/%s/%s/%d", r.Name, c.Preempt, c.Fetch, offset))
	p, machine := r.program, ""
	for _, setting := range [][2]string{{"quiesce", r.Wait}, {"patch", r.Patch}, {"arch", p.arch}} {
		if setting[1] != "" {
			machine += fmt.Sprintf(", %s = %q", setting[0], setting[1])
		}
	}
	return name, fmt.Sprintf("scenario(%q, says = %q)\n", name, r.Block.Says) +
		fmt.Sprintf("machine(cpus = 2, preempt = %q, fetch = %q%s)\n", c.Preempt, c.Fetch, machine) +
		fmt.Sprintf(p.site, siteBase+uint64(offset)) +
		fmt.Sprintf("task(\"patcher\", cpu = 0, ops = [%s])\n", p.patcher) +
		fmt.Sprintf("task(\"caller\", cpu = 1, ops = [%s])\n", p.caller) +
		"task(\"other\", cpu = 1, ops = [schedule()])\n" + p.sources +
		"never()\n"
}

// key identifies the search of a cell, with its effort: cells with one key have the same search.
func (r *Row) key(c Column, e Effort) string {
	h := fnv.New64a()
	fmt.Fprintf(h, "%s %d %d %d", r.Mutant, e.Deviations, e.Drawn, e.Seed)
	if e.States > 0 {
		fmt.Fprintf(h, " %d", e.States)
	}
	if e.Deeper != deepest {
		fmt.Fprintf(h, " deeper %d", e.Deeper)
	}
	if e.Memory != smp.SC {
		fmt.Fprintf(h, " memory %v", e.Memory)
	}
	if e.FRED {
		io.WriteString(h, " fred")
	}
	if e.SyncCopies {
		io.WriteString(h, " sync_copies")
	}
	for _, i := range r.offsets() {
		_, src := r.source(c, i)
		io.WriteString(h, src)
	}
	return fmt.Sprintf("%016x", h.Sum64())
}
