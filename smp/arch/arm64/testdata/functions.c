// Functions that a compiler makes code of: TestCompiled runs them, and compares what they return with what
// they did under qemu. _start prints that. To make functions.elf, functions-lse.elf and functions.txt:
//
//	C="aarch64-linux-gnu-gcc -O2 -static -nostdlib -ffreestanding -mgeneral-regs-only -mno-outline-atomics -fno-stack-protector -fno-asynchronous-unwind-tables -fno-tree-loop-distribute-patterns -Wl,--build-id=none -Wl,-Ttext=0x400000 -Wl,-z,max-page-size=4096"
//	$C -march=armv8-a+crc -o functions.elf functions.c -lgcc
//	$C -march=armv8.3-a -mbranch-protection=standard -o functions-lse.elf functions.c -lgcc
//	qemu-aarch64 functions.elf > functions.txt
//
// Package ppc64 has what another compiler makes of it: see its compiled_test.go.
typedef unsigned char u8;
typedef unsigned short u16;
typedef unsigned int u32;
typedef unsigned long u64;
typedef signed char s8;
typedef short s16;
typedef int s32;
typedef long s64;
typedef unsigned __int128 u128;

#define NOINLINE __attribute__((noinline))

static u64 next(u64 *s)
{
	*s ^= *s << 13;
	*s ^= *s >> 7;
	*s ^= *s << 17;
	return *s;
}

static u64 words[64];
static u8 text[256];

static void fill(u64 seed)
{
	seed |= 1;
	for (int i = 0; i < 64; i++)
		words[i] = next(&seed);
	for (int i = 0; i < 256; i++)
		text[i] = next(&seed);
}

static u64 sum(void)
{
	u64 h = 0;
	for (int i = 0; i < 64; i++)
		h = h * 31 + words[i];
	for (int i = 0; i < 256; i++)
		h = h * 33 ^ text[i];
	return h;
}

u64 f_arith(u64 a, u64 b, u64 c)
{
	u64 r = a * b + c - (a >> 3) - (s64)b / 10 + c % 1000003;
	r ^= (s32)a / ((s32)b | 1) + (u32)c / 7 + (s64)a % ((s64)c | 1);
	return r - (s16)a * (s8)b + (u16)c;
}

u64 f_wide(u64 a, u64 b, u64 c)
{
	u128 x = (u128)a * b + c;
	__int128 y = (__int128)(s64)a * (s64)c - (s64)b;
	u128 q = x / (c | 1), m = x % (b | 1);
	return (u64)x ^ (u64)(x >> 64) ^ (u64)y ^ (u64)(y >> 64) ^ (u64)q ^ (u64)m ^ (x > (u128)y) ^ (u64)(x >> (a & 127));
}

u64 f_bits(u64 a, u64 b, u64 c)
{
	u64 r = __builtin_clzl(a | 1) + __builtin_ctzl(b | 1ul << 63) + __builtin_clz((u32)c | 1);
	r += __builtin_bswap64(a) ^ __builtin_bswap32(b) ^ __builtin_bswap16(c);
	r ^= a << (b & 63) | a >> (-b & 63);
	r += (u32)b >> (c & 31) | (u32)b << (-c & 31);
	r ^= __builtin_clrsbl(a) + __builtin_ffsl(b);
	return r + ((a >> 5 & 0x1ff) << 20 | (b & 0xfff)) - ((s64)(c << 13) >> 40) - (a & 0x00ff00ff00ff00ff);
}

struct fields {
	u64 a : 5, b : 17, c : 30;
	s64 d : 12;
	s32 e : 7, f : 20;
	u8 g : 3;
};

u64 f_fields(u64 a, u64 b, u64 c)
{
	struct fields s = { 0 };
	volatile struct fields *p = &s;
	p->a = a;
	p->b = b;
	p->c = c;
	p->d = a >> 7;
	p->e = b;
	p->f = c >> 2;
	p->g = a + b;
	p->d += p->e;
	p->b -= p->a;
	return p->a + p->b * 3 + p->c * 5 + p->d * 7 + p->e * 11 + p->f * 13 + p->g * 17;
}

