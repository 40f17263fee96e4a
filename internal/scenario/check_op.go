package scenario

import (
	"math"

	"kpsim/internal/nearest"
	"kpsim/kprobes/kpev"
)

// op checks an operation of a task, by its row.
func (c checker) op(p Part, who string, op *Op) error {
	k := op.Kind
	if k == nil {
		return Faultf(p, "%s: it is no operation; give it a Kind of package act", who)
	}
	rest := *op // what remains without the fields that its parameters use
	rest.Kind = nil
	for _, a := range k.Params {
		row := &params[a.Kind]
		row.takes(&rest)
		if a.Kind == ParamPart {
			if err := c.named(p, who, a.Of, op.Target); err != nil {
				return err
			}
		}
		if row.check == nil {
			continue
		}
		if err := row.check(c, p, who, op); err != nil {
			return err
		}
	}
	if k.Check != nil {
		if says := k.Check(c.s, op); says != "" {
			return Faultf(p, "%s: %s", who, says)
		}
	}
	if rest.Target != "" {
		return Faultf(p, "%s: %s has no target; leave %q out", who, k, op.Target)
	}
	if k.Setting != "" {
		if err := c.has(p, who, k.What, k.Setting, &c.s.Machine); err != nil {
			return err
		}
	}
	if len(rest.Args) > 0 || rest.Changed || rest.Checked || rest.Returns != 0 || rest.Bits != 0 || rest.Offset != 0 ||
		len(rest.Bytes) > 0 || rest.On || rest.Targets != nil || rest.CPU != 0 || rest.Fails != 0 ||
		rest.Counts != [3]int{} || !rest.Hand.none() || rest.User != (User{}) {
		return Faultf(p, "%s: %s takes no arguments of a call; leave them out", who, k)
	}
	return nil
}

// params has a row for each kind of parameter: the fields of Op that hold it, and a check of
// their values.
var params = [...]struct {
	takes func(op *Op)
	check func(c checker, p Part, who string, op *Op) error
}{
	ParamPart:      {takesTarget, nil}, // op checks it
	ParamParts:     {takesTargets, checker.array},
	ParamFunc:      {takesTarget, checker.whole},
	ParamInsn:      {func(op *Op) { op.Target, op.Offset = "", 0 }, checker.breakpoint},
	ParamData:      {func(op *Op) { op.Target, op.Offset = "", 0 }, checker.memory},
	ParamBytes:     {func(op *Op) { op.Bytes = nil }, nil}, // memory has checked it
	ParamFuncs:     {takesTarget, checker.whole},
	ParamIntos:     {takesTargets, checker.redirected},
	ParamInto:      {takesTargets, checker.redirected},
	ParamCallee:    {takesTargets, checker.callee},
	ParamOn:        {func(op *Op) { op.On = false }, nil},
	ParamCPU:       {func(op *Op) { op.CPU = 0 }, checker.goes},
	ParamDownFails: {func(op *Op) { op.Fails = 0 }, failing(true)},
	ParamUpFails:   {func(op *Op) { op.Fails = 0 }, failing(false)},
	ParamArgs:      {func(op *Op) { op.Args = nil }, checker.args},
	ParamChanged:   {func(op *Op) { op.Changed = false }, nil},
	ParamReturns:   {func(op *Op) { op.Checked, op.Returns, op.Or = false, 0, nil }, checker.returns},
	ParamBits:      {func(op *Op) { op.Bits = 0 }, nil}, // returns has checked it
	ParamErrno:     {func(op *Op) { op.Checked, op.Returns = false, 0 }, checker.errno},
	ParamPlace:     {func(op *Op) { op.Target, op.Offset = "", 0 }, checker.anywhere},
	ParamWritten:   {func(op *Op) { op.Form, op.Bytes, op.Targets, op.Into = 0, nil, nil, 0 }, checker.written},
	ParamBy:        {func(op *Op) { op.By = 0 }, checker.by},
	ParamOld:       {func(op *Op) { op.Old = nil }, checker.old},
	ParamText:      {func(op *Op) { op.Bytes = nil }, checker.standing},
	ParamBlock:     {takesTargets, checker.block},
	ParamSize:      {func(op *Op) { op.Size = 0 }, checker.spanned},
	ParamStacks:    {func(op *Op) { op.On = false }, nil},
	ParamCPUs:      {func(op *Op) { op.CPUs = 0 }, checker.cpus},
	ParamAwaited:   {func(op *Op) { op.Awaited = 0 }, checker.awaited},
	ParamGoto:      {func(op *Op) { op.Targets, op.Into = nil, 0 }, checker.goesTo},
	ParamRetry:     {func(op *Op) { op.On = false }, nil},
	ParamStopped:   {func(op *Op) { op.On = false }, stoppedWrite},
	ParamCalls:     {func(op *Op) { op.Calls = "" }, checker.calls},
	ParamLinks:     {func(op *Op) { op.Links = false }, links},
	ParamProbed:    {func(op *Op) { op.On = false }, nil},
	ParamNop:       {func(op *Op) { op.At = "" }, ofNop},
	ParamProcess:   {func(op *Op) { op.Process = 0 }, ofProcess},
	ParamRecurses:  {func(op *Op) { op.Recurses = 0 }, recursion},
	ParamLeaves:    {func(op *Op) { op.Leaves = 0 }, longjmp},
	ParamRet:       {func(op *Op) { op.Ret = "" }, returnHandler},
	ParamSkips:     {func(op *Op) { op.Skips = 0 }, skipped},
	ParamRemoves:   {func(op *Op) { op.Removes = false }, nil},
	ParamCount:     {func(op *Op) { op.Counts = [3]int{} }, checker.counts},
}

