package act

import (
	"bytes"
	"cmp"
	"fmt"
	"slices"
	"strings"

	"kpsim/internal/scenario"
	"kpsim/smp"
	"kpsim/smp/arch"
	"kpsim/smp/byhand"
)

// What a patcher does step by step: stores, breakpoints of its own, memory for code. What it does to other CPUs is in
// halts.go.
var (
	Write = add(row{family: hands, Operation: &scenario.Operation{
		Word: "write",
		Params: scenario.Answers(scenario.Param{Name: "at", Kind: scenario.ParamPlace},
			scenario.Param{Name: "bytes", Kind: scenario.ParamWritten},
			scenario.Param{Name: "by", Kind: scenario.ParamBy}, scenario.Param{Name: "old", Kind: scenario.ParamOld},
			scenario.Param{Name: "stopped", Kind: scenario.ParamStopped}),
		Says: "store `bytes` to text from `at` on, without a lock, and without making any CPU serialise: hex, or " +
			"what `jump_to`, `call_to`, `displacement`, `address` or `saved` give. `by`: as stores of 1, 2, 4, 8 or " +
			"16 bytes, each at once if it lies in 8 aligned bytes, or is 16 that are; left out, as memcpy does, by " +
			"the largest that fit. `old`: as a compare-and-swap, at once, which stores only if these bytes stand " +
			"there: else `\"EAGAIN\"`. `stopped`: by the function that stop_machine() runs on one CPU, " +
			"while all others wait with interrupts off, and serialise before they go on. The instructions that the " +
			"text has afterwards are right, too; a CPU that " +
			"runs a mixture breaks T1. Give calls whose result it changes `changed = True`",
		Kernel:  []string{"__text_poke", "copy_to_kernel_nofault", "patch_text"},
		Object:  scenario.TextByHand,
		Traits:  scenario.Patches | scenario.ByHand | scenario.Serial,
		Touches: scenario.TouchFlip | scenario.TouchHand,
		Idle: func(s *scenario.Scenario, op *scenario.Op) string {
			return cmp.Or(whole(s, op), unlisted(s, op), unflushed(s))
		},
	}, do: func(t Task, x *smp.Ctx, i int, op *scenario.Op) {
		h, f, at, b := t.Clients().Hand, t.Section(op.Target), t.Place(op), t.Written(x, op)
		if op.On {
			h.WriteStopped(x, f, at, b, op.By)
			t.Answer(x, i, 0)
			return
		}
		if op.Old == nil {
			h.Write(x, f, at, b, op.By)
			t.Answer(x, i, 0)
			return
		}
		errno := 0
		if !h.Exchange(x, f, at, op.Old, b) {
			errno = byhand.EAGAIN
		}
		t.Answer(x, i, errno)
	}})

	Save = add(row{family: hands, Operation: &scenario.Operation{
		Word: "save_text",
		Params: []scenario.Param{{Name: "at", Kind: scenario.ParamPlace},
			{Name: "d", Kind: scenario.ParamBlock}},
		Says: "copy text from `at` on to the data `d`, as many bytes as it has, as they are now: another patcher's " +
			"breakpoint is copied, too. `write(f, saved(d))` puts them back",
		Kernel:  []string{"copy_from_kernel_nofault"},
		Object:  scenario.TextByHand,
		Traits:  scenario.ByHand | scenario.Serial,
		Touches: scenario.TouchCall,
	}, do: func(t Task, x *smp.Ctx, _ int, op *scenario.Op) {
		at, n := t.Data(op.Targets[0])
		t.Clients().Hand.Save(x, t.Place(op), at, n)
	}})

	ExpectText = add(row{family: hands, Operation: &scenario.Operation{
		Word: "expect_text",
		Params: []scenario.Param{{Name: "at", Kind: scenario.ParamPlace},
			{Name: "hex", Kind: scenario.ParamText}},
		Says:    "text from `at` on holds the bytes `hex`, as another patcher reads them",
		Object:  scenario.TextByHand,
		Traits:  scenario.ByHand | scenario.Serial,
		Touches: scenario.TouchCheck,
	}, do: func(t Task, x *smp.Ctx, i int, _ *scenario.Op) { t.ExpectText(x, i) }})

	OnBreakpoint = add(row{family: hands, Operation: &scenario.Operation{
		Word: "on_breakpoint",
		Params: append(handled(scenario.Param{Name: "at", Kind: scenario.ParamPlace}),
			scenario.Param{Name: "links", Kind: scenario.ParamLinks}),
		Says: "from now on a breakpoint at `at` is the task's own: its handler continues at `goto`, or, with " +
			"`retry`, at `at`, where it runs what stands there then; before that it calls the function `call`. With " +
			"neither it isn't its own any more. `links = True`: it calls `goto`, as the call at `at` would, which " +
			"returns after that",
		Kernel:  []string{"register_die_notifier", "sigaction"},
		Object:  scenario.TextByHand,
		Traits:  scenario.ByHand | scenario.Serial,
		Touches: scenario.TouchFlip | scenario.TouchHand,
	}, do: func(t Task, x *smp.Ctx, _ int, op *scenario.Op) {
		does := action(t, op, t.Place(op))
		does.Links = op.Links
		t.Clients().Hand.OnBreakpoint(x, t.Place(op), does)
	}})

	Map = add(memory("map", "allocate the memory for code `t` and make it executable: each byte is a breakpoint. No "+
		"CPU serialises. `\"ENOMEM\"`: it is mapped", "free", []string{"execmem_alloc", "module_alloc", "mmap"},
		(*byhand.Code).Map))

	Free = add(memory("free", "give `t` back to an allocator that may hand it out at once: each byte is a breakpoint "+
		"from now on. A CPU that runs there, or comes back there, breaks S1. `\"EINVAL\"`: it isn't mapped", "map",
		[]string{"execmem_free", "module_memfree"}, (*byhand.Code).Free))

	Unmap = add(memory("unmap", "`free` `t`, and take its pages away: a CPU that runs there faults. The CPUs' "+
		"translations are flushed by IPIs, from which they return serialised", "", []string{"vfree", "munmap"},
		(*byhand.Code).Unmap))

	Protect = add(ofMemory(&scenario.Operation{
		Word: "protect",
		Params: scenario.Answers(scenario.Param{Name: "t", Kind: scenario.ParamFunc},
			scenario.Param{Name: "exec", Kind: scenario.ParamOn}),
		Says: "take the permission to execute away from the pages of `t` (`exec = False`), or give it back: a CPU " +
			"that runs there meanwhile faults. The CPUs' translations are flushed by IPIs, from which they return " +
			"serialised. `\"ENOMEM\"`: it isn't mapped",
		Kernel: []string{"mprotect", "set_memory_x", "set_memory_nx"},
	}, func(t Task, x *smp.Ctx, i int, op *scenario.Op) {
		t.Answer(x, i, code(t, op).Protect(x, op.On))
	}))

	Unprotect = add(memory("unprotect", "give the pages of `t` the permission that this task's last `protect()` of "+
		"them found, whatever others have done since, as `VirtualProtect` is called with what it has returned. "+
		"`\"ENOMEM\"`: it isn't mapped", "", []string{"VirtualProtect"}, (*byhand.Code).Unprotect))

	OnFault = add(ofMemory(&scenario.Operation{
		Word:   "on_fault",
		Params: handled(scenario.Param{Name: "t", Kind: scenario.ParamFunc}),
		Says: "from now on a fault of a CPU that runs in `t` while it can't be executed is the task's own: its " +
			"handler continues at `goto`, or, with `retry`, waits until `t` can be executed and goes on there; before " +
			"that it calls the function `call`. With neither it isn't its own any more",
	}, func(t Task, x *smp.Ctx, _ int, op *scenario.Op) {
		code(t, op).OnFault(x, action(t, op, 0))
	}))
)

