package twoengines

import (
	"fmt"
	"slices"
	"strings"

	"kpsim/engine"
	"kpsim/internal/scenario"
	"kpsim/internal/scenario/act"
	"kpsim/internal/search/rig"
	"kpsim/kprobes/kpev"
	"kpsim/properties"
	"kpsim/sched"
	"kpsim/sim"
	"kpsim/smp"
	"kpsim/smp/arch"
	"kpsim/smp/arch/target"
	"kpsim/smp/kapi"
	"kpsim/smp/smpev"
	"kpsim/traces"
)

// Answers are the answers of a scenario's run, in words.
type Answers struct {
	Passed bool
	Broken string   // the name of the property that was broken, "" if none was
	End    string   // the violation, in words
	Order  []string // the events, in order
	API    []string // the part of Order that isn't scheduled: results of API calls and of calls, by task
	Last   []string // the state at the end
}

// Answer runs a scenario on its machine's engine, by the default schedule. mutant "" is the right engine.
func Answer(sc *scenario.Scenario, mutant string) (*Answers, error) {
	all, err := under(sc, mutant, []sched.Strategy{new(sched.Default)})
	if err != nil {
		return nil, err
	}
	return all[0], nil
}

// Under runs it once under each of the strategies.
func Under(sc *scenario.Scenario, list []sched.Strategy) (all []*Answers, err error) {
	return under(sc, "", list)
}

func under(sc *scenario.Scenario, mutant string, list []sched.Strategy) (all []*Answers, err error) {
	r, err := rig.NewGoingOn(sc, mutant, rig.GoOn{Known: behind(sc)})
	if err != nil {
		return nil, err
	}
	defer r.Close()
	r.LeaveAnswers()
	c := &collector{r: r, calls: handlersCall(sc), inSlot: slices.Equal(behind(sc), inSlot)}
	r.See(func(h engine.Hit) { c.hit = h })
	r.Log.Subscribe(c, kpev.ApiReturn, kpev.Handler, smpev.CallEnd)
	for _, s := range list {
		c.a = new(Answers)
		run := r.Play(s)
		c.end(run)
		all = append(all, c.a)
	}
	return all, nil
}

// keptSlots are how the find slot-kept of kernels for riscv64 reads (docs/findings.md). Nearly each program shows it,
// at its end.
var keptSlots = func() (list []rig.Known) {
	for _, cache := range []string{"", " of kprobe_insn_slots"} {
		list = append(list,
			rig.AnyPlace(properties.NoUseAfterFree.Name,
				"at the end no probe is registered and the slot at hasn't been freed"+cache),
			rig.AnyPlace(properties.NoRemains.Name, "at the end slots are in use and points have one"+cache))
	}
	return list
}()

// inSlot is how the find post-address of kernels for ppc64le reads: each post_handler after a step shows it.
var inSlot = []rig.Known{rig.AnyPlace(properties.HandlerContext.Name,
	"runs the post_handler of probe with the instruction pointer at it should")}

// commonFinds are, by processor, the finds behind which the answers of a kernel's engine go on.
var commonFinds = [...][]rig.Known{target.RISCV64: keptSlots, target.PPC64LE: inSlot}

// behind returns the finds behind which the answers of a machine's engine go on.
func behind(sc *scenario.Scenario) []rig.Known {
	if sc.Machine.Engine == "" {
		return nil
	}
	return commonFinds[sc.Machine.Arch]
}

// A collector puts events into words. It implements traces.Sink.
type collector struct {
	r   *rig.Rig
	hit engine.Hit // the hit under way
	a   *Answers

	// calls: handlers, those of uprobes too, call functions, with whatever is in the registers then. That differs
	// between two engines, and so do the registers afterwards.
	calls bool
	// inSlot: the engine has the find post-address.
	inSlot bool
}

func handlersCall(sc *scenario.Scenario) bool {
	if sc.Does(act.HitUprobe) {
		return true
	}
	for i := range sc.Probes {
		if sc.Probes[i].AnyStep(scenario.StepRuns) {
			return true
		}
	}
	return false
}

