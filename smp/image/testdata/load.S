/* What only Load takes: a global offset table, thread-local storage, common
   variables, narrow holes, sizes, a section that isn't loaded, functions that
   share bytes or a name, and a name that can't be printed. */
	.text
	.macro	function name
	.globl	\name
	.type	\name, @function
\name:
	.endm

	function got
	mov	away@GOTPCREL(%rip), %rax	/* REX_GOTPCRELX */
	call	*away@GOTPCREL(%rip)		/* GOTPCRELX, the same slot */
	jmp	*got@GOTPCREL(%rip)		/* another slot */
	.size	got, . - got

	function large
	lea	_GLOBAL_OFFSET_TABLE_(%rip), %rbx	/* GOTPC32 */
	movabs	$away@GOTOFF, %rax
	movabs	$away@GOT, %rax
	movabs	$away@PLTOFF, %rax
	mov	away@GOT(%rbx), %rax		/* GOT32 */
	ret
	.size	large, . - large

	function thread
	mov	%fs:own@TPOFF, %eax		/* TPOFF32 */
	mov	away_tls@GOTTPOFF(%rip), %rax
	lea	away_tls@TLSGD(%rip), %rdi
	lea	own@TLSLD(%rip), %rdi
	mov	own@DTPOFF(%rax), %eax		/* DTPOFF32 */
	lea	own@TLSDESC(%rip), %rax		/* GOTPC32_TLSDESC */
	call	*own@TLSCALL(%rax)		/* TLSDESC_CALL, no hole */
	ret
	.size	thread, . - thread

	function narrow
	movb	$away, %al			/* 8 */
	movw	$away, %ax			/* 16 */
	mov	$got@SIZE, %eax			/* SIZE32 */
	.byte	0xe3				/* jrcxz got, PC8 */
	.reloc	., R_X86_64_PC8, got - 1
	.byte	0
	ret
	.size	narrow, . - narrow

	function elsewhere
	mov	shared(%rip), %eax		/* a common variable */
	mov	note(%rip), %rax
	ret
	.size	elsewhere, . - elsewhere

	function outer
	inc	%rax
	function inner
	inc	%rax
	ret
	.size	outer, . - outer
	.size	inner, . - inner

	.type	same, @function
same:	ret
	.size	same, . - same
	.type	again, @function
again:	nop					/* renamed to same */
	ret
	.size	again, . - again

odd:	nop					/* renamed to a"b\c, 1 and 255 */

	.comm	shared, 4, 4
	.section .note.odd, "a"
note:	.quad	1
	.section .tbss, "awT", @nobits
	.type	own, @object
	.size	own, 4
own:	.zero	4
	.section .text.cold, "ax"
	nop
	ret
