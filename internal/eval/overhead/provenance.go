package overhead

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"kpsim/kprobes"
	"kpsim/smp/cycles"
	"kpsim/smp/kapi"
)

// A Source says where a number comes from.
type Source uint8

// The sources.
const (
	Fitted  Source = iota // to the figures
	Typical               // of such processors, by the literature; not measured on this one
	Counted               // in the code, or in the runs
	Assumed
)

var sourceNames = [...]string{"fitted", "typical", "counted", "assumed"}

// String returns the source in a word.
func (s Source) String() string { return sourceNames[s] }

// A Term is a part of an event's cost: a count of something times the cycles of each.
type Term struct {
	Of     string
	Count  float64
	Counts Source
	Each   float64 // cycles
	Prices Source
	Mark   string // a remark for a fitted number that is at its bound or below 0, otherwise ""
}

// The purposes of cycles.
const (
	ofException   = "exception and return"
	ofStep        = "single step"
	ofInstruction = "instruction"
	ofIST         = "way by an IST stack"
	ofLock        = "locked instruction"
	ofBlock       = "block copied"
)

// Cycles is the sum.
func (t *Term) Cycles() float64 { return t.Count * t.Each }

// Typical returns the cycles from the literature.
func (m *Machine) Typical() (list []Term) {
	for _, t := range []Term{
		{Of: ofLock, Each: m.lock}, {Of: "mispredicted return", Each: m.mispredict}, {Of: ofBlock, Each: m.block},
		{Of: "flags", Each: m.flags}, {Of: "flags of a detour", Each: m.typical.detour},
	} {
		if t.Each != 0 {
			t.Count, t.Counts, t.Prices = 1, Counted, Typical
			list = append(list, t)
		}
	}
	return list
}

// Fitted returns the numbers that are fitted of the core of a machine.
func (o *Model) Fitted(m *Machine) (list []Term) {
	c, mark := o.Cores[m.core], o.marks(m.core)
	list = []Term{
		{Of: ofException, Each: c.Exception, Mark: mark[0]}, {Of: ofStep, Each: c.Step, Mark: mark[1]},
		{Of: ofInstruction, Each: c.Instruction, Mark: mark[2]},
	}
	switch {
	case o.apart(m):
		list = append(list, Term{Of: ofIST, Each: c.IST, Mark: mark[3]})
	case m.ist:
		list[0].Of += ", by way of an IST stack"
	}
	for i := range list {
		list[i].Count, list[i].Counts, list[i].Prices = 1, Counted, Fitted
	}
	return list
}

// marks says which numbers of a core are at their bound of 0, and their values without it, and which the figures
// don't distinguish from others.
func (o *Model) marks(core string) (mark [4]string) {
	c := o.Cores[core]
	rows, want := coreRows(of(o.Samples, func(s *sample) bool { return s.Machine.core == core }))
	set := 0
	for k := range mark {
		if slices.ContainsFunc(rows, func(r []float64) bool { return r[k] != 0 }) {
			set |= 1 << k
		}
	}
	free, ok := solve(rows, want, set)
	for k, v := range c.numbers() {
		switch {
		case *v != 0 || set>>k&1 == 0:
		case ok && free[k] < 0:
			mark[k] = fmt.Sprintf("at its bound of 0: %.2f without it", free[k])
		case ok:
			mark[k] = "at its bound of 0"
		default:
			mark[k] = "0: the figures don't tell it apart"
		}
	}
	return mark
}

// correction is an event's calibration; below 0 it reduces the mechanistic cost.
func (o *Model) correction(m *Machine, k int) Term {
	e, more := m.corrected()[k], o.More[m.ID()][k]
	core := o.Cores[m.core]
	t := Term{Of: "calibration", Count: 1, Counts: Counted, Each: more, Prices: Fitted}
	switch cost := core.work(m, e) + more; {
	case more < 0 && cost < 1e-6:
		t.Mark = fmt.Sprintf("the cost is at its bound of 0: all of the mechanistic %.2f is taken off", -more)
	case more < 0:
		t.Mark = fmt.Sprintf("below 0: taken off the mechanistic cost, which leaves %.2f", cost)
	}
	return t
}

