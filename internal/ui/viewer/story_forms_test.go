package viewer_test

import (
	"regexp"
	"strings"

	"kpsim/kprobes/kpev"
	"kpsim/linux/linuxev"
	"kpsim/smp/smpev"
	"kpsim/traces"
)

// A form is how sentences of a kind read. Each <word> is held against the event by
// cited.word.
type form struct {
	re    *regexp.Regexp
	kinds []traces.Kind // of its event; none: any
}

const placeWords = `[\w.\-]+\+0x[0-9a-f]+|kernel code|idle|0x[0-9a-f]+`

// words are what is read for a <word>; any other is a name.
var words = map[string]string{
	"A": placeWords, "B": placeWords, "C": placeWords, "hit": placeWords, "at": placeWords, "end": placeWords,
	"next": placeWords, "arrived": placeWords, "trapped": placeWords, "stood": placeWords, "over": placeWords,
	"sent":  placeWords,
	"bytes": `(?:[0-9a-f]{2} )*[0-9a-f]{2}`,
	"held":  `[0-9a-f]{2}`, "linked": `[0-9a-f]{2}`, "insn": `.+?`, "behind": `.+?`, "before": `.+?`, "image": `.+?`,
	"cpu": `\d+`, "other": `\d+`, "nA": `\d+`, "nB": `\d+`, "event": `\d+`, "vector": `.+?`, "handler": `\w+`,
	"errno":   `\w+(?: \(-\d+\))?`,
	"areaA":   `[\w']+(?: section)?|memory at \S+`,
	"areaEnd": `\w+`, "into": `\w+`, "passed": `\w+`, "lock": `[\w.\[\]]+`, "alsoLock": `[\w.\[\]]+`, "cell": `.+?`,
}

var wordOf = regexp.MustCompile(`<(\w+)>`)

func forms(kinds string, list ...string) (of []form) {
	byName := map[string]traces.Kind{}
	for k := traces.Kind(0); k <= linuxev.Call; k++ {
		byName[k.String()] = k
	}
	var ks []traces.Kind
	for _, name := range strings.Fields(kinds) {
		if _, ok := byName[name]; !ok {
			panic(name)
		}
		ks = append(ks, byName[name])
	}
	for _, s := range list {
		s = strings.ReplaceAll(s, "<cpu>", "cpu<cpu>")
		s = wordOf.ReplaceAllStringFunc(s, func(w string) string {
			w = w[1 : len(w)-1]
			read, ok := words[w]
			if !ok {
				read = `[\w.@/\-]+`
			}
			return "(?P<" + w + ">" + read + ")"
		})
		of = append(of, form{regexp.MustCompile("^" + s + `\.$`), ks})
	}
	return of
}

