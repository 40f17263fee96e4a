package shell

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"kpsim/engine"
	"kpsim/internal/scenario"
	"kpsim/internal/scenario/act"
	"kpsim/internal/search/session"
	"kpsim/internal/ui/cli"
	"kpsim/kprobes"
	"kpsim/kprobes/kpev"
	"kpsim/smp"
	"kpsim/smp/arch"
	"kpsim/smp/kapi"
	"kpsim/smp/kernel"
)

// Commands that move the machine: calls, probes, files, steps.

// saw prints a handler's hit and its arguments.
func (h *sh) saw(hit engine.Hit) {
	if h.quiet {
		return
	}
	m := h.s.Rig.Machine
	name := kpev.HandlerNames.Name(hit.Which)
	if hit.Which == kpev.Return {
		fmt.Fprintf(h.p.Out, "  %s of %s: %s returned %#x\n", name, h.s.probeName(uint64(hit.Probe)),
			m.Names().Symbol(hit.At), hit.Regs.R[m.Arch().Result])
		return
	}
	fmt.Fprintf(h.p.Out, "  %s of %s: p->addr = %s, ip = %s, flags = %#x\n", name, h.s.probeName(uint64(hit.Probe)),
		m.Names().Symbol(hit.At), m.Names().Symbol(hit.Regs.IP), hit.Regs.Flags)
}

func (h *machine) probeName(id uint64) string { return h.Rig.Scenario.Probes[id].Name }

// functions, probes and modules return the scenario's names of each sort.
func (h *machine) functions() (names []string) {
	for i := range h.Rig.Scenario.Texts {
		names = append(names, h.Rig.Scenario.Texts[i].Name)
	}
	return names
}

func (h *machine) probes() (names []string) {
	for i := range h.Rig.Scenario.Probes {
		names = append(names, h.Rig.Scenario.Probes[i].Name)
	}
	return names
}

func (h *machine) modules() (names []string) {
	for i := range h.Rig.Scenario.Modules {
		names = append(names, h.Rig.Scenario.Modules[i].Name)
	}
	return names
}

// aFunction names a function for an example: FUNC if the scenario has none.
func (h *machine) aFunction() string { return append(h.functions(), "FUNC")[0] }

// thereAre lists what there is, at the end of an error about a name.
func thereAre(names []string) string {
	if len(names) == 0 {
		return "there are none"
	}
	return "there are " + cli.List(names)
}

// function returns an error if the scenario has no function of that name.
func (h *machine) function(name string) error {
	names := h.functions()
	if slices.Contains(names, name) {
		return nil
	}
	if i, ok := h.Probe(name); ok {
		at, _ := h.Rig.Probe(i)
		return fmt.Errorf("%s is a probe, at %s, not a function; %s", name,
			h.Rig.Machine.Names().Symbol(at), thereAre(names))
	}
	if f, _, ok := strings.Cut(name, "+"); ok && slices.Contains(names, f) {
		return fmt.Errorf("%s is a place within a function; write %s", name, f)
	}
	return fmt.Errorf("no function is called %s; %s", name, thereAre(names))
}

// missing returns the module that has function f if it isn't loaded, otherwise "".
func (h *machine) missing(f string) string {
	for i := range h.Rig.Scenario.Modules {
		m := &h.Rig.Scenario.Modules[i]
		if (slices.Contains(m.Core, f) || slices.Contains(m.Init, f)) &&
			h.Rig.ModuleState(m.Name) == kapi.ModuleUnformed {
			return m.Name
		}
	}
	return ""
}

func (h *sh) call(args []string) error {
	args, cpu, background, err := h.s.placed(args)
	if err != nil {
		return err
	}
	if err := h.s.function(args[0]); err != nil {
		return err
	}
	if m := h.s.missing(args[0]); m != "" {
		return fmt.Errorf("%s is in the module %s, which isn't loaded; insmod %s", args[0], m, m)
	}
	op := scenario.Op{Kind: act.Call, Target: args[0], Changed: true}
	if len(args) > 7 {
		return fmt.Errorf("%d arguments; a call has at most 6", len(args)-1)
	}
	for _, a := range args[1:] {
		v, err := h.s.value(a)
		if err != nil {
			return err
		}
		op.Args = append(op.Args, v)
	}
	says := args[0] + "(" + strings.Join(args[1:], ", ") + ")"
	return h.s.Op(cpu, "the call of "+says, op, background, func(_ kprobes.Errno, rax uint64) {
		fmt.Fprintf(h.p.Out, "%s = %#x\n", says, rax)
	})
}

