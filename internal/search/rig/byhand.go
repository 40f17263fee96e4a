package rig

import (
	"kpsim/internal/scenario"
	"kpsim/internal/scenario/act"
	"kpsim/kprobes/rules"
	"kpsim/smp"
	"kpsim/smp/arch"
	"kpsim/smp/kapi"
	"kpsim/smp/smpev"
	"kpsim/traces"
)

// addByHand makes the memory for code, and watches the text that tasks store to.
func (ps *patchers) addByHand() error {
	ps.encoded = make(map[*scenario.Op][]byte)
	for i := range ps.Scenario.Texts {
		if t := &ps.Scenario.Texts[i]; t.Own {
			ps.Hand.NewCode(t.Name, t.At, ps.Code(t), t.Mapped)
		}
	}
	ps.addAliases()
	for i := range ps.Scenario.Tasks {
		for k := range ps.Scenario.Tasks[i].Ops {
			op := &ps.Scenario.Tasks[i].Ops[k]
			if op.Kind.Traits&scenario.Halts != 0 {
				ps.Hand.BootStops()
			}
			switch {
			case op.Kind == act.Protect, op.Kind == act.Unprotect, op.Kind == act.OnFault:
				ps.Hand.Code(ps.funcs[op.Target]).BootProtect()
			case op.Kind.Has(scenario.ParamWritten):
				b, ok := ps.encode(op)
				if ps.encoded[op] = b; !ok {
					return scenario.Faultf(scenario.PartIn(scenario.TheTasks, i, k),
						"%s: write(): %s is out of reach of a %d-byte branch; place it within %s of %s",
						ps.Scenario.Name, op.Targets[0], ps.arch.BranchLen, ps.arch.Reach, op.Target)
				}
				ps.storesTo(op.Target, op.Offset, ps.Scenario.Written(op))
			case op.Links && ps.arch.Frame.NoSP:
				return scenario.Faultf(scenario.PartIn(scenario.TheTasks, i, k),
					"%s: links: a handler can't push where a trap of this kernel leaves no room; give retry, "+
						"or a later edition", ps.Scenario.Name)
			case op.Kind.Has(scenario.ParamRetry):
				ps.Hand.NewBreak(ps.funcs[op.Target]+arch.Addr(op.Offset), op.On)
				ps.storesTo(op.Target, op.Offset, 1)
			}
		}
	}
	ps.closeGates()
	return nil
}

// addAliases maps text a second time, and watches it.
func (ps *patchers) addAliases() {
	h := ps.Machine.Hooks()
	if len(ps.Scenario.Aliases) > 0 {
		ps.Hand.BootMprotect()
	}
	for i := range ps.Scenario.Aliases {
		a := &ps.Scenario.Aliases[i]
		n := ps.Scenario.Aliased(a)
		ps.Machine.Memory().Alias(a.At, kapi.Section{At: ps.funcs[a.Of], Size: n})
		ps.Machine.Names().AddSymbol(a.Name, a.At, n)
		ps.storesTo(a.Of, 0, len(ps.Text(a.Of).Code))
		h.Stores, h.Linked = ps.Hand.Stored, ps.Hand.Linked
		h.Shares = ps.shares
	}
}

// closeGates closes the kernel's routines that neither text nor data refers to, if tasks store to text: a displacement
// that is wrong then leads to nothing.
func (ps *patchers) closeGates() {
	if len(ps.byHand) == 0 || ps.Scenario.Machine.Image != "" {
		return
	}
	for _, name := range scenario.KernelExports() {
		if at, ok := scenario.KernelExport(name); ok && !ps.Scenario.Mentions(ps.arch.Addr(at), 1, "") {
			ps.Machine.Gates().Close(ps.arch.Addr(at))
		}
	}
}