// apart reports whether the figures distinguish the cost of an IST stack from the exception itself: those of another
// machine with this core do.
func (o *Model) apart(m *Machine) bool {
	return m.ist && len(of(o.Samples, func(s *sample) bool { return s.Machine.core == m.core && !s.Machine.ist })) > 0
}

// Terms returns the parts of an event's cost on a machine, as Profile adds them.
func (o *Model) Terms(m *Machine, t Tier, e cycles.Event) (list []Term) {
	add := func(of string, count float64, counts Source, each float64, prices Source) {
		if count != 0 && (each != 0 || prices == Fitted) {
			list = append(list, Term{Of: of, Count: count, Counts: counts, Each: each, Prices: prices})
		}
	}
	if isUnfigured(e) {
		add("nominal", 1, Assumed, float64(cycles.Nominal()[e])/cycles.Unit, Assumed)
		return list
	}
	core, mark := o.Cores[m.core], o.marks(m.core)
	shared := Assumed // only the sum over a hit was counted
	switch e {
	case cycles.Instruction:
		shared = Counted
	case cycles.Breakpoint, cycles.Debug:
		if m.code != &codePower { // whose code wasn't counted: the x86_64 code is used
			shared = Counted
		}
	}
	add(ofInstruction, m.code.instructions(e), shared, core.Instruction, Fitted)
	fixed := m.fixed(e)
	switch e {
	case cycles.Work(kprobes.WorkStep), cycles.Work(kprobes.WorkReturn), cycles.Work(kapi.WorkUnlock):
		add(ofLock, 1, Assumed, fixed, Typical)
	case cycles.Work(kapi.WorkLock):
		add(ofLock, 1, Counted, fixed, Typical)
	case cycles.Work(kapi.WorkSave):
		add(ofBlock, m.saved(), Assumed, fixed/m.saved(), Typical)
	case cycles.Work(kapi.WorkCopy):
		add(ofBlock, 1.0/64, Assumed, fixed*64, Typical)
	default:
		add(e.String(), 1, Counted, fixed, Typical)
	}
	switch e {
	case cycles.Breakpoint, cycles.Debug, cycles.Trap:
		add(ofException, delivered, Assumed, core.Exception, Fitted)
		if o.apart(m) {
			add(ofIST, 1, Counted, core.IST, Fitted)
		}
	case cycles.Iret:
		add(ofException, 1-delivered, Assumed, core.Exception, Fitted)
	}
	if e == cycles.Debug {
		add(ofStep, 1, Counted, core.Step, Fitted)
	}
	for i, k := range list {
		if j := slices.Index([]string{ofException, ofStep, ofInstruction, ofIST}, k.Of); j >= 0 {
			list[i].Mark = mark[j]
		}
	}
	if t == Calibrated {
		corrected := m.corrected()
		if k := slices.Index(corrected[:], e); k >= 0 {
			list = append(list, o.correction(m, k))
		}
	}
	if o.InFigures(m, e) == 0 { // no figure depends on it
		for i := range list {
			list[i].Counts = Assumed
		}
	}
	return list
}

// Calibration returns a machine's calibration: cycles added to, or removed from, events.
func (o *Model) Calibration(m *Machine) (list []Term) {
	for k, e := range m.corrected() {
		t := o.correction(m, k)
		t.Of = e.String()
		list = append(list, t)
	}
	return list
}

// InFigures returns in how many of a machine's figures an event happens.
func (o *Model) InFigures(m *Machine, e cycles.Event) (n int) {
	for _, s := range o.figuresOf(m) {
		if s.events[e] != 0 {
			n++
		}
	}
	return n
}