// value reads a number, which may be negative, or a place, whose value is its address.
func (h *machine) value(s string) (uint64, error) {
	if n, err := strconv.ParseInt(s, 0, 64); err == nil {
		return uint64(n), nil
	}
	at, err := h.place(s)
	return uint64(at), err
}

func (h *sh) kprobe(args []string) error {
	p := scenario.Probe{Pre: counting()}
	return h.s.probe(args, &p, map[string]func(value string) error{
		"post":  func(string) error { p.Post = counting(); return nil },
		"nopre": func(string) error { p.Pre = nil; return nil },
		"fault": func(string) error { p.Fault = counting(); return nil },
		"ip": func(value string) error {
			st := scenario.Step{Kind: scenario.StepSetIP}
			name, off, err := splitPlace(value)
			if err == nil {
				err = h.s.function(name)
			}
			st.Target, st.Value = name, uint64(off)
			p.Pre = append(p.Pre, st)
			return err
		},
		"": func(set string) error { return h.s.setReg(&p.Pre, set) },
	})
}

func counting() []scenario.Step { return []scenario.Step{{Kind: scenario.StepCount}} }

func (h *sh) kretprobe(args []string) error {
	p := scenario.Probe{Kind: scenario.ProbeKretprobe, Post: counting()}
	number := func(to *int) func(string) error {
		return func(value string) (err error) {
			if *to, err = strconv.Atoi(value); err != nil {
				err = fmt.Errorf("%s is no number", value)
			}
			return err
		}
	}
	return h.s.probe(args, &p, map[string]func(value string) error{
		"maxactive": number(&p.Maxactive),
		"data":      number(&p.DataSize),
		"entry":     func(string) error { p.Pre = append(p.Pre, counting()...); return nil },
		"leave":     func(string) error { p.Pre = append(p.Pre, scenario.Step{Kind: scenario.StepNonzero}); return nil },
		"":          func(set string) error { return h.s.setReg(&p.Post, set) },
	})
}

func (h *sh) jprobe(args []string) error {
	p := scenario.Probe{Kind: scenario.ProbeJprobe}
	return h.s.probe(args, &p, map[string]func(value string) error{
		"entry": func(value string) error { p.Entry = value; return h.s.function(value) },
	})
}

// probe makes a probe from its arguments: NAME, PLACE and options. words maps each option to its
// action; the key "" handles REG=VALUE.
func (h *machine) probe(args []string, p *scenario.Probe, words map[string]func(value string) error) (err error) {
	if len(args) < 3 || args[1] != "at" {
		return errUsage
	}
	p.Name = args[0]
	if p.Func, p.Offset, err = splitPlace(args[2]); err != nil {
		return err
	}
	if err := h.function(p.Func); err != nil {
		return err
	}
	words["disabled"] = func(string) error { p.Disabled = true; return nil }
	for _, word := range args[3:] {
		key, value, is := strings.Cut(word, "=")
		do := words[key]
		if slices.Contains(h.Rig.Machine.Arch().RegNames, key) {
			do, value = words[""], word
		}
		wants := !slices.Contains(alone, key) || key == "entry" && p.Kind == scenario.ProbeJprobe
		if do == nil || key == "" || is != wants {
			return errUsage
		}
		if err := do(value); err != nil {
			return err
		}
	}
	return h.AddProbe(*p)
}

// alone lists the options without a value.
var alone = []string{"post", "nopre", "fault", "entry", "leave", "disabled"}

// setReg appends the step for the option REG=VALUE.
func (h *machine) setReg(steps *[]scenario.Step, set string) error {
	reg, value, _ := strings.Cut(set, "=")
	if value == "" {
		return errUsage
	}
	v, err := h.value(value)
	n := slices.Index(h.Rig.Machine.Arch().RegNames, reg)
	*steps = append(*steps, scenario.Step{Kind: scenario.StepSetReg, Reg: arch.Reg(n), Value: v})
	return err
}

var apiKinds = map[scenario.ProbeKind]string{scenario.ProbeKprobe: "kprobe", scenario.ProbeKretprobe: "kretprobe",
	scenario.ProbeJprobe: "jprobe"}

// api makes commands that call the kernel's API for the named probes: once with an array if they are of one kind and
// the API takes arrays, otherwise once for each.
func api(f string, one, all *scenario.Operation) func(*sh, []string) error {
	return func(h *sh, args []string) error { return h.api(args, f, one, all) }
}