// unlisted says of a write to text which CPUs may run that the processor's manual promises nothing: it replaces an
// instruction that may not be replaced then, or by another one.
func unlisted(s *scenario.Scenario, op *scenario.Op) string {
	a := s.Machine.Processor()
	if len(a.Live) == 0 || op.On || does(s, "stop") {
		return ""
	}
	f := s.Text(op.Target)
	b, ok := encoded(s, op)
	if !ok || op.Offset+len(b) > len(f.Code) {
		return ""
	}
	code := slices.Clone(f.Code)
	copy(code[op.Offset:], b)
	says := func(code []byte) string {
		in, err := a.Decode(code, f.At)
		if err != nil {
			return a.Hex(code)
		}
		name, _, _ := strings.Cut(in.String(), " ")
		return name
	}
	for at := op.Offset &^ (a.Align - 1); at+a.Align <= len(code) && at < op.Offset+len(b); at += a.Align {
		was, is := f.Code[at:at+a.Align], code[at:at+a.Align]
		if !bytes.Equal(was, is) && !(live(a, was) && live(a, is)) {
			const tell = "write() makes %s of %s at %s+%#x: of instructions that are replaced while CPUs may run " +
				"them %s promises something of %s only; kpsim stores others as it does these, so a Never says less of them"
			return fmt.Sprintf(tell, says(is), says(was), op.Target, at, a.Name, a.LiveSays)
		}
	}
	return ""
}

// does reports whether a scenario has an operation, by name: a row that refers to a later one would come after it.
func does(s *scenario.Scenario, word string) bool {
	return s.Any(func(op *scenario.Op) bool { return op.Kind.Word == word })
}

