package verdict

import (
	"slices"

	"kpsim/properties"
)

// A Rule is a row: a kind of fault that a case may have.
type Rule struct {
	ID   string // a property's ID, or a word
	Name string
	Says string // what holds where it isn't broken
}

// The rules that aren't properties.
const (
	Expectation = "expectation" // a race that was expected wasn't seen, or nothing could be
	Blind       = "blind"       // the search doesn't find what is known to be there
	Incomplete  = "incomplete"  // not everything was run that was to be
	Answer      = "answer"      // a program is answered otherwise than by the rules
	Dies        = "dies"        // a changed kernel can't run what the unchanged one can
	Cost        = "cost"        // a hit is dearer than before
	Litmus      = "litmus"      // a litmus test's result isn't the expected one
	Outdated    = "outdated"    // a trace's run isn't what the trace says
	Mutant      = "mutant"      // a mutant isn't noticed as it should be
	Unreached   = "unreached"   // nothing that was run reached it
)

// others are those rules.
var others = []Rule{
	{Expectation, "as-expected", "The scenario shows what its author expects."},
	{Blind, "not-blind", "The same search finds the fault that is known to be there."},
	{Incomplete, "complete", "Every schedule that was asked for was run."},
	{Answer, "answered-by-the-rules", "Each call of a serial program is answered as the rules say."},
	{Dies, "can-be-run", "The changed kernel runs what the unchanged one runs."},
	{Cost, "no-dearer", "A hit of a probe costs no more than before the change."},
	{Litmus, "litmus-result", "The litmus test has the result that its comment expects."},
	{Outdated, "as-the-trace-says", "The replayed run breaks what the trace says, with the same events."},
	{Mutant, "mutant-noticed", "The property that is named for a mutant notices it."},
	{Unreached, "reached", "Some run reached the line, or as much as was asked for."},
}

// Rules returns all rules: those of the properties, in their order, and the others.
func Rules() (list []Rule) {
	for _, p := range properties.All {
		list = append(list, Rule{p.ID, p.Name, p.Says})
	}
	return append(list, others...)
}

// RuleOf returns the ID of a property's rule by its name or ID, or else the rule otherwise.
func RuleOf(property, otherwise string) string {
	if p, ok := properties.ByName(property); ok {
		return p.ID
	}
	return otherwise
}

// index returns the position of a rule in a list, -1 if it isn't there.
func index(list []Rule, id string) int {
	return slices.IndexFunc(list, func(r Rule) bool { return r.ID == id })
}
