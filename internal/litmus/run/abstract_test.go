package run

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"kpsim/internal/litmus/x86test"
)

// An abstract machine of its own, to compare with: it shares no code with what is
// tested, the parser included. It is the machine of Sewell and others, "x86-TSO: a
// rigorous and usable programmer's model" (CACM 2010): a queue of stores a thread.
// Without the queues it is sequential consistency.

// An action is one instruction of the abstract machine.
type action struct {
	what string // store, load, keep (store of a register), fence, xchg, lockadd, add
	loc  int
	reg  int
	val  int
}

// A plan is a program of the abstract machine. Registers and locations begin as 0.
type plan struct {
	threads [][]action
	locs    int
	regs    int // of a thread
}

var locNames = []string{"x", "y", "z", "w"}

var regNames = []string{"eax", "ebx", "ecx", "edx"}

// text writes the plan as a test of which all registers and locations are seen.
func (p *plan) text(d x86test.Dialect) string {
	var b strings.Builder
	var heads, locations []string
	b.WriteString(map[x86test.Dialect]string{x86test.ATT: "X86_64", x86test.Intel: "X86"}[d] + " drawn\n{}\n")
	longest := 0
	for i, t := range p.threads {
		heads = append(heads, fmt.Sprintf("P%d", i))
		longest = max(longest, len(t))
		for r := range p.regs {
			locations = append(locations, fmt.Sprintf("%d:%s;", i, regNames[r]))
		}
	}
	for l := range p.locs {
		locations = append(locations, locNames[l]+";")
	}
	b.WriteString(strings.Join(heads, " | ") + " ;\n")
	for n := range longest {
		var row []string
		for _, t := range p.threads {
			s := ""
			if n < len(t) {
				s = t[n].text(d)
			}
			row = append(row, s)
		}
		b.WriteString(strings.Join(row, " | ") + " ;\n")
	}
	b.WriteString("locations [" + strings.Join(locations, " ") + "]\nexists (true)\n")
	return b.String()
}

func (a *action) text(d x86test.Dialect) string {
	loc, reg, imm := locNames[a.loc], regNames[a.reg], fmt.Sprintf("$%d", a.val)
	two := func(name, to, from string) string {
		if d == x86test.ATT {
			return fmt.Sprintf("%s %s,%s", name, from, to)
		}
		return fmt.Sprintf("%s %s,%s", strings.ToUpper(name), to, from)
	}
	mem := "[" + loc + "]"
	suffix := ""
	if d == x86test.ATT {
		mem, reg, suffix = "("+loc+")", "%"+reg, "l"
	}
	switch a.what {
	case "store":
		return two("mov"+suffix, mem, imm)
	case "load":
		return two("mov"+suffix, reg, mem)
	case "keep":
		return two("mov"+suffix, mem, reg)
	case "xchg":
		return two("xchg"+suffix, mem, reg)
	case "lockadd":
		return "lock " + two("add"+suffix, mem, imm)
	case "add":
		return two("add"+suffix, mem, imm)
	}
	return "mfence"
}

// A world is a state of the abstract machine.
type world struct {
	pc    []int
	half  []int // of an add that has loaded: what it will store, plus one
	regs  [][]int
	mem   []int
	queue [][]action // stores: loc, val
}

func (p *plan) begin() *world {
	w := &world{pc: make([]int, len(p.threads)), half: make([]int, len(p.threads)), mem: make([]int, p.locs),
		queue: make([][]action, len(p.threads))}
	for range p.threads {
		w.regs = append(w.regs, make([]int, p.regs))
	}
	return w
}

func (w *world) clone() *world {
	c := &world{pc: append([]int(nil), w.pc...), half: append([]int(nil), w.half...), mem: append([]int(nil), w.mem...)}
	for i := range w.regs {
		c.regs = append(c.regs, append([]int(nil), w.regs[i]...))
		c.queue = append(c.queue, append([]action(nil), w.queue[i]...))
	}
	return c
}

func (w *world) load(t, loc int) int {
	for i := len(w.queue[t]) - 1; i >= 0; i-- {
		if w.queue[t][i].loc == loc {
			return w.queue[t][i].val
		}
	}
	return w.mem[loc]
}

func (w *world) store(m Memory, t, loc, val int) {
	if m == SC {
		w.mem[loc] = val
		return
	}
	w.queue[t] = append(w.queue[t], action{loc: loc, val: val})
}

