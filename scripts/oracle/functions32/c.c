// Functions in C whose text holds what other parts of the kernel rewrite.
#include <linux/bug.h>
#include <linux/jump_label.h>
#include <linux/kprobes.h>
#include <linux/module.h>
#include <linux/static_call.h>
#include <linux/string.h>
#include <linux/uaccess.h>

DEFINE_STATIC_KEY_FALSE(off_key);
DEFINE_STATIC_KEY_TRUE(on_key);
static noinline int callee(int a, int b) { return a * 3 + b; }
DEFINE_STATIC_CALL(a_static_call, callee);
int (*a_pointer)(int, int) = callee;

noinline int x_c_add(int a, int b) { return a + b + 7; }
noinline int x_c_static_false(int a) { if (static_branch_unlikely(&off_key)) return callee(a, 2); return a + 0x12345; }
noinline int x_c_static_true(int a) { if (static_branch_likely(&on_key)) return a * 5; return callee(a, 9); }
notrace noinline int x_c_static_nt(int a) { if (static_branch_unlikely(&off_key)) return callee(a, 2); return a ^ 0x77; }
noinline int x_c_static_mid(int a, int b) { int c = a * 0x1111 + b; if (static_branch_unlikely(&off_key)) c += callee(c, a); c ^= 0x12345678; if (static_branch_likely(&on_key)) c -= 3; return c; }
noinline int x_c_static_call(int a, int b) { return static_call(a_static_call)(a, b) + 1; }
noinline int x_c_static_tail(int a, int b) { return static_call(a_static_call)(a, b); }
noinline int x_c_warn(int a) { WARN_ON(a == 0x55); return a + 3; }
notrace noinline int x_c_warn_nt(int a) { WARN_ON(a == 0x55); return a + 3; }
noinline int x_c_bug(int a) { BUG_ON(a == 0x56); return a - 3; }
noinline int n_c_indirect(int a, int b) { return a_pointer(a, b) + 4; }
noinline int n_c_indirect_tail(int a, int b) { return a_pointer(b, a); }
noinline int n_c_unsafe(int __user *p) { int v = 0; if (!user_access_begin(p, 4)) return -1; unsafe_get_user(v, p, out); user_access_end(); return v; out: user_access_end(); return -2; }
noinline int x_c_nofault(int *p) { int v; if (get_kernel_nofault(v, p)) return -1; return v; }
noinline long n_c_copyuser(void *to, const void __user *from) { return copy_from_user(to, from, 24); }
noinline u64 x_c_mul64(u64 a, u64 b) { return a * b + 5; }
noinline int x_c_switch(int a, int b) { switch (a) { case 0: return b; case 1: return b + 3; case 2: return b * 7; case 3: return b ^ 9; case 4: return b - 77; case 5: return ~b; case 6: return b << 3; default: return -1; } }
noinline int x_c_loop(int a) { int s = 0; while (a-- > 0) s += a ^ s; return s; }
noinline int x_c_str(char *s) { return strlen(s) + memcmp(s, "abc", 3); }
noinline long n_c_atomic(atomic_t *a) { atomic_inc(a); return atomic_add_return(4, a); }
noinline void n_c_irq(int *a) { unsigned long flags; local_irq_save(flags); ++*a; local_irq_restore(flags); }
noinline void n_c_void(void) { }
notrace noinline void n_c_void_notrace(void) { }
noinline int n_c_nokprobe(int a) { return a + 9; }
NOKPROBE_SYMBOL(n_c_nokprobe);
__kprobes int n_c_kprobes_attr(int a) { return a + 10; }

static int __init hand_init(void) { return 0; }
module_init(hand_init);
MODULE_LICENSE("Dual BSD/GPL");