u64 f_choose(u64 a, u64 b, u64 c)
{
	u64 r = a > b ? a : b + 1;
	r += (s64)a < (s64)c ? ~b : -c;
	if (a > 10 && b < 1000 || c == a)
		r ^= 5;
	if ((s32)a >= 0 && (u32)b <= (u32)c && !(c & 8))
		r += 77;
	r += (a == 0) + (b != 3) * 2 + ((s64)c > -5) * 4;
	return r - (a & 1 ? b : c) + __builtin_add_overflow(a, b, &c) + __builtin_mul_overflow((s32)a, (s32)b, (s32 *)&c);
}

u64 f_switch(u64 a, u64 b, u64 c)
{
	u64 r = c;
	for (int i = 0; i < 20; i++, a >>= 3)
		switch (a & 15) {
		case 0: r += b; break;
		case 1: r ^= r << 3; break;
		case 2: r -= a; break;
		case 3: r = r * 17 + 1; break;
		case 4: r ^= b >> 2;
		case 5: r++; break;
		case 6: r = ~r; break;
		case 7: r = -r; break;
		case 8: r |= 1; break;
		case 9: r += r >> 7; break;
		case 11: r &= ~b; break;
		case 12: r = r / 3; break;
		default: r ^= 0x5555555555555555;
		}
	return r;
}

static NOINLINE u64 fib(u64 n) { return n < 2 ? n : fib(n - 1) + fib(n - 2); }

u64 f_recurse(u64 a, u64 b, u64 c) { return fib(a % 12) * 100 + fib(b % 9) + c; }

static NOINLINE void sort(u64 *v, s64 n)
{
	if (n < 2)
		return;
	u64 p = v[n / 2];
	s64 i = 0, j = n - 1;
	while (i <= j) {
		while (v[i] < p)
			i++;
		while (v[j] > p)
			j--;
		if (i <= j) {
			u64 t = v[i];
			v[i++] = v[j];
			v[j--] = t;
		}
	}
	sort(v, j + 1);
	sort(v + i, n - i);
}

u64 f_sort(u64 a, u64 b, u64 c)
{
	fill(a ^ b << 1);
	sort(words, 16 + c % 48);
	return sum();
}

u64 f_copy(u64 a, u64 b, u64 c)
{
	fill(c);
	u64 n = a % 100, from = b % 100, to = a % 57;
	for (u64 i = 0; i < n; i++)
		text[to + i] = text[from + i] + 1;
	u64 *w = (u64 *)(text + b % 8), *v = words + b % 16;
	for (u64 i = 0; i + 1 < n % 24; i += 2) {
		w[i] = v[i + 1];
		w[i + 1] = v[i] ^ *(u32 *)(text + 3 + i) ^ *(s16 *)(text + 1 + i);
	}
	return sum();
}

u64 f_strings(u64 a, u64 b, u64 c)
{
	static const char *const names[] = { "kprobe", "kretprobe", "jprobe", "optprobe", "ftrace" };
	const char *p = names[a % 5], *q = names[b % 5];
	u64 n = 0;
	s64 order = 0;
	while (p[n])
		n++;
	for (u64 i = 0;; i++)
		if (p[i] != q[i] || !p[i]) {
			order = (u8)p[i] - (u8)q[i];
			break;
		}
	char digits[24];
	int k = 0;
	for (u64 v = c; v; v /= 10)
		digits[k++] = '0' + v % 10;
	u64 h = n * 1000 + order;
	while (k)
		h = h * 131 + digits[--k];
	return h;
}

static NOINLINE u64 add(u64 a, u64 b) { return a + b; }
static NOINLINE u64 mul(u64 a, u64 b) { return a * b; }
static NOINLINE u64 mix(u64 a, u64 b) { return a ^ (b << 7 | b >> 57); }
static u64 (*const table[])(u64, u64) = { add, mul, mix };

