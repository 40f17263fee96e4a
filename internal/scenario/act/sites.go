package act

import (
	"fmt"
	"kpsim/internal/scenario"
	"kpsim/kprobes/rules"
	"kpsim/smp"
	"slices"
)

// What stands on sites of ftrace: tracers, live patches, direct calls, fprobes.
var (
	Tracer = add(row{family: sites, Operation: &scenario.Operation{
		Word:   "tracer",
		Params: []scenario.Param{{Name: "on", Kind: scenario.ParamOn}},
		Says: "ftrace's own client comes, or goes: it is called from all sites, which are rewritten in one " +
			"batch",
		Kernel:  []string{"register_ftrace_function", "unregister_ftrace_function", "ftrace_set_filter_ip"},
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
		Says: "a client of ftrace comes to all sites, or goes, that may change where a call goes on, as a live " +
			"patch does. A site has one such client: it doesn't come while there is another, as that of " +
			"probes with a `post_handler`, and these can't be registered meanwhile",
		Kernel:  []string{"klp_ftrace_handler"},
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
		Says: "a live patch: calls of `f` go on in `g`, from `f`'s site of ftrace; of several functions " +
			"together `patch_func([f, h], [g, k])`. It returns when each task has gone over: one that doesn't " +
			"run and isn't in `f`, goes to user mode, idles, or, from 6.5 on, calls `cond_resched`. A later " +
			"patch comes over it. `\"EBUSY\"`: another client changes the path there, or another patch is in " +
			"transition; `\"EINVAL\"`: there is no site, or the patch is enabled. While `unpatch_func` takes " +
			"it away it turns that round. Say `changed = True` of calls whose result that changes",
		Kernel:  []string{"klp_enable_patch", "klp_patch_object", "klp_patch_func"},
		Traits:  scenario.Patches | scenario.Sited | scenario.Live | scenario.Serial | scenario.Stirs,
		Touches: scenario.TouchFlip | scenario.TouchTrace | scenario.TouchLive,
		Idle:    siteless,
	}, do: func(t Task, x *smp.Ctx, i int, op *scenario.Op) {
		redirect(t, x, i, op, func() int { return t.Clients().Patches.Patch(x, t.Patch(op)...) })
	}})

	UnpatchFunc = add(row{family: sites, Operation: &scenario.Operation{
		Word:   "unpatch_func",
		Params: scenario.Answers(scenario.Param{Name: "f", Kind: scenario.ParamFunc}),
		Says: "the newest patch of `f` goes, with all its functions; it returns when each task has gone back, " +
			"and none is in a function that was patched in, or will return into it. While `patch_func` brings " +
			"it it turns that round. `\"EBUSY\"`: another patch is in transition; `\"EINVAL\"`: there is none",
		Kernel:  []string{"klp_disable_patch", "klp_unpatch_object", "klp_unpatch_func"},
		Traits:  scenario.Sited | scenario.Live | scenario.Serial | scenario.Stirs,
		Touches: scenario.TouchFlip | scenario.TouchTrace,
	}, do: func(t Task, x *smp.Ctx, i int, op *scenario.Op) {
		redirect(t, x, i, op, func() int { return t.Clients().Patches.Unpatch(x, t.Func(op.Target)) })
	}})

	RegisterDirect = add(row{family: sites, Operation: &scenario.Operation{
		Word: "register_direct",
		Params: scenario.Answers(scenario.Param{Name: "f", Kind: scenario.ParamFunc},
			scenario.Param{Name: "t", Kind: scenario.ParamInto}),
		Says: "a direct call (5.5): `f`'s site of ftrace calls the function `t` itself; beside another client " +
			"it calls ftrace, which goes to `t` afterwards. `t` keeps the registers, or say `changed = True` " +
			"of calls. `\"EBUSY\"`: it calls one already, or, until 5.19, a client has the site that changes " +
			"the path",
		Kernel:  []string{"register_ftrace_direct", "register_ftrace_direct_multi"},
		Traits:  scenario.Patches | scenario.Sited | scenario.Direct,
		Touches: scenario.TouchFlip | scenario.TouchTrace,
		Check:   noDirect,
		Idle:    siteless,
	}, do: func(t Task, x *smp.Ctx, i int, op *scenario.Op) {
		redirect(t, x, i, op, func() int {
			return t.Clients().Ftrace.RegisterDirect(x, t.Site(op.Target), t.Func(op.Targets[0]))
		})
	}})

	ModifyDirect = add(row{family: sites, Operation: &scenario.Operation{
		Word: "modify_direct",
		Params: scenario.Answers(scenario.Param{Name: "f", Kind: scenario.ParamFunc},
			scenario.Param{Name: "t", Kind: scenario.ParamInto}),
		Says: "the site calls another function `t`; it returns when no task is in the one before. `\"EINVAL\"`: " +
			"there is no direct call",
		Kernel:  []string{"modify_ftrace_direct", "modify_ftrace_direct_multi"},
		Traits:  scenario.Sited | scenario.Direct,
		Touches: scenario.TouchFlip | scenario.TouchTrace,
		Check:   noDirect,
	}, do: func(t Task, x *smp.Ctx, i int, op *scenario.Op) {
		redirect(t, x, i, op, func() int {
			return t.Clients().Ftrace.ModifyDirect(x, t.Site(op.Target), t.Func(op.Targets[0]))
		})
	}})

	UnregisterDirect = add(row{family: sites, Operation: &scenario.Operation{
		Word:    "unregister_direct",
		Params:  scenario.Answers(scenario.Param{Name: "f", Kind: scenario.ParamFunc}),
		Says:    "the direct call goes; it returns when no task is in the function that was called",
		Kernel:  []string{"unregister_ftrace_direct", "unregister_ftrace_direct_multi"},
		Traits:  scenario.Sited | scenario.Direct,
		Touches: scenario.TouchFlip | scenario.TouchTrace,
		Check:   noDirect,
	}, do: func(t Task, x *smp.Ctx, i int, op *scenario.Op) {
		redirect(t, x, i, op, func() int { return t.Clients().Ftrace.UnregisterDirect(x, t.Site(op.Target)) })
	}})

	RegisterFprobe = add(row{family: sites, Operation: &scenario.Operation{
		Word:   "register_fprobe",
		Params: scenario.Answers(scenario.Param{Name: "p", Of: scenario.TheFprobes}),
		Says: "the handlers of an fprobe are called from now on, from all its functions. `\"EBUSY\"`: they are " +
			"already",
		Kernel:  []string{"register_fprobe_ips", "register_fprobe_syms", "bpf_kprobe_multi_link_attach"},
		Traits:  scenario.Patches | scenario.Sited,
		Touches: scenario.TouchFlip | scenario.TouchTrace | scenario.TouchFprobe,
	}, do: func(t Task, x *smp.Ctx, i int, op *scenario.Op) {
		redirect(t, x, i, op, func() int { return t.Clients().Fprobe[op.Target].Register(x) })
	}})

	UnregisterFprobe = add(row{family: sites, Operation: &scenario.Operation{
		Word:    "unregister_fprobe",
		Params:  scenario.Answers(scenario.Param{Name: "p", Of: scenario.TheFprobes}),
		Says:    "they aren't any more, and none of them runs when it returns. `\"EINVAL\"`: it isn't registered",
		Kernel:  []string{"bpf_kprobe_multi_link_release"},
		Traits:  scenario.Sited,
		Touches: scenario.TouchFlip | scenario.TouchTrace,
	}, do: func(t Task, x *smp.Ctx, i int, op *scenario.Op) {
		redirect(t, x, i, op, func() int { return t.Clients().Fprobe[op.Target].Unregister(x) })
	}})
)

// redirect does what changes where a function's site of ftrace leads to.
func redirect(t Task, x *smp.Ctx, i int, op *scenario.Op, do func() int) {
	if !t.Unrefused(op) {
		t.Answer(x, i, do())
	}
}

// noDirect says why a machine has no direct calls.
func noDirect(s *scenario.Scenario, op *scenario.Op) string {
	switch m := &s.Machine; {
	case m.Engine != "":
		return fmt.Sprintf("engine %s writes the sites of ftrace itself, and knows no direct call; leave %s out",
			m.Engine, op.Kind)
	case m.Edition == rules.Edition26 || m.Edition == rules.Edition415:
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
