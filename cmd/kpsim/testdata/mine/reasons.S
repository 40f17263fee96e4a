/* A function for each reason that kpsim check gives; docs/check.md shows them.
 * No gap is left behind dcr_straddles; the others have nops. */
	.macro	function name
	.balign	16, 0x90
	.globl	\name
	.type	\name, @function
\name:
	.endm
	.macro	table name
	.pushsection \name, "a"
	.endm
	.text

	function jtpr_targeted
	mov	$3, %ecx
0:	dec	%ecx
	jnz	0b
	ret

	function dcr_straddles
	xor	%eax, %eax
	ret

	.globl	call_in_dcr			/* no gap */
	.type	call_in_dcr, @function
call_in_dcr:
	push	%rbx
	call	away
	pop	%rbx
	ret

	function jump_in_dcr
	test	%edi, %edi
	js	away
	ret

	function not_relocatable
	cpuid
	mov	%ebx, (%rdi)
	mov	%ecx, (%rsi)
	ret

	function indirect_jump
	lea	4(%rdi), %rax
	xor	%ecx, %ecx
	jmp	*%rax

	function thunk_jump
	mov	%rdi, %rax
	xor	%ecx, %ecx
	jmp	__x86_indirect_thunk_rax

	function exception_table
1:	mov	(%rdi), %rax
	xor	%ecx, %ecx
2:	ret
	table __ex_table
	.long	1b - ., 2b - ., 0
	.popsection

	function int3_at
	mov	%rdi, %rax
	int3
	xor	%ecx, %ecx
	ret

	function undecodable
	mov	%rdi, %rax
	.byte	0xc4, 0xe4, 0x00		/* vex, map 4 */
	xor	%ecx, %ecx
	ret

	function bug
	mov	%rdi, %rax
3:	ud2
	table __bug_table
	.long	3b - ., 0
	.word	0, 0
	.popsection

	function jump_label
	mov	%edi, %eax
4:	.byte	0x0f, 0x1f, 0x44, 0, 0
5:	ret
	table __jump_table
	.long	4b - ., 5b - .
	.quad	key - .
	.popsection

	function static_call
	mov	%edi, %eax
6:	call	__SCT__hook
	ret
	table .static_call_sites
	.long	6b - ., __SCK__hook - .
	.popsection

	function fentry
7:	call	__fentry__
	lea	1(%rdi,%rsi), %rax
	ret
	table __mcount_loc
	.quad	7b
	.popsection

	function trap
	int	$0x80
	lea	1(%rdi,%rsi), %rax
	ret

	function masks_exceptions
	mov	%eax, %ss
	lea	1(%rdi,%rsi), %rax
	ret

	function neither_stepped_nor_emulated
	call	*8(%rdi)
	lea	1(%rdi,%rsi), %rax
	ret

	function no_room
	.byte	0x66, 0x66, 0x66, 0x66, 0x66, 0x66, 0x66
	.byte	0xc7, 0x80
	.long	0x1000
	.word	7
	lea	1(%rdi,%rsi), %rax
	ret

	function entry
	endbr64
	lea	1(%rdi,%rsi), %rax
	ret

	function blacklisted
	lea	1(%rdi,%rsi), %rax
	ret
	table _kprobe_blacklist
	.quad	blacklisted
	.popsection

	function __pfx_preamble
	xor	%eax, %eax
	ret

	.section .init.text, "ax"
	function init_text
	lea	1(%rdi,%rsi), %rax
	ret

	.data
key:	.quad	0
