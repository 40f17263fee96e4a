package rig

import (
	"fmt"
	"slices"
	"strings"

	"kpsim/internal/lazyregexp"
	"kpsim/internal/scenario"
	"kpsim/properties"
	"kpsim/smp/arch"
	"kpsim/traces"
)

// A GoOn says after which violations runs continue (judges).
type GoOn struct {
	Ignored properties.Set // by the user: a Run's Property is never one of them
	Past    properties.Set // other properties; their violations count
	Known   []Known        // findings that don't count, whatever else breaks their properties
}

// A Known is a find that is known for an engine: the findings against a property that read alike, at one place.
type Known struct {
	Property string `json:"property"`
	Words    string `json:"words"` // ReadsAs
	Place    string `json:"place"` // SiteName; "*": any
}

// anyPlace is the Place of a Known without one.
const anyPlace = "*"

// AnyPlace returns the Known of findings that read alike anywhere.
func AnyPlace(property, words string) Known { return Known{property, words, anyPlace} }

// String is the Known as a trace's origin has it.
func (k Known) String() string { return fmt.Sprintf("%s @%s: %s", k.Property, k.Place, k.Words) }

// knownSeparator separates the Knowns of a list in a trace's origin.
const knownSeparator = "; "

// KnownText formats a list of Knowns for a trace's origin.
func KnownText(list []Known) string {
	var texts []string
	for _, k := range list {
		texts = append(texts, k.String())
	}
	return strings.Join(texts, knownSeparator)
}

// ParseKnown is the inverse of KnownText.
func ParseKnown(text string) (list []Known, err error) {
	if text == "" {
		return nil, nil
	}
	for _, one := range strings.Split(text, knownSeparator) {
		head, words, ok := strings.Cut(one, ": ")
		property, place, at := strings.Cut(head, " @")
		if _, is := properties.ByName(property); !ok || !at || !is {
			return nil, fmt.Errorf("%.60q is no known find; write PROPERTY @PLACE: WORDS", one)
		}
		list = append(list, Known{property, words, place})
	}
	return list, nil
}

// goesOn reports whether runs continue after any violation.
func (j *judges) goesOn() bool { return j.Ignored|j.Past != 0 || len(j.Known) > 0 }

// knows returns the index of the Known that a finding belongs to, -1 if there is none. A finding
// may be repeated with each event, so its wording is remembered.
func (j *judges) knows(q *properties.Property, f *traces.Finding) int {
	if !slices.ContainsFunc(j.Known, func(k Known) bool { return k.Property == q.Name }) {
		return -1
	}
	words, ok := j.reads[f.Message]
	if !ok {
		if words = j.ReadsAs(f.Message); j.reads == nil || len(j.reads) == readsMost {
			j.reads = make(map[string]string)
		}
		j.reads[f.Message] = words
	}
	return slices.IndexFunc(j.Known, func(k Known) bool {
		return k.Property == q.Name && k.Words == words && (k.Place == anyPlace || k.Place == SiteName(j.Scenario, f.Place))
	})
}

// goOnBehind reports whether a finding of a monitor is known. Its message then has the reason that
// a run which ends with it has.
func (j *judges) goOnBehind(q *properties.Property, f *traces.Finding) bool {
	whole := *f
	if why := j.Machine.Died(); why != "" {
		whole.Message += ": " + why
	}
	if j.knows(q, &whole) < 0 {
		return false
	}
	*f = whole
	j.Machine.Why("")
	return true
}

// readsMost is the maximum number of wordings that are remembered.
const readsMost = 1024

// KnownBroken lists the known finds of the run that ended last, each once.
func (j *judges) KnownBroken() (list []Known) {
	for i := range j.broken {
		b := &j.broken[i]
		if !b.Known {
			continue
		}
		if k := j.Known[j.knows(b.Property, &b.Finding)]; !slices.Contains(list, k) {
			list = append(list, k)
		}
	}
	return list
}

// SiteName names an address in a scenario's own text: symbol and offset. It is "" for other
// addresses, such as those of slots, which differ from run to run.
func SiteName(sc *scenario.Scenario, at uint64) string {
	for i := range sc.Texts {
		if x := &sc.Texts[i]; arch.Addr(at)-x.At < arch.Addr(len(x.Code)) {
			return fmt.Sprintf("%s+%#x", x.Name, arch.Addr(at)-x.At)
		}
	}
	return ""
}

// compiled matches what differs between compilations of a function: the line of a warning, and
// the suffix of a part that the compiler split off.
var compiled = lazyregexp.New(`:\d+\b|\.(part|constprop|isra|cold)(\.\d+)*`)

// ReadsAs is Plain without what differs between two compilations of a kernel.
func (p *Plan) ReadsAs(message string) string { return Uncompiled(p.Plain(message)) }

// Uncompiled makes a Plain text a ReadsAs text.
func Uncompiled(plain string) string { return compiled().ReplaceAllString(plain, "") }
