package fuzz

// Why no program comes to a function, whatever kernel it is of.
const (
	atBoot  = "it runs at boot, or when a module that lists functions is loaded, before any program"
	reports = "it says how a list or a count is broken"
	below   = "what lies below the boundary does its work (docs/linux-boundary.md)"
)

// excused are the functions that no program is expected to come to.
var excused = map[string]string{
	"init_kprobes": atBoot, "arch_init_kprobes": atBoot, "init_optprobes": atBoot, "init_kprobe_sysctls": atBoot,
	"arch_populate_kprobe_blacklist": atBoot, "kprobe_add_area_blacklist": atBoot, "kprobe_add_ksym_blacklist": atBoot,
	"populate_kprobe_blacklist": atBoot, "kprobe_remove_area_blacklist": atBoot,

	"refcount_warn_saturate": reports, "__list_add_valid_or_report": reports, "__list_del_entry_valid_or_report": reports,
	"__list_add_valid": reports, "__list_del_entry_valid": reports, "dump_kprobe": reports,

	"do_sync_core": below, "text_poke_memcpy": below, "text_poke_memset": below, "kprobe_exceptions_notify": below,
	"__static_call_return0": below, "cpumask_next_wrap": below, "__bitmap_weight": below, "_find_next_bit": below,

	"rethook_find_ret_addr": "only who unwinds a stack calls it, and no program does",
}