// storyForms are the forms of all sentences that are no row of the log.
var storyForms = joined(
	// Instructions, and where tasks come to stand.
	forms("Exec",
		`<cpu> (?:went on at|returned to) <A>, in freed memory, and ran <insn>`,
		`<cpu> went on at <A>, and ran <insn>`,
		`<cpu> ran <insn> at <A>`,
		`<cpu> ran <insn> at <A>, which memory no longer held`,
		`<cpu>'s fetch (?:came between them: it )?saw the store of event \d+, but not that of event \d+`,
		`<cpu> (?:went on at|returned to) <A> and ran <bytes> \(<insn>\): .*`,
		`<cpu> ran <bytes> at <A> \(<insn>\)(?:: .*)?`,
		`<cpu> ran <bytes> \(<insn>\)[:,] .*`,
		`<cpu> ran (?:cc|02 90|73 00 10 00|80 00 20 d4) at <A>, the (?:old )?breakpoint, and trapped`,
		`<cpu> ran <insn> at <A>; next was <next>`,
		`<cpu> ran <insn>; next was <next>, where it stood until event <event>`,
		`<cpu> ran <insn> at <A>, into (?:the )?<into>`,
		`<cpu> ran (?:the )?<areaA> up to its call of the handlers, and no further until event <event>`,
		`<cpu> ran <insn> at <A>`,
		`<cpu> took the jump at <A> \(<insn>\)`,
		`<task> was in the version that it will return into: it ran <insn>`),
	forms("Trap Exec", `<cpu> had \d+ hits? earlier in the same call`),
	forms("Trap Return", `<cpu> took the breakpoint at <hit>(?: \(.*\))?; .* sent it to <sent>(?:, from where it came to <next>)?(?:, where it stood until event <event>)?`),
	forms("Trap",
		`<cpu> took the breakpoint at <hit>(?: \(.*\))?`,
		`<cpu> took the <vector> at <B>`,
		`<cpu> took its <vector>(?:, which stop_machine can't hold off)?; its handler ran <next>`,
		`An? <vector> took <cpu> at <B>(?:, before <before> ran)?`),
	forms("Return",
		`<cpu> ran the probed <behind> in its slot and came back to <B>(?:, where it stood until event <event>)?`,
		`<cpu> had stepped through (?:the )?<passed>, and was sent on to <B>`,
		`<cpu> returned to <B>, (?:in freed memory|which with FRED doesn't serialise)`),
	forms("Claim", `<cpu>: uprobes claimed the <vector> at <B>, in the kernel`),
	forms("Oops", `Neither .* claimed the <vector> on <cpu>: the kernel died`,
		`No handler took the <vector> on <cpu>: the kernel died`),
	forms("Switch",
		`<taskA> was preempted there: <cpu> switched to <taskB>`,
		`<cpu> idles from here on: <taskA> has given it up, and the grace period waits for it`,
		`<cpu> runs <taskB> from here on, which doesn't give it up`,
		`<taskB> runs from here on, and doesn't give its CPU up by itself`),
	// Stores and memory.
	forms("TextStore",
		`<cpu> wrote (?:the first byte of |the first \d+ bytes of |the tail of |part of )?the (?:jump|call) to <image> over <over>(?:\.\.\S+)?(?:, every CPU stopped)?(?:: a jump, though optimization was off)?`,
		`<cpu> (?:wrote|stored) .* (?:over|to) <over>(?:\.\.\S+)?(?:, every CPU stopped)?(?:: a jump, though optimization was off)?`,
		`<cpu> wrote <A> anew while <alsoTask> was in it, behind <behind>`,
		`No (?:\S+ and no )?IPI made cpu\d+ serialise after event <event>, so it might still fetch the older bytes`,
		`The IPI that was to make cpu\d+ serialise hadn't reached it, so it might still fetch the older bytes`,
		`cpu\d+ left stop_machine without serialising, so it might still fetch the older bytes`,
		`Of .* still to be written(?:, and no breakpoint stood there)?`,
		`Of .*, <cpu> stored \S+ at event \d+, and \S+ at event \d+`,
		`The write of .* (?:crosses 8 aligned bytes at 0x[0-9a-f]+, so it can't be one store|was parted at 0x[0-9a-f]+, inside 8 aligned bytes)`),
	forms("Alloc", `<cpu> was handed (?:the )?<areaA>, <nB> bytes?`,
		`<cpu> was handed the same memory, for something else`),
	forms("Free",
		`<cpu> freed <nB> bytes? at <A>`,
		`<cpu> freed (?:the )?<areaA>; <alsoTask> had still to return to <trapped>`,
		`<cpu> freed (?:the )?<areaA> while <alsoTask> was in it, behind <behind>`,
		`<cpu> freed (?:the )?<areaA>`),
	forms("Held", `<cpu> held its store to <cell> until event <event>; others went on meanwhile`,
		`<cpu> held its store to <cell>; no other CPU had seen it yet`),
	// Waits.
	forms("GPStart",
		`<task> on <cpu> began to wait for the <flavour> grace period <nB>`,
		`cpu\d+ hasn't run anything yet, and the grace period waits for it`),
	forms("GPEnd",
		`<task>'s <flavour> grace period ended before cpu<other> came to <arrived>`,
		`The <flavour> grace period ended although <arriver> stood at <arrived>: (?:cpu<other>'s (?:switch|tick) at event <rest> was its quiescent state|it waits .*|that task .*|cpu\d+ shows no quiescent state)`),
	forms("StopStart",
		`stop_machine stops each CPU where it stands; it makes nobody leave <stood>`,
		`stop_machine stops each CPU where it stands; cpu<other> came to <arrived> afterwards`,
		`stop_machine: every CPU stood in its stopper, interrupts off`),
	forms("StopStart StopEnd",
		`stop_machine was over before cpu<other> came; <alsoTask> waited for nothing else before freeing`,
		`<alsoTask> waited for nothing but stop_machine before freeing`),
	forms("TextStore Free",
		`<task> didn't wait for cpu\d+ to leave; its call IPIs only make it serialise`,
		`<task> didn't wait for a grace period or for stop_machine before (?:writing|freeing)`),
	// Locks.
	forms("Lock", `<cpu>: <task> took <lock>`, `<cpu> had taken <lock> under <alsoLock> before`),
	forms("Lock Unlock MightSleep",
		`<cpu>: <task>: (?:lock <lock>|touch what <lock> protects, WITHOUT IT|might sleep, IN ATOMIC CONTEXT|might sleep|unlock <lock>)`),
	// Calls of the API, and handlers.
	forms("ApiReturn",
		`<api>\(<probeB>\) returned on <cpu>: from now on every hit must be seen`,
		`<api>\(<probeB>\) returned on <cpu>: nothing is registered at <at> any more`,
		`<api>\(<probeB>\) returned on <cpu>, the last call for <at>`,
		`<api>\(<probeB>\) returned on <cpu>, and <at> still held <held>`,
		`<api>\(<probeB>\) returned on <cpu>, (?:without waiting for|although it had waited for) a grace period`,
		`<api>\(<probeB>\) returned on <cpu>`),
	forms("Reading", `<cpu> began to read `+files),
	forms("ApiEnter", `<cpu> began <api>\(<probeB>\)(?:, at <C>)?`),
	forms("Handler", `<cpu> ran the <handler> of <probeA>(?:, which was no longer registered|, and came to <next>| for it)?(?:, where it stood until event <event>)?`),
	forms("Missed Skipped RetMissed",
		`<cpu> counted: <probeA>: (?:no free instance, )?(?:missed|skipped, by <probeB>)(?:, which was no longer registered)?`),
	forms("Sysctl", `<cpu> had written <nA> to (?:the sysctl )?kprobes-optimization, and that returned`),
	forms("Enabled", `<cpu> had written <nA> to kprobes/enabled, and that returned`,
		`<cpu> began to write <nA> to kprobes/enabled`, `That returned on <cpu>, and <end> held <held>`),
	forms("Optimizing", `<cpu> queued <A> to be optimized(?:, although that was switched off)?`),
	forms("Optimizing Unoptimizing", `<cpu> queued <A> for the optimizer; no work began after that`),
	forms("Disarm", `<cpu> disarmed <A>, it says, but stored nothing there`),
	// Ends.
	forms("",
		`At the end <end> holds <held>; linked there is <linked>`,
		`(?:At the end n|N)othing has been written to <end>`,
		`At the end nobody has freed (?:the )?<areaEnd>`,
		`<cpu> hit no probe in that call`),
	forms("CallEnd", `<cpu>: call <nB> of <taskA> end(?:s|ed).*`),
)

