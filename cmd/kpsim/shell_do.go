package main

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"kpsim/kprobes"
	"kpsim/kprobes/kpev"
	"kpsim/properties/scenario"
	"kpsim/smp"
	"kpsim/smp/isa"
)

// What the shell does with the machine: calls, probes, files, steps.

var regNames = [...]string{"rax", "rcx", "rdx", "rbx", "rsp", "rbp", "rsi", "rdi", "r8", "r9", "r10", "r11", "r12", "r13", "r14", "r15"}

// saw prints a call of a handler, with what it was given.
func (h *sh) saw(k *kprobes.Kprobe, which uint64, regs *isa.Regs) {
	if h.quiet {
		return
	}
	name, m := "pre_handler", h.s.Rig.Machine
	if which == kpev.Post {
		name = "post_handler"
	}
	fmt.Fprintf(h.p.out, "  %s of %s: p->addr = %s, ip = %s, flags = %#x\n", name, h.probeName(k.ID), m.Symbol(k.Addr), m.Symbol(regs.IP), regs.Flags)
}

func (h *sh) probeName(id uint64) string { return h.s.Rig.Scenario.Probes[id].Name }

// function checks the name of one of the scenario's functions.
func (h *sh) function(name string) error {
	var names []string
	for i := range h.s.Rig.Scenario.Texts {
		if names = append(names, h.s.Rig.Scenario.Texts[i].Name); names[i] == name {
			return nil
		}
	}
	return fmt.Errorf("no function is called %s; there are %s", name, list(names))
}

// place reads SYMBOL, SYMBOL+OFFSET or a number.
func (h *sh) place(s string) (isa.Addr, error) {
	if n, err := strconv.ParseUint(s, 0, 64); err == nil {
		return isa.Addr(n), nil
	}
	name, off, err := splitPlace(s)
	if err != nil {
		return 0, err
	}
	at, _, ok := h.s.Rig.Machine.FindSymbol(name)
	if !ok {
		return 0, fmt.Errorf("no symbol is called %s", name)
	}
	return at + isa.Addr(off), nil
}

func splitPlace(s string) (name string, off int, err error) {
	name, rest, ok := strings.Cut(s, "+")
	if !ok {
		return name, 0, nil
	}
	n, err := strconv.ParseUint(rest, 0, 31)
	if err != nil {
		return "", 0, fmt.Errorf("%s is no offset; write it %s+0x4", rest, name)
	}
	return name, int(n), nil
}

func (h *sh) call(args []string) error {
	args, cpu, behind, err := h.placed(args)
	if err != nil {
		return err
	}
	if err := h.function(args[0]); err != nil {
		return err
	}
	op := scenario.Op{Kind: scenario.OpCall, Target: args[0], Changed: true}
	if len(args) > 7 {
		return fmt.Errorf("%d arguments; a call has at most 6", len(args)-1)
	}
	for _, a := range args[1:] {
		v, err := h.value(a)
		if err != nil {
			return err
		}
		op.Args = append(op.Args, v)
	}
	says := args[0] + "(" + strings.Join(args[1:], ", ") + ")"
	return h.s.Op(cpu, "the call of "+says, op, behind, func(_ kprobes.Errno, rax uint64) {
		fmt.Fprintf(h.p.out, "%s = %#x\n", says, rax)
	})
}

// value reads a number, which may be negative, or the address of a place.
func (h *sh) value(s string) (uint64, error) {
	if n, err := strconv.ParseInt(s, 0, 64); err == nil {
		return uint64(n), nil
	}
	at, err := h.place(s)
	return uint64(at), err
}

func (h *sh) kprobe(args []string) error {
	if len(args) < 3 || args[1] != "at" {
		return errUsage
	}
	p := scenario.Probe{Name: args[0], Pre: []scenario.Step{{Kind: scenario.StepCount}}}
	var err error
	if p.Func, p.Offset, err = splitPlace(args[2]); err != nil {
		return err
	}
	if err := h.function(p.Func); err != nil {
		return err
	}
	for _, word := range args[3:] {
		switch key, value, _ := strings.Cut(word, "="); {
		case word == "post":
			p.Post = []scenario.Step{{Kind: scenario.StepCount}}
		case word == "nopre":
			p.Pre = nil
		case key == "ip":
			st := scenario.Step{Kind: scenario.StepSetIP}
			off := 0
			if st.Func, off, err = splitPlace(value); err == nil {
				err = h.function(st.Func)
			}
			if err != nil {
				return err
			}
			st.Value = uint64(off)
			p.Pre = append(p.Pre, st)
		case slices.Contains(regNames[:], key):
			v, err := h.value(value)
			if err != nil {
				return err
			}
			p.Pre = append(p.Pre, scenario.Step{Kind: scenario.StepSetReg, Reg: isa.Reg(slices.Index(regNames[:], key)), Value: v})
		default:
			return errUsage
		}
	}
	return h.s.AddProbe(p)
}

