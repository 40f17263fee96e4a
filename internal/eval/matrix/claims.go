package matrix

import (
	"fmt"
	"strings"
)

// A Claim is a statement of the kernel's documents about some cells. It is judged by the cells
// alone.
type Claim struct {
	Says     string
	Rows     []string
	Preempts []string
	Verdict  string // the verdict claimed for all of them
}

var (
	without = Preempts[:2] // models without CONFIG_PREEMPTION
	with    = Preempts[2:]
	// models that take the CPU from a task between two of its instructions
	preempted, unpreempted = Preempts[3:], Preempts[:3]
)

// Claims lists the claims of specification 4.6, 4.7 and 4.11, of kprobes.txt, and of commits and manuals for other
// processors.
var Claims = []Claim{
	{"Without CONFIG_PREEMPTION synchronize_sched() or synchronize_rcu(), then stop_machine(), is enough (4.6).",
		[]string{"jump/sched/stop_machine", "jump/rcu/stop_machine", "life/sched/stop_machine",
			"life/rcu/stop_machine"}, without, Never},
	{"With CONFIG_PREEMPTION it isn't (4.6).", []string{"jump/sched/stop_machine", "jump/rcu/stop_machine"}, with,
		Sometimes},
	{"The breakpoint first, as since 3.12, does as well as stop_machine() after such a wait without " +
		"CONFIG_PREEMPTION (4.6).",
		[]string{"jump/sched/breakpoint", "jump/rcu/breakpoint", "life/sched/breakpoint", "life/rcu/breakpoint"},
		without, Never},
	{"With CONFIG_PREEMPTION synchronize_rcu_tasks() is enough (4.6, 4.15).",
		[]string{"jump/tasks/breakpoint", "life/tasks/breakpoint"}, with, Never},
	{"An IPI sync belongs behind the breakpoint that is written, and behind that which is taken away (4.6, 5.6).",
		[]string{"sync/arm", "sync/disarm"}, Preempts, Sometimes},
	{"Without CONFIG_PREEMPTION stop_machine() is itself a quiescence (4.6).",
		[]string{"jump/none/stop_machine", "life/none/stop_machine"}, without, Never},
	{"Who was interrupted inside the region comes back into the jump, if nobody waits (4.7).",
		[]string{"jump/none/breakpoint"}, Preempts, Sometimes},
	{"To look at all stacks is enough with CONFIG_PREEMPTION too (4.11).",
		[]string{"jump/stack-check/stop_machine", "jump/stack-check/breakpoint", "life/stack-check/stop_machine",
			"life/stack-check/breakpoint"}, with, Never},

	{"Who is preempted between the nops of a site comes back to a jalr without its auipc, if both are written with " +
		"the " +
		"machine stopped (8547649981e6).", []string{"riscv64/site/stop_machine"}, preempted, Sometimes},
	{"Without preemption no task stands there while the machine is stopped " +
		"(8547649981e6).", []string{"riscv64/site/stop_machine"}, unpreempted,
		Never},
	{"Of a site whose auipc stays the jalr can be written under CPUs that run (8547649981e6).",
		[]string{"riscv64/site/as-is"}, Preempts, Never},
	{"A nop and a branch may take each other's place under CPUs that run, if these are made to serialise then (ARM " +
		"ARM, " +
		"B2.2.5).", []string{"arm64/label/as-is"}, Preempts, Never},
	{"Without kick_all_cpus_sync() a CPU misses that a label was switched (cfb00a357864).",
		[]string{"arm64/label/unsynced"}, Preempts, Sometimes},
	{"An IPI that is sent where the machine is stopped is never answered (f6cc0c501649, c97bf629963e).",
		[]string{"riscv64/label/ipi-stopped", "riscv64/probe/ipi-stopped", "arm64/label/ipi-stopped",
			"arm64/probe/ipi-stopped"}, Preempts, Sometimes},
	{"A breakpoint is written with the machine stopped (aarch64_insn_patch_text, patch_text).",
		[]string{"riscv64/probe/arm", "riscv64/probe/disarm", "arm64/probe/arm", "arm64/probe/disarm"}, Preempts,
		Sometimes},
	{"Only the CPU that writes serialises: another may pass a probe that is registered (patch_instruction).",
		[]string{"ppc64le/probe/as-is"}, Preempts, Sometimes},
	{"synchronize_rcu_tasks() is enough before a branch of one word is written, and before its detour is freed " +
		"(kernel/kprobes.c).", []string{"ppc64le/jump/tasks"}, Preempts, Never},
	{"With CONFIG_PREEMPTION a grace period isn't.", []string{"ppc64le/jump/rcu"}, with, Sometimes},
}

