package matrix

import (
	"cmp"
	"fmt"
	"hash/fnv"
	"io"
	"slices"
	"strings"

	"kpsim/internal/nearest"
	"kpsim/internal/scenario"
	"kpsim/internal/scenario/lang"
	"kpsim/smp"
)

// Adversary describes the adversary against which a Never holds.
const Adversary = "Two CPUs: the patcher's, which the optimizer runs on, too, and one with a caller, which " +
	"schedules and then runs the text (that of a jump label or a static call before that, too), and a task " +
	"that it can be preempted for. The caller's CPU has one timer tick and one reschedule interrupt, at any " +
	"time, and the IPIs of the patcher; in the rows nmi/ it has an NMI instead, whose handler runs the text. " +
	"The site begins at each of the 8 bytes of a chunk of text in turn; under a probe it is three " +
	"instructions of 1, 3 and 1 bytes."

// A Block is a group of rows that are read together.
type Block struct {
	Name string
	Says string
	rows *program // program of rows without one of their own
}

// A program is the code that a cell runs.
type program struct {
	site, patcher string
	caller        string
	sources       string
	canary        string // the row that is known to be wrong
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
	writes    = program{probed, written, once, interrupts, "jump/none/naive"}
	removes   = program{probed, removed, once, interrupts, "life/none/naive"}
	flips     = program{labelled, flipped, twice, interrupts, "raw/naive"}
	aims      = program{called, aimed, twice, interrupts, "call/poke-3"}
	writesNMI = program{probed, written, once, nmi, "nmi/naive"}
	flipsNMI  = program{labelled, flipped, twice, nmi, "nmi-raw/naive"}
)

// Blocks lists the blocks of rows, in order.
var Blocks = []Block{
	{"jump", "The jump of an optimized kprobe is written in the place of its breakpoint. What the optimizer " +
		"waits for before, and how it writes.", &writes},
	{"life", "The jump of an optimized kprobe is taken away again, and its detour freed.", &removes},
	{"sync", "An optimized kprobe with the right wait (tasks), and one sync left out, while its jump is " +
		"written (poke-1 to poke-3) or taken away.", &removes},
	{"raw", "A jump label: a nop of five bytes becomes a jump and a nop again. No CPU can stand inside one " +
		"instruction, so nothing is waited for.", &flips},
	{"call", "A static call: a nop of five bytes becomes a call and a nop again, which is always written by " +
		"text_poke_bp.", &aims},
	{"nmi", "The jump of an optimized kprobe is written after the right wait (tasks), and the text is run by " +
		"an NMI, too.", &writesNMI},
	{"nmi-raw", "A jump label whose text is run by an NMI, too.", &flipsNMI},
}

// A Row is one way of patching.
type Row struct {
	Name   string // BLOCK/…
	Says   string
	Block  *Block
	Wait   string // the optimizer's wait
	Patch  string
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

// A left is an omitted sync: the mutant that omits it, and how text is then written.
type left struct {
	name, says, mutant, patch string
	of                        *program // for a kprobe point
}

var (
	ofProbes = []left{
		{"arm", "after the breakpoint of a probe is written", "no-sync-arm", "breakpoint", &writes},
		{"disarm", "after it is taken away", "no-sync-disarm", "breakpoint", &removes},
		{"unopt", "between the breakpoint over a jump and the tail behind it", "no-sync-unopt", "breakpoint", &removes},
		{"unopt-2", "after that tail", "no-sync-unopt-2", "breakpoint", &removes},
	}
	ofPatcher = []left{
		{"poke-1", "of text_poke_bp after the breakpoint", "no-sync-1", "breakpoint", &writes},
		{"poke-2", "of text_poke_bp after the tail", "no-sync-2", "breakpoint", &writes},
		{"poke-3", "of text_poke_bp after the head", "no-sync-3", "breakpoint", &writes},
		{"stop", "of each CPU before it leaves stop_machine", "stop-without-sync-core", "stop_machine", &removes},
	}
)

// Rows returns the rows in their order.
func Rows() (list []Row) {
	for i := range Blocks {
		b := &Blocks[i]
		add := func(name, says, wait, patch, mutant string, p *program) {
			list = append(list, Row{b.Name + "/" + name, says, b, wait, patch, mutant, p})
		}
		switch b.Name {
		case "jump", "life":
			for _, w := range waits {
				for _, p := range patches {
					add(w+"/"+p, "waits for "+w+", writes by "+p, w, p, "", b.rows)
				}
			}
		case "sync":
			for _, l := range append(ofProbes, ofPatcher...) {
				add(l.name, "without the sync "+l.says, "tasks", l.patch, l.mutant, l.of)
			}
		case "call":
			add("breakpoint", "writes by breakpoint", "none", "breakpoint", "", b.rows)
			for _, l := range ofPatcher[:3] {
				add(l.name, "without the sync "+l.says, "none", l.patch, l.mutant, b.rows)
			}
		default:
			wait := "none"
			if b.rows.site == probed {
				wait = "tasks"
			}
			for _, p := range patches {
				add(p, "writes by "+p, wait, p, "", b.rows)
			}
			if b.Name == "raw" {
				for _, l := range ofPatcher {
					add(l.name, "without the sync "+l.says, wait, l.patch, l.mutant, b.rows)
				}
			}
		}
	}
	return list
}

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

// Select returns the rows whose names are given, or begin with a given name and a slash; all rows
// if none are given.
func Select(names []string) (list []Row, err error) {
	for _, n := range names {
		found := false
		for _, r := range Rows() {
			found = found || r.is(n)
		}
		if !found {
			return nil, fmt.Errorf("no row is called %q; %s", n, cmp.Or(nearest.DidYouMean(n, RowNames()),
				"blocks are jump, life, sync, raw, call, nmi and nmi-raw, rows as jump/sched/breakpoint, "+
					"sync/arm, raw/poke-2"))
		}
	}
	for _, r := range Rows() {
		wanted := len(names) == 0
		for _, n := range names {
			wanted = wanted || r.is(n)
		}
		if wanted {
			list = append(list, r)
		}
	}
	return list, nil
}

func (r *Row) is(name string) bool { return r.Name == name || strings.HasPrefix(r.Name, name+"/") }

// chunk is the number of bytes that one store can write, and so the number of offsets of a site.
const chunk = 8

// siteBase is the address of the site at offset 0, the beginning of a chunk.
const siteBase uint64 = 0xffffffff81000100

// Scenario returns a cell's program with the site offset bytes after the beginning of a chunk.
func (r *Row) Scenario(c Column, offset int) (*scenario.Scenario, error) {
	name, src := r.source(c, offset)
	return lang.Load(name+".star", []byte(src), nil)
}

func (r *Row) source(c Column, offset int) (name, src string) {
	name = strings.NewReplacer("/", "-").Replace(fmt.Sprintf("matrix/%s/%s/%s/%d", r.Name, c.Preempt, c.Fetch, offset))
	p := r.program
	return name, fmt.Sprintf("scenario(%q, says = %q)\n", name, r.Block.Says) +
		fmt.Sprintf("machine(cpus = 2, preempt = %q, fetch = %q, quiesce = %q, patch = %q)\n", c.Preempt, c.Fetch,
			r.Wait, r.Patch) +
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
	for i := range chunk {
		_, src := r.source(c, i)
		io.WriteString(h, src)
	}
	return fmt.Sprintf("%016x", h.Sum64())
}
