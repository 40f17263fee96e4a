/* What the rules of probing ask about, for TestJudgedAlike:
 *
 *   gcc -O2 -mno-red-zone -mgeneral-regs-only -fno-pic -mcmodel=kernel -fno-asynchronous-unwind-tables -fno-stack-protector
 *       -fcf-protection=branch -fcf-check-attribute=no -pg -mfentry -c judged.c -o judged.o
 *   the same with -fcf-protection=none -mindirect-branch=thunk-extern -mfunction-return=thunk-extern
 *       -mrecord-mcount -mnop-mcount instead of -fcf-…: judged_thunks.o
 */
typedef long (*step)(long);
extern step steps[4];
step steps[4];

long pick(long n, long v)
{
	switch (n) {
	case 0: return v + 3;
	case 1: return v ^ 5;
	case 2: return v * 9;
	case 3: return v >> 2;
	case 4: return v | 77;
	case 5: return v - 6;
	case 6: return ~v;
	}
	return 0;
}

long tail(long n, long v)
{
	return steps[n & 3](v);
}

long twice(long n, long v)
{
	v += steps[n & 3](v);
	return v + steps[(n + 1) & 3](v);
}

long loop(long n)
{
	long s = 0;

	while (n-- > 0)
		s = s * 7 + (n ^ s >> 3);
	return s;
}

long odd(long v)
{
	return v & 1;
}

void must(long v)
{
	if (v)
		__builtin_trap();
}