// live reports whether an instruction may be replaced while CPUs run it.
func live(a *arch.Arch, code []byte) bool {
	return slices.ContainsFunc(a.Live, func(p arch.Pattern) bool { return p.Match(arch.Word(code)) })
}

// encoded returns the bytes that an operation writes; ok is false if only a run shows them.
func encoded(s *scenario.Scenario, op *scenario.Op) (b []byte, ok bool) {
	var to arch.Addr
	if op.Form != scenario.FormBytes && op.Form != scenario.FormSaved {
		to = s.Text(op.Targets[0]).At + arch.Addr(op.Into)
	}
	return op.Encode(s.Machine.Processor(), s.Text(op.Target).At+arch.Addr(op.Offset), to)
}

// unflushed says, of a processor whose caches don't agree by themselves, that a patcher's care for them isn't judged,
// if the scenario doesn't have it either.
func unflushed(s *scenario.Scenario) string {
	care := s.Machine.Processor().Caches
	if care == "" || does(s, "flush") {
		return ""
	}
	return fmt.Sprintf("kpsim takes it that each write() is followed by %s, without which other CPUs may keep old "+
		"bytes: that these are there isn't judged; flush() says that they are", care)
}

// whole says of a scenario's only write, of several bytes, that no CPU can see a part of it: of what is linked there
// it changes nothing, or only bytes that are stored at once.
func whole(s *scenario.Scenario, op *scenario.Op) string {
	f := s.Text(op.Target)
	b, ok := encoded(s, op)
	another := func(o *scenario.Op) bool { return o.Kind == op.Kind && o != op }
	if !ok || len(b) < 2 || op.Offset+len(b) > len(f.Code) || s.Any(another) {
		return ""
	}
	first, last := -1, 0 // that change
	for i, v := range b {
		if f.Code[op.Offset+i] != v {
			if last = i; first < 0 {
				first = i
			}
		}
	}
	at := f.At + arch.Addr(op.Offset)
	const says = "write() to %s changes %s of what is linked there, so no CPU can see a part of it; to see whether " +
		"it may be torn, let it change others, too"
	switch {
	case first < 0:
		return fmt.Sprintf("write() to %s changes nothing: these bytes are linked there", op.Target)
	case first == last:
		return fmt.Sprintf(says, op.Target, "one byte")
	case op.By > 0 && op.By < len(b) && first/op.By == last/op.By && (at+arch.Addr(first))/8 == (at+arch.Addr(last))/8:
		return fmt.Sprintf(says, op.Target, "only bytes of one of its stores")
	}
	return ""
}

// handled returns the parameters of an operation that says what a handler does.
func handled(of scenario.Param) []scenario.Param {
	return []scenario.Param{of, {Name: "goto", Kind: scenario.ParamGoto}, {Name: "retry", Kind: scenario.ParamRetry},
		{Name: "call", Kind: scenario.ParamCalls}}
}

// action returns what the handler does; again is where it goes on if it tries again.
func action(t Task, op *scenario.Op, again arch.Addr) byhand.Action {
	does := byhand.Action{Owns: op.On || len(op.Targets) > 0, To: again}
	if len(op.Targets) > 0 {
		does.To = t.Goto(op)
	}
	if op.Calls != "" {
		does.Call = t.Func(op.Calls)
	}
	return does
}

func code(t Task, op *scenario.Op) *byhand.Code { return t.Clients().Hand.Code(t.Func(op.Target)) }

// memory returns the row of an operation that is about memory for code alone.
func memory(word, says, inverse string, kernel []string, do func(c *byhand.Code, x *smp.Ctx) int) row {
	return ofMemory(&scenario.Operation{
		Word:    word,
		Params:  scenario.Answers(scenario.Param{Name: "t", Kind: scenario.ParamFunc}),
		Says:    says,
		Kernel:  kernel,
		Inverse: inverse,
	}, func(t Task, x *smp.Ctx, i int, op *scenario.Op) { t.Answer(x, i, do(code(t, op), x)) })
}

// ofMemory returns the row of an operation on memory for code: k has what differs.
func ofMemory(k *scenario.Operation, do func(t Task, x *smp.Ctx, i int, op *scenario.Op)) row {
	k.Object = scenario.AMemory
	k.Traits = scenario.Patches | scenario.ByHand | scenario.Serial
	k.Touches = scenario.TouchFlip | scenario.TouchMemory
	k.Check = func(s *scenario.Scenario, op *scenario.Op) string {
		if t := s.Text(op.Target); t != nil && !t.Own {
			return k.Word + "(): " + op.Target + " is a function that stays; give memory that code() makes"
		}
		return ""
	}
	return row{family: hands, Operation: k, do: do}
}
