package findings

import (
	"fmt"

	"kpsim/internal/ui/cli"
	"kpsim/internal/version"
	"kpsim/smp/arch/target"
)

// claim says for a commit message what a certificate covers: what ran, on which machine, under which models, with how
// many deviations, and what was counted. "": there is no certificate.
func (c *Verify) claim(j *job, r *verifyRow) string {
	if r.Certificate == "" || len(r.Broken) > 0 {
		return ""
	}
	who := make([]string, 0, len(j.Tasks)+len(j.Sources))
	for i := range j.Tasks {
		who = append(who, fmt.Sprintf("%s on cpu%d", j.Tasks[i].Name, j.Tasks[i].CPU))
	}
	for i := range j.Sources {
		s := &j.Sources[i]
		who = append(who, fmt.Sprintf("a %s of cpu%d at most %s", s.Kind, s.CPU, times(uint64(s.AtMost))))
	}
	if len(j.Sources) == 0 {
		who = append(who, "no interrupt but IPIs")
	}
	bound, but := "", ""
	if !r.Full {
		bound = " with at most " + cli.Number(r.Deviations, "deviation")
	}
	if c.Ignored != 0 {
		but = ", but for " + cli.List(c.Ignored.Names())
	}
	m := &j.Machine
	return fmt.Sprintf("No schedule of %s%s breaks a property that kpsim checks%s: %s, %s, %s, preemption model %s "+
		"(%s), fetch model %s, memory model %s; %s run, %d pruned, by kpsim %s.", r.Scenario, bound, but, c.engineOf(j),
		target.Words[m.Arch], cli.Number(m.CPUs, "CPU"), m.Preempt, cli.List(who), r.Fetch, m.Memory,
		cli.Number(r.Runs, "schedule"), r.Pruned, version.This())
}

// engineOf names the engine that a scenario runs on: a kernel's, with the objects over it, or kpsim's of an edition;
// and how it was broken on purpose.
func (c *Verify) engineOf(j *job) string {
	m := &j.Machine
	says := "kpsim's engine"
	switch edition := m.Edition.String(); {
	case m.Guest():
		says = "the engine of Linux " + m.Release()
		if len(j.Objects) > 0 {
			says += " with " + cli.List(j.Objects) + " laid over it"
		}
	case edition != "":
		says += ", edition " + edition
	}
	if c.Mutant != "" {
		says += ", broken on purpose (" + c.Mutant + ")"
	}
	return says
}
