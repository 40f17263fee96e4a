// Package kprobes is the engine under test: Linux kernel probes, as documented
// in the numbered rules of the specification, on the repaired algorithm of
// kernels 5.8 to 6.18.
//
// What it is not: it knows no simulator. It stands on the interfaces of
// smp/kapi and emits the claims of kprobes/kpev; monitors judge whether they are true.
//
// Its rule: what two CPUs share is a cell; a step of a protocol is a line.
// e.do.Arm.ArmKprobe(e, x, ap) calls armKprobe by way of steps.go, so that kprobes/mutants
// can replace it; the bodies have no switch. To follow a call, look it up in `linux`
// (steps.go).
//
// An Aggr is one address with a breakpoint on it, and carries the probes that were
// registered there (aggr_kprobe), one or more. Its states:
//
//	state         text at addr       optimized  list
//	plain         int3 + tail        no         none
//	optimizing    int3 + tail        yes        optimizing
//	optimized     jump               yes        none
//	unoptimizing  jump               yes        unoptimizing
//	freeing       int3 + tail, orig. no         freeing
//
// Lookup, arm, disarm and unregister touch only addresses within one region. They never
// scan all probes: 100,000 are no slower than ten.
//
// Lock order: kprobe_sysctl_mutex, kprobe_mutex, jump_label_mutex, cpu_hotplug_lock,
// module_mutex, text_mutex. The era decides which of the last three the optimizer holds while it
// waits (locks.go).
//
// The optimizer may wait for grace periods, or look at all stacks while the machine
// is stopped (spec 4.11). It then also looks for tasks in the detour of an aggr that has lost
// its jump. Such a task returns to the address after that aggr's region, which may be inside
// the region of another (spansOf).
//
// Which instructions can be probed, and which regions optimized, is what
// kprobes/rules says of the kernel in Settings; its answers are those of real
// kernels. What the kernel would emulate the engine emulates only if it is that
// to the processor: for the kernel vpsubb is a call, loopne counts one hit too
// many.
//
// Where its API isn't the kernel's: Kprobe.Flags is what its caller asks for, and
// FlagsOf what has become of it, so that what was disabled and unregistered comes
// back enabled; a symbol is absent if it is empty; unregistering tells what wasn't
// registered. Routines that are Go and not text have no symbols to be probed by.
//
// What belongs to a processor is a row (engine.go): how a probe is written, what ends a step, what is emulated, the
// trampoline's text, what a probe that becomes a jump leads to. x86's is in files called arch_x86*.go, the others' in
// riscv64.go, arm64.go and ppc64.go.
//
// The path of a hit is in hit.go (breakpoint, handlers, end of the step, faults), slots.go (the
// copies, and which of them run without a step), and on x86 arch_x86_resume.go (what is wrong
// after a step of a copy):
//
//	hit ─► pre_handlers ─┬─ optimized: the detour's copy, and done
//	                     ├─ boosted: the slot's copy and its jump, and done
//	                     ├─ emulated (by int3)      ─────────► post_handlers
//	                     └─ the slot's copy, stepped: int3 or #DB ─► post_handlers
//	         a fault in that copy: back to the probed address, as if not hit
//
// Return probes (kretprobe.go) follow a call by an instance, which keeps the return
// address while the trampoline's stands in its place. The generations differ in
// where free instances are (kretprobe_pool.go, objpool.go) and where
// those in use (rethook.go):
//
//	generation  free instances        calls in flight        handlers run      after unregister
//	global      list, kretprobe_lock  table, the same lock   under it          freed at the return
//	hashed      list, a lock a probe  table, lock a bucket   under it          freed at the return
//	freelist    lock-free list        a list a task          preemption off    call_rcu at the return
//	rethook     lock-free list        a list a task          preemption off    call_rcu at the return
//	objpool     ring a CPU            a list a task          preemption off    call_rcu at the return
//
// A call is known by where its return address lies, too: what was left without a
// return is skipped (5.1; later kernels look at the newest alone). The trampoline
// is text of the kernel's that the engine fills in (trampoline.go); in 2.6 a
// probe sits on it from boot, and kprobes/list shows it. Locks of return probes are
// taken inside all others. The array of free instances isn't the kernel's, which
// loses one when an NMI interrupts a push (objpool.go, mutant objpool-last).
//
// Jprobes (jprobe.go, 2.6) are refused inside a function, as since 2.6.36.
//
// Probes in modules (module.go): a module is held while a probe is registered in it,
// in 2.6 as long as it is. When its text goes they are gone: silent, without slot
// and detour, and the engine no longer writes to the text. A probe that is registered where a
// module has come again revives the aggr; the gone ones there stay so.
//
// A probe at a site of ftrace (ftrace.go) is a filter entry of one of two clients,
// of which the one that may change the path claims the site (until 5.3 both). It is
// never a breakpoint and never a jump. It is disarmed with the client that it was
// armed with, where kernels take the one that it would be armed with now.
//
// Its limits: even under weak memory, the initial contents of an aggr, a probe, an instance or
// a holder are visible once it can be found: publishing it is a store of one word, and the
// memory it points to is no cell. Each field names its owner. Only the generations of return
// probes with locks (global, hashed) count a call in an NMI as missed. A CPU can be in two
// hits, one inside the other, as in the
// kernel; a third one (an NMI while the second is stepped) is not handled. 2.6
// does not handle it either: it forgets the first. A copy that was boosted and faults does so
// where it is. The #DB of code that steps itself is seen by the engine only if it
// comes at the end of a copy.
//
// # Names
//
// Functions have the kernel's names in Go's spelling: the kernel's function may have
// another name in other releases; the last column is the first release that has it, as
// far as its sources were read. What isn't here is the engine's own, or a step: steps.go.
// The trampoline of return probes (trampoline.go) is kretprobe_trampoline, since 5.15
// __kretprobe_trampoline, since 5.18 arch_rethook_trampoline.
// get_kprobe is a look-up in the table, kprobe_queued asks whether an aggr is on a list,
// optprobe_queued_unopt whether that list is unoptimizing. Each address has an aggr, so
// kprobe_aggrprobe has no counterpart; can_optimize is in kprobes/rules. The kernel's op, and
// what get_kprobe returns, is an Aggr, ap; each probe on its list is a Kprobe, p. text_poke_bp
// is the patcher's (kapi), which the kernel below gives the engine.
//
//	kprobeAddr                 kprobe_addr, _kprobe_addr                            2.6.27
//	archAdjustKprobeAddr       arch_adjust_kprobe_addr                              5.18
//	checkKprobeAddressSafe     check_kprobe_address_safe, its module part           3.6
//	checkKprobeAddress         check_kprobe_address_safe, the rest                  3.6
//	registerKprobe             register_kprobe                                      2.6.9
//	doRegisterKprobe           __register_kprobe, with try_to_optimize_kprobe       6.14
//	registerAggrKprobe         register_aggr_kprobe; reuse_unused_kprobe by rearm   2.6.12
//	replaceProbes              add_new_kprobe, list_del_rcu of the same list        2.6.13
//	prepareKprobe              prepare_kprobe                                       3.6
//	archPrepareKprobe          arch_prepare_kprobe                                  2.6.9
//	canProbe                   can_probe                                            2.6.33
//	recoverProbedInstruction   __recover_probed_insn, __recover_optprobed_insn      2.6.33
//	unregisterKprobes          unregister_kprobes                                   2.6.26
//	unregisterKprobeTop        __unregister_kprobe_top                              2.6.26
//	unregisterKprobeBottom     __unregister_kprobe_bottom                           2.6.26
//	disableKprobe              disable_kprobe                                       2.6.30
//	disarmDisabled             __disable_kprobe, its end                            2.6.38
//	enableKprobe               enable_kprobe                                        2.6.30
//	armKprobe                  if (!kprobes_all_disarmed) arm_kprobe                2.6.34
//	armKprobeNow               arm_kprobe with __arm_kprobe inside                  2.6.34
//	archArmKprobe              arch_arm_kprobe                                      2.6.13
//	disarmKprobe               disarm_kprobe, __disarm_kprobe                       2.6.34
//	DisarmKprobeNow            __disarm_kprobe while kprobes_all_disarmed           2.6.34
//	archDisarmKprobe           arch_disarm_kprobe                                   2.6.13
//	getOptimizedKprobe         get_optimized_kprobe                                 2.6.34
//	freeAggrKprobe             free_aggr_kprobe                                     2.6.38
//	archRemoveKprobe           arch_remove_kprobe, arch_remove_optimized_kprobe     2.6.9
//	optimizeKprobe             optimize_kprobe                                      2.6.34
//	archCheckOptimizedKprobe   arch_check_optimized_kprobe                          2.6.34
//	unoptimizeKprobe           unoptimize_kprobe                                    2.6.34
//	forceUnoptimizeKprobe      force_unoptimize_kprobe; also for the optimizer      2.6.38
//	archUnoptimizeKprobe       arch_unoptimize_kprobe                               2.6.34
//	kickKprobeOptimizer        kick_kprobe_optimizer                                2.6.38
//	kprobeOptimizer            kprobe_optimizer                                     2.6.34
//	quiesce                    the wait in kprobe_optimizer                         2.6.34
//	doUnoptimizeKprobes        do_unoptimize_kprobes, arch_unoptimize_kprobes       2.6.38
//	doOptimizeKprobes          do_optimize_kprobes, arch_optimize_kprobes           2.6.38
//	doFreeCleanedKprobes       do_free_cleaned_kprobes                              2.6.38
//	WaitOptimizer              wait_for_kprobe_optimizer                            2.6.38
//	prepareOptimizedKprobe     prepare_optimized_kprobe                             2.6.34
//	prepare86                  arch_prepare_optimized_kprobe                        2.6.34
//	preparePPC64               arch_prepare_optimized_kprobe of powerpc             4.11
//	optimizedCallback          optimized_callback                                   2.6.34
//	archCopyKprobe             arch_copy_kprobe                                     2.6.12
//	getInsnSlot                get_insn_slot, and what is copied there              2.6.10
//	freeInsnSlot               free_insn_slot                                       2.6.10
//	boostable                  can_boost; its opcodes are in kprobes/rules          2.6.17
//	prepareEmulation           prepare_emulation                                    5.13
//	kprobeInt3Handler          kprobe_int3_handler                                  3.16
//	kprobeDebugHandler         kprobe_debug_handler, post_kprobe_handler            3.16
//	kprobeHit                  kprobe_int3_handler, a hit of its own                3.16
//	reenterKprobe              reenter_kprobe                                       2.6.25
//	setupSinglestep            setup_singlestep, save_previous_kprobe               2.6.25
//	setupDetourExecution       setup_detour_execution                               2.6.34
//	prepareSinglestep          prepare_singlestep                                   2.6.9
//	kprobePostProcess          kprobe_post_process, resume_singlestep               5.13
//	resumeExecution            resume_execution                                     2.6.9
//	kprobeFaultHandler         kprobe_fault_handler                                 2.6.9
//	restorePreviousKprobe      restore_previous_kprobe                              2.6.13
//	resetCurrentKprobe         reset_current_kprobe                                 2.6.13
//	aggrPreHandler             aggr_pre_handler                                     2.6.12
//	aggrPostHandler            aggr_post_handler                                    2.6.12
//	kprobesIncNmissedCount     kprobes_inc_nmissed_count                            2.6.16
//	registerKretprobe          register_kretprobe                                   2.6.13
//	kprobeOnFuncEntry          kprobe_on_func_entry                                 4.13
//	preHandlerKretprobe        pre_handler_kretprobe                                2.6.13
//	rethookTryGet              rethook_try_get                                      5.18
//	archPrepareKretprobe       arch_prepare_kretprobe, arch_rethook_prepare         2.6.13
//	rethookTrampolineCallback  arch_rethook_trampoline_callback                     5.18
//	rethookTrampolineHandler   rethook_trampoline_handler                           5.18
//	trampolineHandler          trampoline_handler                                   2.6.25
//	trampolineProbeHandler     trampoline_probe_handler                             2.6.13
//	kretprobeRethookHandler    kretprobe_rethook_handler                            5.18
//	rethookRecycle             rethook_recycle, recycle_rp_inst of 5.11 to 5.17     5.18
//	recycleRpInst              recycle_rp_inst until 5.10                           2.6.13
//	cleanupRpInst              cleanup_rp_inst, free_rp_inst                        2.6.27
//	rethookFree                rethook_free                                         5.18
//	rethookFindRetAddr         rethook_find_ret_addr                                5.18
//	kprobeFlushTask            kprobe_flush_task, rethook_flush_task                2.6.13
//	kprobeBusyBegin            kprobe_busy_begin                                    5.8
//	objpoolInit                objpool_init                                         6.7
//	objpoolPush                objpool_push                                         6.7
//	objpoolPop                 objpool_pop                                          6.7
//	freelistAdd                freelist_add                                         5.11
//	freelistTryGet             freelist_try_get                                     5.11
//	setjmpPreHandler           setjmp_pre_handler                                   2.6.9 to 4.18
//	longjmpBreakHandler        longjmp_break_handler                                2.6.9 to 4.18
//	armKprobeFtrace            arm_kprobe_ftrace                                    3.6
//	disarmKprobeFtrace         disarm_kprobe_ftrace                                 3.6
//	kprobeFtraceHandler        kprobe_ftrace_handler                                3.6
//	kprobesModuleCallback      kprobes_module_callback                              2.6.29
//	killKprobe                 kill_kprobe, kill_optimized_kprobe                   2.6.29
//	armAllKprobes              arm_all_kprobes                                      2.6.30
//	disarmAllKprobes           disarm_all_kprobes                                   2.6.30
//	SetOptimization            optimize_all_kprobes, unoptimize_all_kprobes         2.6.34
//	ReportProbe                report_probe                                         2.6.21
package kprobes
