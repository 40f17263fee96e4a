package inputs

import (
	"fmt"
	"slices"
	"strings"

	"kpsim/internal/scenario"
	"kpsim/internal/scenario/act"
	"kpsim/internal/scenario/library"
	"kpsim/internal/scenario/vet"
	"kpsim/internal/search/rig"
	"kpsim/internal/ui/cli"
	"kpsim/kprobes/kpev"
	"kpsim/kprobes/mutants"
	"kpsim/kprobes/rules"
	"kpsim/smp"
	"kpsim/smp/kapi"
)

// Builtin reports whether the scenario is one of the library's.
func (j *Input) Builtin() bool { return slices.Contains(library.Names(), j.Arg) }

// lasting lists the errnos of a registration that don't depend on what came before.
var lasting = []string{"ENOENT", "E2BIG", "EINVAL", "ENOSPC", "EILSEQ", "EOPNOTSUPP"}

// RefusedAlways returns an error if no schedule probes anything: each registration was refused
// for a reason that doesn't depend on the schedule, the scenario doesn't expect that, and nothing
// else is patched.
func (j *Input) RefusedAlways(probed []rig.Probed) error {
	s := j.Scenario
	if j.WantsErrno() || len(s.Modules) > 0 || s.DoesAny(scenario.Around) {
		return nil
	}
	var lines []string
	first := scenario.PartOf(scenario.TheScenario, 0)
	for i := range min(len(probed), len(s.Probes)) {
		switch k, r := &s.Probes[i], &probed[i]; {
		case r.Registered, !r.Refused && s.Registers(k.Name), r.Refused &&
			!slices.Contains(lasting, kpev.ErrnoName(uint64(r.Errno))):
			return nil
		case r.Refused:
			if len(lines) == 0 {
				first = scenario.PartOf(scenario.TheProbes, i)
			}
			lines = append(lines, fmt.Sprintf("probe %s at %s is refused: %s", k.Name, s.PlaceName(k),
				Refused(s, k, uint64(r.Errno))))
		}
	}
	if len(lines) == 0 {
		return nil
	}
	more := ""
	if n := len(lines) - MostTold; n > 0 {
		lines, more = lines[:MostTold], fmt.Sprintf("; and %s", cli.Number(n, "more probe"))
	}
	return j.FileFirst(scenario.Faultf(first,
		"nothing is probed, so that no search shows anything: %s%s; %s prints where a probe can be; if it is "+
			"to be refused say so, errno = …",
		strings.Join(lines, "; "), more, j.check()))
}

// check returns the command that prints where the first probe's function can be probed.
func (j *Input) check() string {
	words := []string{cli.Typed(), "check"}
	if f, ok := j.Place(&j.Probes[0]); ok {
		words = append(words, "--func", f)
	}
	return cli.Line(append(words, j.Arg)...)
}

// Optimizable returns the command that prints which instructions can become a jump.
func (j *Input) Optimizable() string { return j.check() + "   # which instructions can become a jump" }

// Wants reports whether the scenario states the result of registering a probe.
func (j *Input) Wants(probe string) bool {
	return slices.ContainsFunc(j.Tasks, func(t scenario.Task) bool {
		return slices.ContainsFunc(t.Ops, func(op scenario.Op) bool {
			return op.Checked && op.Kind.Touches&scenario.TouchRegister != 0 && op.Names(probe)
		})
	})
}

// NeverJumps says why no probe is ever optimized, a line for each, if the scenario is about
// optimization: its canary breaks the optimizer, or it configures what the optimizer waits for. A
// mutant may change which probes are optimized.
func (j *Input) NeverJumps(mutated string) (lines []*scenario.Fault, blind string) {
	s := j.Scenario
	about := mutants.NeedsJump(s.Expect.Canary) || s.Machine.Edition == rules.EditionNone &&
		s.Machine.Quiesce != kapi.QuiesceNone || s.Does(act.WaitOptimized)
	if mutated != "" || !about {
		return nil, ""
	}
	lines = vet.NewJumps(s).None()
	if len(lines) == 0 {
		return nil, ""
	}
	if n := len(lines) - MostTold; n > 0 {
		lines = append(lines[:MostTold], &scenario.Fault{Part: lines[MostTold].Part, Msg: cli.Number(n, "more probe") +
			" never optimized"})
	}
	if mutants.NeedsJump(s.Expect.Canary) {
		blind = "canary " + s.Expect.Canary + " can't be found: " + lines[0].Msg
		lines = append(lines, &scenario.Fault{
			Part: scenario.PartOf(scenario.TheExpect, 0),
			Msg: "canary " + s.Expect.Canary +
				" breaks the optimizer, so it can't be found here; probe another instruction, or choose another canary",
		})
	}
	return lines, blind
}

