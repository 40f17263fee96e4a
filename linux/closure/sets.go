package closure

import (
	_ "embed"
	"fmt"
	"slices"
	"strings"
	"sync"

	"kpsim/smp/arch/target"
)

// A Set is a part of the kernel that runs as compiled: a row of the table.
type Set struct {
	Name    string
	Says    string   // description
	Needs   []string // sets that are inside whenever this one is
	Files   []string // source files; names.txt lists their functions
	Entries []string // functions called from outside, or through a pointer
	By      []string // functions missing in names.txt: assembly, and other releases
	Only    []string // nil: all functions of the files; otherwise only these

	On []target.Processor // nil: of kernels for all processors; otherwise only for these
}

// Sets is the table. The names of a set's functions are in names.txt.
var Sets = []Set{
	{
		Name: "kprobes", Says: "probes, return probes, their optimization, their int3 handler",
		Needs: []string{"textpoke"},
		Files: []string{
			"kernel/kprobes.c", "arch/x86/kernel/kprobes/core.c", "arch/x86/kernel/kprobes/opt.c",
			"arch/x86/kernel/kprobes/ftrace.c",
			"kernel/trace/rethook.c", "arch/x86/kernel/rethook.c", "lib/objpool.c",
			"arch/riscv/kernel/probes/kprobes.c", "arch/riscv/kernel/probes/decode-insn.c",
			"arch/riscv/kernel/probes/simulate-insn.c", "arch/riscv/kernel/probes/rethook.c",
			"arch/riscv/kernel/probes/ftrace.c",
			"arch/arm64/kernel/probes/kprobes.c", "arch/arm64/kernel/probes/decode-insn.c",
			"arch/arm64/kernel/probes/simulate-insn.c", "arch/arm64/lib/insn.c",
			"arch/powerpc/kernel/kprobes.c", "arch/powerpc/kernel/optprobes.c", "arch/powerpc/kernel/kprobes-ftrace.c",
			"arch/powerpc/kernel/rethook.c",
		},
		Entries: []string{
			"register_kprobe", "unregister_kprobe", "register_kprobes", "unregister_kprobes", "enable_kprobe",
			"disable_kprobe",
			"register_kretprobe", "unregister_kretprobe", "register_kretprobes", "unregister_kretprobes",
			"enable_kretprobe", "disable_kretprobe",
			"init_kprobes", "init_optprobes", "get_kprobe", "wait_for_kprobe_optimizer",
			"kprobe_optimizer", "kprobe_optimizer_thread", "optimized_callback", "aggr_pre_handler",
			"aggr_post_handler", "pre_handler_kretprobe", "kretprobe_rethook_handler",
			"kprobe_int3_handler", "kprobe_debug_handler", "kprobe_fault_handler", "kprobe_exceptions_notify",
			"kprobe_ftrace_handler", "kprobes_module_callback",
			"alloc_insn_page", "free_insn_page", "alloc_optinsn_page", "free_optinsn_page",
			"arch_rethook_trampoline", "arch_rethook_trampoline_callback", "arch_rethook_fixup_return",
			"rethook_flush_task", "rethook_find_ret_addr",
			"kretprobe_trampoline", "__kretprobe_trampoline", "trampoline_handler", "kprobe_flush_task", "objpool_pop",
			"objpool_push",
			"write_enabled_file_bool", "proc_kprobes_optimization_handler",
			// Beside x86.
			"kprobe_breakpoint_handler", "kprobe_single_step_handler", "kprobe_brk_handler", "kprobe_ss_brk_handler",
			"kprobe_breakpoint_ss_handler", "kretprobe_brk_handler", "trampoline_probe_handler",
			"kretprobe_breakpoint_handler", "kprobe_handler", "kprobe_post_handler", "opt_pre_handler",
			"trampoline_rethook_handler",
		},
		By: []string{
			"arch_rethook_trampoline",
			// 6.14 and later.
			"simulate_br_blr", "simulate_ret", "simulate_nop", "update_lr",
			"objpool_pop", "__register_kprobe", "kprobe_optimizer_thread", "wait_for_kprobe_optimizer_locked",
			// 5.x: return probes without rethook.
			"kretprobe_trampoline", "__kretprobe_trampoline", "trampoline_handler", "__kretprobe_trampoline_handler",
			"kretprobe_find_ret_addr",
			"__kretprobe_find_ret_addr", "kprobe_flush_task", "recycle_rp_inst", "free_rp_inst_rcu",
			"kretprobe_hash_lock", "kretprobe_table_lock",
			"kretprobe_hash_unlock", "kretprobe_table_unlock", "cleanup_rp_inst", "kprobe_busy_begin",
			"kprobe_busy_end", "arch_prepare_kretprobe",
			"arch_kretprobe_fixup_return", "kretprobe_find_ret_addr", "arch_check_ftrace_location",
			"arch_deref_entry_point", "arch_kprobe_on_func_entry", "kprobe_debug_handler", "kprobe_fault_handler",
			"resume_execution", "set_current_kprobe",
		},
	},
	{
		Name: "jumplabel", Says: "static keys and the branches they patch",
		Needs: []string{"textpoke"},
		Files: []string{"kernel/jump_label.c", "arch/x86/kernel/jump_label.c", "arch/riscv/kernel/jump_label.c",
			"arch/arm64/kernel/jump_label.c", "arch/powerpc/kernel/jump_label.c"},
		Entries: []string{
			"static_key_slow_inc", "static_key_slow_inc_cpuslocked", "static_key_slow_dec",
			"static_key_slow_dec_cpuslocked", "static_key_fast_inc_not_disabled",
			"static_key_enable", "static_key_enable_cpuslocked", "static_key_disable", "static_key_disable_cpuslocked",
			"static_key_count",
			"__static_key_slow_dec_deferred", "__static_key_deferred_flush", "jump_label_rate_limit",
			"jump_label_update_timeout",
			"jump_label_init", "jump_label_module_notify", "jump_label_text_reserved", "jump_label_cmp",
			"jump_label_swap",
		},
		By: []string{"static_key_slow_try_dec", "jump_label_apply_nops", "__jump_label_set_jump_code"}, // 5.x
	},
	{
		Name: "staticcall", Says: "static calls and the sites they patch",
		Needs: []string{"textpoke"},
		Files: []string{"kernel/static_call.c", "kernel/static_call_inline.c", "arch/x86/kernel/static_call.c"},
		Entries: []string{"__static_call_update", "arch_static_call_transform", "__static_call_fixup",
			"static_call_init", "static_call_module_notify", "static_call_text_reserved", "static_call_site_cmp",
			"static_call_site_swap", "__static_call_return0"},
	},
	{
		Name: "ftrace", Says: "the processor's part of ftrace: the calls at functions' entries, and its trampolines",
		Needs: []string{"textpoke", "records", "clients"},
		Files: []string{"arch/x86/kernel/ftrace.c", "arch/riscv/kernel/ftrace.c", "arch/arm64/kernel/ftrace.c",
			"arch/powerpc/kernel/trace/ftrace.c"},
		By: []string{"ftrace_rec_update_ops"}, // of powerpc, 6.13 and later
		Entries: []string{
			"ftrace_replace_code", "arch_ftrace_update_code", "ftrace_make_nop", "ftrace_make_call",
			"ftrace_update_ftrace_func", "ftrace_modify_call",
			"ftrace_arch_code_modify_prepare", "ftrace_arch_code_modify_post_process", "arch_ftrace_update_trampoline",
			"arch_ftrace_trampoline_free",
			"arch_ftrace_trampoline_func", "prepare_ftrace_return", "ftrace_graph_func",
			"ftrace_enable_ftrace_graph_caller", "ftrace_disable_ftrace_graph_caller",
		},
	},
	{
		Name: "records", Says: "ftrace's records of the sites, and what each is to become",
		Files: []string{"kernel/trace/ftrace.c"},
		Only: []string{
			"ftrace_modify_all_code", "update_ftrace_func", "ftrace_rec_iter_start", "ftrace_rec_iter_next",
			"ftrace_rec_iter_record", "ftrace_test_record",
			"ftrace_update_record", "ftrace_check_record", "ftrace_get_addr_new", "ftrace_get_addr_curr",
			// Where the processor has none of its own.
			"ftrace_replace_code", "__ftrace_replace_code", "ftrace_arch_code_modify_prepare",
			"ftrace_arch_code_modify_post_process",
		},
		By: []string{"ftrace_arch_code_modify_post_process"}, // an alias of the one before, where both are empty
	},
	{
		Name: "clients", Says: "ftrace's clients, direct calls and trampolines, where a scenario has direct calls or " +
			"trampolines that are text",
		On: []target.Processor{target.X8664},
		Entries: []string{
			"register_ftrace_function", "unregister_ftrace_function", "ftrace_set_filter_ip",
			"register_ftrace_direct", "unregister_ftrace_direct", "modify_ftrace_direct",
			"register_ftrace_direct_multi", "unregister_ftrace_direct_multi", "modify_ftrace_direct_multi",
			"arch_ftrace_ops_list_func", "ftrace_ops_list_func", "ftrace_ops_assist_func", "ftrace_ops_get_func",
			"call_direct_funcs", "__free_ftrace_hash_rcu", "register_ftrace_direct_cb", "ftrace_stub",
			"ftrace_caller", "ftrace_caller_op_ptr", "ftrace_call", "ftrace_caller_end", "ftrace_epilogue",
			"ftrace_regs_caller", "ftrace_regs_caller_op_ptr", "ftrace_regs_call", "ftrace_regs_caller_jmp",
			"ftrace_regs_caller_ret", "ftrace_regs_caller_end", "ftrace_stub_direct_tramp",
		},
		By: []string{
			"__add_hash_entry", "__free_ftrace_hash_rcu", "__ftrace_hash_move", "__ftrace_hash_move_and_update_ops",
			"__ftrace_hash_rec_update", "__ftrace_hash_update_ipmodify", "__modify_ftrace_direct",
			"__modify_ftrace_direct_multi", "__register_ftrace_function", "__unregister_ftrace_function",
			"add_first_hash", "add_ftrace_hash_entry", "add_ftrace_hash_entry_direct", "add_hash_entry",
			"add_next_hash", "alloc_and_copy_ftrace_hash", "alloc_ftrace_hash", "append_hash", "append_hashes",
			"arch_ftrace_ops_list_func", "call_direct_funcs", "dup_hash", "find_direct_entry", "free_ftrace_hash",
			"ftrace_add_rec_direct", "ftrace_alloc_direct_func", "ftrace_cmp_recs", "ftrace_find_rec_direct",
			"ftrace_free_filter", "ftrace_hash_move_and_update_ops", "ftrace_hash_move_and_update_subops",
			"ftrace_hash_rec_update_modify", "ftrace_lookup_ip", "ftrace_modify_direct_caller",
			"ftrace_ops_assist_func", "ftrace_ops_get_func", "ftrace_ops_list_func", "ftrace_run_update_code",
			"ftrace_set_filter_ip", "ftrace_set_hash", "ftrace_shutdown", "ftrace_startup", "ftrace_sync_ipi",
			"ftrace_trampoline_free", "ftrace_update_ops", "ftrace_update_trampoline", "hash_contains_ip",
			"intersect_hash", "intersect_hashes", "lookup_rec", "modify_ftrace_direct", "modify_ftrace_direct_multi",
			"ops_equal", "ops_references_ip", "rebuild_hashes", "register_ftrace_direct",
			"register_ftrace_direct_cb", "register_ftrace_direct_multi", "register_ftrace_function",
			"register_ftrace_function_nolock", "remove_direct_functions_hash", "remove_hash",
			"unregister_ftrace_direct", "unregister_ftrace_direct_multi", "unregister_ftrace_function",
			"update_ftrace_function", "update_function_graph_func",
			"kprobe_ftrace_kill", "text_poke_apply_relocation", "apply_relocation", "__apply_relocation",
			"apply_reloc", "apply_reloc_n", "optimize_nops", "add_nop", "insn_is_nop", "skip_nops", "core_kernel_data",
			// The trampolines, arch/x86/kernel/ftrace_64.S, by their labels.
			"ftrace_stub", "ftrace_caller", "ftrace_caller_op_ptr", "ftrace_call", "ftrace_caller_end",
			"ftrace_epilogue", "ftrace_regs_caller", "ftrace_regs_caller_op_ptr", "ftrace_regs_call",
			"ftrace_regs_caller_jmp", "ftrace_regs_caller_ret", "ftrace_regs_caller_end", "ftrace_stub_direct_tramp",
		},
	},
	{
		Name: "textpoke", Says: "patching text with a breakpoint, and its int3 handler",
		Needs: []string{"decoder", "plain"},
		Files: []string{"arch/x86/kernel/alternative.c", "arch/x86/kernel/traps.c",
			"arch/riscv/kernel/patch.c", "arch/riscv/kernel/traps.c", "arch/riscv/mm/cacheflush.c",
			"arch/arm64/kernel/patching.c", "arch/arm64/kernel/debug-monitors.c", "arch/arm64/kernel/traps.c",
			"arch/arm64/kernel/entry-common.c",
			"arch/powerpc/lib/code-patching.c", "arch/powerpc/kernel/traps.c"},
		Only: []string{
			"text_poke", "text_poke_early", "text_poke_kgdb", "text_poke_sync", "text_poke_loc_init",
			"text_poke_bp_batch", "text_poke_bp", "text_poke_flush", "text_poke_queue", "text_poke_finish",
			"tp_order_fail", "text_poke_addr", "text_poke_memcpy", "text_poke_memset", "text_poke_copy",
			"text_poke_copy_locked", "__text_poke_copy", "text_poke_set", "poke_int3_handler",
			"patch_cmp", "try_get_desc", "get_desc", "put_desc", "do_sync_core", "int3_emulate_call",
			"int3_emulate_jmp", "int3_emulate_jcc", "int3_emulate_push", "int3_emulate_ret",
			"alternatives_text_reserved", "exc_int3", "do_int3", "do_int3_user", "sync_core", "iret_to_self",
			// 6.15 and later.
			"smp_text_poke_sync_each_cpu", "smp_text_poke_batch_finish", "smp_text_poke_batch_flush",
			"smp_text_poke_batch_add", "smp_text_poke_single", "smp_text_poke_int3_handler",
			"__smp_text_poke_batch_add", "text_poke_addr_ordered", "text_poke_int3_handler", "get_text_poke_array",
			"try_get_text_poke_array", "put_text_poke_array",
			"try_get_int3_text_poke_array",
			// RISC-V.
			"patch_text", "patch_text_cb", "patch_text_nosync", "patch_text_set_nosync", "patch_insn_write",
			"__patch_insn_write", "__patch_insn_set", "patch_insn_set", "do_trap_break", "handle_break",
			"probe_single_step_handler", "probe_breakpoint_handler",
			"get_break_insn_length", "flush_icache_all", "ipi_remote_fence_i",
			// Arm.
			"aarch64_insn_patch_text", "aarch64_insn_patch_text_cb", "aarch64_insn_patch_text_nosync",
			"aarch64_insn_read", "__aarch64_insn_write", "aarch64_insn_write", "patch_map",
			"el1_brk64", "do_el1_brk64", "call_el1_break_hook", "bug_brk_handler",
			"reserved_fault_brk_handler", "arm64_skip_faulting_instruction", "arm64_enter_el1_dbg", "arm64_exit_el1_dbg",
			// Power.
			"patch_instruction", "patch_branch", "raw_patch_instruction", "patch_uint", "patch_ulong",
			"create_branch", "create_cond_branch", "is_offset_in_branch_range", "is_conditional_branch",
			"instr_is_branch_iform",
			"instr_is_branch_bform", "instr_is_relative_branch", "instr_is_relative_link_branch", "branch_target",
			"translate_branch", "branch_iform_target", "branch_bform_target", "patch_branch_unprefixed", "patch_mem",
			"__patch_mem", "program_check_exception", "do_program_check", "__do_program_check",
			"single_step_exception", "__single_step_exception",
		},
		By: []string{
			"smp_text_poke_sync_each_cpu", "smp_text_poke_batch_finish", "smp_text_poke_batch_flush",
			"smp_text_poke_batch_add", "smp_text_poke_single", "smp_text_poke_int3_handler",
			"__smp_text_poke_batch_add", "text_poke_int3_handler", "caches_clean_inval_pou",
			"aarch64_insn_gen_branch_imm", "_raw_spin_lock", "_raw_spin_lock_irqsave", "_raw_spin_unlock_irqrestore",
		},
		Entries: []string{
			"exc_int3", "poke_int3_handler", "text_poke", "text_poke_bp", "text_poke_bp_batch", "text_poke_queue",
			"text_poke_finish", "text_poke_sync", "text_poke_memcpy", "text_poke_memset", "do_sync_core",
			"smp_text_poke_int3_handler", "smp_text_poke_batch_finish", "smp_text_poke_batch_add",
			"smp_text_poke_single", "smp_text_poke_sync_each_cpu",
			"do_trap_break", "handle_break", "patch_text", "patch_text_nosync", "patch_text_cb", "flush_icache_all",
			"aarch64_insn_patch_text", "aarch64_insn_patch_text_nosync", "el1_brk64", "patch_instruction",
			"patch_branch", "program_check_exception", "single_step_exception",
		},
	},
	{
		Name: "fprobe", Says: "fprobes: clients of ftrace with a handler at the entry and one at the return",
		Needs: []string{"plain"},
		Files: []string{"kernel/trace/rethook.c", "arch/x86/kernel/rethook.c", "lib/objpool.c"}, // as kprobes has
		Entries: []string{
			"register_fprobe_ips", "unregister_fprobe", "fprobe_handler", "fprobe_kprobe_handler",
			"fprobe_exit_handler", "arch_rethook_trampoline", "arch_rethook_trampoline_callback",
			"rethook_flush_task", "rethook_find_ret_addr",
		},
		By: []string{ // kernel/trace/fprobe.c until 6.13, and what it calls of kprobes
			"register_fprobe_ips", "unregister_fprobe", "fprobe_init_rethook", "fprobe_handler",
			"fprobe_kprobe_handler", "fprobe_exit_handler", "kprobe_busy_begin", "kprobe_busy_end",
			"arch_rethook_trampoline", "objpool_pop",
		},
	},
	{
		Name: "decoder", Says: "the kernel's own decoder of instructions",
		Files: []string{"arch/x86/lib/insn.c", "arch/x86/lib/inat.c", "arch/powerpc/lib/sstep.c"},
		By:    []string{"inat_get_xop_attribute"},
	},
	{
		Name: "plain", Says: "helpers without a state: strings, lists, bits",
		By: []string{
			"memcpy", "__memcpy", "memmove", "__memmove", "memset", "__memset", "memcmp", "bcmp",
			"memchr", "memchr_inv",
			"memcpy_orig", "memset_orig", "memset_generic", "__pi_memset_generic", "strchr", "strrchr", "strlen", "strnlen", "strcmp", "strncmp", "strcpy",
			"strscpy", "sized_strscpy", "strstr", "strim", "skip_spaces",
			"__list_add_valid", "__list_del_entry_valid", "__list_add_valid_or_report",
			"__list_del_entry_valid_or_report",
			"__bitmap_weight", "__bitmap_and", "__bitmap_or", "__bitmap_equal", "_find_first_bit", "_find_next_bit",
			"_find_first_zero_bit", "_find_next_zero_bit", "_find_first_and_bit", "_find_next_and_bit",
			"find_first_bit", "find_next_bit", "find_next_and_bit", "__sw_hweight32", "__sw_hweight64", "cpumask_next",
			"cpumask_next_and",
			"copy_from_kernel_nofault", "copy_from_kernel_nofault_allowed", "copy_from_kernel_nofault_loop",
			"cpumask_next_wrap", "cpumask_weight", "__list_del_entry", "is_endbr", "refcount_warn_saturate", "sort",
			"sort_r", "__sort_r", "do_swap", "bsearch", "__static_call_return0", "__asm_copy_from_user_sum_enabled",
			"__arch_hweight32", "__arch_hweight64",
		},
	},
}

