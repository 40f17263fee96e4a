/* A small kernel module, for the tests of elf("module.ko"):
 *
 *   gcc -O2 -mcmodel=kernel -fno-asynchronous-unwind-tables -fcf-protection=none -fno-pic -mno-red-zone \
 *       -mgeneral-regs-only -fno-stack-protector -c module.c -o module.ko
 *
 * and of i386, module32.ko, with -m32 -mregparm=3 instead of -mcmodel=kernel -mno-red-zone.
 */
static const char vermagic[] __attribute__((section(".modinfo"), used)) = "vermagic=6.1.0-kpsim SMP preempt mod_unload modversions ";
static char this_module[64] __attribute__((section(".gnu.linkonce.this_module"), used));

extern void *make(unsigned long);
extern unsigned long jiffies;
extern int weigh(int);

static const unsigned short table[4] = { 3, 1, 4, 1 };

__attribute__((noinline)) static unsigned int look(unsigned int i)
{
	return table[i & 3];
}

/* Needs no symbol of the kernel. */
unsigned int pure(unsigned int i)
{
	return look(i) * 10 + look(i + 1);
}

int heavy(int v)
{
	return weigh(v) + 1;
}

void *leak(void)
{
	return make(8);
}

unsigned long when(void)
{
	return jiffies;
}
