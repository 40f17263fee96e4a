package scenario

import (
	"fmt"

	"kpsim/engine"
	"kpsim/internal/nearest"
	"kpsim/kprobes/kpev"
	"kpsim/smp/arch"
)

// ProbeKind is the kind of a probe, as engines have it.
type ProbeKind = engine.Kind

// The constants are the kinds of probe.
const (
	ProbeKprobe    = engine.Kprobe
	ProbeKretprobe = engine.Kretprobe // Pre is its entry_handler, Post its handler
	ProbeJprobe    = engine.Jprobe    // Entry, or Pre without it, runs with the function's arguments
)

// Probe is a probe on a function (plus offset). Handlers are data; a nil one means no handler.
type Probe struct {
	Name      string
	Kind      ProbeKind
	Func      string // "": Symbol alone gives the place
	Offset    int
	Symbol    string // the engine gets the place by this name, which need not exist; "": by the address
	Pre       []Step
	Post      []Step
	Fault     []Step // for a kprobe
	Disabled  bool   // it is registered disabled
	Maxactive int    // for a kretprobe; 0 or less: the default
	DataSize  int    // for a kretprobe: bytes of private data per call
	Entry     string // for a jprobe: the function
}

// handlersOf lists the handlers that each kind of probe may have, in the words of events. The
// first one is that of a hit.
var handlersOf = [...][]uint64{
	ProbeKprobe:    {kpev.Pre, kpev.Post, kpev.Fault},
	ProbeKretprobe: {kpev.Return, kpev.Entry},
	ProbeJprobe:    {kpev.Jump},
}

// Which returns the handlers that a probe may have, in the words of events: first that of a hit.
func (k *Probe) Which() []uint64 { return handlersOf[k.Kind] }

// Steps returns the steps of a handler, nil if there is none.
func (k *Probe) Steps(which uint64) []Step {
	switch which {
	case kpev.Post, kpev.Return:
		return k.Post
	case kpev.Fault:
		return k.Fault
	}
	return k.Pre // kpev.Pre, Entry, Jump
}

// Handlers returns all handlers of a probe.
func (k *Probe) Handlers() []*[]Step { return []*[]Step{&k.Pre, &k.Post, &k.Fault} }

// TheProbes is the row of probes.
var TheProbes = list(func(s *Scenario) *[]Probe { return &s.Probes }, checker.checkProbe, List{
	What: "probe", Many: "probes", Most: MaxProbes, Counted: "probe", Space: "probe", Given: true,
	Paragraph: InProbes, touches: touches(func(s *Scenario, k *Probe) Touches { return k.touches(s) }),
	Makers: []*Maker{
		probeMaker(ProbeKprobe, Maker{
			Params: []PartParam{
				offset,
				handlerOf("pre", "[count()]", func(k *Probe) any { return &k.Pre }),
				handlerOf("post", "None", func(k *Probe) any { return &k.Post }),
				handlerOf("fault", "None", func(k *Probe) any { return &k.Fault }),
				symbol, disabled,
			},
			Says: "a probe at `at + offset`, not yet registered. `pre` runs before the probed instruction, `post` " +
				"after it; each is a list of steps, `None` is no handler. `fault` runs when a handler or the " +
				"copied instruction faults (2.6, 4.15). `symbol`: a name that the kernel looks up, instead of `at` " +
				"or, as a mistake that it must refuse, beside it. `disabled`: it is registered disabled",
			Printed: []string{"name", "at", "pre", "post", "fault", "symbol", "offset", "disabled"},
		}),
		probeMaker(ProbeKretprobe, Maker{
			Params: []PartParam{
				handlerOf("handler", "[count()]", func(k *Probe) any { return &k.Post }),
				handlerOf("entry", "None", func(k *Probe) any { return &k.Pre }),
				param("maxactive", PartNumber, func(k *Probe) any { return &k.Maxactive }).or("0"),
				param("data_size", PartNumber, func(k *Probe) any { return &k.DataSize }).or("0"),
				symbol, offset, disabled,
			},
			Says: "a return probe: `handler` runs where a call has returned, `entry` where it begins; `maxactive` " +
				"calls at a time are followed (0: the edition's default), each with `data_size` bytes of private " +
				"data for the two handlers. 2.6 has neither `entry` nor `data_size`",
		}),
		probeMaker(ProbeJprobe, Maker{
			Params: []PartParam{
				param("entry", PartEntry, func(k *Probe) any { return k }).or("None"),
				symbol, offset, disabled,
			},
			Says: "a jprobe (2.6): `entry` runs first, with the arguments of the function at `at`. It is a " +
				"function that ends in `jprobe_return`, such as `stub(\"e\", calls = \"jprobe_return\")`, or a " +
				"list of steps",
		}),
	},
})

// Parameters of all kinds of probe.
var (
	offset = param("offset", PartOffset, func(k *Probe) any { return Place{&k.Func, &k.Offset} }).or("0")
	symbol = param("symbol", PartSymbol, func(k *Probe) any { return &k.Symbol }).or("None")

	disabled = param("disabled", PartSwitch, func(k *Probe) any { return &k.Disabled }).or("False")
)

func handlerOf(name, otherwise string, at func(k *Probe) any) PartParam {
	return param(name, PartSteps, at).or(otherwise)
}

