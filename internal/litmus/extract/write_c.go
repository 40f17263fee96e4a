package extract

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"kpsim/smp/kapi"
)

// A test with variables of the kernel's routines is in C, as herd7 reads it for the kernel's
// memory model. What compiled code does is in it too, by the verbs that its instructions are
// at least: a plain load or store is READ_ONCE or WRITE_ONCE, a locked one has no suffix.

// Sizes of a test in C that kpsim litmus reads.
const (
	mostThreadsC = 64
	mostInstrsC  = 1000
)

// cWords mean something else where a name may stand.
var cWords = []string{"int", "if", "else", "exists", "filter", "locations", "forall", "void", "long", "char", "short",
	"unsigned", "signed", "volatile", "struct", "spinlock_t", "atomic_t", "while", "for", "do", "goto", "switch",
	"return",
	"not", "true", "false", "const", "static", "lock"}

// never is a value that no variable has.
const never = 1_000_000_007

// suffixes of read-modify-write operations.
var suffixes = map[kapi.Order]string{kapi.OrderNone: "_relaxed", kapi.OrderThrough: "_relaxed",
	kapi.OrderAcquire: "_acquire", kapi.OrderRelease: "_release"}

var fenceNames = map[kapi.Order]string{kapi.OrderMB: "smp_mb", kapi.OrderRMB: "smp_rmb", kapi.OrderWMB: "smp_wmb"}

// statement is what an access is in C. n is the number of the local variable that it loads
// into.
func (w *writer) statement(a *access, fence bool, n int) string {
	if fence {
		return w.fenceName(a) + "();"
	}
	name := w.names[a.word]
	switch a.op {
	case load:
		switch a.order {
		case kapi.OrderAcquire:
			return fmt.Sprintf("int r%d = smp_load_acquire(%s);", n, name)
		case kapi.OrderThrough:
			return fmt.Sprintf("int r%d = rcu_dereference(*%s);", n, name)
		}
		return fmt.Sprintf("int r%d = READ_ONCE(*%s);", n, name)
	case store:
		if a.order == kapi.OrderRelease {
			return fmt.Sprintf("smp_store_release(%s, %d);", name, w.value(a.value))
		}
		return fmt.Sprintf("WRITE_ONCE(*%s, %d);", name, w.value(a.value))
	case failed:
		return fmt.Sprintf("int r%d = cmpxchg%s(%s, %d, %d);", n, suffixes[a.order], name, never, never)
	}
	return fmt.Sprintf("int r%d = xchg%s(%s, %d);", n, suffixes[a.order], name, w.value(a.value))
}

func (w *writer) fenceName(a *access) string {
	if s := fenceNames[a.order]; s != "" {
		return s
	}
	return "smp_mb" // of a read-modify-write
}

// accessC adds an access to its thread.
func (w *writer) accessC(a *access, fence bool) error {
	th := w.thread(a.cpu)
	th.lines = append(th.lines, w.statement(a, fence, len(th.saw)))
	if !fence && a.loads() {
		th.saw = append(th.saw, a.saw)
	}
	if !fence && a.stores() {
		w.stores[a.word]++
	}
	if !fence && !slices.Contains(th.words, w.names[a.word]) {
		th.words = append(th.words, w.names[a.word])
	}
	th.tell(w.t.where(a))
	if len(th.lines) > mostInstrsC {
		return fmt.Errorf("cpu%d has more than %d accesses to what is shared, as many as a litmus test may have: "+
			"name the words that matter with --words, of %s", a.cpu, mostInstrsC, w.t.sharedNames())
	}
	return nil
}

// tableC writes the threads.
func (w *writer) tableC(out io.Writer) {
	for i, th := range w.threads {
		fmt.Fprintf(out, "\nP%d(int *%s)\n{\n", i, strings.Join(th.words, ", int *"))
		width := 0
		for _, l := range th.lines {
			width = max(width, len(l))
		}
		for k, l := range th.lines {
			fmt.Fprintf(out, "\t%-*s // %s\n", width, l, plain(th.story[k]))
		}
		fmt.Fprintf(out, "}\n")
	}
	fmt.Fprintln(out)
}