func (h *sh) register(args []string) error {
	return h.api(args, "register_kprobe", scenario.OpRegister)
}

func (h *sh) unregister(args []string) error {
	return h.api(args, "unregister_kprobe", scenario.OpUnregister)
}

func (h *sh) enable(args []string) error { return h.api(args, "enable_kprobe", scenario.OpEnable) }

func (h *sh) disable(args []string) error { return h.api(args, "disable_kprobe", scenario.OpDisable) }

// api makes a call of the API for each of the probes named.
func (h *sh) api(args []string, f string, kind scenario.OpKind) error {
	args, cpu, behind, err := h.placed(args)
	if err != nil {
		return err
	}
	for _, name := range args {
		if _, ok := h.s.Probe(name); !ok {
			return fmt.Errorf("no probe is called %s; kprobe makes one", name)
		}
	}
	for _, name := range args {
		says := fmt.Sprintf("%s(%s)", f, name)
		op := scenario.Op{Kind: kind, Target: name}
		if err := h.s.Op(cpu, says, op, behind, func(errno kprobes.Errno, _ uint64) { h.answer(says, errno) }); err != nil {
			return err
		}
	}
	return nil
}

// answer prints what a function of the kernel returned.
func (h *sh) answer(says string, errno kprobes.Errno) {
	if errno == 0 {
		fmt.Fprintf(h.p.out, "%s = 0\n", says)
	} else {
		fmt.Fprintf(h.p.out, "%s = %d (%v)\n", says, -int(errno), errno)
	}
}

func (h *sh) wait(args []string) error {
	if len(args) > 0 {
		return errUsage
	}
	if err := h.s.Finish(); err != nil {
		return err
	}
	return h.s.Do(0, "the wait", func(x *smp.Ctx) { h.s.Rig.Engine().WaitOptimizer(x) })
}

// step makes steps, and says where everybody is then.
func (h *sh) step(args []string) error {
	n, m := uint64(1), h.s.Rig.Machine
	if k := len(args); k > 0 {
		if v, err := strconv.ParseUint(args[k-1], 0, 32); err == nil {
			n, args = v, args[:k-1]
		}
	}
	if h.s.Run != nil {
		return errors.New("the run is over; nothing moves any more")
	}
	made := uint64(0)
	switch len(args) {
	case 0:
		made = h.s.Step(n)
	case 1:
		mv, ok := m.MoverNamed(args[0])
		if !ok {
			return fmt.Errorf("nobody is called %s; where says who there is", args[0])
		}
		made = h.s.StepBy(mv, n)
	default:
		return errUsage
	}
	if made < n && h.s.Run == nil {
		who := "nobody"
		if len(args) > 0 {
			who = args[0] + " can't"
		} else {
			who += " can"
		}
		fmt.Fprintf(h.p.out, "%s of %d: %s move\n", number(made, "step"), n, who)
	}
	return h.where(nil)
}

// tasks are those named, or all of the scenario's that have not begun.
func (h *sh) tasks(names []string) ([]*smp.Task, error) {
	var all []string
	var chosen []*smp.Task
	for _, t := range h.s.Tasks() {
		all = append(all, t.Name)
		if slices.Contains(names, t.Name) || len(names) == 0 && t.Held() {
			chosen = append(chosen, t)
		}
	}
	for _, name := range names {
		if !slices.Contains(all, name) {
			return nil, fmt.Errorf("no task is called %s; there are %s", name, list(all))
		}
	}
	return chosen, nil
}

func (h *sh) start(args []string) error {
	tasks, err := h.tasks(args)
	if err != nil {
		return err
	}
	for _, t := range tasks {
		if err := h.s.Wake(t); err != nil {
			return err
		}
	}
	return nil
}

func (h *sh) run(args []string) error {
	if err := h.start(args); err != nil {
		return err
	}
	return h.s.All()
}
