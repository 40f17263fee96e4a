package matrix

import (
	"fmt"
	"strings"

	"kpsim/properties/scenario"
)

// Adversary says against whom a Never holds.
const Adversary = "Two CPUs: the patcher's, and one with a caller, which runs the text, schedules and runs it again, and a task that it can be preempted for. " +
	"The caller's CPU has one timer tick and one reschedule interrupt, at any time, and the IPIs of the patcher; in the rows nmi/ it has an NMI instead, whose handler runs the text. " +
	"The site begins at each of the 8 bytes of a chunk of text in turn; under a probe it is three instructions of 1, 3 and 1 bytes."

// A Block is rows with one program.
type Block struct {
	Name string
	Says string

	site, prober string // of the program
	calls        string
	sources      string
	canary       string // the row that is known to be wrong
}

const (
	probed  = `v = text("victim", "554889e5535b5dc3", at = %#x)` + "\n" + `k = kprobe("k", at = v)` + "\n"
	written = "register(k), wait_optimized()"
	removed = written + ", unregister(k), wait_optimized()"

	labelled = `v = text("victim", "0f1f440000c3", at = %#x)` + "\n" +
		`on = text("on", "b801000000c3")` + "\n" + `l = jump_label("l", at = v, target = on)` + "\n"
	flipped = "label_on(l), label_off(l)"

	twice   = "call(v), schedule(), call(v)"
	changes = "call(v, changed = True), schedule(), call(v, changed = True)"

	interrupts = "timer(cpu = 1)\npreempt(cpu = 1)\n"
	nmi        = "nmi(cpu = 1, run = v)\n"
)

// Blocks are the blocks of rows, in their order.
var Blocks = []Block{
	{"jump", "A probe's jump is written. What the optimizer waits for before, and how it writes.", probed, written, twice, interrupts, "jump/none/naive"},
	{"life", "The jump is written and taken away again, and its detour freed.", probed, removed, twice, interrupts, "life/none/naive"},
	{"sync", "The same with the right wait (tasks), and one sync left out.", probed, removed, twice, interrupts, "life/none/naive"},
	{"raw", "A jump label: a nop of five bytes becomes a jump and a nop again. Nobody can stand inside one instruction, so nothing is waited for.",
		labelled, flipped, changes, interrupts, "raw/naive"},
	{"nmi", "A probe's jump is written after the right wait (tasks), and the text is run by an NMI, too.", probed, written, twice, nmi, "nmi/naive"},
	{"nmi-raw", "A jump label whose text is run by an NMI, too.", labelled, flipped, changes, nmi, "nmi-raw/naive"},
}

// A Row is one way to patch.
type Row struct {
	Name   string // BLOCK/…
	Says   string
	Block  *Block
	Wait   string // what the optimizer waits for
	Patch  string
	Mutant string // what is left out besides
}

// Preempts and Fetches are the words of the columns.
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

// A left sync is the mutant that leaves it out, and how text is written with it.
type left struct{ name, says, mutant, patch string }

var (
	ofProbes = []left{
		{"arm", "after the breakpoint of a probe is written", "no-sync-arm", "breakpoint"},
		{"disarm", "after it is taken away", "no-sync-disarm", "breakpoint"},
		{"unopt", "between the breakpoint over a jump and the tail behind it", "no-sync-unopt", "breakpoint"},
	}
	ofPatcher = []left{
		{"poke-1", "of text_poke_bp after the breakpoint", "no-sync-1", "breakpoint"},
		{"poke-2", "of text_poke_bp after the tail", "no-sync-2", "breakpoint"},
		{"poke-3", "of text_poke_bp after the head", "no-sync-3", "breakpoint"},
		{"stop", "of each CPU before it leaves stop_machine", "stop-without-sync-core", "stop_machine"},
	}
)

// Rows returns the rows in their order.
func Rows() (list []Row) {
	for i := range Blocks {
		b := &Blocks[i]
		add := func(name, says, wait, patch, mutant string) {
			list = append(list, Row{b.Name + "/" + name, says, b, wait, patch, mutant})
		}
		switch b.Name {
		case "jump", "life":
			for _, w := range waits {
				for _, p := range patches {
					add(w+"/"+p, "waits for "+w+", writes by "+p, w, p, "")
				}
			}
		case "sync":
			for _, l := range append(ofProbes, ofPatcher...) {
				add(l.name, "without the sync "+l.says, "tasks", l.patch, l.mutant)
			}
		default:
			wait := "none"
			if b.site == probed {
				wait = "tasks"
			}
			for _, p := range patches {
				add(p, "writes by "+p, wait, p, "")
			}
			if b.Name == "raw" {
				for _, l := range ofPatcher {
					add(l.name, "without the sync "+l.says, wait, l.patch, l.mutant)
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

// Select returns the rows whose names are given or begin with what is given and a
// slash; all for none.
func Select(names []string) (list []Row, err error) {
	for _, n := range names {
		found := false
		for _, r := range Rows() {
			found = found || r.is(n)
		}
		if !found {
			return nil, fmt.Errorf("no row is called %q; blocks are jump, life, sync, raw, nmi and nmi-raw, rows as jump/sched/breakpoint, sync/arm, raw/poke-2", n)
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

// chunk is in how many bytes a store can be one, and so at how many places a site
// can begin.
const chunk = 8

// siteBase is where the site is at offset 0: a chunk begins there.
const siteBase uint64 = 0xffffffff81000100

// Scenario returns a cell's program with the site at so many bytes behind the
// beginning of a chunk.
func (r *Row) Scenario(c Column, offset int) (*scenario.Scenario, error) {
	name := strings.NewReplacer("/", "-").Replace(fmt.Sprintf("matrix/%s/%s/%s/%d", r.Name, c.Preempt, c.Fetch, offset))
	b := r.Block
	src := fmt.Sprintf("scenario(%q, says = %q)\n", name, b.Says) +
		fmt.Sprintf("machine(cpus = 2, preempt = %q, fetch = %q, quiesce = %q, patch = %q)\n", c.Preempt, c.Fetch, r.Wait, r.Patch) +
		fmt.Sprintf(b.site, siteBase+uint64(offset)) +
		fmt.Sprintf("task(\"patcher\", cpu = 0, ops = [%s])\n", b.prober) +
		fmt.Sprintf("task(\"caller\", cpu = 1, ops = [%s])\n", b.calls) +
		"task(\"other\", cpu = 1, ops = [schedule()])\n" + b.sources +
		"never()\n"
	return scenario.Load(name+".star", []byte(src), nil)
}
