package scenario

import (
	"bytes"
	"fmt"
	"math"
	"slices"

	"kpsim/internal/nearest"
	"kpsim/smp/arch"
	"kpsim/smp/arch/x86"
)

func (c checker) probes() error {
	for i := range c.s.Probes {
		k, p := &c.s.Probes[i], PartOf(TheProbes, i)
		who := fmt.Sprintf("probe %q", k.Name)
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
		for _, h := range []struct {
			what  string
			steps []Step
		}{{" pre", k.Pre}, {" post", k.Post}, {" fault", k.Fault}} {
			if err := c.handler(p, who+h.what, k, h.steps); err != nil {
				return err
			}
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
		return Faultf(p, "%s: kind %d isn't known; it is one of %s", who, k.Kind, nearest.Quoted(probeWords))
	}
	if rest.Fault != nil || rest.Maxactive != 0 || rest.DataSize != 0 || rest.Entry != "" {
		return Faultf(p, "%s: a %v has fields it doesn't use; leave them zero", who, k.Kind)
	}
	return nil
}

func (c checker) labels() error {
	for i := range c.s.Labels {
		l, p := &c.s.Labels[i], PartOf(TheLabels, i)
		who := fmt.Sprintf("label %q", l.Name)
		if err := c.function(p, who, l.Func, l.Offset); err != nil {
			return err
		}
		site := c.s.Text(l.Func)
		if !bytes.HasPrefix(site.Code[l.Offset:], x86.Nop5[:]) {
			return Faultf(p, "%s: %s+%#x isn't a 5-byte nop; a label stands on 0f1f440000", who, l.Func, l.Offset)
		}
		if err := c.function(p, who+" target", l.Target, l.TOff); err != nil {
			return err
		}
		target := c.s.Text(l.Target)
		jump := int64(target.At) + int64(l.TOff) - int64(site.At) - int64(l.Offset) - int64(len(x86.Nop5[:]))
		if jump < math.MinInt32 || jump > math.MaxInt32 {
			return Faultf(p, "%s: %s is too far for a 5-byte jump; place it within 2 GB of %s", who, l.Target, l.Func)
		}
	}
	return nil
}

func (c checker) tasks() error {
	if len(c.s.Tasks) == 0 {
		return Faultf(PartOf(TheTasks, 0), "no tasks, so nothing runs; add task(cpu = 0, ops = [...])")
	}
	for i := range c.s.Tasks {
		t, p := &c.s.Tasks[i], PartOf(TheTasks, i)
		who := fmt.Sprintf("task %q", t.Name)
		if err := c.cpu(p, who, t.CPU); err != nil {
			return err
		}
		if len(t.Ops) == 0 {
			return Faultf(p, "%s has nothing to do; give it ops = [call(f)]", who)
		}
		if len(t.Ops) > MaxOps {
			return Faultf(p, "%s: %d ops are too many; at most %d, and use repeat", who, len(t.Ops), MaxOps)
		}
		if t.Repeat < 1 || t.Repeat > MaxRepeat {
			return Faultf(p, "%s: repeat = %d is out of range; 1 to %d", who, t.Repeat, MaxRepeat)
		}
		if t.Setup < 0 || t.Setup > len(t.Ops) || t.Setup > 0 && t.Repeat > 1 {
			return Faultf(p, "%s: setup = %d is how many of its %d ops are done before all tasks, and a task "+
				"that repeats has none; give 0 to %d", who, t.Setup, len(t.Ops), len(t.Ops))
		}
		for j := range t.Setup {
			if k := t.Ops[j].Kind; k != nil && k.Traits&SetsUp == 0 {
				return Faultf(PartIn(TheTasks, i, j),
					"%s ops[%d]: what sets up registers, unregisters, enables, disables, waits and switches; "+
						"leave %v to what comes after", who, j, t.Ops[j].Kind)
			}
		}
		for j := range t.Ops {
			if err := c.op(PartIn(TheTasks, i, j), fmt.Sprintf("%s ops[%d]", who, j), &t.Ops[j]); err != nil {
				return err
			}
		}
	}
	return nil
}

func (c checker) cpu(p Part, who string, cpu int) error {
	if n := c.s.Machine.CPUs; cpu < 0 || cpu >= n {
		return Faultf(p, "%s: cpu %d isn't there; the machine has cpus = %d, so 0 to %d", who, cpu, n, n-1)
	}
	return nil
}

func (c checker) expect() error {
	e, p := &c.s.Expect, PartOf(TheExpect, 0)
	switch {
	case e.Sometimes && e.Property == "":
		return Faultf(p, "sometimes() names no property; say which is broken")
	case e.Sometimes && e.Canary != "":
		return Faultf(p, "sometimes() has no canary; that is for never()")
	case !e.Sometimes && e.Property != "":
		return Faultf(p, "never() names no property; it means all of them")
	case e.Property != "":
		return checkName(p, "property", e.Property)
	case e.Canary != "":
		return checkName(p, "mutant", e.Canary)
	}
	return nil
}

// CheckNames checks that the property and the canary are among the given names. It is apart
// from Check, which doesn't know the names.
func (e Expect) CheckNames(properties, mutants []string) error {
	p := PartOf(TheExpect, 0)
	if e.Property != "" && !slices.Contains(properties, e.Property) {
		if slices.Contains(mutants, e.Property) {
			return Faultf(p, "sometimes(): %q is a mutant, not a property; name the property that breaks, or "+
				"plant it with --mutant", e.Property)
		}
		return Faultf(p, "sometimes(): no property %q; %s", e.Property, nearest.OrAll(e.Property, properties))
	}
	if e.Canary != "" && !slices.Contains(mutants, e.Canary) {
		if slices.Contains(properties, e.Canary) {
			return Faultf(p, "never(): %q is a property, and never() takes a mutant, its canary; never() alone "+
				"expects every property to hold", e.Canary)
		}
		return Faultf(p, "never(): no mutant %q; %s", e.Canary, nearest.OrAll(e.Canary, mutants))
	}
	return nil
}