u64 f_pointers(u64 a, u64 b, u64 c)
{
	for (int i = 0; i < 9; i++)
		c = table[(a >> i * 5) % 3](c, b + i);
	return c;
}

#ifndef __aarch64__
static u32 crc(u32 x, u64 v, int bytes, u32 polynomial)
{
	for (int i = 0; i < 8 * bytes; i++, v >>= 1)
		x = x >> 1 ^ (-((x ^ (u32)v) & 1) & polynomial);
	return x;
}
#define __builtin_aarch64_crc32b(x, v) crc(x, v, 1, 0xedb88320)
#define __builtin_aarch64_crc32h(x, v) crc(x, v, 2, 0xedb88320)
#define __builtin_aarch64_crc32w(x, v) crc(x, v, 4, 0xedb88320)
#define __builtin_aarch64_crc32x(x, v) crc(x, v, 8, 0xedb88320)
#define __builtin_aarch64_crc32cb(x, v) crc(x, v, 1, 0x82f63b78)
#define __builtin_aarch64_crc32ch(x, v) crc(x, v, 2, 0x82f63b78)
#define __builtin_aarch64_crc32cw(x, v) crc(x, v, 4, 0x82f63b78)
#define __builtin_aarch64_crc32cx(x, v) crc(x, v, 8, 0x82f63b78)
#endif

u64 f_crc(u64 a, u64 b, u64 c)
{
	u32 x = a;
	x = __builtin_aarch64_crc32b(x, b);
	x = __builtin_aarch64_crc32h(x, b >> 8);
	x = __builtin_aarch64_crc32w(x, b >> 16);
	x = __builtin_aarch64_crc32x(x, c);
	u32 y = __builtin_aarch64_crc32cb(x, c);
	y = __builtin_aarch64_crc32ch(y, c >> 8);
	y = __builtin_aarch64_crc32cw(y, b);
	return (u64)x << 32 | __builtin_aarch64_crc32cx(y, a);
}

#define ATOMICS(T)                                                                  \
	({                                                                          \
		static T v;                                                         \
		T e = b, r = 0;                                                     \
		__atomic_store_n(&v, (T)a, __ATOMIC_RELEASE);                       \
		r += __atomic_fetch_add(&v, (T)b, __ATOMIC_SEQ_CST);                \
		r = r * 3 + __atomic_fetch_sub(&v, (T)c, __ATOMIC_RELAXED);         \
		r = r * 3 + __atomic_fetch_or(&v, (T)(b >> 3), __ATOMIC_ACQUIRE);   \
		r = r * 3 + __atomic_fetch_and(&v, (T)~c, __ATOMIC_RELEASE);        \
		r = r * 3 + __atomic_fetch_xor(&v, (T)a, __ATOMIC_ACQ_REL);         \
		r = r * 3 + __atomic_exchange_n(&v, (T)(c >> 1), __ATOMIC_SEQ_CST); \
		r = r * 3 + __atomic_compare_exchange_n(&v, &e, (T)a, 0, 5, 5);     \
		e = __atomic_load_n(&v, __ATOMIC_ACQUIRE);                          \
		r = r * 3 + __atomic_compare_exchange_n(&v, &e, (T)a, 0, 3, 2);     \
		__atomic_fetch_add(&v, 1, __ATOMIC_RELAXED);                        \
		(u64)(r * 3 + v);                                                   \
	})

u64 f_atomics(u64 a, u64 b, u64 c)
{
	u64 r = ATOMICS(u8);
	r = r * 5 + ATOMICS(u16);
	r = r * 5 + ATOMICS(u32);
	return r * 5 + ATOMICS(u64);
}