func (h *sh) api(args []string, f string, one, all *scenario.Operation) error {
	args, cpu, background, err := h.s.placed(args)
	if err != nil {
		return err
	}
	same := true
	var kinds []scenario.ProbeKind
	for _, name := range args {
		i, ok := h.s.Probe(name)
		if !ok {
			names := h.s.probes()
			if names == nil {
				return fmt.Errorf("no probe is called %s; kprobe makes one, as kprobe %s at FUNC", name, name)
			}
			return fmt.Errorf("no probe is called %s; there are %s, and kprobe makes one", name, cli.List(names))
		}
		kinds = append(kinds, h.s.Rig.Scenario.Probes[i].Kind)
		same = same && kinds[0] == kinds[len(kinds)-1]
	}
	if all != nil && len(args) > 1 && same && kinds[0] != scenario.ProbeJprobe && h.s.Rig.Scenario.Machine.Batches {
		says := fmt.Sprintf("%s_%ss(%s)", f, apiKinds[kinds[0]], cli.List(args))
		return h.s.Op(cpu, says, scenario.Op{Kind: all, Targets: args}, background,
			func(errno kprobes.Errno, _ uint64) { h.answer(says, errno) })
	}
	for i, name := range args {
		says := fmt.Sprintf("%s_%s(%s)", f, apiKinds[kinds[i]], name)
		op := scenario.Op{Kind: one, Target: name}
		if err := h.s.Op(cpu, says, op, background,
			func(errno kprobes.Errno, _ uint64) { h.answer(says, errno) }); err != nil {
			return err
		}
	}
	return nil
}

// module makes commands that load or unload a module.
func module(f string, kind *scenario.Operation) func(*sh, []string) error {
	return func(h *sh, args []string) error { return h.module(args, f, kind) }
}

func (h *sh) module(args []string, f string, kind *scenario.Operation) error {
	args, cpu, background, err := h.s.placed(args)
	if err != nil {
		return err
	}
	names := h.s.modules()
	switch {
	case len(args) != 1:
		return errUsage
	case strings.HasSuffix(args[0], ".kps") || strings.HasSuffix(args[0], ".star"):
		return fmt.Errorf("%s is a file: insmod loads a module; write open %s", args[0], args[0])
	case len(names) == 0:
		return errors.New(noModule)
	case !slices.Contains(names, args[0]):
		return fmt.Errorf("no module is called %s; there are %s", args[0], cli.List(names))
	}
	says := f + " " + args[0]
	op := scenario.Op{Kind: kind, Target: args[0]}
	return h.s.Op(cpu, says, op, background, func(errno kprobes.Errno, _ uint64) {
		if name := moduleErrnos[errno]; name != "" {
			fmt.Fprintf(h.p.Out, "%s = %d (%s)\n", says, -int(errno), name)
		} else {
			h.answer(says, errno)
		}
	})
}

const noModule = "the scenario has no module; module() makes one, and open FILE.kps opens a trace"

// moduleErrnos are the errnos of insmod and rmmod that the API of kprobes doesn't return.
var moduleErrnos = map[kprobes.Errno]string{kernel.ModuleEAGAIN: "-EAGAIN", kernel.ModuleEBUSY: "-EBUSY",
	kernel.ModuleEEXIST: "-EEXIST", kernel.ModuleENOSYS: "-ENOSYS"}

func (h *sh) lsmod(args []string) error {
	if len(args) > 0 {
		return errUsage
	}
	if len(h.s.modules()) == 0 {
		fmt.Fprintln(h.p.Out, noModule)
	}
	for _, name := range h.s.modules() {
		state := h.s.Rig.ModuleState(name).String()
		if state == kapi.ModuleUnformed.String() {
			state = "not loaded"
		}
		fmt.Fprintf(h.p.Out, "%s: %s\n", name, state)
	}
	return nil
}

// answer prints the result of a kernel function.
func (h *sh) answer(says string, errno kprobes.Errno) {
	if errno == 0 {
		fmt.Fprintf(h.p.Out, "%s = 0\n", says)
	} else {
		fmt.Fprintf(h.p.Out, "%s = %d (%v)\n", says, -int(errno), errno)
	}
}

func (h *sh) wait(args []string) error {
	if len(args) > 0 {
		return errUsage
	}
	if err := h.s.Finish(); err != nil {
		return err
	}
	return h.s.Do(0, "the wait", func(x *smp.Ctx) { h.s.Rig.Engine().Wait(x) })
}