// Claims returns the claims about a subject.
func (s *Subject) Claims() (list []Claim) {
	for _, c := range Claims {
		if r, _ := RowByName(c.Rows[0]); r.Block.Subject == s {
			list = append(list, c)
		}
	}
	return list
}

// Judge says whether the cells agree with a claim, refine it, or contradict it; "" if one of them
// isn't known.
func (c *Claim) Judge(t Table) string {
	as, all := 0, 0
	var differ []string
	for _, row := range c.Rows {
		for _, p := range c.Preempts {
			var fetches []string
			for _, f := range Fetches {
				v := t.At(row, Column{p, f})
				if v == "" {
					return ""
				}
				if all++; v == c.Verdict {
					as++
				} else {
					fetches = append(fetches, f)
				}
			}
			switch len(fetches) {
			case 0:
			case len(Fetches):
				differ = append(differ, row+" "+p)
			default:
				differ = append(differ, row+" "+p+" "+strings.Join(fetches, ", "))
			}
		}
	}
	other := Never
	if c.Verdict == Never {
		other = Sometimes
	}
	switch as {
	case all:
		return fmt.Sprintf("agrees: %s in all %d cells", c.Verdict, all)
	case 0:
		return fmt.Sprintf("contradicts: %s in all %d cells", other, all)
	}
	return fmt.Sprintf("refines: %s in %d of %d cells, but %s in %s", c.Verdict, as, all, other,
		strings.Join(differ, "; "))
}

// preemptsAlike lists pairs of preemption models that don't differ for a patcher.
var preemptsAlike = [][2]string{{"none", "voluntary"}, {"full", "lazy"}}

// tooFew reports whether a cell can't be Never because another cell of its row is Sometimes: one
// of an equivalent preemption model, or one whose fetch model allows less.
func (t Table) tooFew(row string, c Column) bool {
	for _, f := range Fetches { // each allows everything that the previous ones allow
		for _, p := range preemptsAlike {
			for i := range p {
				if c.Preempt == p[i] && t.At(row, Column{p[1-i], f}) == Sometimes {
					return true
				}
			}
		}
		if t.At(row, Column{c.Preempt, f}) == Sometimes {
			return true
		}
		if f == c.Fetch {
			break
		}
	}
	return false
}

// Identities lists impossible differences between cells: between equivalent preemption models or
// waits, or a Never under a fetch model that allows more than that of a Sometimes.
func Identities(t Table) (list []string) {
	same := func(a, b string, ca, cb Column) {
		if va, vb := t.At(a, ca), t.At(b, cb); va != "" && vb != "" && va != vb {
			list = append(list, fmt.Sprintf("%s is %s, %s is %s", key(a, ca), va, key(b, cb), vb))
		}
	}
	for i, f := range Fetches {
		for _, r := range Rows() {
			for _, p := range preemptsAlike {
				same(r.Name, r.Name, Column{p[0], f}, Column{p[1], f})
			}
			for _, p := range Preempts {
				if i > 0 && t.At(r.Name, Column{p, Fetches[i-1]}) == Sometimes {
					same(r.Name, r.Name, Column{p, Fetches[i-1]}, Column{p, f})
				}
			}
		}
		for _, p := range without {
			for _, b := range []string{"jump", "life"} {
				for _, w := range patches {
					for _, wait := range []string{"rcu", "tasks"} {
						same(b+"/sched/"+w, b+"/"+wait+"/"+w, Column{p, f}, Column{p, f})
					}
				}
			}
		}
	}
	return list
}