// Note writes in a line where a cost is from.
func (o *Model) Note(m *Machine, t Tier, e cycles.Event) string {
	terms := o.Terms(m, t, e)
	var parts []string
	for i := range terms {
		parts = append(parts, terms[i].note())
	}
	text := strings.Join(parts, " + ")
	if len(terms) == 0 {
		text = "assumed nothing"
	}
	if o.InFigures(m, e) == 0 {
		text += "; no figure has one"
	}
	return text
}

// note says where the cycles come from, and how many times they count.
func (t *Term) note() string {
	text := t.Prices.String() + " " + t.Of
	switch {
	case t.Count != 1:
		text += fmt.Sprintf(" × %s (%s)", short(t.Count), t.Counts)
	case t.Counts == Assumed && t.Prices != Assumed:
		text += " × 1 (assumed)"
	}
	if t.Mark != "" {
		text += " (" + t.Mark + ")"
	}
	return text
}

func short(v float64) string {
	return strings.TrimSuffix(strings.TrimRight(fmt.Sprintf("%.3f", v), "0"), ".")
}

// unfigured are the events that no hit of one CPU has. No figure tells what they cost, so fits leave them at their
// nominal costs.
var unfigured = []struct {
	event cycles.Event
	says  string
}{
	{cycles.Switch, "a switch of tasks"},
	{cycles.SyncCore, "a serialising instruction"},
	{cycles.SendIPI, "sending an IPI"},
	{cycles.Line, "getting a line of cache that another CPU has stored to"},
}

// isUnfigured reports whether an event is one of these.
func isUnfigured(e cycles.Event) bool {
	for i := range unfigured {
		if unfigured[i].event == e {
			return true
		}
	}
	return false
}

// NominalNote is the comment of a cost in a nominal profile.
const NominalNote = "assumed, a round number"

// fittedNominal is what Note says of an event that no figure has.
const fittedNominal = "assumed nominal; no figure has one"

// From says where a cost is from: the comment in its line. A comment that kpsim wrote for the nominal cost is dropped
// once the cost is another one: the user has changed the number and not the comment.
func (u *UserProfile) From(e cycles.Event) string {
	note := u.Notes[e]
	if u.Costs[e] != cycles.Nominal()[e] && (note == NominalNote || note == fittedNominal) {
		note = ""
	}
	return cmp.Or(note, GivenInProfile)
}

// GivenInProfile is what From says of a cost without a comment.
const GivenInProfile = "given in the profile"

// AssumedSource reports whether what From or Model.Note says is that a cost is assumed.
func AssumedSource(from string) bool {
	return strings.HasPrefix(strings.ToLower(from), Assumed.String())
}

// Unfigured says in one or two sentences what events cost that no figure has: which costs are the profile's own, with
// values and comments, and which are assumed. u is nil on a machine of the documents, where all of them are assumed.
// Without events it is of all such events.
func Unfigured(u *UserProfile, events ...cycles.Event) string {
	var own, assumed []string
	for _, of := range unfigured {
		e := of.event
		if len(events) > 0 && !slices.Contains(events, e) {
			continue
		}
		cost := cycles.Nominal()[e]
		if u != nil {
			cost = u.Costs[e]
		}
		item := fmt.Sprintf("%s %s cycles", of.says, CyclesOf(cost))
		switch {
		case u == nil || AssumedSource(u.From(e)):
			assumed = append(assumed, item)
		case u.From(e) == GivenInProfile:
			own = append(own, item)
		default:
			own = append(own, fmt.Sprintf("%s (%s)", item, u.From(e)))
		}
	}
	var says []string
	if own != nil {
		says = append(says, "By the profile: "+strings.Join(own, ", ")+".")
	}
	switch {
	case assumed == nil:
	case u != nil:
		says = append(says, "Assumed, as the profile's comments say: "+strings.Join(assumed, ", ")+".")
	default:
		says = append(says, "Assumed, as no figure has one: "+strings.Join(assumed, ", ")+".")
	}
	return strings.Join(says, " ")
}

// CyclesOf writes a cost in cycles, with as many decimals as it has, three at most.
func CyclesOf(c cycles.Cost) string {
	return short(float64(c) / cycles.Unit)
}
