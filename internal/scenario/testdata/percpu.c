/* A kernel module with a stack protector and per-CPU variables, for the tests of elf("percpu.ko"):
 *
 *   gcc -O2 -mcmodel=kernel -fno-asynchronous-unwind-tables -fcf-protection=none -fno-pic -mno-red-zone \
 *       -mgeneral-regs-only -fstack-protector-all -c percpu.c -o percpu.ko
 */
static const char vermagic[] __attribute__((section(".modinfo"), used)) = "vermagic=6.1.0-kpsim SMP preempt mod_unload modversions ";
static char this_module[64] __attribute__((section(".gnu.linkonce.this_module"), used));

static unsigned int calls __attribute__((section(".data..percpu"))) = 40;

/* Counts its calls on this CPU, and says how many there were before. */
unsigned int count(void)
{
	unsigned int was = 1;

	asm volatile("xaddl %0, %%gs:%1" : "+r"(was), "+m"(calls));
	return was;
}

/* The same, by the address of the copy. */
unsigned int peek(void)
{
	unsigned int *p;

	asm("movq $calls, %0; addq %%gs:this_cpu_off(%%rip), %0" : "=r"(p));
	return *p;
}

unsigned int which(void)
{
	unsigned int cpu;

	asm volatile("movl %%gs:cpu_number(%%rip), %0" : "=r"(cpu));
	return cpu;
}

/* As preempt_disable and preempt_enable around nops. */
unsigned int atomic(void)
{
	unsigned char zero;

	asm volatile("incl %gs:__preempt_count(%rip)\n nop\n nop\n nop\n nop");
	asm volatile("decl %%gs:__preempt_count(%%rip)\n sete %0" : "=r"(zero));
	return zero;
}

unsigned long current(void)
{
	unsigned long task;

	asm volatile("movq %%gs:current_task, %0" : "=r"(task));
	return task;
}

unsigned int unknown(void)
{
	unsigned int v;

	asm volatile("movl %%gs:irq_stat+4(%%rip), %0" : "=r"(v));
	return v;
}

/* Reads a per-CPU variable as if it were a plain one. */
unsigned int plainly(void)
{
	return *(volatile unsigned int *)&calls;
}