// shares tells monitors that code has read by an alias text that another patcher writes, too, or written it.
func (ps *patchers) shares(cpu, task uint8, at arch.Addr, n int, wrote bool) {
	if ps.Kernel.Foreign(at, n) {
		how := uint64(kapi.SiteByHand)<<1 | b2u(wrote)*smpev.SharesWrote
		ps.Log.Tell(smpev.Shares, cpu, task, uint64(at), uint64(n), how)
	}
}

// bootByHand makes tasks pass safepoints, if one waits for that.
func (r *Rig) bootByHand() {
	if !r.Scenario.Any(func(op *scenario.Op) bool { return op.Kind.Traits&scenario.Safe != 0 }) {
		return
	}
	var ids []kapi.TaskID
	for _, p := range r.tasks.all {
		ids = append(ids, p.task.ID)
	}
	r.patchers.Hand.BootSafepoints(ids)
}

// storesTo watches the instructions of a function that have one of n bytes. Where a branch is two instructions, the
// bytes may be of the second one's.
func (ps *patchers) storesTo(name string, off, n int) {
	t := ps.Text(name)
	if in, err := ps.arch.Decode(ps.arch.BranchNop.Bytes(), t.At); err == nil {
		before := min(off, ps.arch.BranchLen-in.Size())
		off, n = off-before, n+before
	}
	ps.byHand = append(ps.byHand, kapi.Section{At: t.At + arch.Addr(off), Size: n})
	ps.Hand.AddText(kapi.Section{At: t.At, Size: len(t.Code)}, ps.Code(t))
	if t.Own {
		return
	}
	for at := 0; at < off+n; {
		size := 1
		if in, err := ps.arch.Decode(t.Code[at:], t.At+arch.Addr(at)); err == nil {
			size = in.Size()
		}
		if at+size > off {
			ps.Machine.Memory().Watch(t.At+arch.Addr(at), min(size, len(t.Code)-at))
		}
		at += size
	}
}

// encode returns the bytes of a write that are known before a run. ok is false if a branch doesn't reach.
func (ps *patchers) encode(op *scenario.Op) (b []byte, ok bool) {
	var to arch.Addr
	if op.Form != scenario.FormBytes && op.Form != scenario.FormSaved {
		to = ps.funcs[op.Targets[0]] + arch.Addr(op.Into)
	}
	return op.Encode(ps.arch, ps.funcs[op.Target]+arch.Addr(op.Offset), to)
}

// headByHand reports the memory for code that a run begins with, and what tasks store to.
func (ps *patchers) headByHand() {
	for _, s := range ps.byHand {
		for off := 0; off < s.Size; off += smpev.MostByHand {
			ps.claim(smpev.ByHand, uint64(s.At)+uint64(off), uint64(min(s.Size-off, smpev.MostByHand)), 0)
		}
	}
	for _, s := range ps.byHand { // what stands there may still be run when it has been replaced
		if t := ps.textAt(s.At); t.Own && t.Mapped {
			ps.imagesAt(t, s)
		}
	}
	for i := range ps.Scenario.Texts {
		t := &ps.Scenario.Texts[i]
		if !t.Own || !t.Mapped {
			continue
		}
		ps.Log.Emit(smpev.Alloc, 255, traces.NoTask, uint64(t.At), uint64(len(t.Code)), smpev.CodeMem)
		for b, at := ps.Code(t), uint64(t.At); len(b) > 0; {
			n := min(len(b), 8)
			ps.Log.Emit(smpev.TextStore, 255, traces.NoTask, at, littleEndian(b[:n]), uint64(n))
			b, at = b[n:], at+uint64(n)
		}
	}
}

// imagesAt reports the instructions of memory for code that have a byte in a section.
func (ps *patchers) imagesAt(t *scenario.Text, s kapi.Section) {
	code := ps.Code(t)
	for at := 0; at < len(code); {
		n := 1
		if in, err := ps.arch.Decode(code[at:], t.At+arch.Addr(at)); err == nil {
			if n = in.Size(); t.At+arch.Addr(at+n) > s.At && t.At+arch.Addr(at) < s.At+arch.Addr(s.Size) {
				ps.image(t.At+arch.Addr(at), code[at:at+n])
			}
		}
		at += n
	}
}

