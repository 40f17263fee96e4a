package rig

import (
	"fmt"
	"slices"
	"strings"

	"kpsim/engine"
	"kpsim/internal/lazyregexp"
	"kpsim/internal/scenario"
	"kpsim/linux/linuxev"
	"kpsim/properties"
	"kpsim/sched"
	"kpsim/smp"
	"kpsim/smp/arch"
	"kpsim/smp/smpev"
	"kpsim/traces"
)

// judges are the monitors of the runs, and say after which violations a run continues.
//
// To continue means that the machine runs as if nothing had been found. The monitor that found
// the violation gets no more events in this run, unless it is a known find; all others get every event. The machine is
// right for any bytes, so what the other monitors find did happen, but it may be a consequence
// of the first violation. After T1, T2, B1, S1 or O1 a CPU may execute garbage. A run ends
// there if it reaches bytes that can't be executed or a fault that has no handler, or enters
// the kernel with garbage arguments.
type judges struct {
	*Plan
	monitors *properties.Monitors // nil in a twin
	judging  []*properties.Property
	linear   *Linear // nil: calls about the same object can't overlap
	GoOn
	reads   map[string]string // by message: its wording (ReadsAs)
	broken  []properties.Broken
	onClaim func(k traces.Kind, a, b, c uint64) // claim, as a value
}

// listen makes monitors of the properties that have something to judge follow the runs. heads reports whether the logs
// have a kind at their head.
func (j *judges) listen(heads func(k traces.Kind) bool) {
	for _, p := range properties.All {
		if p.Needs == 0 || heads(p.Needs) {
			j.judging = append(j.judging, p)
		}
	}
	j.monitors, j.onClaim = properties.NewMonitors(j.arch, j.judging...), j.claim
	j.monitors.Subscribe(&j.Log)
}

// Has reports whether a property has something to judge in the scenario.
func (j *judges) Has(p *properties.Property) bool { return slices.Contains(j.judging, p) }

// GoOnAfter makes the rig's runs continue after some violations.
func (j *judges) GoOnAfter(g GoOn) {
	j.GoOn = g
	j.pass()
}

// pass tells the monitors after what a run goes on.
func (j *judges) pass() {
	j.monitors.Pass(j.Ignored | j.Past)
	j.monitors.Know(nil)
	if len(j.Known) > 0 {
		j.monitors.Know(j.goOnBehind)
	}
}

// only restricts the monitors that watch the rig's runs to those of some properties.
func (j *judges) only(list []*properties.Property) {
	j.monitors.Unsubscribe(&j.Log)
	j.monitors = properties.NewMonitors(j.arch, list...)
	j.pass()
	j.monitors.Subscribe(&j.Log)
}

// withoutTwin disables the property that compares calls with those of a run without probes,
// because it isn't known which calls there will be.
func (j *judges) withoutTwin() {
	j.only(slices.DeleteFunc(slices.Clone(j.judging), func(p *properties.Property) bool {
		return p == &properties.Transparent
	}))
}

// GoByHand says that calls may be made from now on that the twin hasn't made. The run is no
// longer compared with the twin's. All other properties judge it as before.
func (j *judges) GoByHand() { j.monitors.Mute(properties.SetOf(&properties.Transparent)) }

// begin makes the monitors, if there are any, begin a run. It tells them which tasks
// want a CPU from the beginning, because the Wakes of these tasks came earlier.
func (j *judges) begin() {
	if j.monitors == nil {
		return
	}
	j.monitors.Reset()
	if j.linear != nil {
		j.linear.calls, j.linear.now = j.linear.calls[:0], 0
	}
	for _, t := range j.Machine.Tasks().All() {
		if t.OnQueue() && !t.Idle() {
			j.Log.Tell(smpev.Wake, uint8(t.CPUID()), traces.NoTask, uint64(t.ID), 0, 0)
		}
	}
}

// end makes the monitors judge a run that has passed. drained says whether e has done all its
// work.
func (j *judges) end(e engine.Engine, drained bool) {
	if j.Log.Found == nil && j.monitors != nil {
		e.Claim(j.onClaim)
		j.tellCounts()
		j.Log.Found = j.monitors.End(drained)
	}
}

// tellCounts tells the monitors which counts tasks and modules still hold at the end of a run.
func (j *judges) tellCounts() {
	for _, t := range j.Machine.Tasks().All() {
		if n := t.PreemptCount(); n != 0 {
			j.claim(linuxev.Remains, linuxev.Preemption, uint64(n), uint64(t.CPUID()))
		}
	}
	for _, m := range j.modules {
		j.claim(smpev.Holds, m.Number(), uint64(m.Holds()), 0)
	}
}

// NewGoingOn is New for runs that continue after some violations (judges).
func NewGoingOn(sc *scenario.Scenario, mutantName string, g GoOn) (*Rig, error) {
	r, err := New(sc, mutantName)
	if err != nil {
		return nil, err
	}
	r.Judges.GoOnAfter(g)
	return r, nil
}

// runOn runs the machine. Where something was broken and the run continued, kernel and engine
// may be called with garbage, such as an invalid pointer, of which a real kernel would die.
// Such a panic ends the run, too, and isn't a bug of the simulator.
func (j *judges) runOn() (o smp.Outcome) {
	if !j.goesOn() {
		return j.Machine.Run()
	}
	defer func() {
		p := recover()
		if p == nil {
			return
		}
		if _, ours := p.(*sched.Divergence); ours || len(j.monitors.Passed()) == 0 {
			panic(p)
		}
		o = smp.Violated
	}()
	return j.Machine.Run()
}

// endsInGarbage turns a refusal that follows from an ignored violation into the end of the
// run, because nothing is wrong with the scenario.
func (j *judges) endsInGarbage(run *Run) {
	if run.Outcome == smp.Refused && j.monitors != nil && len(j.monitors.Passed()) > 0 {
		run.Outcome, run.Err = smp.Violated, nil
	}
}

// wentOn records in a run everything that it has broken.
func (j *judges) wentOn(run *Run) {
	if !j.goesOn() {
		return
	}
	j.broken = append(j.broken[:0], j.monitors.Passed()...)
	if run.Property != nil { // broken by how the run ended, or by the judgement after its end
		j.broken = append(j.broken, properties.Broken{Property: run.Property, Finding: run.Finding,
			Known: j.knows(run.Property, &run.Finding) >= 0})
		run.Property, run.Finding = nil, traces.Finding{}
	}
	for i := range j.broken {
		b := &j.broken[i]
		if b.Ignored = j.Ignored.Has(b.Property); !b.Ignored && !b.Known && run.Property == nil {
			run.Property, run.Finding = b.Property, b.Finding
		}
	}
	if len(j.broken) > 0 && run.Outcome == smp.Passed {
		run.Outcome = smp.Violated
	}
	run.Broken = j.broken
}

// EachBroken calls f for each property that the run has broken and that isn't ignored or known, with
// the properties that were broken before it, apart from known findings.
func (run *Run) EachBroken(f func(p *properties.Property, finding *traces.Finding, before properties.Set)) {
	if run.Broken == nil {
		if run.Property != nil {
			f(run.Property, &run.Finding, 0)
		}
		return
	}
	before := properties.Set(0)
	for i := range run.Broken {
		b := &run.Broken[i]
		switch {
		case b.Known:
			continue
		case !b.Ignored:
			f(b.Property, &b.Finding, before)
		}
		before |= properties.SetOf(b.Property)
	}
}

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
		return k.Property == q.Name && k.Words == words &&
			(k.Place == anyPlace || k.Place == SiteName(j.Scenario, f.Place))
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