// rowForms are the forms of rows of the log, of which some are sentences: after "cpu0: ", or as a
// task's last event.
var rowForms = joined(
	forms("Switch", `(?:switch|preempted): <taskA> -> <taskB>`),
	forms("Gives", `<taskA> gives up its CPU: <taskB> is next`),
	forms("Lock", `lock <lock>`, `touch what <lock> protects, WITHOUT IT`),
	forms("Unlock", `unlock <lock>`),
	forms("MightSleep", `might sleep(?:, IN ATOMIC CONTEXT)?`),
	forms("Trap", `<vector>, saved (?:ip|pc|nip) <B>(?:, .*)?`),
	forms("Return", `return to <B>`),
	forms("Claim", `claimed by .*`),
	forms("Oops", `OOPS: unhandled <vector> at <B>`),
	forms("Serialise", `serialise \(.*\)`),
	forms("SendIPI", `send IPI to .*`),
	forms("Exec", `<A>(?: \(freed\))?: .*`),
	forms("Image", `about to write at <A>: .*`),
	forms("TextStore", `store <A>.*`),
	forms("Free", `free (?:<areaA> \(<nB> bytes?\): .*|<nB> bytes? at <A>)`),
	forms("Alloc", `allocate <areaA>: <nB> bytes? at .*`),
	forms("Retire", `give (?:<nB> bytes? at <A>|<areaA>) back, to be freed after a grace period`),
	forms("GPStart GPEnd", `<flavour> grace period <nB> (?:begins|ends)`),
	forms("StopStart StopEnd", `stop_machine: .*`),
	forms("CallEnd Expect", `call <nB> of <taskA> returns`, `call <nB> of <taskA> ended.*`),
	forms("Got", `check \d+ finds 0x[0-9a-f]+ at <C>(?:; right is .*)?`, `check \d+ finds .*`),
	forms("ApiEnter", `<api>\(<probeB>\) at <C> begins`),
	forms("ApiReturn", `<api>\(<probeB>\) -> <errno>`),
	forms("Handler", `<handler> of <probeA>`),
	forms("Context", `<handler> of <probeA> runs with .*`),
	forms("Missed RetMissed", `<probeA>: (?:no free instance, )?missed`),
	forms("Skipped", `<probeA>: skipped, by <probeB>`),
	forms("JprobeEnter JprobeLeave", `<probeA>: registers and stack .*`),
	forms("InstanceNew InstanceGet InstancePut InstanceFree", `<probeB>: instance <nA>(?: taken| given back| freed)?`),
	forms("HolderDrop", `return probe memory <nA>: <nB> references? dropped, \d+ left`),
	forms("HolderFree", `return probe memory <nA> of <probeB> freed`),
	forms("Hooked", `instance <nA> keeps the return address <C> at 0x[0-9a-f]+: now the trampoline's`),
	forms("Trampoline", `trampoline: returns to <B>`, `trampoline: no instance has the return address`),
	forms("RetEntry", `<probeA>: a call begins that is to return to <C>`),
	forms("RetReturn", `<probeA>: its handler is told that the call returns to <C>`),
	forms("RetLeft", `<probeA>: this call is left alone`),
	forms("Arm", `arm <A>`),
	forms("Disarm", `disarm <A>`),
	forms("Optimizing Unoptimizing", `queued to be (?:un)?optimized: <A>`),
	forms("Optimized", `optimized: <A> jumps to <B>`),
	forms("Unoptimized", `unoptimized: <A>`),
	forms("Sysctl", `kprobes-optimization = <nA>(?: begins|: done)`),
	forms("Enabled", `kprobes/enabled = <nA>(?: begins|: done)`),
	forms("Reading", `begins to read `+files),
	forms("ReadLine", `reads in kprobes/list: .*`),
	forms("ReadEnd", `has read `+files+`: \d+`),
	forms("Debugger", `the debugger's breakpoint at <A> is (?:cleared: |set, over ).*`),
	forms("Printk GPStall", `the kernel prints: .*`),
	forms("LivePatch", `the transition of live patch <nA> to the (?:new|old) functions .*`),
	forms("LiveSwitch", `<taskA> goes over to the (?:new|old) functions, .*`),
	forms("LiveCall", `a call of <A> (?:goes on in <B>|stays in the old function)(?:, but returns to <C>, of the other version)?`),
	forms("Fprobe", `the fprobe of <A> .*`,
		`a call of <A> (?:is hooked, and the entry|has returned, and the exit) handler <C> runs`,
		`a call of <A> is missed by its fprobe`),
	forms("Uprobe",
		`in user mode it comes to the uprobe at <A>`,
		`on the way back to user mode the handler of the uprobe at <A> runs: <C>`,
		`it is to step the copy at <C> of the instruction at <A>, in user mode`,
		`after the uprobe at <A> it continues in user mode(?: where it shouldn't)?, at <C>`,
		`(?:un)?registers <C> at the uprobe <A>`, `<C> is (?:un)?registered at the uprobe <A>`,
		`is killed: a breakpoint stands at <A>, and no uprobe is there`,
		`runs the instruction at <A>, where no breakpoint stands`, `the handler <C> of the uprobe at <A> returns`,
		`<C> has (?:a|no) return handler at the uprobe <A>`, `<C> wants (?:no )?hits of the uprobe at <A>`,
		`in user mode it calls the function with the uprobe at <A>, to return to <C>`,
		`the return address <C> of the call of <A> is replaced by that of the trampoline`,
		`a call of <A> has returned to the trampoline, and the return handler of <C> runs`,
		`a call of <A> is over, and user mode continues at <C>`, `longjmp leaves a call of <A>`,
		`is killed: a call of <A> returns to the trampoline, and is not known there`,
		`the uprobe at <A> gets the memory <C>`, `the memory <C> of the uprobe at <A> is freed`,
		`a return from <A> uses the memory <C> of its uprobe`, `the nop at <A> is emulated`,
		`the call at the uprobe <A> enters the kernel`, `a call replaces the breakpoint at the uprobe <A>`,
		`the nop at the uprobe <A> (?:replaces the call|stands again)`,
		`a breakpoint is written over the nop at the uprobe <A>`),
	forms("Bpf", `a call of <A> runs the (?:fentry|fmod_ret) program <C>`,
		`after a call of <A> the fexit program <C> runs`, `the program <C> of <A> returns`,
		`a call of <A> leaves the program <C> out, which the CPU runs already`, `<A> returns to its image at <C>`,
		`the program <C> leaves <A> out`, `attaches the (?:fentry|fmod_ret|fexit) program <C> to <A>`,
		`the program <C> (?:is|isn't) attached to <A>`, `detaches the program <C> from <A>`,
		`the program <C> is detached from <A>`),
	forms("Commit Held", `(?:takes effect: <cpu>'s|holds its) store(?: of 0x[0-9a-f]+)? to <cell>(?:: other CPUs don't see it yet)?`),
	forms("Warn", `the kernel warns at <A>(?:: the check in line <nB> of its source fails)?`),
	forms("Heap", `access (?:to freed memory|past the end of memory) at <B>(?:, .*)?`,
		`access to user space at <B> by the kernel's code`, `memory at <B>(?:, .*|) is freed.*`),
	forms("Uneven", `a function returns .*`),
	forms("CPUState CPUActive CPUFails", `CPU <nA> .*`),
	forms("Wake", `wake <taskA>`),
	forms("Exit", `<taskA> ends`),
	forms("Fire", `.* fires`),
	forms("Done", `the run is over.*`),
)

func joined(lists ...[]form) (all []form) {
	for _, l := range lists {
		all = append(all, l...)
	}
	return all
}

var apis = map[string]uint64{"register": kpev.Register, "unregister": kpev.Unregister, "enable": kpev.Enable,
	"disable": kpev.Disable}

var handlers = map[string]uint64{"pre_handler": kpev.Pre, "post_handler": kpev.Post, "entry_handler": kpev.Entry,
	"handler": kpev.Return, "fault_handler": kpev.Fault, "entry": kpev.Jump}

var flavours = map[string]uint64{"RCU-sched": smpev.GPSched, "RCU": smpev.GPRcu, "RCU-tasks": smpev.GPTasks}

var vectors = map[string]uint64{"NMI": smpev.VecNMI, "timer interrupt": smpev.VecTimer,
	"reschedule interrupt": smpev.VecResch, "call IPI": smpev.VecCall}

// files are what a read is about.
const files = `(?:kprobes/list|kprobes/enabled|the sysctl kprobes-optimization|nmissed)`