var handlers = [...]string{kpev.Pre: "pre", kpev.Post: "post", kpev.Entry: "entry", kpev.Return: "return",
	kpev.Fault: "fault", kpev.Jump: "jump"}

// Event implements traces.Sink.
func (c *collector) Event(e *traces.Event) *traces.Finding {
	sc, who, task := c.r.Scenario, "another", (*smp.Task)(nil)
	for i, t := range c.r.Tasks() {
		if t.ID == kapi.TaskID(e.Task) {
			who, task = sc.Tasks[i].Name, t
		}
	}
	switch e.Kind {
	case kpev.ApiReturn:
		line := Answered(who, uint8(e.A), sc.Probes[e.B].Name, e.C)
		c.a.Order, c.a.API = append(c.a.Order, line), append(c.a.API, line)
	case kpev.Handler:
		c.a.Order = append(c.a.Order, fmt.Sprintf("%s: %s %s at %s, %s", who, sc.Probes[e.A].Name, handlers[e.B],
			c.place(arch.Addr(e.C)), c.saw(task, arch.Addr(e.C))))
	case smpev.CallEnd:
		line := fmt.Sprintf("%s: call %d ends", who, e.B)
		if !c.calls {
			line += fmt.Sprintf(", and leaves %#x", task.Left().R[c.r.Machine.Arch().Result])
		}
		c.a.Order = append(c.a.Order, line)
		if e.C != 0 {
			c.a.API = append(c.a.API, line)
		}
	}
	return nil
}

// Answered is an answer of the API in words: to a task, of a verb of kpev, about a probe.
func Answered(task string, verb uint8, probe string, errno uint64) string {
	return fmt.Sprintf("%s: %s(%s) answers %d", task, kpev.Verbs.Name(uint64(verb)), probe, errno)
}

// saw describes the state that a handler of a probe at an address is given.
func (c *collector) saw(task *smp.Task, at arch.Addr) string {
	h := c.hit
	digest := uint64(0)
	on := c.r.Machine.Arch()
	for i, v := range h.Regs.R[:on.Used] {
		// behind a call that a return probe follows the link register may hold the trampoline's address, and where a
		// function puts that away
		own := on.Pushed == 0 && (arch.Reg(i) == on.Link || slices.Contains(on.Own, arch.Reg(i)) ||
			on.LinkAt != 0 && arch.Reg(i) == on.LinkBy)
		if arch.Reg(i) != on.SP && !own {
			digest = sim.Mix(digest ^ v)
		}
	}
	ip := h.Regs.IP
	if c.inSlot && h.Which == kpev.Post && c.place(ip) == nowhere { // the find, unless it is a branch
		ip = c.after(at, ip)
	}
	s := fmt.Sprintf("ip %s", c.place(ip))
	if !c.calls {
		s += fmt.Sprintf(", flags %#x, registers %016x", h.Regs.Flags, digest)
	}
	if task != nil {
		s += fmt.Sprintf(", sp %d below the top", task.StackTop()-c.r.Machine.Arch().StackPointer(h.Regs))
	}
	if h.Which == kpev.Return {
		s += fmt.Sprintf(", returns to %s", c.place(h.Ret))
	}
	if len(h.Private) > 0 {
		s += fmt.Sprintf(", data %x", h.Private)
	}
	return s
}

// after returns the address behind the scenario's instruction at an address; ip if that goes elsewhere.
func (c *collector) after(at, ip arch.Addr) arch.Addr {
	for i := range c.r.Scenario.Texts {
		if t := &c.r.Scenario.Texts[i]; at-t.At < arch.Addr(len(t.Code)) {
			if in, err := c.r.Machine.Arch().Decode(t.Code[at-t.At:], at); err == nil && in.Flow() == arch.FlowNext {
				return in.Next()
			}
		}
	}
	return ip
}

