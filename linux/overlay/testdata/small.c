/* gcc -c -g1 -O2 -mcmodel=kernel -fno-pic -fno-asynchronous-unwind-tables -fcf-protection=none small.c
 * and small32.o with -m32 -mregparm=3 instead of -mcmodel=kernel. */
#ifdef __i386__
#define word ".long "
#define from ""
#else
#define word ".quad "
#define from "-."
#endif
#define section(name, flags) ".section " name ",\"" flags "\"\n"
static int count;
int limit = 7;
const char *const texts[] = {"one", "two"};
__attribute__((weak)) int more(int n) { return n + count; }
int step(int n)
{
	count += more(n);
	return count > limit ? *texts[n & 1] : 0;
}
__asm__(".text\n site: call __fentry__; jmp __x86_return_thunk; ud2\n"
	".globl __fentry__, __x86_return_thunk\n __fentry__: ret\n __x86_return_thunk: ret\n"
	section("__bug_table", "aw") ".long site+10" from ", texts" from "; .word 77, 1\n"
	section("__ex_table", "a") ".long site-., site+5-., 3\n"
	section(".data..percpu", "aw") "own: " word "own\n"
	section(".initcall6.init", "a") ".long step-.\n .text\n");
