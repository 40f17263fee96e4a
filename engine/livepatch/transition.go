package livepatch

import (
	"kpsim/smp/kapi"
	"kpsim/smp/smpev"
)

// The orders between tasks' states, functions in transition, and the stacks of functions that
// the handler walks.
var (
	writeState = kapi.DefineBarrier("livepatch: tasks' states, then functions in transition", kapi.OrderWMB,
		"klp_init_transition, kernel/livepatch/transition.c: smp_wmb()")
	writeTransition = kapi.DefineBarrier("livepatch: a function in transition, then on the stack", kapi.OrderWMB,
		"__klp_enable_patch, kernel/livepatch/core.c: smp_wmb(); in __klp_disable_patch before klp_start_transition")
	readFunc = kapi.DefineBarrier("klp_ftrace_handler: the function, then its transition", kapi.OrderRMB,
		"klp_ftrace_handler, kernel/livepatch/patch.c: smp_rmb()")
	readState = kapi.DefineBarrier("klp_ftrace_handler: the transition, then the task's state", kapi.OrderRMB,
		"klp_ftrace_handler, kernel/livepatch/patch.c: smp_rmb()")
	pendingTarget = kapi.DefineBarrier("livepatch: a pending switch, then where to", kapi.OrderFull,
		"klp_update_patch_state, kernel/livepatch/transition.c: test_and_clear_tsk_thread_flag()")
)

// initTransition gives each task its initial state for a transition, and then makes the handler check states
// (klp_init_transition). Context: klp_mutex held.
func (p *Patches) initTransition(x kapi.Context, k *patch, target state) {
	p.transition = k
	p.target.WriteOnce(x, target)
	initial := patched
	if target == patched {
		initial = unpatched
	}
	x.Emit(smpev.LivePatch, k.number, smpev.LiveBegins, uint64(target-unpatched))
	x.Step("klp_init_transition", 1)
	for t := range p.states { // in one step: no handler reads them yet
		p.states[t].Put(x, initial)
	}

	x.Fence(writeState)
	for _, f := range k.funcs {
		f.transition.WriteOnce(x, true)
	}
}

// startTransition lets tasks switch (klp_start_transition). Context: klp_mutex held.
func (p *Patches) startTransition(x kapi.Context) {
	target := p.target.Owned()
	for t := range p.pending {
		if x.Step("klp_start_transition", 1); p.states[t].Look(x) != target {
			p.pending[t].Put(x, true)
		}
	}
	if p.Forced {
		for t := range p.states {
			p.switchTask(x, kapi.TaskID(t), smpev.LiveForced)
		}
	}
}

// reverseTransition reverses a transition (klp_reverse_transition):
//
//	step 1: no task is switched any more, and tasks being switched are done
//	step 2: switched tasks may be switched back
//
// Context: klp_mutex held.
func (p *Patches) reverseTransition(x kapi.Context) {
	k, target := p.transition, unpatched
	if p.target.Owned() == unpatched {
		target = patched
	}
	p.left(k)
	if target == patched {
		k.enabled = true
		p.newest = append(p.newest, k)
	}
	x.Emit(smpev.LivePatch, k.number, smpev.LiveReversed, uint64(target-unpatched))
	p.target.WriteOnce(x, target)
	for t := range p.pending {
		p.pending[t].WriteOnce(x, false)
	}
	p.synchronize(x)

	p.startTransition(x)
}

// finish waits until a patch isn't in transition any more, and tries to complete the transition. With an errno it
// doesn't wait. Context: klp_mutex held; it is released meanwhile.
func (p *Patches) finish(x kapi.Context, k *patch, errno int) {
	for errno == 0 && p.transition == k && !p.tryComplete(x) {
		p.mutex.Unlock(x)
		p.d.Switches.Await(x)
		p.mutex.Lock(x)
	}
	p.mutex.Unlock(x)
}

