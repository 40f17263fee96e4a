package extract

import (
	"bufio"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"

	"kpsim/internal/lazyregexp"
	"kpsim/internal/litmus/x86test"
	"kpsim/traces/view"
)

// A thread has a register for each value that it loads.
var registers = [...]string{"eax", "ebx", "ecx", "edx", "esi", "edi", "ebp", "r8d", "r9d", "r10d", "r11d", "r12d",
	"r13d", "r14d", "r15d"}

// registerName is how conditions name one: by all its bits.
func registerName(n int) string {
	return "r" + strings.TrimSuffix(strings.TrimPrefix(strings.TrimPrefix(registers[n], "r"), "e"), "d")
}

// Sizes of a test that kpsim litmus reads.
const (
	mostThreads = 16
	mostInstrs  = 256
	mostWords   = 64
)

// A thread is one column of a test.
type thread struct {
	cpu   uint8
	lines []string
	saw   []uint64 // of each register
	words []string // of a thread in C: what it accesses
	story []string // where each access is in the run's code
}

// A writer writes a test.
type writer struct {
	t       *Test
	inC     bool
	names   []string // of each word
	values  map[uint64]uint64
	renamed []uint64
	used    map[uint64]bool
	threads []*thread
	stores  []int // to each word
}

// value is how a value is written: as it is if an int holds it, else as another number that
// stands for it. Threads only load and store values, so that it doesn't matter which.
func (w *writer) value(v uint64) uint64 {
	if v <= math.MaxInt32 {
		return v
	}
	if n, ok := w.values[v]; ok {
		return n
	}
	n := uint64(1_000_001)
	for w.used[n] {
		n++
	}
	w.used[n], w.values[v] = true, n
	w.renamed = append(w.renamed, v)
	return n
}

// Write writes the test as herd7 reads it. Errors are those of to.
func (t *Test) Write(to io.Writer) error {
	_, err := io.WriteString(to, t.text)
	return err
}

// write makes the text of a test; errors say what can't be said.
func (t *Test) write() error {
	w := &writer{t: t, values: make(map[uint64]uint64), used: make(map[uint64]bool),
		stores: make([]int, len(t.r.words))}
	for _, s := range t.kept {
		a := &t.r.accesses[s.access]
		w.used[a.value], w.used[a.saw] = true, true // no number stands for another one's value
	}
	for i := range t.r.words {
		w.inC = w.inC || t.r.words[i].cell && t.has(i)
	}
	w.nameWords()
	for i, name := range w.names {
		if name != "" {
			w.value(t.r.words[i].first) // all others are loaded or stored
		}
	}
	for _, s := range t.kept {
		add := w.access
		if w.inC {
			add = w.accessC
		}
		if err := add(&t.r.accesses[s.access], s.fence); err != nil {
			return err
		}
	}
	if n := len(w.threads); n > mostThreads && !w.inC {
		return fmt.Errorf("%d CPUs take part; a litmus test has %d threads at most: name fewer words with --words",
			n, mostThreads)
	}
	slices.SortFunc(w.threads, func(a, b *thread) int { return int(a.cpu) - int(b.cpu) })
	var b strings.Builder
	out := bufio.NewWriter(&b)
	language, table := "X86_64", w.table
	if w.inC {
		language, table = "C", w.tableC
	}
	fmt.Fprintf(out, "%s %s\n", language, t.name)
	w.comment(out)
	w.initial(out)
	table(out)
	w.condition(out)
	out.Flush()
	t.text = b.String()
	return nil
}

// has reports whether the test has a word.
func (t *Test) has(word int) bool {
	return slices.ContainsFunc(t.kept, func(s step) bool { return !s.fence && t.r.accesses[s.access].word == word })
}

// nameWords gives each word a name that a test may have.
func (w *writer) nameWords() {
	w.names = make([]string, len(w.t.r.words))
	taken := make(map[string]bool)
	for i := range w.t.r.words {
		if !w.t.has(i) {
			continue
		}
		name := strings.Map(func(r rune) rune {
			if r < 0x80 && (r == '_' || r >= '0' && r <= '9' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z') {
				return r
			}
			return '_'
		}, strings.Replace(w.t.r.words[i].name, "+0x", "_", 1))
		if name = name[:min(len(name), 40)]; name[0] >= '0' && name[0] <= '9' {
			name = "at_" + name
		}
		for taken[name] || w.isWord(name) {
			name += "_"
		}
		w.names[i], taken[name] = name, true
	}
}

// isWord reports whether a name means something in the test's language.
func (w *writer) isWord(name string) bool {
	if !w.inC {
		return x86test.IsWord(name)
	}
	return slices.Contains(cWords, name) || local().MatchString(name)
}

// local is what a thread's local variables are called, and threads.
var local = lazyregexp.New(`^[rP][0-9]*$`)

// thread returns the thread of a CPU, a new one if it has none.
func (w *writer) thread(cpu uint8) *thread {
	for _, t := range w.threads {
		if t.cpu == cpu {
			return t
		}
	}
	w.threads = append(w.threads, &thread{cpu: cpu})
	return w.threads[len(w.threads)-1]
}

