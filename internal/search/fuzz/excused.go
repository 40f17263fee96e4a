package fuzz

import (
	"regexp"
	"strings"
	"sync"
)

// Reasons why no program reaches a function, in any kernel.
const (
	atBoot  = "it runs at boot, before any program"
	reports = "it says how a list or a count is broken"
	below   = "what lies below the boundary does its work (docs/linux-boundary.md)"
	served  = "it is served in Go (docs/linux-boundary.md)"
	plain   = "a helper of strings and memory: the engine asks it for nothing else"
)

// excused lists the functions that no program is expected to reach.
var excused = map[string]string{
	"init_kprobes": atBoot, "arch_init_kprobes": atBoot, "init_optprobes": atBoot, "init_kprobe_sysctls": atBoot,
	"arch_populate_kprobe_blacklist": atBoot, "kprobe_add_area_blacklist": atBoot, "populate_kprobe_blacklist": atBoot,

	"refcount_warn_saturate": reports, "__list_add_valid_or_report": reports,
	"__list_del_entry_valid_or_report": reports,
	"dump_kprobe":                      reports,

	"do_sync_core": below, "text_poke_memcpy": below, "text_poke_memset": below, "kprobe_exceptions_notify": below,
	"__static_call_return0": below,

	"__memset": plain, "memset_orig": plain,

	"rethook_find_ret_addr": "only who unwinds a stack calls it, and no program does",
}

// Reasons why no program reaches a block.
const (
	memory    = "memory doesn't run out"
	near      = "pages for code lie within reach of all text"
	there     = "the text that is asked about is there"
	sixtyFour = "the kernel decodes for the mode of 64 bits"
	inOrder   = "insn_decode asks for the parts of an instruction in order, each once"
	apx       = "the simulated processor hasn't APX"
	enough    = "as many bytes as an instruction may have are there"
	short     = "no scenario has a jump label of two bytes"
	jumpsIf   = "no scenario has a static call that is a conditional jump"
	isUsers   = "no program that is drawn for a kernel has breakpoints in user mode"
	areas     = "no module of a scenario has a section of text that may not be probed"
	ofMisuse  = "an array of return probes is never empty, and what isn't registered isn't unregistered: " +
		"gen.On.Contract"
	disarms   = "taking a site's probe out of ftrace fails only after a warning (findings.md, ftrace-by-post)"
	unloads   = "it comes after a warning, or never (findings.md, unload-kept)"
	racesNone = "the instances are added before any call can take one"
	copies    = "the engine copies nothing of that size, or that overlaps"
	onePage   = "a second page of copies takes more than two hundred probes"
)

// A ban excuses the blocks whose function's name, up to the first period, and whose text match.
// The text of a block starts with "at; ", with "after; " if the previous block falls through, or
// with "after [CALLEE]; " if that block made a call; then come the instructions, each followed by
// "; ".
type ban struct {
	in, has, why string
}

