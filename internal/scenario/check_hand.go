package scenario

import (
	"encoding/binary"
	"slices"

	"kpsim/internal/nearest"
	"kpsim/smp/arch"
)

// none reports whether an operation uses none of it.
func (h *Hand) none() bool {
	return h.Form == 0 && h.Into == 0 && h.By == 0 && h.Old == nil && h.Size == 0 && h.CPUs == 0 && h.Awaited == 0 &&
		h.Calls == "" && !h.Links
}

// Encode returns the bytes that an operation writes at an address, for a processor: of a branch or an address, to
// another one. nil: what a block of data holds then. ok false: that is out of reach.
func (op *Op) Encode(a *arch.Arch, at, to arch.Addr) (b []byte, ok bool) {
	var code arch.Code
	switch op.Form {
	case FormBytes:
		return op.Bytes, true
	case FormSaved:
		return nil, true
	case FormAddress:
		return binary.LittleEndian.AppendUint64(nil, uint64(to))[:a.Word], true
	case FormCall:
		code, ok = a.Call(at, to)
	case FormJump:
		code, ok = a.Jump(at, to)
	case FormDisplacement:
		code, ok = a.Jump(at-1, to)
		return code.Bytes()[1:], ok
	}
	return code.Bytes(), ok
}

// Written returns how many bytes a write stores.
func (s *Scenario) Written(op *Op) int {
	switch op.Form {
	case FormBytes:
		return len(op.Bytes)
	case FormDisplacement:
		return s.Machine.Processor().BranchLen - 1
	case FormAddress:
		return s.Machine.Processor().Word
	case FormSaved:
		for i := range s.Datas {
			if d := &s.Datas[i]; len(op.Targets) > 0 && d.Name == op.Targets[0] {
				return len(d.Bytes)
			}
		}
		return 0
	}
	return s.Machine.Processor().BranchLen
}

// anywhere checks a place in a function, which need be no instruction's.
func (c checker) anywhere(p Part, who string, op *Op) error {
	if err := c.function(p, who, op.Target, 0); err != nil {
		return err
	}
	if n := len(c.s.Text(op.Target).Code); op.Offset < 0 || op.Offset >= n {
		return Faultf(p, "%s: offset %d isn't in %s, which has %d bytes; give 0 to %d", who, op.Offset, op.Target, n,
			n-1)
	}
	return nil
}

// fits checks that n bytes at the place lie in its function.
func (c checker) fits(p Part, who string, op *Op, n int) error {
	if size := len(c.s.Text(op.Target).Code); n < 1 || op.Offset+n > size {
		return Faultf(p, "%s: %d bytes at %s+%#x aren't in it; it has %d", who, n, op.Target, op.Offset, size)
	}
	return nil
}

// written checks the bytes of a write.
func (c checker) written(p Part, who string, op *Op) error {
	switch op.Form {
	case FormBytes:
		if len(op.Targets) > 0 || op.Into != 0 {
			return Faultf(p, "%s: %s takes bytes, or a place; leave one of them out", who, op.Kind)
		}
	case FormSaved:
		if err := c.block(p, who, op); err != nil {
			return err
		}
	case FormJump, FormCall, FormDisplacement, FormAddress:
		if len(op.Bytes) > 0 {
			return Faultf(p, "%s: %s takes bytes, or a place; leave one of them out", who, op.Kind)
		}
		if err := c.placed(p, who, op); err != nil {
			return err
		}
	default:
		return Faultf(p, "%s: form %d isn't known; it is one of %s", who, op.Form, nearest.Quoted(FormWords[1:]))
	}
	if op.Form == FormDisplacement {
		if on := &c.s.Machine; on.Processor().Align > 1 {
			return Faultf(p, "%s: the displacement of a branch is no part of %s that is stored alone; write "+
				"jump_to or call_to", who, on.Arch)
		}
		if op.Offset == 0 {
			return Faultf(p, "%s: a displacement follows the first byte of its jump; write(%s + 1, …)", who,
				op.Target)
		}
	}
	return c.fits(p, who, op, c.s.Written(op))
}

// placed checks a place that is jumped to, or whose address is taken.
func (c checker) placed(p Part, who string, op *Op) error {
	if len(op.Targets) != 1 {
		return Faultf(p, "%s: %s has one place to go to; give one", who, op.Kind)
	}
	to := Op{Kind: op.Kind, Target: op.Targets[0], Offset: op.Into}
	return c.anywhere(p, who, &to)
}

