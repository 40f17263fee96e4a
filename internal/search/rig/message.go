package rig

import (
	"fmt"
	"strings"

	"kpsim/internal/lazyregexp"
	"kpsim/internal/scenario/vet"
	"kpsim/kprobes/kpev"
	"kpsim/properties"
	"kpsim/smp/arch"
	"kpsim/traces"
)

// Readable puts names in place of the addresses, tasks and locks of a message.
func (r *Rig) Readable(message string) string {
	return traces.Readable(message, r.Machine.Names().SymbolName, func(id uint64) string {
		if tasks := r.Machine.Tasks().All(); id < uint64(len(tasks)) {
			return tasks[id].Name
		}
		return fmt.Sprintf("task%d", id)
	}, r.Kernel.Locks.Name)
}

// Message is what a run has found, in words.
func (r *Rig) Message(run *Run) string { return r.Readable(run.Finding.Message) + r.Reason(run) }

// Reason ends the message of a run in which register has answered what the scenario
// doesn't say: with what the rules have against the probe. "": nothing.
func (r *Rig) Reason(run *Run) string {
	if run.Property != &properties.RightResult || run.Finding.Place == 0 {
		return ""
	}
	errno, why := vet.Refusal(r.Scenario, arch.Addr(run.Finding.Place))
	if errno == 0 || !strings.Contains(run.Finding.Message, " gets "+kpev.Errno(errno)+" ") {
		return ""
	}
	return "; it was refused: " + why
}

// Plain is what a run has found, in words that don't depend on where things lie or what the
// scenario calls them: two findings of one cause read alike.
func (r *Rig) Plain(message string) string {
	message = aStop().ReplaceAllString(message, "$1: ")
	place := func(at uint64) string { return r.PlainPlace(r.Machine.Names().SymbolName(at)) }
	return Words(traces.Readable(message, place, func(uint64) string { return "" }, r.Kernel.Locks.Name))
}

// PlainPlace is a symbol with an offset, without the offset. The scenario's own functions have no name then.
func (r *Rig) PlainPlace(symbol string) string {
	name, _, _ := strings.Cut(symbol, "+")
	if r.Scenario.Text(name) != nil {
		return ""
	}
	return name
}

var (
	aLine = lazyregexp.New(`^[\w/-]+\.[ch]:\d+$`)                                    // of a kernel's source
	aStop = lazyregexp.New(`^(the run ended exhausted after \d+ boundaries), .*?: `) // where it was then is chance (noEnd)
	aByte = lazyregexp.New(`^[0-9a-f]{2}$`)
)

// Words are the words of a text without numbers: lines of a kernel's source stay, and a
// breakpoint or jump that text begins with does.
func Words(text string) string {
	var words []string
	bytes := false // the word before was one
	for _, w := range strings.Fields(text) {
		w = strings.Trim(w, ",.;:\"'")
		was := bytes
		bytes = aByte().MatchString(w)
		switch {
		case w == "":
		case bytes && !was && (w == "cc" || w == "e9"), aLine().MatchString(w):
			words = append(words, w)
		case !bytes && !strings.ContainsAny(w, "0123456789%+()<>"):
			words = append(words, w)
		}
	}
	return strings.Join(words, " ")
}
