/*
 * Callers of victim: real call sites, real return addresses. victim and
 * cond_resched are undefined here; the scenario says where they are.
 */
unsigned long victim(unsigned long a, unsigned long b);
void cond_resched(void);

/* caller calls victim n times and folds each result into the next call. */
unsigned long caller(unsigned long n)
{
	unsigned long acc = n;

	for (unsigned long i = 0; i < n; i++)
		acc += victim(i, acc);
	return acc;
}

/* caller_resched offers the CPU to others after each call, as a long kernel
 * loop does: the quiescent state that voluntary preemption gives. */
unsigned long caller_resched(unsigned long n)
{
	unsigned long acc = n;

	for (unsigned long i = 0; i < n; i++) {
		acc += victim(i, acc);
		cond_resched();
	}
	return acc;
}