// outcomes runs all schedules and returns all final states, as tests write them.
func (p *plan) outcomes(m Memory) map[string]bool {
	all, seen := make(map[string]bool), make(map[string]bool)
	todo := []*world{p.begin()}
	for len(todo) > 0 {
		w := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		if k := fmt.Sprint(w.pc, w.half, w.regs, w.mem, w.queue); seen[k] {
			continue
		} else {
			seen[k] = true
		}
		ended := true
		for t := range p.threads {
			if len(w.queue[t]) > 0 {
				n := w.clone()
				n.mem[n.queue[t][0].loc] = n.queue[t][0].val
				n.queue[t] = n.queue[t][1:]
				todo, ended = append(todo, n), false
			}
			if w.pc[t] == len(p.threads[t]) {
				continue
			}
			ended = false
			if n := p.step(w, m, t); n != nil {
				todo = append(todo, n)
			}
		}
		if ended {
			all[p.show(w)] = true
		}
	}
	return all
}

// step is an instruction of a thread; nil if it must wait for its queue.
func (p *plan) step(w *world, m Memory, t int) *world {
	a := p.threads[t][w.pc[t]]
	if (a.what == "fence" || a.what == "xchg" || a.what == "lockadd") && len(w.queue[t]) > 0 {
		return nil
	}
	n := w.clone()
	n.pc[t]++
	switch a.what {
	case "store":
		n.store(m, t, a.loc, a.val)
	case "keep":
		n.store(m, t, a.loc, n.regs[t][a.reg])
	case "load":
		n.regs[t][a.reg] = n.load(t, a.loc)
	case "xchg":
		n.mem[a.loc], n.regs[t][a.reg] = n.regs[t][a.reg], n.mem[a.loc]
	case "lockadd":
		n.mem[a.loc] += a.val
	case "add":
		if m == SC { // one step of our machine
			n.mem[a.loc] += a.val
		} else if n.half[t] == 0 {
			n.half[t] = 1 + n.load(t, a.loc) + a.val
			n.pc[t]--
		} else {
			n.store(m, t, a.loc, n.half[t]-1)
			n.half[t] = 0
		}
	}
	return n
}

func (p *plan) show(w *world) string {
	var s []string
	for t := range p.threads {
		for r := range p.regs {
			s = append(s, fmt.Sprintf("%d:%s=%d;", t, regNames[r], w.regs[t][r]))
		}
	}
	for l := range p.locs {
		s = append(s, fmt.Sprintf("%s=%d;", locNames[l], w.mem[l]))
	}
	return canonical(strings.Join(s, " "))
}

// canonical writes an outcome without what dialects differ in, in one order.
func canonical(s string) string {
	s = strings.NewReplacer("[", "", "]", "").Replace(strings.ToLower(s))
	s = regexp.MustCompile(`:r(.x)`).ReplaceAllString(s, ":e$1")
	parts := strings.Fields(s)
	slices.Sort(parts)
	return strings.Join(parts, " ")
}

// planOf reads the simple tests that diy makes: stores of numbers, loads, and fences.
func planOf(text string) (*plan, bool) {
	_, text, ok := strings.Cut(text, "}")
	if !ok {
		return nil, false
	}
	rows := strings.Split(text, ";")
	p := &plan{locs: len(locNames), regs: len(regNames), threads: make([][]action, strings.Count(rows[0], "|")+1)}
	for _, row := range rows[1 : len(rows)-1] {
		for t, cell := range strings.Split(row, "|") {
			a, ok := actionOf(strings.ToLower(strings.TrimSpace(cell)))
			if !ok {
				return nil, false
			}
			if a != nil {
				p.threads[t] = append(p.threads[t], *a)
			}
		}
	}
	return p, true
}

var (
	storeATT   = regexp.MustCompile(`^movl \$(\d),\((\w)\)$`)
	loadATT    = regexp.MustCompile(`^movl \((\w)\),%(\w+)$`)
	storeIntel = regexp.MustCompile(`^mov \[(\w)\],\$(\d)$`)
	loadIntel  = regexp.MustCompile(`^mov (\w+),\[(\w)\]$`)
)

func actionOf(s string) (*action, bool) {
	of := func(what, loc, reg, val string) (*action, bool) {
		a := &action{what: what, loc: slices.Index(locNames, loc), reg: slices.Index(regNames, reg)}
		a.val, _ = strconv.Atoi(val)
		return a, a.loc >= 0 && a.reg >= 0
	}
	if s == "" {
		return nil, true
	} else if s == "mfence" {
		return of("fence", "x", "eax", "")
	} else if m := storeATT.FindStringSubmatch(s); m != nil {
		return of("store", m[2], "eax", m[1])
	} else if m := loadATT.FindStringSubmatch(s); m != nil {
		return of("load", m[1], m[2], "")
	} else if m := storeIntel.FindStringSubmatch(s); m != nil {
		return of("store", m[1], "eax", m[2])
	} else if m := loadIntel.FindStringSubmatch(s); m != nil {
		return of("load", m[2], m[1], "")
	}
	return nil, false
}
