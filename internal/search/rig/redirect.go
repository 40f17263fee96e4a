package rig

import (
	"fmt"

	"kpsim/internal/scenario"
	"kpsim/kprobes/rules"
	"kpsim/smp"
	"kpsim/smp/arch"
)

// addRedirected says whose sites of ftrace lead tasks elsewhere: which functions are patched
// live, and which call a client directly.
func (r *Rig) addRedirected() error {
	sc := r.Scenario
	for i := range sc.Texts {
		t := &sc.Texts[i]
		site := arch.Addr(0)
		for _, s := range sc.Sites {
			if s.Func == t.Name {
				site = t.At + arch.Addr(s.Offset)
			}
		}
		if sc.Redirected(t.Name, func(k scenario.OpKind) bool { return k <= scenario.OpUnpatchFunc }) {
			r.patches.AddFunc(t.At, site)
		}
		if sc.Redirected(t.Name, func(k scenario.OpKind) bool { return k > scenario.OpUnpatchFunc }) {
			r.ftrace.BootDirect(site, sc.Machine.Edition == rules.Edition514)
		}
	}
	return r.directsReach()
}

// directs calls f with each site that calls a function directly some time, and that.
func (r *Rig) directs(f func(site arch.Addr, t *scenario.Text)) {
	for _, s := range r.Scenario.Sites {
		for i := range r.Scenario.Tasks {
			for _, op := range r.Scenario.Tasks[i].Ops {
				if (op.Kind == scenario.OpRegisterDirect || op.Kind == scenario.OpModifyDirect) && op.Target == s.Func {
					f(r.funcs[s.Func]+arch.Addr(s.Offset), r.Text(op.Targets[0]))
				}
			}
		}
	}
}

// directsReach checks that each is in reach.
func (r *Rig) directsReach() (err error) {
	r.directs(func(site arch.Addr, t *scenario.Text) {
		if _, ok := r.Kernel.Text.Arch().Call(site, t.At); !ok {
			err = fmt.Errorf("%s: register_direct(): %s is out of reach of a 5-byte call; place it within 2 GB", r.Scenario.Name, t.Name)
		}
	})
	return err
}

// directImages calls image with the calls that may stand at sites.
func (r *Rig) directImages(image func(at arch.Addr, insn arch.Code)) {
	r.directs(func(site arch.Addr, t *scenario.Text) {
		call, _ := r.Kernel.Text.Arch().Call(site, t.At) // directsReach has looked
		image(site, call)
	})
}

// redirect does an operation on a function's site of ftrace.
func (p *program) redirect(x *smp.Ctx, i int) {
	r, op := p.r, &p.ops[i]
	if r.twin && op.Checked && op.Returns != 0 {
		return // without probes it wouldn't be refused
	}
	at, site, to, errno := r.funcs[op.Target], arch.Addr(0), arch.Addr(0), 0
	for _, s := range r.Scenario.Sites {
		if s.Func == op.Target {
			site = at + arch.Addr(s.Offset)
		}
	}
	if op.Kind.Redirects() {
		to = r.funcs[op.Targets[0]]
	}
	switch op.Kind {
	case scenario.OpPatchFunc:
		errno = r.patches.Patch(x, at, to)
	case scenario.OpUnpatchFunc:
		errno = r.patches.Unpatch(x, at, r.sizeOf)
	case scenario.OpRegisterDirect:
		errno = r.ftrace.RegisterDirect(x, site, to)
	case scenario.OpModifyDirect:
		errno = r.ftrace.ModifyDirect(x, site, to)
	case scenario.OpUnregisterDirect:
		errno = r.ftrace.UnregisterDirect(x, site)
	}
	p.answered(x, i, uint64(errno))
}

// sizeOf is how many bytes the function has that begins at an address.
func (r *Rig) sizeOf(at arch.Addr) int {
	for i := range r.Scenario.Texts {
		if t := &r.Scenario.Texts[i]; t.At == at {
			return len(t.Code)
		}
	}
	return 0
}