// NothingPatched says why a Never is meaningless for a scenario that patches no text; "" for others, and for those
// that check answers or stores.
func (j *Input) NothingPatched() string {
	if j.Patches() || j.WantsErrno() || j.ChecksStores() {
		return ""
	}
	return "nothing is patched: no task registers a probe, stores to text, flips a label, loads a module or calls " +
		"for ftrace; add register(k), or write(f, …), to one's ops"
}

// NothingProbed reports whether every registration was refused although the scenario doesn't
// expect it.
func (j *Input) NothingProbed(n *rig.Census) bool {
	return n.Refused > 0 && n.Registered == 0 && !j.WantsErrno()
}

// WhyRefused returns the errno that a probe was refused with, and the reason.
func (j *Input) WhyRefused(probed []rig.Probed, errno int) string {
	i := slices.IndexFunc(probed, func(p rig.Probed) bool { return p.Errno == errno })
	return Refused(j.Scenario, &j.Probes[i], uint64(errno))
}

// WantsErrno reports whether the scenario states the result of any call of the probes' API.
func (j *Input) WantsErrno() bool {
	return j.Any(func(op *scenario.Op) bool { return op.Checked && op.Kind.Has(scenario.ParamErrno) })
}

// ChecksStores reports whether the scenario is useful without a probe: it states its functions'
// results, and its CPUs hold stores.
func (j *Input) ChecksStores() bool {
	return j.Machine.Memory == smp.TSO && j.Any((*scenario.Op).Compares)
}

// NeverHit says, for each probe with handlers that never ran, why: it was refused, or no CPU
// reached it, with what to try. One line each.
func (j *Input) NeverHit(probed []rig.Probed, try string) (lines []string) {
	s, more := j.Scenario, 0
	for i := range min(len(probed), len(s.Probes)) {
		k, p := &s.Probes[i], probed[i]
		if p.Hit || Silent(k) {
			continue
		}
		f, known := s.Place(k)
		did := fmt.Sprintf("no CPU reached %s+%#x", f, k.Offset)
		if k.Kind == scenario.ProbeKretprobe {
			did = "no call of " + f + " returned"
		}
		says := ""
		switch {
		case p.Refused && !p.Registered && !j.WantsErrno():
			says = fmt.Sprintf("probe %s was refused: %s", k.Name, Refused(s, k, uint64(p.Errno)))
		case !p.Registered || !known || k.Disabled:
			continue
		case !calls(s, f):
			says = fmt.Sprintf("probe %s was never hit: %s while it was registered, and no task calls %s; add "+
				"call(%s) to one", k.Name, did, f, f)
		default:
			says = fmt.Sprintf("probe %s was never hit: %s while it was registered; %s", k.Name, did, try)
		}
		if len(lines) == MostTold {
			more++
			continue
		}
		lines = append(lines, says)
	}
	if more > 0 {
		lines = append(lines, cli.Number(more, "more probe")+" never hit, or refused")
	}
	return lines
}

// Silent reports whether a probe has no handler.
func Silent(k *scenario.Probe) bool { return k.Pre == nil && k.Post == nil && k.Entry == "" }

// MostTold is the maximum number of unhit probes that are explained.
const MostTold = 3

// Refused returns the errno that a registration was refused with, and the reason if the rules
// know it.
func Refused(s *scenario.Scenario, k *scenario.Probe, errno uint64) string {
	at, ok := s.Where(k)
	if ok {
		if n, why := vet.Refusal(s, at); n == errno {
			return kpev.Errno(errno) + ", " + why
		}
	}
	switch why := kpev.Errno(errno) + ", "; {
	case k.Symbol != "" && k.Func != "":
		return why + "an address and a symbol are given; give one"
	case !ok:
		if t := s.Text(k.Symbol); t != nil {
			return why + fmt.Sprintf("%s has %d bytes, and no function is at %s+%#x", t.Name, len(t.Code), t.Name,
				k.Offset)
		}
		return why + "there is no symbol " + k.Symbol
	case k.Kind == scenario.ProbeKretprobe && k.Offset != 0:
		return why + "a return probe is at a function's first byte"
	case k.Kind == scenario.ProbeKretprobe && k.DataSize > 4096:
		return why + "data_size is more than 4096"
	}
	return kpev.Errno(errno)
}

// calls reports whether a task, an interrupt or a handler calls a function by its name.
func calls(s *scenario.Scenario, function string) bool {
	return slices.ContainsFunc(s.Tasks, func(t scenario.Task) bool {
		return slices.ContainsFunc(t.Ops, func(op scenario.Op) bool {
			return op.Kind == act.Call && op.Target == function
		})
	}) || slices.ContainsFunc(s.Sources, func(src scenario.Source) bool { return src.Run == function }) ||
		slices.ContainsFunc(s.Probes, func(k scenario.Probe) bool {
			return slices.ContainsFunc(slices.Concat(k.Pre, k.Post, k.Fault), func(st scenario.Step) bool {
				return st.Kind.Traits&scenario.StepRuns != 0 && st.Target == function
			})
		})
}
