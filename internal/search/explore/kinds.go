package explore

import (
	"slices"

	"kpsim/internal/scenario"
	"kpsim/kprobes/kpev"
	"kpsim/smp/smpev"
	"kpsim/traces"
)

// A reach says which scenarios may see a kind of event: those that have all features of one of
// these sets. Kinds that head each log, or end it, and Oops, which is a finding by itself, have no row.
type reach struct {
	kind traces.Kind
	in   sets
}

// sets are sets of features.
type sets []scenario.Touches

// and adds features to each set.
func (s sets) and(t scenario.Touches) sets {
	s = slices.Clone(s)
	for i := range s {
		s[i] |= t
	}
	return s
}

// or adds sets.
func (s sets) or(more ...scenario.Touches) sets { return append(slices.Clone(s), more...) }

const (
	register = scenario.TouchRegister
	call     = scenario.TouchCall
	slots    = register | scenario.TouchSlot   // there are breakpoints
	returns  = register | scenario.TouchReturn // there are return probes
	called   = returns | call                  // and their functions run
	jprobes  = register | call | scenario.TouchJprobe
	handlers = register | call | scenario.TouchHandler // handlers run
	jumps    = register | scenario.TouchJump           // a breakpoint may become a jump
	inGo     = scenario.TouchGo
)

var (
	always = sets{0}

	// text is written
	patches = sets{register, scenario.TouchFlip, scenario.TouchLoad, scenario.TouchDebugger, scenario.TouchUser}
	syncs   = patches.or(scenario.TouchHalt)                       // CPUs get IPIs
	traps   = syncs.or(scenario.TouchSource, scenario.TouchUprobe) // CPUs are interrupted
	waits   = sets{register | scenario.TouchQuiesce, register | scenario.TouchRemove, scenario.TouchLoad,
		scenario.TouchTrace, scenario.TouchAwait, scenario.TouchDispatch} // there are grace periods
	breakpoints = sets{register, scenario.TouchDebugger, scenario.TouchFlip | scenario.TouchBreakpoint}.and(call)
	locked      = patches.or(scenario.TouchUprobe)
	trampolines = sets{scenario.TouchTramp | scenario.TouchTrace, scenario.TouchTramp | register | scenario.TouchSite}
	stops       = patches.and(scenario.TouchStopped).or(scenario.TouchStop).and(inGo) // a kernel's own doesn't say it
)

