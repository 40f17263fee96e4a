package act

import (
	"fmt"
	"slices"

	"kpsim/engine/bpf"
	"kpsim/internal/scenario"
	"kpsim/smp"
	"kpsim/smp/arch/target"
	"kpsim/smp/kapi"
	"kpsim/smp/smpev"
)

// What stands on sites of ftrace: tracers, live patches, direct calls, fprobes.
var (
	Tracer = add(row{family: sites, Operation: &scenario.Operation{
		Word:    "tracer",
		Params:  []scenario.Param{{Name: "on", Kind: scenario.ParamOn}},
		Says:    "attach ftrace's own client to all sites, or detach it; the sites are rewritten in one batch",
		Kernel:  []string{"register_ftrace_function", "unregister_ftrace_function", "ftrace_set_filter_ip"},
		Object:  scenario.TheTracer,
		Traits:  scenario.Patches | scenario.Around | scenario.Sited | scenario.Serial | scenario.Stirs,
		Touches: scenario.TouchFlip | scenario.TouchTrace,
		Idle:    nowhere,
	}, do: func(t Task, x *smp.Ctx, _ int, op *scenario.Op) {
		switch c := t.Clients().Tracer; {
		case c == nil:
		case op.On:
			c.Register(x)
		default:
			c.Unregister(x)
		}
	}})

	Livepatch = add(row{family: sites, Operation: &scenario.Operation{
		Word:   "livepatch",
		Params: []scenario.Param{{Name: "on", Kind: scenario.ParamOn}},
		Says: "attach a client of ftrace that may change where a call continues, as a live patch does, to all " +
			"sites, or detach it. A site has at most one such client: it isn't attached while there is another, " +
			"such as that of probes with a `post_handler`, and these can't be registered while it is attached",
		Kernel:  []string{"klp_ftrace_handler"},
		Object:  scenario.TheLivepatch,
		Traits:  scenario.Patches | scenario.Around | scenario.Sited | scenario.Modifies | scenario.Serial | scenario.Stirs,
		Touches: scenario.TouchFlip | scenario.TouchTrace,
		Idle:    nowhere,
	}, do: func(t Task, x *smp.Ctx, _ int, op *scenario.Op) {
		switch c := t.Clients(); {
		case c.Live == nil:
		case op.On:
			for k := range c.Ftrace.Sites() {
				c.Live.Filter(x, c.Ftrace.Record(k).At, true) // refused where a module has gone
			}
			c.Live.Register(x)
		default:
			c.Live.Unregister(x)
		}
	}})

	PatchFunc = add(row{family: sites, Operation: &scenario.Operation{
		Word: "patch_func",
		Params: scenario.Answers(scenario.Param{Name: "f", Kind: scenario.ParamFuncs},
			scenario.Param{Name: "g", Kind: scenario.ParamIntos}),
		Says: "a live patch: calls of `f` continue in `g`, from `f`'s site of ftrace; several functions together: " +
			"`patch_func([f, h], [g, k])`. It returns when each task has gone over: a task goes over when it " +
			"doesn't run and isn't in `f`, enters user mode, idles, or, from 6.5 on, calls `cond_resched`. A later " +
			"patch takes precedence. `\"EBUSY\"`: another client changes the path there, or another patch is in " +
			"transition; `\"EINVAL\"`: there is no site, or the patch is enabled. Called while `unpatch_func` " +
			"removes the patch, it reverses that. Give calls whose result it changes `changed = True`",
		Kernel:  []string{"klp_enable_patch", "klp_patch_object", "klp_patch_func"},
		Object:  scenario.APatch,
		Inverse: "unpatch_func",
		Traits:  scenario.Patches | scenario.Sited | scenario.Live | scenario.Serial | scenario.Stirs,
		Touches: scenario.TouchFlip | scenario.TouchTrace | scenario.TouchLive,
		Idle:    siteless,
	}, do: func(t Task, x *smp.Ctx, i int, op *scenario.Op) {
		patch := t.Patch(op)
		n := t.Clients().Patches.Number(patch...)
		redirect(t, x, i, op, smpev.SubjectPatch, smpev.AttachRegister, n,
			func() int { return t.Clients().Patches.Patch(x, patch...) })
	}})

	UnpatchFunc = add(row{family: sites, Operation: &scenario.Operation{
		Word:   "unpatch_func",
		Params: scenario.Answers(scenario.Param{Name: "f", Kind: scenario.ParamFunc}),
		Says: "remove the newest patch of `f`, with all its functions; it returns when each task has gone back, " +
			"and none is in a patched-in function or will return into one. Called while `patch_func` brings the " +
			"patch, it reverses that. `\"EBUSY\"`: another patch is in transition; `\"EINVAL\"`: there is none",
		Kernel:  []string{"klp_disable_patch", "klp_unpatch_object", "klp_unpatch_func"},
		Object:  scenario.APatch,
		Inverse: "patch_func",
		Traits:  scenario.Sited | scenario.Live | scenario.Serial | scenario.Stirs,
		Touches: scenario.TouchFlip | scenario.TouchTrace,
	}, do: func(t Task, x *smp.Ctx, i int, op *scenario.Op) {
		redirect(t, x, i, op, smpev.SubjectPatch, smpev.AttachUnregister, uint64(t.Site(op.Target)),
			func() int { return t.Clients().Patches.Unpatch(x, t.Func(op.Target)) })
	}})

	RegisterDirect = add(row{family: sites, Operation: &scenario.Operation{
		Word: "register_direct",
		Params: scenario.Answers(scenario.Param{Name: "f", Kind: scenario.ParamFunc},
			scenario.Param{Name: "t", Kind: scenario.ParamInto}),
		Says: "a direct call (5.5): `f`'s site of ftrace calls the function `t` itself; beside another client it " +
			"calls ftrace, which continues in `t`. `t` keeps the registers; if it doesn't, give the calls `changed " +
			"= True`. `\"EBUSY\"`: the site has a direct call already, or, until 5.19, a client that changes the " +
			"path",
		Kernel:  []string{"register_ftrace_direct", "register_ftrace_direct_multi"},
		Object:  scenario.ADirect,
		Inverse: "unregister_direct",
		Traits:  scenario.Patches | scenario.Sited | scenario.Direct,
		Touches: scenario.TouchFlip | scenario.TouchTrace,
		Check:   noDirect,
		Idle:    siteless,
	}, do: func(t Task, x *smp.Ctx, i int, op *scenario.Op) {
		at, to := t.Site(op.Target), t.Func(op.Targets[0])
		redirect(t, x, i, op, t.Subject(op), smpev.AttachRegister, uint64(to),
			func() int { return t.Clients().Ftrace.RegisterDirect(x, at, to) })
	}})

	ModifyDirect = add(row{family: sites, Operation: &scenario.Operation{
		Word: "modify_direct",
		Params: scenario.Answers(scenario.Param{Name: "f", Kind: scenario.ParamFunc},
			scenario.Param{Name: "t", Kind: scenario.ParamInto}),
		Says: "make the site call another function `t`; it returns when no task is in the previous one. " +
			"`\"EINVAL\"`: there is no direct call",
		Kernel:  []string{"modify_ftrace_direct", "modify_ftrace_direct_multi"},
		Object:  scenario.ADirect,
		Traits:  scenario.Sited | scenario.Direct,
		Touches: scenario.TouchFlip | scenario.TouchTrace,
		Check:   noDirect,
	}, do: func(t Task, x *smp.Ctx, i int, op *scenario.Op) {
		at, to := t.Site(op.Target), t.Func(op.Targets[0])
		redirect(t, x, i, op, t.Subject(op), smpev.AttachModify, uint64(to),
			func() int { return t.Clients().Ftrace.ModifyDirect(x, at, to, true) })
	}})

	UnregisterDirect = add(row{family: sites, Operation: &scenario.Operation{
		Word:    "unregister_direct",
		Params:  scenario.Answers(scenario.Param{Name: "f", Kind: scenario.ParamFunc}),
		Says:    "remove the direct call; it returns when no task is in the function that was called",
		Kernel:  []string{"unregister_ftrace_direct", "unregister_ftrace_direct_multi"},
		Object:  scenario.ADirect,
		Inverse: "register_direct",
		Traits:  scenario.Sited | scenario.Direct,
		Touches: scenario.TouchFlip | scenario.TouchTrace,
		Check:   noDirect,
	}, do: func(t Task, x *smp.Ctx, i int, op *scenario.Op) {
		redirect(t, x, i, op, t.Subject(op), smpev.AttachUnregister, 0,
			func() int { return t.Clients().Ftrace.UnregisterDirect(x, t.Site(op.Target), true) })
	}})

	RegisterFprobe = add(row{family: sites, Operation: &scenario.Operation{
		Word:   "register_fprobe",
		Params: scenario.Answers(scenario.Param{Name: "p", Of: scenario.TheFprobes}),
		Says: "call the handlers of an fprobe from now on, at all its functions. `\"EBUSY\"`: it is registered " +
			"already",
		Kernel:  []string{"register_fprobe_ips", "register_fprobe_syms", "bpf_kprobe_multi_link_attach"},
		Object:  scenario.AnFprobe,
		Inverse: "unregister_fprobe",
		Traits:  scenario.Patches | scenario.Sited,
		Touches: scenario.TouchFlip | scenario.TouchTrace | scenario.TouchFprobe,
	}, do: func(t Task, x *smp.Ctx, i int, op *scenario.Op) {
		redirect(t, x, i, op, t.Subject(op), smpev.AttachRegister, 0,
			func() int { return t.Clients().Fprobe[op.Target].Register(x) })
	}})

	UnregisterFprobe = add(row{family: sites, Operation: &scenario.Operation{
		Word:    "unregister_fprobe",
		Params:  scenario.Answers(scenario.Param{Name: "p", Of: scenario.TheFprobes}),
		Says:    "stop calling them; none of them runs any more when it returns. `\"EINVAL\"`: it isn't registered",
		Kernel:  []string{"bpf_kprobe_multi_link_release"},
		Object:  scenario.AnFprobe,
		Inverse: "register_fprobe",
		Traits:  scenario.Sited,
		Touches: scenario.TouchFlip | scenario.TouchTrace,
	}, do: func(t Task, x *smp.Ctx, i int, op *scenario.Op) {
		redirect(t, x, i, op, t.Subject(op), smpev.AttachUnregister, 0,
			func() int { return t.Clients().Fprobe[op.Target].Unregister(x) })
	}})

	AttachBpf = add(bpfProgram("bpf_attach", "attach the BPF program `program` to its function: the function's "+
		"site calls an image of its trampoline, made for all its programs. `\"EBUSY\"`: it is attached, or, until "+
		"5.19, another client changes the path", "bpf_detach", "bpf_trampoline_link_prog", scenario.Patches,
		(*bpf.Prog).Attach))

	DetachBpf = add(bpfProgram("bpf_detach", "detach `program`. Calls that are under way may still call it, but one "+
		"of kind `\"fexit\"` not once the function returns; the image that they are in is freed when none is in it "+
		"any more. `\"EINVAL\"`: it isn't attached", "bpf_attach", "bpf_trampoline_unlink_prog", 0,
		(*bpf.Prog).Detach))
)