// bans hold for every kernel, as long as its compiler generates the same code.
var bans = []ban{
	{``, `<(__stack_chk_fail|refcount_warn_saturate|__fortify_panic)>`, warns},

	// Memory, and pages for code.
	{``, `mov \$-0xc,%`, memory},
	{`register_kprobe`, `^at; mov \$-0x[0-9a-f]+,%rdi; mov %r15d,%r12d; callq \S+ <mutex_unlock>; callq \S+ <jump_label_unlock>`, memory},
	{`register_kprobe|__register_kprobe`, `mov \$-0x16,%r12d; callq \S+ <mutex_unlock>; callq \S+ <jump_label_unlock>`,
		unloads},
	{`register_kretprobe`, `^at; callq \S+ <rethook_free>`, memory},
	{`rethook_alloc`, `<kfree>|^at; mov \$-0x16`, memory},
	{`objpool_drop`, `mov \$-0x16,%eax`, "a pool is there"},
	{`objpool_free`, `^at; pop %rbx; pop %rbp; jmpq \S+ <__x86_return_thunk>; $`,
		"the pool of return probes has a function for its end"},
	{`objpool_init`, `<__kmalloc_node_noprof>|<kfree>|<kvfree>|^(at|after[^;]*); mov \$-0x(16|1),%eax`, memory},
	{`__get_insn_slot`, `<kfree>|^after \[kfree\]; xor %ebx,%ebx; jmpq`, memory},
	{`__get_insn_slot`, `^\w+; (movl \$0x0,0x28\(|movw \$0x0,-0x2\(|test \$0x4,%al|movb \$0x0,0x28\()`,
		"a page has more than seven places"},
	{`free_insn_page`, ``, onePage},
	{`arch_prepare_optimized_kprobe`, `mov \$-0x22,%`, near},
	{`arch_prepare_optimized_kprobe`, `movb \$0xca,0x2\(`, "the CPUs of a scenario have no SMAP"},

	// Rules.
	{`__recover_probed_insn|__recover_optprobed_insn`, `^at; xor %(ebx|r12d),%(ebx|r12d); `, there},
	{`arch_adjust_kprobe_addr`, `^at; xor %eax,%eax; jmp`, there},
	{`copy_from_kernel_nofault`, `mov \$-0x(e|22),%rax`, there},
	{`arch_prepare_kprobe`, `mov \$-0x16,%eax`, "alternatives_text_reserved is asked about a range without a byte"},
	{`arch_copy_kprobe`, `movswl 0x38\(`, sixtyFour},
	{`can_optimize`, `^after; cmp \$-0x[0-9a-f]+,%rbp; jb \S+; $`, "text of entries refuses all probes"},
	{`arch_check_optimized_kprobe`, `^at; xor %eax,%eax; jmpq`, "a copy for a jump has at least the jump's five bytes"},
	{`register_kretprobe`, `^after; jmpq \S+; $`, "the list of functions that return elsewhere isn't empty"},
	{`unregister_kretprobes`, `movq \$0x0,0x28\(%rax\)|^at; jmpq \S+ <__x86_return_thunk>; $`, ofMisuse},
	{`unregister_kprobes|unregister_kretprobes`,
		`^at; mov \$-0x[0-9a-f]+,%rdi; callq \S+ <mutex_unlock>; .*jmpq \S+ <synchronize_rcu>`,
		"an array without a probe has been answered before"},
	{`__disable_kprobe`, `^after; jmp \S+; $`, "an aggregate has a probe"},
	{`__disable_kprobe`, `andl \$-0x3,0x78\(`, disarms},
	{`__unregister_kprobe_top`, `^after; test %edx,%edx; je \S+; $`, "a probe that isn't an aggregate is alone"},
	{`write_enabled_file_bool`, `^after \[(__disarm_kprobe_ftrace|disarm_kprobe)\]; add \$0x1,%r13d`, disarms},
	{`disarm_kprobe_ftrace`, `^\w+; add \$0x8,%rsp; xor %eax,%eax; `, disarms},
	{`kill_kprobe`, `<__list_add_valid`, unloads},
	{`kprobes_module_callback`,
		`mov %(r13|rbx),%rdi; callq \S+ <kprobe_add_ksym_blacklist>; test|add %\w+,%rsi; callq \S+ <kprobe_remove_area_blacklist>|cmove %|^after; mov 0x[0-9a-f]+\(%r12,%riz\),%(ebx|ebp|r13d); add %(rbx|r13),%(rbx|rbp|r13); cmp|^after; mov \$0x1,%\w+; jmp`, areas},

	// Hits.
	{`kprobe_emulate_loop`, `movzwl 0x58\(|cmpw \$0x0,0x58\(`, sixtyFour},
	{`kprobe_emulate_call_indirect|kprobe_emulate_jmp_indirect`, `^at; xor %eax,%eax; mov %rax,0x80\(`,
		"the register is one of sixteen"},
	{`kprobe_int3_handler`, `^(after( \[\w+\])?|at); xor %eax,%eax; |^after; mov %r14,0x80\(%rbx\); jmp`,
		"the breakpoint is in user mode, or has no owner: the kernel dies"},
	{`rethook_add_node`, `mov \$0x7fffffff,%|^after; jmp \S+; $`, racesNone},
	{`exc_int3`, `<irqentry_enter_from_user_mode>|^after \[kprobe_int3_handler\]; mov %rbx,%rdi; .*jmpq|<notify_die>|<do_trap>|<die>|testb \$0x2,0x91|callq \*`, isUsers},

	// Pokes.
	{`text_poke_loc_init`, `cmpw \$-0x6f9a,|cmp \$0xeb,%cl`, short},
	{`text_poke_loc_init`, `^after; (cmp \$0xcc,%cl; ja|test %cl,%cl; js|cmp \$0x6f,%cl; jbe)|sub \$0x10,%eax`,
		jumpsIf},
	{`text_poke_loc_init`, `^after; jmpq \S+; $`, "what is poked is one of the instructions before"},
	{`text_poke_bp_batch|smp_text_poke_batch_finish`,
		`^after; test %eax,%eax; je|movzbl 0x[0-9a-f]+\(%rsi\),%ecx; mov %cl|movzwl -0x2\(`, short},
	{`text_poke_bp_batch|smp_text_poke_batch_finish`, `rep movsq`, "nothing of eight bytes is poked"},
	{`text_poke_bp_batch|smp_text_poke_batch_finish`, `movb \$0xf,`, jumpsIf},
	{`poke_int3_handler|smp_text_poke_int3_handler`,
		`cmp \$0x6f,%cl|movsxd 0x4\(%rax\),%r10|and \$0x1,%ecx|^after; test %sil,%sil|xor \$0x1,%esi|test %r9b,%r9b|xor %rbx,%r8|and \$0x1,%r8d|and \$0x1,%esi|lea \(%rdi,%r10\)`, jumpsIf},
	{`text_poke_queue`, `<text_poke_bp_batch>`, "a batch has fewer than 256 pokes"},

	// The decoder of instructions.
	{`insn_get_\w+|insn_rip_relative`, `^(after|at); xor %eax,%eax; jmpq \S+ <__x86_return_thunk>; $`, inOrder},
	{`insn_get_(opcode|modrm)`, `^at; mov %rbx,%rdi; callq \S+ <insn_get_prefixes>; `, inOrder},
	{`insn_rip_relative`, `^at; callq \S+ <insn_get_modrm>; `, inOrder},
	{`insn_get_opcode`, `^after \[insn_get_prefixes\]; jmp `, enough},
	{`insn_get_(opcode|modrm)`, `^after; mov 0x4c\(%rbx\),%eax; test \$0x40,%ah`, inOrder},
	{`insn_get_(sib|displacement)`, `^after; cmpb \$0x0,0x25\(%r(bx|di)\); je`, inOrder},
	{`insn_get_\w+`, `mov \$-0x3d,%`, enough},
	{`insn_decode`, `cmp \$0x1,%ecx; sete %cl`, sixtyFour},
	{`insn_get_prefixes`, `xor \$0x6,%eax|shr \$0x6,%r(9|10)b`, sixtyFour},
	{`insn_get_displacement`, `cmp \$0x6,%dl; sete|movswl \(%rax\),%eax`, sixtyFour},
	{`insn_get_immediate`, `^at; movzbl 0x50\(%rbx\),%(eax; cmp \$0x2,%al|edx; cmp \$0x2,%dl); je \S+; $|^after; cmp \$0x4,%[ad]l; jne \S+; $|movswl \(%rdi\),%edi|^\w+; mov 0x68\(%rbx\),%rdi; mov 0x60\(%rbx\),%rsi; lea 0x4`, sixtyFour + ", which has no far pointers in instructions"},
	{`insn_get_opcode`, `cmpb \$0x2,0x15\(%rbx\); (je|jbe)|movzbl 0x1[12]\(%rbx\),%esi; and \$0x3,%esi`,
		"an opcode of several bytes behind VEX isn't looked up by escapes"},
	{`insn_get_(opcode|prefixes)`,
		`cmpb \$0x0,0x9\(%rbx\); js|mov \$0xf,%edi; callq|mov %r12d,%edi; callq \S+ <inat_get_opcode_attribute>; mov %eax,0x4c\(%rbx\); jmpq|cmpb \$0x0,0x12\(%rbx\); js|mov %r12b,0x8\(%rbp\)`, apx},
	{`insn_get_immediate`, `^after; cmp \$0x2,%al; je \S+; $`, sixtyFour},
	{`inat_get_(escape|avx|group)_attribute`, `^\w+; xor %eax,%eax; jmpq`, "the tables have all that is asked for"},

	// Helpers.
	{`memcpy_orig`, `lea -0x20\(%rsi\)|add %rdx,%rsi; add %rdx,%rdi|sub %rdx,%rsi; sub %rdx,%rdi|mov -0x10\(%rsi,%rdx\)|mov -0x8\(%rsi,%rdx\),%r9; `, copies},
	{`__bitmap_weight`, `^after; (mov %esi,%eax; mov %rdi,%rdx|mov \(%rdx\),%rdi; add \$0x8)|^at; mov \(%rdx\),%rdi; add \$0x8`, "a machine has at most 64 CPUs, and fewer here"},
	{`strchr`, `^after; jmp \S+; $`, plain},
}

// patterns compiles the bans on first use, so that other commands don't have to wait for it.
var patterns = sync.OnceValue(func() (list []struct{ in, has *regexp.Regexp }) {
	for _, b := range bans {
		in := b.in
		if in == "" {
			in = `.*`
		}
		list = append(list, struct{ in, has *regexp.Regexp }{regexp.MustCompile(`^(?:` + in + `)$`),
			regexp.MustCompile(b.has)})
	}
	return list
})

// whyNot returns why no program reaches a block; "" if one may.
func whyNot(b *Block) string {
	name, _, _ := strings.Cut(b.Func, ".")
	for i, p := range patterns() {
		if p.in.MatchString(name) && p.has.MatchString(b.text) {
			return bans[i].why
		}
	}
	return ""
}
