// Package bpf is the kernel's BPF trampolines: programs of the types fentry, fmod_ret and fexit, attached to functions
// that have a site of ftrace.
//
// A function's programs are called by an image: code that is made for the set of programs, and that the site calls
// directly. When a program comes or goes another image is made, the direct call is modified, and the old image is put
// (bpf_tramp_image_put): a task may still be in it, or will return into it.
//
//	fentry only      save; each program; restore; ret to the function
//	fmod_ret, fexit  save; count the task in; fentry and fmod_ret programs; call the function; a nop;
//	                 fexit programs; count the task out; restore; ret to the function's caller
//
// A put image that calls the function is freed so:
//
//	step 1: the nop becomes a jump over the fexit programs
//	step 2: wait for tasks that aren't counted in yet (call_rcu_tasks)
//	step 3: wait for those that are: the function may sleep (percpu_ref_kill)
//	step 4: wait for tasks that are counted out, and still in the image's end (call_rcu_tasks)
//
// Step 1 is done before a detached program's owner may free it, the others by a work of each function. An image that
// doesn't call the function is freed after one wait (call_rcu_tasks).
//
// Beside them are dispatchers (Dispatcher), functions that call one of several programs, which is an argument, and
// tail calls (TailCall).
//
// It is a client of the waist and of ftrace, and imports nothing of the machine.
//
// Lock order: tr->mutex, direct_mutex, ftrace_lock, text_mutex.
//
// Its limits: images are those of kernels since 5.12, and before that there is a mutant. A function has a site of
// ftrace; bpf_arch_text_poke of other functions, and of programs, isn't modelled. A program is a function of the
// scenario: its argument points to six arguments and the result. Saving and restoring registers is one step each, and
// keeps more registers than a kernel does; a program is called by the routine that enters it. Programs don't sleep, and
// run with preemption off, where a kernel keeps the task on its CPU and has a read-side section of RCU. The percpu_ref
// is one counter. Where CPUs may hold old bytes they are synchronized before a new image is called; a kernel does that
// only by patching the site. A function's put images are freed one after the other, at most 16 at a time exist, and the
// next change waits then. Cookies, struct_ops, LSM hooks, freplace and programs on functions that are patched live
// aren't modelled. A dispatcher's function begins with the nop itself; kernels since 6.2 have a static call there. Its
// image compares with one program after the other, where a kernel halves a sorted list.
package bpf