u64 f_lock(u64 a, u64 b, u64 c)
{
	static u32 lock;
	u32 free = 0;
	while (!__atomic_compare_exchange_n(&lock, &free, 1, 1, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED))
		free = 0;
	words[a & 63] += b;
	__sync_synchronize();
	u64 r = words[a & 63] - b;
	words[a & 63] = c;
	__atomic_store_n(&lock, 0, __ATOMIC_RELEASE);
	return r & 0 | c;
}

struct node {
	struct node *next, **prev;
	u64 value;
};

u64 f_list(u64 a, u64 b, u64 c)
{
	static struct node nodes[16];
	struct node *head = 0;
	for (int i = 0; i < 16; i++) {
		struct node *n = &nodes[i], **p = &head;
		n->value = a * (i + 1) ^ b >> i;
		while (*p && (*p)->value < n->value)
			p = &(*p)->next;
		n->next = *p;
		n->prev = p;
		if (n->next)
			n->next->prev = &n->next;
		*p = n;
	}
	for (int i = 0; i < 16; i += 1 + c % 3) {
		*nodes[i].prev = nodes[i].next;
		if (nodes[i].next)
			nodes[i].next->prev = nodes[i].prev;
	}
	u64 h = c;
	for (struct node *n = head; n; n = n->next)
		h = h * 7 + n->value;
	return h;
}

u64 f_many(u64 a, u64 b, u64 c)
{
	u64 x[12], y[12], r = 0;
	for (int i = 0; i < 12; i++) {
		x[i] = a + b * i;
		y[i] = c ^ (a << i);
	}
	for (int i = 0; i < 12; i++)
		for (int j = 0; j < 12; j++)
			r += x[i] * y[j] - (s32)(x[j] >> 9) * (s64)(s32)y[i] + (u64)(u32)x[i] * (u32)y[j];
	return r;
}

#define F(name) { #name, name }
static const struct {
	const char *name;
	u64 (*f)(u64, u64, u64);
} functions[] = {
	F(f_arith), F(f_wide), F(f_bits), F(f_fields), F(f_choose), F(f_switch), F(f_recurse), F(f_sort), F(f_copy),
	F(f_strings), F(f_pointers), F(f_crc), F(f_atomics), F(f_lock), F(f_list), F(f_many),
};

static char out[1 << 16];
static u64 used;

static void put(u64 v)
{
	out[used++] = ' ';
	for (int i = 60; i >= 0; i -= 4)
		out[used++] = "0123456789abcdef"[v >> i & 15];
}

static u64 call(u64 nr, u64 a, u64 b, u64 c)
{
#ifdef __powerpc64__
	register u64 r0 asm("r0") = nr == 64 ? 4 : 1, r3 asm("r3") = a, r4 asm("r4") = b, r5 asm("r5") = c;
	asm volatile("sc" : "+r"(r0), "+r"(r3), "+r"(r4), "+r"(r5) : : "r6", "r7", "r8", "r9", "r10", "r11", "r12", "cr0", "memory");
	return r3;
#else
	register u64 x8 asm("x8") = nr, x0 asm("x0") = a, x1 asm("x1") = b, x2 asm("x2") = c;
	asm volatile("svc #0" : "+r"(x0) : "r"(x8), "r"(x1), "r"(x2) : "memory");
	return x0;
#endif
}

void _start(void)
{
	u64 seed = 88172645463325252;
	for (u64 i = 0; i < sizeof functions / sizeof *functions; i++)
		for (int k = 0; k < 16; k++) {
			u64 v[3];
			for (int j = 0; j < 3; j++) {
				u64 r = next(&seed);
				v[j] = r & 1 ? r : r & 2 ? r >> 50 : r & 4 ? (u64)(s64)(s32)(r >> 20) : -(r >> 57);
			}
			for (const char *p = functions[i].name; *p; p++)
				out[used++] = *p;
			put(v[0]);
			put(v[1]);
			put(v[2]);
			put(functions[i].f(v[0], v[1], v[2]));
			out[used++] = '\n';
		}
	call(64, 1, (u64)out, used);
	call(93, 0, 0, 0);
}