func takesTarget(op *Op)  { op.Target = "" }
func takesTargets(op *Op) { op.Targets = nil }

// names returns the names of a list of parts.
func names[T any](list []T, name func(*T) string) (words []string) {
	for i := range list {
		words = append(words, name(&list[i]))
	}
	return words
}

// whole checks the function that an operation is about.
func (c checker) whole(p Part, who string, op *Op) error { return c.function(p, who, op.Target, 0) }

// named checks that a list has a part of that name.
func (c checker) named(p Part, who string, l *List, name string) error {
	for i := range l.Len(c.s) {
		if l.Name(l.At(c.s, i)) == name {
			return nil
		}
	}
	if l.Unknown != "" {
		return Faultf(p, "%s: no %s %q; %s", who, l.What, name, l.Unknown)
	}
	return Faultf(p, "%s: no %s %q; %s", who, l.What, name, nearest.OrAll(name, l.Names(c.s)))
}

// array checks an array of probes.
func (c checker) array(p Part, who string, op *Op) error {
	for _, name := range op.Targets {
		if err := c.named(p, who, TheProbes, name); err != nil {
			return err
		}
		if k := c.s.Probe(name); k.Kind != c.s.Probe(op.Targets[0]).Kind || k.Kind == ProbeJprobe {
			return Faultf(p, "%s: probe %q is a %v; an array is of kprobes, or of kretprobes", who, name, k.Kind)
		}
	}
	return nil
}

// memory checks the place that expect reads.
func (c checker) memory(p Part, who string, op *Op) error {
	var names []string
	for i := range c.s.Datas {
		d := &c.s.Datas[i]
		if d.Name != op.Target {
			names = append(names, d.Name)
			continue
		}
		if n := len(op.Bytes); n == 0 || op.Offset < 0 || op.Offset > len(d.Bytes)-n {
			return Faultf(p, "%s: %d bytes at offset %d aren't in %s; it has %d", who, n, op.Offset, d.Name,
				len(d.Bytes))
		}
		return nil
	}
	return Faultf(p, "%s: no data %q; %s", who, op.Target, nearest.OrAll(op.Target, names))
}

// callee checks the new target of a static call.
func (c checker) callee(p Part, who string, op *Op) error {
	if len(op.Targets) == 0 {
		return nil
	}
	return c.function(p, who, op.Targets[0], 0)
}

// goes checks a CPU that goes offline or comes online.
func (c checker) goes(p Part, who string, op *Op) error {
	if op.CPU < 1 || op.CPU >= c.s.Machine.CPUs {
		return Faultf(p, "%s: %s(%d): the CPUs that go and come are 1 to %d; the first one stays, as on x86",
			who, op.Kind, op.CPU, c.s.Machine.CPUs-1)
	}
	return nil
}

// args checks that a call's arguments are all in registers.
func (c checker) args(p Part, who string, op *Op) error {
	if most := len(c.s.Machine.Processor().Args); len(op.Args) > most {
		return Faultf(p, "%s: %d arguments are too many; a call has at most %d, all in registers", who, len(op.Args),
			most)
	}
	return nil
}

// returns checks the expected result of a call.
func (c checker) returns(p Part, who string, op *Op) error {
	for _, v := range append([]uint64{op.Returns}, op.Or...) {
		if op.Checked && (op.Bits < 1 || op.Bits > 64 || op.Bits < 64 && v>>op.Bits != 0) {
			return Faultf(p, "%s: %#x isn't a result of %d bits; give bits = 64, or what fits", who, v, op.Bits)
		}
	}
	if !op.Checked && (op.Returns != 0 || op.Bits != 0 || op.Or != nil) {
		return Faultf(p, "%s: a result that isn't checked; leave it zero", who)
	}
	return nil
}

// counts checks how often a probe is to have been hit.
func (c checker) counts(p Part, who string, op *Op) error {
	if op.Counts == [3]int{} {
		return Faultf(p, "%s: %s compares nothing; give pre = 1, post = or missed =", who, op.Kind)
	}
	for i, n := range op.Counts {
		if n < 0 || n > math.MaxInt32 {
			return Faultf(p, "%s: %s = %d is no count; give 0 or more", who, CountWords[i], n-1)
		}
	}
	return nil
}

// errno checks the expected answer of an operation.
func (c checker) errno(p Part, who string, op *Op) error {
	if !op.Checked && op.Returns != 0 || op.Returns != 0 && kpev.ErrnoName(op.Returns) == "" {
		return Faultf(p, "%s: errno %d isn't one that %s returns; leave it out", who, op.Returns, op.Kind)
	}
	return nil
}