// bpfProgram returns the row of an operation on a BPF program.
func bpfProgram(word, says, inverse, kernel string, traits scenario.Traits,
	do func(p *bpf.Prog, x kapi.Context) (errno int)) row {
	return row{family: sites, Operation: &scenario.Operation{
		Word:    word,
		Params:  scenario.Answers(scenario.Param{Name: "program", Of: scenario.TheBpfs}),
		Says:    says,
		Kernel:  []string{kernel},
		Object:  scenario.ABpf,
		Inverse: inverse,
		Traits:  traits | scenario.Sited,
		Touches: scenario.TouchFlip | scenario.TouchTrace | scenario.TouchBpf | scenario.TouchWork,
	}, do: func(t Task, x *smp.Ctx, i int, op *scenario.Op) {
		if !t.Unrefused(op) {
			t.Answer(x, i, do(t.Clients().Bpf[op.Target], x))
		}
	}}
}

// redirect does what changes where a function's site of ftrace leads to.
func redirect(t Task, x *smp.Ctx, i int, op *scenario.Op, subject, call, value uint64, do func() int) {
	if !t.Unrefused(op) {
		t.Answer(x, i, attach(x, subject, call, value, do))
	}
}

// noDirect says why a machine has no direct calls.
func noDirect(s *scenario.Scenario, op *scenario.Op) string {
	switch m := &s.Machine; {
	case m.Engine != "" && !m.Arch.Serves(target.OwnClients):
		return fmt.Sprintf("engine %s writes the sites of ftrace itself, and knows no direct call on %s; leave %s out",
			m.Engine, m.Arch, op.Kind)
	case !m.Directs():
		return fmt.Sprintf("edition %v has no direct calls, which came with 5.5; leave %s out, or take a later edition",
			m.Edition, op.Kind)
	}
	return ""
}

// nowhere says that there is no site from which a client is called.
func nowhere(s *scenario.Scenario, op *scenario.Op) string {
	if len(s.Sites) > 0 {
		return ""
	}
	return fmt.Sprintf("%v() is called from nowhere: no function has a site of ftrace; add fentry(f)", op.Kind)
}

// siteless says that a function has no site.
func siteless(s *scenario.Scenario, op *scenario.Op) string {
	if slices.ContainsFunc(s.Sites, func(t scenario.Site) bool { return t.Func == op.Target }) {
		return ""
	}
	return fmt.Sprintf("%v() of %s is refused: it has no site of ftrace; add fentry(%s)", op.Kind, op.Target, op.Target)
}
