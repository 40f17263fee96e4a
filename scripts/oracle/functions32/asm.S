/* Functions in assembly of i386, each for an edge of what kprobes looks at. */
#define F(name) .balign 16, 0xcc; .globl name; .type name, @function; name:
#define EXTABLE(at) .pushsection __ex_table, "a"; .balign 4; .long at - .; .long 9b - .; .long 1; .popsection
	.text
F(x_prologue)	push %ebp; mov %esp, %ebp; push %edi; push %esi; push %ebx; sub $0x14, %esp; mov 8(%ebp), %eax; add $0x14, %esp; pop %ebx; pop %esi; pop %edi; pop %ebp; ret
F(x_short)	xor %eax, %eax; ret
F(x_one)	ret
F(x_incdec)	inc %eax; dec %ebx; inc %esp; dec %ebp; inc %ecx; ret
F(x_pusha)	pusha; popa; pushf; popf; push %es; pop %es; push %ss; push %ds; push %cs; ret
F(x_bcd)	daa; das; aaa; aas; aam; aad; .byte 0xd6; into; ret
	.byte 0x8d, 0x76, 0x00
F(x_lds)	lds (%eax), %ecx; les 8(%ebx), %edx; bound %eax, (%ecx); arpl %ax, (%ebx); ret
F(x_popss)	mov %eax, %ss; pop %ss; pop %ds; mov %ss, %eax; nop; nop; nop; nop; nop; ret
F(x_far)	lcall $0x60, $0; ljmp $0x60, $0; lcall *(%eax); ljmp *(%eax); lret; iret
F(x_far2)	lret $4; ret $4; ret; retw; iretw
F(x_moffs)	mov 0x12345678, %eax; mov %al, 0x12345678; movw %ax, 0x1234; addr16 mov 0x1234, %eax; addr16 mov %eax, 0x1234; ret
F(x_addr16)	addr16 mov (%bx,%si), %eax; addr16 mov 0x12(%bp), %eax; addr16 lea 0x1234(%di), %eax; addr16 mov %eax, 0x1234; addr16 jmp *(%bx); ret
F(x_disp32)	mov 0x11223344, %ecx; mov %ecx, %fs:0x11223344; incl 0x11223344; cmpl $0x55667788, 0x11223344; movb $3, 0x11223344; ret
F(x_percpu)	mov %fs:0xc1001234, %eax; incl %fs:0xc1001234; cmpxchg %ecx, %fs:0xc1001234; ret
F(x_call)	call x_one; call *%eax; call *(%eax); call *0x11223344; .byte 0x66, 0xe8, 4, 0; ret
F(x_thunkish)	call 1f; 1: pop %eax; nop; nop; nop; nop; ret
F(x_jumps)	jmp 1f; nop; nop; nop; nop; nop; nop; 1: nop; nop; nop; nop; nop; jne 1b; ret
F(x_jump_end)	nop; nop; nop; nop; nop; 1: nop; nop; nop; nop; nop; nop; jmp 1b
F(x_jump_word)	.byte 0x66, 0xe9, 4, 0; nop; nop; nop; nop; nop; nop; nop; .byte 0x66, 0x0f, 0x84, 0xf4, 0xff; nop; nop; nop; nop; nop; ret
F(x_jump_byte66) .byte 0x66, 0xeb, 4; nop; nop; nop; nop; nop; nop; nop; .byte 0x66, 0x74, 0xf6; nop; nop; nop; nop; ret
F(x_loop)	mov $4, %ecx; 1: nop; nop; nop; nop; nop; nop; loop 1b; jecxz 1b; addr16 loop 1b; jcxz 1b; loopne 1b; loope 1b; ret
F(x_mid)	test %eax, %eax; jne 2f; mov $1, %eax; mov $2, %ecx; 2: mov $3, %edx; ret
F(x_jmp_reg)	nop; nop; nop; nop; nop; jmp *%eax
F(x_jmp_mem)	nop; nop; nop; nop; nop; jmp *0x11223344(,%eax,4)
F(x_call_ind)	nop; nop; nop; nop; nop; call *%eax; nop; nop; nop; nop; nop; ret
F(x_thunk_jmp)	nop; nop; nop; nop; nop; jmp __x86_indirect_thunk_eax
F(x_thunk_jcc)	nop; nop; nop; nop; nop; je __x86_indirect_thunk_edi; nop; nop; nop; nop; nop; ret
F(x_thunk_call)	nop; nop; nop; nop; nop; call __x86_indirect_thunk_ecx; nop; nop; nop; nop; nop; ret
F(x_sys)	sysenter; sysexit; syscall; sysret; int $0x80; int3; int1; hlt; in %dx, %al; out %al, %dx; rdmsr; wrmsr; cpuid; rdtsc; ret
F(x_ud)	ud2; ud1 %eax, %ecx; ud0 %eax, %ecx; nop; nop; nop; nop; nop; ret
F(x_cr)	mov %cr0, %eax; mov %eax, %cr3; mov %dr7, %eax; lgdt (%eax); invlpg (%eax); clts; wbinvd; vmcall; vmmcall; ret
F(x_string)	rep movsl; rep stosb; repne scasb; movsw; lodsl; insb; outsl; xlat; ret
F(x_fpu)	fld1; fnstcw (%eax); fwait; fninit; emms; movaps %xmm0, %xmm1; paddd %mm0, %mm1; movd %xmm0, %eax; ret
F(x_vex)	vmovaps %xmm0, %xmm1; vpaddd %ymm0, %ymm1, %ymm2; vmovdqu (%eax), %ymm0; vzeroupper; vpsubb %xmm0, %xmm1, %xmm2; vpslld $3, %xmm0, %xmm1; andn %eax, %ecx, %edx; mulx %eax, %ecx, %edx; ret
F(x_evex)	vmovdqa32 %zmm0, %zmm1; vmovups (%eax), %zmm0{%k1}; vpaddd %zmm0, %zmm1, %zmm2; ret
F(x_shift)	shl %eax; shl $3, %eax; shl %cl, %eax; sal %eax; neg %eax; not %eax; mul %ecx; div %ecx; test $1, %eax; incb %al; decb (%eax); incl (%eax); push (%eax); ret
F(x_setcc)	sete %al; cmove %ecx, %eax; bt %eax, %ecx; bts $3, %eax; bswap %eax; xadd %eax, %ecx; cmpxchg8b (%eax); movzbl %al, %eax; shld $3, %eax, %ecx; ret
F(x_long)	.byte 0x2e, 0x2e, 0x2e, 0x2e, 0x2e, 0x2e, 0x2e, 0x2e, 0x81, 0x05, 1, 2, 3; nop; ret
F(x_len15)	.byte 0x66, 0x66, 0x66, 0x66, 0x66, 0x66, 0x66, 0x66, 0x66, 0x66, 0x66, 0x66, 0x66, 0x66, 0x90; nop; nop; nop; nop; nop; ret
F(x_len16)	.byte 0x66, 0x66, 0x66, 0x66, 0x66, 0x66, 0x66, 0x66, 0x66, 0x66, 0x66, 0x66, 0x66, 0x66, 0x66, 0x90; nop; nop; nop; nop; nop; ret
F(x_lock)	lock incl (%eax); nop; nop; nop; nop; nop; ret
F(x_endbr)	endbr32; nop; nop; nop; nop; nop; ret
F(x_endbr64)	endbr64; nop; nop; nop; nop; nop; ret
F(x_xen)	.byte 0x0f, 0x0b, 0x78, 0x65, 0x6e, 0x0f, 0xa2; nop; nop; nop; nop; nop; ret
F(x_kvm)	nop; .byte 0x0f, 0x0b, 0x6b, 0x76, 0x6d, 0x0f, 0xa2; nop; nop; nop; nop; nop; ret
F(x_bad)	nop; nop; nop; nop; nop; .byte 0xc5, 0xf8, 0x0f, 0xc0; nop; nop; nop; nop; nop; ret
F(x_int3mid)	nop; nop; nop; nop; nop; nop; int3; nop; nop; nop; nop; nop; nop; ret
F(x_xbegin)	xbegin 1f; nop; nop; nop; nop; nop; 1: nop; nop; nop; nop; nop; xend; ret
F(n_ext_first)	mov (%eax), %eax; nop; nop; nop; nop; nop; 9: ret; EXTABLE(n_ext_first)
F(n_ext_late)	nop; nop; nop; nop; nop; nop; nop; nop; nop; 8: mov (%eax), %eax; nop; nop; nop; nop; nop; 9: ret; EXTABLE(8b)
F(n_bug_asm)	nop; nop; nop; nop; nop; 7: ud2; nop; nop; nop; nop; nop; ret
	.pushsection __bug_table, "aw"; .long 7b; .long 0; .word 1; .word 0; .popsection
F(n_smplock)	nop; nop; nop; nop; 671: lock incl (%eax); nop; nop; nop; nop; nop; ret
	.pushsection .smp_locks, "a"; .balign 4; .long 671b - .; .popsection
F(n_kprobes_before) nop; nop; nop; nop; nop; ret
	.section .kprobes.text, "ax"
F(n_kprobes_text) nop; nop; nop; nop; nop; ret
	.section .noinstr.text, "ax"
F(n_noinstr)	nop; nop; nop; nop; nop; ret
	.text
F(n_nokprobe)	nop; nop; nop; nop; nop; ret
	.pushsection _kprobe_blacklist, "aw"; .long n_nokprobe; .popsection
F(x_last)	nop; nop; nop; nop; nop; ret
	.balign 64, 0xcc
	.section .note.GNU-stack