// probeMaker completes the row of the function that makes probes of a kind.
func probeMaker(kind ProbeKind, m Maker) *Maker {
	m.Word = kind.String()
	m.Params = append([]PartParam{
		param("name", PartName, func(k *Probe) any { return &k.Name }),
		param("at", PartPlace, func(k *Probe) any { return Place{&k.Func, &k.Offset} }).or("None"),
	}, m.Params...)
	m.Is = on(func(k *Probe) bool { return k.Kind == kind })
	m.Init = func(x any) { x.(*Probe).Kind = kind }
	m.Lacks = on(func(k *Probe) string {
		if k.Symbol != "" {
			return ""
		}
		return fmt.Sprintf("nothing says where %q is; give at = f, or symbol = \"f\"", k.Name)
	})
	return &m
}

func (c checker) checkProbe(p Part, k *Probe) error {
	who := p.who(k.Name)
	if f, known := c.s.Place(k); known || k.Symbol == "" {
		if err := c.function(p, who, f, k.Offset); err != nil {
			return err
		}
	} else if err := c.outside(p, who, k); err != nil {
		return err
	}
	if k.Symbol != "" {
		if err := checkName(p, "symbol", k.Symbol); err != nil {
			return err
		}
	}
	if err := c.kind(p, who, k); err != nil {
		return err
	}
	pre, post := " pre", " post"
	if k.Kind != ProbeKprobe {
		pre, post = " entry", " handler"
	}
	for _, h := range []struct {
		what  string
		steps []Step
	}{{pre, k.Pre}, {post, k.Post}, {" fault", k.Fault}} {
		if err := c.handler(p, who+h.what, k, h.steps); err != nil {
			return err
		}
	}
	return nil
}

// MaxBehind bounds the offset of a probe that names a function and lies after its end. An
// engine refuses such a probe.
const MaxBehind = 1 << 16

// outside checks that a probe after the end of the function that it names by a symbol is in no
// other function.
func (c checker) outside(p Part, who string, k *Probe) error {
	t := c.s.Text(k.Symbol)
	if t == nil {
		return nil
	}
	if k.Offset > MaxBehind {
		return Faultf(p, "%s: offset %d of %s is too much; %d at most", who, k.Offset, t.Name, MaxBehind)
	}
	at := t.At + arch.Addr(k.Offset)
	for i := range c.s.Texts {
		if o := &c.s.Texts[i]; at >= o.At && at < o.At+arch.Addr(len(o.Code)) {
			return Faultf(p, "%s: %s+%#x is %s+%#x; give at = that", who, t.Name, k.Offset, o.Name, int(at-o.At))
		}
	}
	return nil
}

// MaxRet bounds what a return probe allocates: calls followed, and bytes of each.
const MaxRet = 4096

// MaxRetData is the number of bytes that may be asked for each call. It exceeds MaxRet, so
// that an engine can refuse it.
const MaxRetData = MaxRet + 8

// kind checks settings that only probes of one kind have, and those that some editions lack.
func (c checker) kind(p Part, who string, k *Probe) error {
	m := &c.s.Machine
	if k.Disabled {
		if err := c.has(p, who, "disabled probes", "batches", m); err != nil {
			return err
		}
	}
	if k.Fault != nil {
		if err := c.has(p, who, "fault handlers", "fault_handlers", m); err != nil {
			return err
		}
	}
	rest := *k
	switch k.Kind {
	case ProbeKprobe:
		rest.Fault = nil
	case ProbeKretprobe:
		if k.Maxactive > MaxRet || k.Maxactive < -MaxRet || k.DataSize < 0 || k.DataSize > MaxRetData {
			return Faultf(p, "%s: maxactive = %d, data_size = %d are out of range; at most %d", who, k.Maxactive,
				k.DataSize, MaxRet)
		}
		if k.Pre != nil || k.DataSize > 0 {
			if err := c.has(p, who, "entry handlers and private data of return probes", "batches", m); err != nil {
				return err
			}
		}
		rest.Maxactive, rest.DataSize = 0, 0
	case ProbeJprobe:
		if err := c.has(p, who, "jprobes", "jprobes", m); err != nil {
			return err
		}
		// kernels 3.7 to 4.14 had both: the handler's way back isn't modelled
		if m.Kernel.Ftrace && len(c.s.Sites) > 0 {
			return Faultf(p, "%s: jprobes beside sites of ftrace aren't modelled; leave the sites out, or say "+
				"machine(ftrace = False)", who)
		}
		if k.Post != nil || k.Pre != nil && k.Entry != "" {
			return Faultf(p, "%s: a jprobe has no handler but its entry, which is a function or steps; leave "+
				"the others out", who)
		}
		if k.Pre == nil {
			if err := c.function(p, who+" entry", k.Entry, 0); err != nil {
				return err
			}
		}
		rest.Entry = ""
	default:
		return Faultf(p, "%s: kind %d isn't known; it is one of %s", who, k.Kind, nearest.Quoted(engine.KindWords))
	}
	if rest.Fault != nil || rest.Maxactive != 0 || rest.DataSize != 0 || rest.Entry != "" {
		return Faultf(p, "%s: a %v has fields it doesn't use; leave them zero", who, k.Kind)
	}
	return nil
}
