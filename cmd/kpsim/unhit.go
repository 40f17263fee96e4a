package main

import (
	"fmt"
	"slices"
	"strings"

	"kpsim/internal/cli"
	"kpsim/internal/scenario"
	"kpsim/internal/search"
	"kpsim/internal/search/rig"
	"kpsim/kprobes/kpev"
)

// neverHit says of each probe with a handler, a line each, why none of its handlers has
// run: it was refused, or nobody came to it, and then what to try.
func neverHit(j *job, probed []rig.Probed, try string) (lines []string) {
	s, more := j.Scenario, 0
	for i := range min(len(probed), len(s.Probes)) {
		k, p := &s.Probes[i], probed[i]
		if p.Hit || silent(k) {
			continue
		}
		f, known := s.Place(k)
		did := fmt.Sprintf("nobody came to %s+%#x", f, k.Offset)
		if k.Kind == scenario.ProbeKretprobe {
			did = "no call of " + f + " returned"
		}
		says := ""
		switch {
		case p.Refused && !p.Registered && !j.wantsErrno():
			says = fmt.Sprintf("probe %s was refused: %s", k.Name, refused(s, k, uint64(p.Errno)))
		case !p.Registered || !known || k.Disabled:
			continue
		case !calls(s, f):
			says = fmt.Sprintf("probe %s was never hit: %s while it was registered, and no task calls %s; add call(%s) to one", k.Name, did, f, f)
		default:
			says = fmt.Sprintf("probe %s was never hit: %s while it was registered; %s", k.Name, did, try)
		}
		if len(lines) == mostTold {
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

// silent reports whether a probe has no handler.
func silent(k *scenario.Probe) bool { return k.Pre == nil && k.Post == nil && k.Entry == "" }

// mostTold is of how many probes that were never hit it is said why.
const mostTold = 3

// refused is an errno that a probe's registration was answered with, and why if the rules say so.
func refused(s *scenario.Scenario, k *scenario.Probe, errno uint64) string {
	at, ok := s.Where(k)
	if ok {
		if n, why := s.Refusal(at); n == errno {
			return kpev.Errno(errno) + ", " + why
		}
	}
	switch why := kpev.Errno(errno) + ", "; {
	case k.Symbol != "" && k.Func != "":
		return why + "an address and a symbol are given; give one"
	case !ok:
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
		return slices.ContainsFunc(t.Ops, func(op scenario.Op) bool { return op.Kind == scenario.OpCall && op.Target == function })
	}) || slices.ContainsFunc(s.Sources, func(src scenario.Source) bool { return src.Run == function }) ||
		slices.ContainsFunc(s.Probes, func(k scenario.Probe) bool {
			return slices.ContainsFunc(slices.Concat(k.Pre, k.Post, k.Fault), func(st scenario.Step) bool { return st.Kind == scenario.StepCall && st.Func == function })
		})
}

// idle says, a line each, what of a scenario no run of an exploration has used.
// Who wrote those that are built in has made some so on purpose.
func idle(j *job, res *search.Result) []string {
	if j.builtin() || res.Census.Registered == 0 && j.Expect.Canary == "" {
		return nil
	}
	lines := neverHit(j, res.Probed, "other arguments, a task that goes on calling it (repeat = 10) or more --runs may help")
	for _, s := range res.Stats.Sources {
		if s.Visited == 0 {
			if slices.ContainsFunc(j.notes, func(l string) bool { return strings.HasPrefix(l, s.Source+" ") }) {
				continue // it was said before the search
			}
			why := "nobody ran on its CPU; give it one that a task has"
			if strings.HasPrefix(s.Source, "preempt@") {
				why = "nobody was there to run instead; have a second task on its CPU"
			}
			lines = append(lines, s.Source+" never came: "+why)
		}
	}
	return append(lines, j.Unflipped()...)
}