// tryComplete tries to switch all tasks that are left, and ends the transition if none is
// (klp_try_complete_transition). Context: klp_mutex held.
func (p *Patches) tryComplete(x kapi.Context) (done bool) {
	p.d.Switches.Begin(x)
	target := p.target.Owned()
	all := true
	for t := range p.states {
		if x.Step("klp_try_switch_task", 1); p.states[t].Look(x) != target {
			all = p.trySwitch(x, kapi.TaskID(t)) && all
		}
	}
	if !all && !(p.NoWait && target == unpatched) {
		return false
	}
	p.completeTransition(x, p.transition.funcs)
	return true
}

// trySwitch switches a task within the step under way, if it is in no function that goes
// (klp_try_switch_task).
func (p *Patches) trySwitch(x kapi.Context, t kapi.TaskID) bool {
	p.spans = p.spans[:0]
	for _, f := range p.transition.funcs {
		span := f.to
		if p.target.Look(x) == patched {
			list := f.ops.stack.Look(x)
			for i := range list {
				if list[i] == f {
					span = f.ops.before(list, i)
				}
			}
		}
		if !p.Unchecked {
			p.spans = append(p.spans, span)
		}
	}
	if p.d.Switches.Look(x, t, p.spans) != kapi.LookOut {
		return false
	}
	p.switchTask(x, t, smpev.LiveLooked)
	p.d.Switches.LetGo(x, t)
	return true
}

// switchTask switches a task within the step under way.
func (p *Patches) switchTask(x kapi.Context, t kapi.TaskID, how uint64) {
	target := p.target.Look(x)
	p.pending[t].Put(x, false)
	p.states[t].Put(x, target)
	x.Emit(smpev.LiveSwitch, uint64(t), uint64(target-unpatched), how)
}

// completeTransition ends a transition (klp_complete_transition): the handler stops seeing removed functions before
// it stops checking states. funcs are the patched ones. Context: klp_mutex held.
func (p *Patches) completeTransition(x kapi.Context, funcs []*fn) {
	k, target := p.transition, p.target.Owned()
	if target == unpatched {
		for _, f := range funcs {
			f.unpatchFunc(x)
		}
		p.synchronize(x)
	}

	for _, f := range k.funcs {
		f.transition.WriteOnce(x, false)
	}

	if target == patched {
		p.synchronize(x)
	}
	x.Step("klp_complete_transition", 3)
	for t := range p.states { // in one step: no handler reads them any more
		p.pending[t].Put(x, false)
		p.states[t].Put(x, undefined)
	}
	x.Emit(smpev.LivePatch, k.number, smpev.LiveComplete, uint64(target-unpatched))
	p.target.WriteOnce(x, undefined)
	p.transition = nil
	p.d.Switches.Tell(x) // the caller of a reversed transition waits, too
}

// synchronize waits until no CPU is in a handler that has begun before
// (klp_synchronize_transition).
func (p *Patches) synchronize(x kapi.Context) {
	p.d.RCU.Synchronize(x, kapi.QuiesceSched)
}

// updatePatchState switches the task that goes to user mode (klp_update_patch_state).
func (p *Patches) updatePatchState(x kapi.Context) {
	t := x.Task()
	if !p.pending[t].ReadOnce(x) { // exit_to_user_mode_loop checks TIF_PATCH_PENDING
		return
	}
	x.PreemptDisable()
	if was := p.pending[t].RMW(x, pendingTarget); *was {
		*was = false
		target := p.target.ReadOnce(x)
		p.states[t].WriteOnce(x, target)
		x.Emit(smpev.LiveSwitch, uint64(t), uint64(target-unpatched), smpev.LiveUser)
		p.d.Switches.Tell(x)
	}
	x.PreemptEnable()
}

// schedTrySwitch has the task that calls cond_resched look at its own stack
// (__klp_sched_try_switch).
func (p *Patches) schedTrySwitch(x kapi.Context) {
	t := x.Task()
	if !p.pending[t].ReadOnce(x) {
		return
	}
	x.PreemptDisable()
	if x.Step("klp_sched_try_switch", 1); p.pending[t].Look(x) && p.transition != nil {
		p.trySwitch(x, t)
	}
	x.PreemptEnable()
}
