package main

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"kpsim/internal/cli"
	"kpsim/internal/scenario"
	"kpsim/internal/search/rig"
	"kpsim/kprobes/kpev"
	"kpsim/kprobes/mutants"
)

// What the default run shows of a scenario is said before the search: a probe that is
// refused is so in all runs, and where nothing is optimized no search finds what breaks the
// optimizer. Of built-in scenarios it isn't said: some are made to be so.

// beforehand says what the default run has shown, a line each on standard error. The error
// says why a search would show nothing.
func (c *exploreCmd) beforehand(p *cli.Program, j *job, probed []rig.Probed) error {
	j.notes = nil
	if j.builtin() {
		return nil
	}
	if err := j.refusedAlways(probed); err != nil {
		return err
	}
	for i := range min(len(probed), len(j.Probes)) {
		k, r := &j.Probes[i], &probed[i]
		if r.Refused && !r.Registered && !j.wants(k.Name) && len(j.notes) < mostTold {
			j.notes = append(j.notes, fmt.Sprintf("probe %s at %s is refused: %s", k.Name, j.PlaceName(k), refused(j.Scenario, k, uint64(r.Errno))))
		}
	}
	j.notes = append(j.notes, j.Inert()...)
	j.notes = append(j.notes, j.neverJumps(c.Mutant)...)
	if c.JSON {
		return nil // they are among what is idle
	}
	for _, l := range j.notes {
		fmt.Fprintf(p.Err, "kpsim: %s: %s\n", j.arg, l)
	}
	return nil
}

// builtin reports whether the scenario is one of the library's.
func (j *job) builtin() bool { return slices.Contains(scenario.BuiltinNames(), j.arg) }

// lasting are the errnos that a registration is answered with whatever has come before.
var lasting = []string{"ENOENT", "E2BIG", "EINVAL", "ENOSPC", "EILSEQ", "EOPNOTSUPP"}

// refusedAlways says that no schedule probes anything: each registration was refused, for
// what doesn't depend on the schedule, nobody says that it is to be, and nothing else is
// patched.
func (j *job) refusedAlways(probed []rig.Probed) error {
	s := j.Scenario
	if j.wantsErrno() || len(s.Modules) > 0 || slices.ContainsFunc([]scenario.OpKind{scenario.OpEnableLabel, scenario.OpDisableLabel,
		scenario.OpTracer, scenario.OpSetCall, scenario.OpLocks}, s.Does) {
		return nil
	}
	var lines []string
	for i := range min(len(probed), len(s.Probes)) {
		switch k, r := &s.Probes[i], &probed[i]; {
		case r.Registered, !r.Refused && s.Registers(k.Name), r.Refused && !slices.Contains(lasting, kpev.ErrnoName(uint64(r.Errno))):
			return nil
		case r.Refused:
			lines = append(lines, fmt.Sprintf("probe %s at %s is refused: %s", k.Name, s.PlaceName(k), refused(s, k, uint64(r.Errno))))
		}
	}
	if len(lines) == 0 {
		return nil
	}
	more := ""
	if n := len(lines) - mostTold; n > 0 {
		lines, more = lines[:mostTold], fmt.Sprintf("; and %s", cli.Number(n, "more probe"))
	}
	return fileFirst(j, errors.New("nothing is probed, so that no search shows anything: "+strings.Join(lines, "; ")+more+"; "+j.check()+" prints where a probe can be; if it is to be refused say so, errno = …"))
}

// check is the line that prints where in the function of the first probe one can be.
func (j *job) check() string {
	words := []string{cli.Typed(), "check"}
	if f, ok := j.Place(&j.Probes[0]); ok {
		words = append(words, "--func", f)
	}
	return cli.Line(append(words, j.arg)...)
}

// optimizable is the line that prints which instructions can become a jump.
func (j *job) optimizable() string { return j.check() + "   # which instructions can become a jump" }

// wants reports whether the author says what registering a probe answers.
func (j *job) wants(probe string) bool {
	return slices.ContainsFunc(j.Tasks, func(t scenario.Task) bool {
		return slices.ContainsFunc(t.Ops, func(op scenario.Op) bool {
			return op.Checked && (op.Kind == scenario.OpRegister && op.Target == probe || op.Kind == scenario.OpRegisterAll && slices.Contains(op.Targets, probe))
		})
	})
}

// neverJumps says, a line each, that no probe is ever optimized, and why, where the scenario
// is about that: its canary breaks the optimizer, or it says what that waits for. A mutant
// may change which probes are.
func (j *job) neverJumps(mutated string) (lines []string) {
	s := j.Scenario
	j.blind = ""
	about := mutants.NeedsJump(s.Expect.Canary) || s.Machine.Edition == scenario.EditionNone && s.Machine.Quiesce != scenario.QuiesceNone || s.Does(scenario.OpWaitOptimized)
	if mutated != "" || !about {
		return nil
	}
	lines = s.Jumps().None()
	if len(lines) == 0 {
		return nil
	}
	if n := len(lines) - mostTold; n > 0 {
		lines = append(lines[:mostTold], cli.Number(n, "more probe")+" never optimized")
	}
	if mutants.NeedsJump(s.Expect.Canary) {
		j.blind = "canary " + s.Expect.Canary + " can't be found: " + lines[0]
		lines = append(lines, "canary "+s.Expect.Canary+" breaks the optimizer, so it can't be found here; probe another instruction, or choose another canary")
	}
	return lines
}
