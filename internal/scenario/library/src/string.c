/* What a kernel module takes from the kernel to move memory: define these above
 * the module, elf("string.o"). With rep, so that a long fill is few boundaries. */
typedef unsigned long size_t;

void *memset(void *to, int c, size_t n)
{
	unsigned long words = n / 8, rest = n % 8, all = (unsigned char)c * 0x0101010101010101ul;
	void *p = to;

	asm volatile("rep stosq" : "+D"(p), "+c"(words) : "a"(all) : "memory");
	asm volatile("rep stosb" : "+D"(p), "+c"(rest) : "a"(all) : "memory");
	return to;
}

void *memcpy(void *to, const void *from, size_t n)
{
	unsigned long words = n / 8, rest = n % 8;
	void *p = to;

	asm volatile("rep movsq" : "+D"(p), "+S"(from), "+c"(words) : : "memory");
	asm volatile("rep movsb" : "+D"(p), "+S"(from), "+c"(rest) : : "memory");
	return to;
}

/* Backwards where the end of the one is the start of the other. */
void *memmove(void *to, const void *from, size_t n)
{
	char *p = to;
	const char *q = from;

	if ((size_t)(p - q) >= n)
		return memcpy(to, from, n);
	for (; n; n--)
		asm volatile("" : : "r"(p[n - 1] = q[n - 1]) : "memory");
	return to;
}