//go:embed names.txt
var names string

//go:embed names-riscv64.txt
var namesRISCV string

//go:embed names-arm64.txt
var namesARM string

//go:embed names-ppc64le.txt
var namesPPC string

// A function is a row of names.txt: a function, and where it has code of its own.
type function struct {
	name, file string
	series     []string // series of kernels; in others it is inlined
}

// The rows of the lists of names, by processor.
var (
	functionsX86   = sync.OnceValue(func() []function { return parse(names) })
	functionsRISCV = sync.OnceValue(func() []function { return parse(namesRISCV) })
	functionsARM   = sync.OnceValue(func() []function { return parse(namesARM) })
	functionsPPC   = sync.OnceValue(func() []function { return parse(namesPPC) })
)

// parse reads a line "file PATH", then a line for each function: its name, and the series in
// which it isn't inlined.
func parse(text string) (out []function) {
	file := ""
	for line := range strings.Lines(text) {
		words := strings.Fields(line)
		switch {
		case len(words) == 0 || words[0] == "#":
		case words[0] == "file":
			file = words[1]
		default:
			out = append(out, function{name: words[0], file: file, series: words[1:]})
		}
	}
	return out
}

// Top returns the sets that can be requested; the others are needed by these.
func Top() []string { return []string{"kprobes", "jumplabel", "staticcall", "ftrace", "fprobe"} }

// Named returns the named sets, and those that they need.
func Named(names ...string) ([]*Set, error) {
	var out []*Set
	for i := 0; i < len(names); i++ {
		at := slices.IndexFunc(Sets, func(s Set) bool { return s.Name == names[i] })
		if at < 0 {
			return nil, fmt.Errorf("there is no set %s; there are %s", names[i], strings.Join(setNames(), ", "))
		}
		if s := &Sets[at]; !slices.Contains(out, s) {
			out = append(out, s)
			names = append(names[:len(names):len(names)], s.Needs...)
		}
	}
	return out, nil
}

func setNames() (out []string) {
	for i := range Sets {
		out = append(out, Sets[i].Name)
	}
	return out
}

// has reports whether a function of the set's files belongs to it.
func (s *Set) has(f *function) bool {
	return slices.Contains(s.Files, f.file) && (s.Only == nil || slices.Contains(s.Only, f.name))
}
