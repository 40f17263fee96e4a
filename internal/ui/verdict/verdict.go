package verdict

import (
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"strings"
	"unicode"
)

// An Outcome is how a case came out.
type Outcome uint8

// The outcomes.
const (
	Passed  Outcome = iota
	Failed          // against expectation
	Skipped         // not judged; Says is why
	Errored         // it couldn't be judged; Says is why
)

func (o Outcome) String() string { return [...]string{"passed", "failed", "skipped", "errored"}[o] }

// A Case is one thing that a command judged.
type Case struct {
	Group   string // what it is a part of, such as a scenario; never empty
	Name    string // of those of its group; never empty
	Outcome Outcome
	Rule    string   // the ID of a rule: what was broken; "": nothing was
	Says    string   // in a line or more: what was seen, or why it wasn't judged
	Notes   []string // more about it, a line each
	Places  []Place  // where it is; the first is the main one
	Trace   string   // the file of the witness; "": there is none
	Next    string   // the command line to type next; "": there is none
}

// A Place is a line of a file.
type Place struct {
	File string
	Line int    // from 1; 0: the file as a whole
	Says string // what is there; "": what the case says
}

// A List is what a command has judged, in the order in which it did.
type List struct {
	Command string // the command line
	Verb    string // its first word, such as explore
	Status  int    // the exit status of the command
	Version string // of kpsim
	Cases   []Case
}

// Add adds a case. Cases of a group need not be added one after another.
func (l *List) Add(c Case) {
	if l != nil {
		l.Cases = append(l.Cases, c)
	}
}

// A group is the cases of one name, in the order in which they were added.
type group struct {
	name  string
	cases []*Case
	Counts
}

// groups returns the cases by their groups, in the order of the groups' first cases. Names are made plain, and unique
// within a group: readers merge cases of the same name.
func (l *List) groups() (list []*group) {
	of := make(map[string]*group)
	taken := make(map[string]bool)
	for i := range l.Cases {
		c := l.Cases[i].plain()
		g := of[c.Group]
		if g == nil {
			g = &group{name: c.Group}
			of[c.Group] = g
			list = append(list, g)
		}
		name := c.Name
		for n := 2; taken[c.Group+"\x00"+c.Name]; n++ {
			c.Name = name + " " + itoa(n)
		}
		taken[c.Group+"\x00"+c.Name] = true
		g.cases = append(g.cases, c)
		g.count(c.Outcome)
	}
	return list
}

// Counts says how many cases have each outcome.
type Counts struct{ Passed, Failed, Skipped, Errored int }

func (n *Counts) count(o Outcome) { *[]*int{&n.Passed, &n.Failed, &n.Skipped, &n.Errored}[o]++ }

// Counts counts all cases.
func (l *List) Counts() (n Counts) {
	for i := range l.Cases {
		n.count(l.Cases[i].Outcome)
	}
	return n
}

// fingerprint identifies a find in other runs of the same command. It depends on the rule, on where the case belongs
// and on the words of what it says: not on numbers, such as counts of runs and addresses, which differ from one run to
// the next, nor on bytes in hex.
func (c *Case) fingerprint() string {
	words := strings.FieldsFunc(c.Says, func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) })
	words = slices.DeleteFunc(words, func(w string) bool {
		return len(w) <= 2 || strings.ContainsFunc(w, unicode.IsDigit)
	})
	sum := sha256.Sum256([]byte(strings.Join(append([]string{c.Rule, c.Group, c.Name}, words...), "\x00")))
	return hex.EncodeToString(sum[:16])
}