// by checks how many bytes are stored at once.
func (c checker) by(p Part, who string, op *Op) error {
	if !slices.Contains([]int{0, 1, 2, 4, 8, 16}, op.By) {
		return Faultf(p, "%s: by = %d is no size of a store; give 1, 2, 4, 8 or 16, or leave it out, for memcpy", who,
			op.By)
	}
	return nil
}

// stoppedWrite checks that a write under stop_machine is no compare-and-swap.
func stoppedWrite(c checker, p Part, who string, op *Op) error {
	if op.On && op.Old != nil {
		return Faultf(p, "%s: a compare-and-swap needs no stopped machine; leave old or stopped out", who)
	}
	return nil
}

// old checks the bytes that a compare-and-swap expects.
func (c checker) old(p Part, who string, op *Op) error {
	n := c.s.Written(op)
	at := int(c.s.Text(op.Target).At) + op.Offset
	switch {
	case op.Old == nil:
		return nil
	case len(op.Old) != n:
		return Faultf(p, "%s: old has %d bytes, and %d are stored; give as many", who, len(op.Old), n)
	case op.By != 0:
		return Faultf(p, "%s: a compare-and-swap is one store; leave by out", who)
	case at%8+n > 8 && (at%16 != 0 || n != 16):
		return Faultf(p, "%s: %d bytes at %s+%#x aren't within 8 aligned bytes, nor 16 that are; a compare-and-swap "+
			"of text is", who, n, op.Target, op.Offset)
	}
	return nil
}

// standing checks the bytes that are expected at a place.
func (c checker) standing(p Part, who string, op *Op) error { return c.fits(p, who, op, len(op.Bytes)) }

// block checks the data that text is saved in.
func (c checker) block(p Part, who string, op *Op) error {
	i := -1
	if len(op.Targets) == 1 {
		i = slices.IndexFunc(c.s.Datas, func(d Data) bool { return d.Name == op.Targets[0] })
	}
	if i < 0 {
		return Faultf(p, "%s: no data %q; give what data() returns", who, slices.Concat(op.Targets, []string{""})[0])
	}
	d := &c.s.Datas[i]
	if d.PerCPU || d.Away || slices.ContainsFunc(c.s.Modules, func(m Module) bool {
		return slices.Contains(m.Data, d.Name)
	}) {
		return Faultf(p, "%s: data %q is a CPU's own, away or a module's; text is saved in data that is there", who,
			d.Name)
	}
	const most = 64
	if len(d.Bytes) > most {
		return Faultf(p, "%s: data %q has %d bytes; at most %d are saved", who, d.Name, len(d.Bytes), most)
	}
	return c.fits(p, who, op, len(d.Bytes))
}

// spanned checks the size of a range.
func (c checker) spanned(p Part, who string, op *Op) error { return c.fits(p, who, op, op.Size) }

// cpus checks a set of CPUs.
func (c checker) cpus(p Part, who string, op *Op) error {
	if n := c.s.Machine.CPUs; n < 64 && op.CPUs>>n != 0 {
		return Faultf(p, "%s: the machine has cpus = %d; give 0 to %d", who, n, n-1)
	}
	return nil
}

func (c checker) awaited(p Part, who string, op *Op) error {
	if int(op.Awaited) >= len(AwaitedWords) {
		return Faultf(p, "%s: wait %d isn't known; it is one of %s", who, op.Awaited, nearest.Quoted(AwaitedWords))
	}
	return nil
}

// goesTo checks where the handler of a breakpoint continues.
func (c checker) goesTo(p Part, who string, op *Op) error {
	switch {
	case len(op.Targets) > 0 && op.On:
		return Faultf(p, "%s: the handler goes on elsewhere, or where it is; leave goto or retry out", who)
	case len(op.Targets) > 0:
		return c.placed(p, who, op)
	case op.Into != 0:
		return Faultf(p, "%s: it goes on nowhere; leave the offset out", who)
	}
	return nil
}

// links checks where a handler that makes a call goes on.
func links(_ checker, p Part, who string, op *Op) error {
	if op.Links && len(op.Targets) == 0 {
		return Faultf(p, "%s: links: say what the handler calls; give goto", who)
	}
	return nil
}

// calls checks what the handler of a breakpoint calls.
func (c checker) calls(p Part, who string, op *Op) error {
	if op.Calls == "" {
		return nil
	}
	if len(op.Targets) == 0 && !op.On {
		return Faultf(p, "%s: say where the handler goes on after %s; give goto or retry", who, op.Calls)
	}
	return c.function(p, who, op.Calls, 0)
}
