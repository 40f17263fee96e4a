" The language of kpsim's scenarios. Made from its rows:
" go test ./internal/scenario/lang -run Editors -update-editors
if exists("b:current_syntax")
  finish
endif
runtime! syntax/python.vim
syntax keyword kpsimOperation call expect hits register unregister enable disable register_all unregister_all wait_optimized optimization enabled read_list read_enabled read_optimization read_missed label_on label_off set_call smp_locks apply_alternatives write save_text expect_text on_breakpoint map free unmap protect unprotect on_fault serialise sync_core membarrier flush safepoint stop stop_outside move resume wait_outside wait insmod rmmod tracer livepatch patch_func unpatch_func register_direct modify_direct unregister_direct register_fprobe unregister_fprobe bpf_attach bpf_detach bpf_dispatch bpf_undispatch bpf_tail_call set_breakpoint clear_breakpoint user hit_uprobe register_uprobe unregister_uprobe hotplug offline online schedule spin release wait_signal signal wait_ended queue_work flush_work
syntax keyword kpsimStep count set_reg set_ip nonzero store save restore sleep read_context jump_to call_to displacement address saved
syntax keyword kpsimExpectation never sometimes
syntax keyword kpsimPart scenario machine text code data percpu alias elf stub missing insns kprobe kretprobe jprobe jump_label module fentry fprobe bpf lock_prefix alternative reserved static_call task timer nmi preempt
highlight default link kpsimOperation Function
highlight default link kpsimStep Special
highlight default link kpsimExpectation Statement
highlight default link kpsimPart Type
let b:current_syntax = "kpsim"