// access adds an access to its thread.
func (w *writer) access(a *access, fence bool) error {
	th := w.thread(a.cpu)
	register := func() (name string, err error) {
		if len(th.saw) == len(registers) {
			return "", fmt.Errorf("cpu%d loads more than %d values, and a litmus test has as many registers: "+
				"name the words that matter with --words, of %s", a.cpu, len(registers), w.t.sharedNames())
		}
		th.saw = append(th.saw, a.saw)
		return registers[len(th.saw)-1], nil
	}
	if fence {
		th.lines = append(th.lines, "mfence")
		th.tell(w.t.where(a))
		return nil
	}
	name := w.names[a.word]
	switch a.op {
	case load:
		r, err := register()
		if err != nil {
			return err
		}
		th.lines = append(th.lines, fmt.Sprintf("movl (%s),%%%s", name, r))
	case store:
		w.stores[a.word]++
		th.lines = append(th.lines, fmt.Sprintf("movl $%d,(%s)", w.value(a.value), name))
	default:
		w.stores[a.word]++
		r, err := register()
		if err != nil {
			return err
		}
		th.lines = append(th.lines, fmt.Sprintf("movl $%d,%%%s", w.value(a.value), r),
			fmt.Sprintf("xchgl %%%s,(%s)", r, name))
		th.story = append(th.story, "")
	}
	th.tell(w.t.where(a))
	if len(th.lines) > mostInstrs {
		return fmt.Errorf("cpu%d has more than %d accesses to what is shared, as many as a litmus test may have: "+
			"name the words that matter with --words, of %s", a.cpu, mostInstrs, w.t.sharedNames())
	}
	return nil
}

func (th *thread) tell(where string) { th.story = append(th.story, where) }

// comment says what the test is, what is left out, and where its lines are from.
func (w *writer) comment(out io.Writer) {
	var lines []string
	add := func(format string, args ...any) {
		lines = append(lines, view.Fold(plain(fmt.Sprintf(format, args...)), commentWidth)...)
	}
	for _, s := range w.t.says() {
		add("%s", s)
	}
	for i, th := range w.threads {
		add("P%d is cpu%d.", i, th.cpu)
		width := 0
		for _, l := range th.lines {
			width = max(width, len(l))
		}
		for k, l := range th.lines {
			if w.inC {
				break // it is beside them
			}
			lines = append(lines, strings.TrimRight(plain(fmt.Sprintf("  %-*s  %s", width, l, th.story[k])), " "))
		}
	}
	for _, v := range w.renamed {
		add("%d stands for %#x.", w.values[v], v)
	}
	fmt.Fprintf(out, "(* %s *)\n", strings.Join(lines, "\n   "))
}

// commentWidth is how wide the comment's lines are, but for those with instructions.
const commentWidth = 95

// plain makes a text one that can stand in a comment before the initial state.
func plain(s string) string {
	return strings.NewReplacer("{", "(", "}", ")", `"`, "'", "(*", "( *", "*)", "* )", "\n", " ", "\r", " ", "\t", " ",
		"\x00", " ").Replace(s)
}

// initial writes the words' first values.
func (w *writer) initial(out io.Writer) {
	var list []string
	for i, name := range w.names {
		if name != "" {
			list = append(list, fmt.Sprintf("%s=%d;", name, w.value(w.t.r.words[i].first)))
		}
	}
	fmt.Fprintf(out, "{ %s }\n", strings.Join(list, " "))
}

// table writes the threads.
func (w *writer) table(out io.Writer) {
	rows := 0
	for _, th := range w.threads {
		rows = max(rows, len(th.lines))
	}
	for k := -1; k < rows; k++ {
		var cells []string
		for i, th := range w.threads {
			width := 2
			for _, l := range th.lines {
				width = max(width, len(l))
			}
			cell := ""
			switch {
			case k < 0:
				cell = fmt.Sprintf("P%d", i)
			case k < len(th.lines):
				cell = th.lines[k]
			}
			cells = append(cells, fmt.Sprintf("%-*s", width, cell))
		}
		fmt.Fprintf(out, " %s ;\n", strings.Join(cells, " | "))
	}
}

// condition writes what the run saw: what each register holds, and the last value of words
// that were stored to more than once.
func (w *writer) condition(out io.Writer) {
	var list []string
	for i, th := range w.threads {
		for n, v := range th.saw {
			name := fmt.Sprintf("r%d", n)
			if !w.inC {
				name = registerName(n)
			}
			list = append(list, fmt.Sprintf("%d:%s=%d", i, name, w.value(v)))
		}
	}
	for i, n := range w.stores {
		if n > 1 {
			format := "[%s]=%d"
			if w.inC {
				format = "%s=%d"
			}
			list = append(list, fmt.Sprintf(format, w.names[i], w.value(w.t.r.words[i].last)))
		}
	}
	fmt.Fprintf(out, "exists (%s)\n", strings.Join(list, " /\\ "))
}