var reaches = []reach{
	{smpev.Image, sets{jumps, scenario.TouchFlip, scenario.TouchOwnProbe, scenario.TouchSite, scenario.TouchUser}},
	{smpev.TextStore, patches},
	{smpev.Exec, sets{scenario.TouchProbe, scenario.TouchPatched, scenario.TouchDebugger, scenario.TouchHand,
		scenario.TouchMemory}.and(call).or(scenario.TouchUser)},
	{smpev.Trap, traps},
	{smpev.Claim, breakpoints.or(scenario.TouchUprobe)},
	{smpev.Return, traps},
	{smpev.Switch, always},
	{smpev.Wake, always},
	{smpev.Exit, always},
	{smpev.Serialise, traps},
	{smpev.SendIPI, syncs},
	{smpev.Fire, sets{scenario.TouchSource, scenario.TouchPage, scenario.TouchWork, jumps}},
	{smpev.Alloc, sets{slots, scenario.TouchLoad, scenario.TouchMemory, scenario.TouchBpf, scenario.TouchDispatch}.or(
		trampolines...)},
	{smpev.Free, sets{slots | scenario.TouchUndo, scenario.TouchLoad, scenario.TouchMemory, scenario.TouchBpf}.or(
		trampolines...)},
	{smpev.Retire, sets{scenario.TouchBoost, scenario.TouchDetour}.and(
		slots | scenario.TouchCache | scenario.TouchUndo).or(scenario.TouchLoad)},
	{smpev.Lock, locked},
	{smpev.Unlock, locked},
	{smpev.MightSleep, patches.or(scenario.TouchWork, scenario.TouchAwait, scenario.TouchHalt,
		scenario.TouchUprobe)},
	{smpev.GPStart, waits},
	{smpev.GPEnd, waits},
	{smpev.StopStart, stops},
	{smpev.StopEnd, stops},
	{smpev.Held, sets{scenario.TouchStore}},
	{smpev.Commit, sets{scenario.TouchStore}},
	{smpev.CPUState, sets{scenario.TouchPlug}},
	{smpev.CPUActive, sets{scenario.TouchLeave, scenario.TouchPlug | scenario.TouchCome}},
	{smpev.CPUFails, sets{scenario.TouchFail}},
	{smpev.Debugger, sets{scenario.TouchDebugger}},
	{smpev.LivePatch, sets{scenario.TouchLive}},
	{smpev.LiveSwitch, sets{scenario.TouchLive}},
	{smpev.LiveCall, sets{scenario.TouchLive | call}},
	{smpev.Fprobe, sets{scenario.TouchFprobe}},
	{smpev.Bpf, sets{scenario.TouchBpf}},
	{smpev.Aliased, sets{scenario.TouchAlias | call}},
	{smpev.Moves, sets{scenario.TouchMove | call}},
	{smpev.Uprobe, sets{scenario.TouchUprobe}},
	{smpev.CallEnd, sets{call}},
	{smpev.Got, sets{scenario.TouchCheck}},
	{kpev.ApiEnter, sets{scenario.TouchAPI}},
	{kpev.ApiReturn, sets{scenario.TouchAPI}},
	{kpev.Handler, sets{handlers}},
	{kpev.Missed, sets{register | call | scenario.TouchNest}},
	{kpev.Skipped, sets{register | call | scenario.TouchSibling | scenario.TouchSkip}},
	{kpev.Arm, sets{slots | inGo}},
	{kpev.Disarm, sets{slots | scenario.TouchRemove | inGo}},
	{kpev.Optimizing, sets{jumps | inGo}},
	{kpev.Optimized, sets{jumps | inGo}},
	{kpev.Unoptimizing, sets{jumps | scenario.TouchUndo | inGo}},
	{kpev.Unoptimized, sets{jumps | scenario.TouchUndo | inGo}},
	{kpev.Sysctl, sets{scenario.TouchSysctl}},
	{kpev.InstanceNew, sets{returns}},
	{kpev.InstanceGet, sets{returns}},
	{kpev.InstancePut, sets{returns}},
	{kpev.InstanceFree, sets{returns}},
	{kpev.HolderDrop, sets{returns | scenario.TouchHolder | inGo}},
	{kpev.HolderFree, sets{returns | scenario.TouchHolder | inGo}},
	{kpev.Hooked, sets{returns}},
	{kpev.Trampoline, sets{returns}},
	{kpev.RetMissed, sets{returns}},
	{kpev.JprobeEnter, sets{jprobes}},
	{kpev.JprobeLeave, sets{jprobes}},
	{kpev.Context, sets{handlers | scenario.TouchContext}},
	{kpev.RetEntry, sets{called | scenario.TouchEntry}},
	{kpev.RetLeft, sets{called | scenario.TouchRefuse}},
	{kpev.RetReturn, sets{called | scenario.TouchReturned}},
	{kpev.Enabled, sets{scenario.TouchEnabled}},
	{kpev.Reading, sets{scenario.TouchRead}},
	{kpev.ReadLine, sets{scenario.TouchRead | register}},
	{kpev.ReadEnd, sets{scenario.TouchRead}},
	{kpev.Printk, sets{scenario.TouchSysctl, scenario.TouchEnabled, scenario.TouchPage | scenario.TouchNest | call}},
}

// reachable lists the kinds of event that a scenario may see.
func reachable(sc *scenario.Scenario) (list []traces.Kind) {
	has := sc.Touches()
	for _, r := range reaches {
		if slices.ContainsFunc(r.in, func(t scenario.Touches) bool { return t&^has == 0 }) {
			list = append(list, r.kind)
		}
	}
	return list
}
