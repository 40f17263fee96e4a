package kernelcost

import (
	"fmt"

	"kpsim/internal/scenario"
	"kpsim/internal/scenario/lang"
	"kpsim/linux"
	"kpsim/smp/arch/target"
)

// A kind is one way to probe a function.
type kind struct {
	name, says string
	text       text
	more       string // of it
	probes     string
	ops        string // registers them
	undo       string
}

// A text is a function in hex, of x86-64 and of i386.
type text [2]string

// The functions. The first can't be boosted (its first instruction has an address-size prefix), the second is too
// short for a jump, the third isn't, the fourth has a site of ftrace.
var (
	plain = text{"678d07 4889e5 53 5b c3", "678d07 89e5 53 5b c3"}
	short = text{"55 5d c3", "55 5d c3"}
	long  = text{"55 4889e5 53 5b 5d c3", "55 89e5 53 5b 5d c3"}
	entry = text{"0f1f440000 8d4701 c3", "0f1f440000 8d4001 c3"}
)

const site = "fentry(f)\n"

const (
	kprobe    = "k = kprobe(\"k\", at = f, pre = [count()])\n"
	kprobe2   = "q = kprobe(\"q\", at = f, pre = [count()])\n"
	kretprobe = "r = kretprobe(\"r\", at = f, handler = [count()])\n"
)

var kinds = []kind{
	{"k", "kprobe", plain, "", kprobe, "register(k)", "unregister(k)"},
	{"b", "boosted kprobe", short, "", kprobe, "register(k)", "unregister(k)"},
	{"o", "optimized kprobe", long, "", kprobe, "register(k)", "unregister(k)"},
	{"r", "return probe", plain, "", kretprobe, "register(r)", "unregister(r)"},
	{"rb", "boosted return probe", short, "", kretprobe, "register(r)", "unregister(r)"},
	{"ro", "optimized return probe", long, "", kretprobe, "register(r)", "unregister(r)"},
	{"kk", "two kprobes at one address",
		plain, "", kprobe + kprobe2, "register(k), register(q)", "unregister(q), unregister(k)"},
	{"kr", "kprobe and return probe", plain, "", kprobe + kretprobe, "register(k), register(r)",
		"unregister(r), unregister(k)"},
	{"f", "kprobe at a site of ftrace", entry, site, kprobe, "register(k)", "unregister(k)"},
	{"rf", "return probe at a site of ftrace", entry, site, kretprobe, "register(r)", "unregister(r)"},
}

// Kinds are the names of the kinds of hit.
func Kinds() (names []string) {
	for i := range kinds {
		names = append(names, kinds[i].name)
	}
	return names
}

// The places of calls of a function among those of a run: two before the probe, and four with it.
const (
	unprobed = 1
	probed   = 5
)

// scenario returns the scenario for a kernel. The probes are registered twice: the first time sets up state that the
// kernel keeps.
func (q *kind) scenario(k *linux.Kernel) (*scenario.Scenario, error) {
	row := 0
	if k.Processor.Bits32() {
		row = 1
	}
	src := fmt.Sprintf(`scenario("cost-%s", says = %q)
machine(arch = %q, cpus = 1, preempt = "none", fetch = "coherent", ftrace = True)
f = text("f", at = %#x, hex = %q)
%s%stask("t", cpu = 0, ops = [call(f), call(f), %s, wait_optimized(), %s, wait_optimized(), %s, wait_optimized(), call(f), call(f), call(f), call(f), %s, wait_optimized(), call(f)])
never()
`, q.name, q.says, target.Words[k.Processor], uint64(k.Arch().Addr(at)), q.text[row], q.more, q.probes, q.ops, q.undo, q.ops, q.undo)
	return lang.Load("cost-"+q.name+".star", []byte(src), nil)
}

// at is the function's address; on i386 its lower half.
const at = 0xffffffff81000040
