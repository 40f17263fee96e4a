package rig

import (
	"fmt"
	"slices"
	"strings"

	"kpsim/internal/lazyregexp"
	"kpsim/internal/scenario"
	"kpsim/internal/scenario/vet"
	"kpsim/kprobes/kpev"
	"kpsim/properties"
	"kpsim/smp/arch"
	"kpsim/traces"
)

// Readable puts names in place of the addresses, tasks and locks of a message.
func (p *Plan) Readable(message string) string {
	return p.arch.InWords(traces.Readable(message, p.Machine.Names().SymbolName, func(id uint64) string {
		if tasks := p.Machine.Tasks().All(); id < uint64(len(tasks)) {
			return tasks[id].Name
		}
		return fmt.Sprintf("task%d", id)
	}, p.Kernel.Locks.Name))
}

// Message is what a run has found, in words.
func (p *Plan) Message(run *Run) string { return p.Readable(run.Finding.Message) + p.Reason(run) }

// Reason returns the end of the message of a run in which register gave another answer than
// the scenario expects: the rules' objection to the probe. It is "" for other runs.
func (p *Plan) Reason(run *Run) string {
	if run.Property != &properties.RightResult || run.Finding.Place == 0 {
		return ""
	}
	errno, why := vet.Refusal(p.Scenario, arch.Addr(run.Finding.Place))
	if errno == 0 || !strings.Contains(run.Finding.Message, " gets "+kpev.Errno(errno)+" ") {
		return ""
	}
	return "; it was refused: " + why
}

// Plain returns a finding's message in words that don't depend on addresses or on the
// scenario's names, so that two findings with one cause read alike.
func (p *Plan) Plain(message string) string {
	message = aStop().ReplaceAllString(message, "$1: ")
	place := func(at uint64) string { return p.PlainPlace(p.Machine.Names().SymbolName(at)) }
	return Words(traces.Readable(message, place, func(uint64) string { return "" }, p.Kernel.Locks.Name))
}

// PlainPlace returns a symbol without its offset. The scenario's own functions have no name
// then.
func (p *Plan) PlainPlace(symbol string) string {
	name, _, _ := strings.Cut(symbol, "+")
	if p.Scenario.Text(name) != nil {
		return ""
	}
	return name
}

var (
	aLine = lazyregexp.New(`^[\w/-]+\.[ch]:\d+$`) // of a kernel's source
	// the place where the run was then is chance (noEnd)
	aStop = lazyregexp.New(`^(the run ended exhausted after \d+ boundaries), .*?: `)
	aByte = lazyregexp.New(`^[0-9a-f]{2}$`)
)

// Words returns the words of a text without its numbers. References to lines of a kernel's
// source stay, and so does a breakpoint or a jump at the beginning of text.
func Words(text string) string {
	var words []string
	bytes := false // the word before was a byte
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

// textFault is an error about a function.
func (p *Plan) textFault(t *scenario.Text, err error) error {
	i := slices.IndexFunc(p.Scenario.Texts, func(o scenario.Text) bool { return o.Name == t.Name })
	return scenario.Placed(scenario.PartOf(scenario.TheTexts, i), err)
}