// nowhere is what place returns for an address that isn't in a function of the scenario.
const nowhere = "no function"

// place names an address: in the scenario's text by its function, otherwise by its kind.
func (c *collector) place(a arch.Addr) string {
	for i := range c.r.Scenario.Texts {
		t := &c.r.Scenario.Texts[i]
		if a >= t.At && a <= t.At+arch.Addr(len(t.Code)) {
			return fmt.Sprintf("%s+%#x", t.Name, uint64(a-t.At))
		}
	}
	return nowhere
}

// end records how a run has ended.
func (c *collector) end(run rig.Run) {
	a, sc := c.a, c.r.Scenario
	a.Passed = run.Outcome == smp.Passed || run.Outcome == smp.Violated && run.Property == nil // known
	if !a.Passed {
		if run.Property != nil {
			a.Broken = run.Property.Name
		}
		if a.End = fmt.Sprintf("%v: %s", run.Outcome, c.r.Message(&run)); run.Err != nil {
			a.End += fmt.Sprintf(" %v", run.Err)
		}
		return
	}
	for i := range sc.Probes {
		s := c.r.Engine().Status(i)
		a.Last = append(a.Last, fmt.Sprintf("%s: registered %v, disabled %v, missed %d, without an instance %d",
			sc.Probes[i].Name, s.Registered, s.Registered && s.Disabled, s.Missed, s.NoInstance))
	}
	var list []string
	c.r.Engine().Claim(func(k traces.Kind, addr, letter, tags uint64) {
		at := c.place(arch.Addr(addr))
		if k == kpev.Listed && letter != 0 && at != nowhere { // that of a trampoline is the kernel's own
			list = append(list, fmt.Sprintf("list: %c %s%s", letter, at, tagged(tags)))
		}
	})
	slices.Sort(list)
	a.Last = append(a.Last, list...)
	for i := range sc.Texts {
		a.Last = append(a.Last, c.text(&sc.Texts[i]))
	}
}

// tagged is the tags of a line of kprobes/list.
func tagged(tags uint64) (s string) {
	for _, t := range [...]struct {
		tag  uint64
		text string
	}{{kpev.TagGone, " gone"}, {kpev.TagDisabled, " disabled"}, {kpev.TagOptimized, " optimized"},
		{kpev.TagFtrace, " ftrace"}} {
		if tags&t.tag != 0 {
			s += t.text
		}
	}
	return s
}

// text is a function's text, with jumps to detours, and calls of ftrace, whatever their targets.
func (c *collector) text(t *scenario.Text) string {
	var s strings.Builder
	fmt.Fprintf(&s, "text %s: ", t.Name)
	for i, own := 0, c.r.Code(t); i < len(t.Code); i++ {
		v, _ := c.r.Machine.Memory().Load(t.At+arch.Addr(i), 1)
		if byte(v) == own[i] { // a kernel's own nop counts as the scenario's
			v = uint64(t.Code[i])
		}
		a := c.r.Machine.Arch()
		written := c.jumps(t, i) || byte(v) != t.Code[i] &&
			slices.Contains(c.r.Scenario.Sites, scenario.Site{Func: t.Name, Offset: i})
		if !written || a.IsJump.Mask&0xff == 0xff { // the first byte says that it is a jump, and not where to
			fmt.Fprintf(&s, "%02x", v)
		}
		if written {
			s.WriteString("........")
			i += a.BranchLen - 1
		}
	}
	return s.String()
}

// jumps reports whether a jump has been written to a function's text at an offset.
func (c *collector) jumps(t *scenario.Text, i int) bool {
	a := c.r.Machine.Arch()
	n := min(a.BranchLen, len(t.Code)-i)
	if i%a.Align != 0 {
		return false
	}
	is := uint64(0)
	for k := range n {
		v, _ := c.r.Machine.Memory().Load(t.At+arch.Addr(i+k), 1)
		is |= v << (8 * k)
	}
	return a.IsJump.Match(is) && is != arch.Word(t.Code[i:i+n])
}