func (p *program) Place(op *scenario.Op) arch.Addr {
	return p.r.funcs[op.Target] + arch.Addr(op.Offset)
}
func (p *program) Goto(op *scenario.Op) arch.Addr {
	return p.r.funcs[op.Targets[0]] + arch.Addr(op.Into)
}

// Section returns where a function is.
func (p *program) Section(name string) kapi.Section {
	t := p.r.Text(name)
	return kapi.Section{At: t.At, Size: len(t.Code)}
}

// Data returns a block of data.
func (p *program) Data(name string) (at arch.Addr, n int) {
	for i := range p.r.Scenario.Datas {
		if d := &p.r.Scenario.Datas[i]; d.Name == name {
			return d.At, len(d.Bytes)
		}
	}
	return 0, 0
}

// Written returns the bytes that a write stores.
func (p *program) Written(x *smp.Ctx, op *scenario.Op) []byte {
	if op.Form != scenario.FormSaved {
		return p.r.patchers.encoded[op]
	}
	at, n := p.Data(op.Targets[0])
	b := make([]byte, n)
	for i := range b {
		v, _ := x.Memory().Load(at+arch.Addr(i), 1)
		b[i] = byte(v)
	}
	return b
}

// ExpectText compares text.
func (p *program) ExpectText(x *smp.Ctx, i int) {
	op := &p.ops[i]
	b := p.r.patchers.Hand.Read(x, p.Place(op), len(op.Bytes))
	for n := 0; len(b) > 0; n++ {
		k := min(word, len(b))
		p.got(x, i, n, smpev.CheckMemory, littleEndian(b[:k]), uint64(p.Place(op))+uint64(n*word))
		b = b[k:]
	}
}

// addForeign tells the kernel which text several patchers write, and how its patchers take bytes that aren't their own,
// by edition.
func (ps *patchers) addForeign() {
	written := ps.byHand
	ps.Scenario.Patched(func(t scenario.Patched) {
		s := kapi.Section{At: ps.funcs[t.Func] + arch.Addr(t.Offset), Size: t.Len}
		for _, o := range written {
			if from, to := max(s.At, o.At), min(end(s), end(o)); from < to {
				ps.Kernel.AddForeign(kapi.Section{At: from, Size: int(to - from)})
			}
		}
		written = append(written[:len(written):len(written)], s)
	})
	e := ps.Scenario.Machine.Edition
	ps.labels.Again = e == rules.Edition26
	ps.labels.Looks = ps.arch.BreakpointFirst && !ps.labels.Again
	ps.Ftrace.Rolls = e == rules.EditionNone || e >= rules.Edition65
}

// sharesText reports whether two of a scenario's patchers write the same text.
func sharesText(sc *scenario.Scenario) (shares bool) {
	var before []scenario.Patched
	sc.Patched(func(t scenario.Patched) {
		for _, o := range before {
			shares = shares || t.Func == o.Func && t.Offset < o.Offset+o.Len && o.Offset < t.Offset+t.Len
		}
		before = append(before, t)
	})
	return shares
}

// end returns where a section ends.
func end(s kapi.Section) arch.Addr { return s.At + arch.Addr(s.Size) }

// addNop adds the nop that has the uprobe, if tasks run one in user mode.
func (ps *patchers) addNop() {
	for i := range ps.Scenario.Tasks {
		for k := range ps.Scenario.Tasks[i].Ops {
			if op := &ps.Scenario.Tasks[i].Ops[k]; op.At != "" {
				ps.watch(op.At, 0)
				ps.Uprobes.AddNop(ps.funcs[op.At], ps.Text(op.At).Code[:ps.arch.BranchLen])
			}
		}
	}
}