// step is the command step: it makes steps, then prints where each CPU stands.
func (h *sh) step(args []string) error {
	n, m := uint64(1), h.s.Rig.Machine
	if k := len(args); k > 0 {
		if v, err := strconv.ParseUint(args[k-1], 0, 32); err == nil {
			n, args = v, args[:k-1]
		} else if c := strings.TrimPrefix(args[k-1], "-"); c != "" && c[0] >= '0' && c[0] <= '9' {
			if c != args[k-1] {
				return fmt.Errorf("step goes on; to go back, write back %s", c)
			}
			return fmt.Errorf("%s is no number of steps; write 0 to %d", args[k-1], uint32(math.MaxUint32))
		}
	}
	if h.s.Run != nil {
		return session.ErrOver
	}
	made, before := uint64(0), len(h.s.Rig.Log.Events)
	switch len(args) {
	case 0:
		made = h.s.Step(n)
	case 1:
		mv, ok := m.Names().MoverNamed(args[0])
		if t := h.s.task(args[0]); !ok && t != nil {
			return fmt.Errorf("%s is a task, and moves with its CPU; write step cpu%d", t.Name, t.CPUID())
		} else if !ok {
			return fmt.Errorf("no CPU or interrupt is called %s; there are %s", args[0], cli.List(h.s.allMovers()))
		}
		if h.stops.about = m.Names().CPUOf(mv); h.stops.about >= m.CPUs() { // a source of no CPU
			h.stops.about = -1
		}
		made = h.s.StepBy(mv, n)
	default:
		return errUsage
	}
	if made < n && h.s.Run == nil && !h.s.Halted {
		says := "nobody can move" + h.s.stuck()
		if len(args) > 0 {
			says = args[0] + " can't move"
			if strings.HasPrefix(args[0], "cpu") { // the argument is a CPU, not an interrupt
				says += h.s.stuck()
			}
		}
		h.p.Indented("", fmt.Sprintf("%s of %d: %s", cli.Number(made, "step"), n, says))
	}
	printSince(h, before)
	return h.where(nil)
}

// tasks returns the named tasks, or with no names every task that hasn't started.
func (h *machine) tasks(names []string) ([]*smp.Task, error) {
	var all []string
	var chosen []*smp.Task
	for _, t := range h.Tasks() {
		all = append(all, t.Name)
		if slices.Contains(names, t.Name) || len(names) == 0 && t.Held() {
			chosen = append(chosen, t)
		}
	}
	for _, name := range names {
		if !slices.Contains(all, name) {
			return nil, fmt.Errorf("no task is called %s; %s", name, thereAre(all))
		}
	}
	return chosen, nil
}

func (h *sh) start(args []string) error {
	tasks, err := h.s.tasks(args)
	if err != nil {
		return err
	}
	if len(tasks) == 0 {
		fmt.Fprintln(h.p.Out, "every task has begun already")
	}
	for _, t := range tasks {
		if err := h.s.Wake(t); err != nil {
			return err
		}
	}
	return nil
}

func (h *sh) run(args []string) error {
	tasks, err := h.s.tasks(args)
	if err != nil {
		return err
	}
	for _, t := range tasks {
		if !t.Held() { // it has already started
			continue
		}
		if err := h.s.Wake(t); err != nil {
			return err
		}
	}
	return h.goOn(nil)
}

func (h *sh) goOn(args []string) error {
	if len(args) > 0 {
		return errUsage
	}
	before := h.s.Rig.Machine.Interactive().Steps()
	err := h.atLimit(h.s.All())
	switch {
	case err != nil || h.s.Run != nil || h.s.Rig.Machine.Interactive().Moving():
	case h.s.steps() == before:
		h.p.Indented("", "nobody can move"+h.s.stuck())
	case !h.replaying && !h.s.Halted:
		h.ended = h.s.ending()
	}
	return err
}

// ending says why nothing moves any more.
func (h *machine) ending() string {
	held, left := h.held(), 0
	for _, t := range h.Tasks() {
		if !t.Dead() {
			left++
		}
	}
	switch {
	case left == 0:
		return fmt.Sprintf("the run has ended after step %d: nothing is broken; exit judges its end, too", h.steps())
	case len(held) < left: // one has begun and waits
		return fmt.Sprintf("nothing can move after step %d: %s%s", h.steps(), h.Rig.Machine.Inspect().Waiting(),
			h.stuck())
	}
	return fmt.Sprintf("nothing can move after step %d%s", h.steps(), h.stuck())
}
