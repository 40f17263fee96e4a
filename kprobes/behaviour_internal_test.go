package kprobes

import (
	"encoding/hex"
	"fmt"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"kpsim/kprobes/rules"
	"kpsim/smp"
	"kpsim/smp/arch"
	"kpsim/smp/arch/x86"
	"kpsim/smp/kapi"
	"kpsim/smp/kernel"
)

// What two real kernels, Debian's 6.1.192 and 6.12.113, answered to a test module
// of ours that used and misused the API of probes. Here the engine is asked the
// same, in the editions that they stand for. What they said of modules on their way
// out is asked where those are tested.

// A behaviour is one question. An answer of "" to k612 is the same as k61's.
type behaviour struct {
	says      string
	k61, k612 string
	asks      func(y *asker) string
	differs   string // why the engine has another answer, and then what that is in ours
	ours      string
}

// An asker is the test module.
type asker struct {
	t    testing.TB
	b    *bench
	x    *smp.Ctx
	head arch.Addr // how long the endbr64 is that functions begin with
}

var (
	hotAt, hotOtherAt, askedAt = textBase + 0x1000, textBase + 0x1100, textBase + 0x1200
	recAt, switchToAt          = textBase + 0x1140, textBase + 0x1180
	moduleDataAt, jiffiesAt    = dataBase, dataBase + 0x100
)

// The functions are those that the test module called: kt_hot_nt, which has no
// fentry site, and kt_other, to which it is redirected.
const (
	hotHex   = "4889d0488d14764801c74801fa4883f25a488d04d5000000004829d0c3cccccc"
	otherHex = "4869ffe8030000488d0437c3"
	recHex   = "48ffcf7405e8f6ffffffc3" // dec %rdi; je ret; call itself, behind an endbr64; ret
	endbrHex = "f30f1efa"
)

// askedFunctions are those that were registered disabled, of which nothing but
// their kind matters: where they are, and why they refuse.
var askedFunctions = []struct {
	name, module string
	kind         kapi.TextKind
	ban          kapi.Ban
}{
	{"n_c_kprobes_attr", "kpc", kapi.TextCore, kapi.BanSection},
	{"n_c_noinstr", "kpc", kapi.TextCore, kapi.BanNoinstr},
	{"n_noinstr", "kpasm", kapi.TextCore, kapi.BanNoinstr},
	{"n_kprobes_text", "kpasm", kapi.TextCore, kapi.BanSection},
	{"n_nokprobe", "kpasm", kapi.TextCore, kapi.BanSymbol},
	{"n_entry_text", "kpasm", kapi.TextCore, kapi.BanNone}, // a module's isn't the kernel's
	{"n_unlikely", "kpasm", kapi.TextCore, kapi.BanNone},
	{"n_c_init", "kpc", kapi.TextFreed, kapi.BanNone},
	{"start_kernel", "", kapi.TextFreed, kapi.BanNone},
	{"get_kprobe", "", kapi.TextCore, kapi.BanSymbol},
	{"kprobe_int3_handler", "", kapi.TextCore, kapi.BanSymbol},
	{"exc_int3", "", kapi.TextCore, kapi.BanNoinstr},
	{"asm_exc_int3", "", kapi.TextCore, kapi.BanEntry},
	{"entry_SYSCALL_64", "", kapi.TextCore, kapi.BanEntry},
	{"optimized_callback", "", kapi.TextCore, kapi.BanSymbol},
	{"preempt_schedule", "", kapi.TextCore, kapi.BanSymbol},
	{"__schedule", "", kapi.TextCore, kapi.BanNone},
}

// bootAsked maps the functions of the test module.
func bootAsked(t testing.TB, b *bench) {
	add := func(name, module string, at arch.Addr, code string) {
		if b.settings.Kernel.IBT {
			code = endbrHex + code
		}
		f, err := hex.DecodeString(code)
		require.NoError(t, err)
		b.m.Memory().Map(at, f, smp.PermRead|smp.PermExec)
		b.k.Symbols.Add(kapi.Function{Name: name, Addr: at, Size: len(f), Module: module}, nil)
	}
	add("kt_hot_nt", "kpc", hotAt, hotHex)
	add("kt_other", "kpc", hotOtherAt, otherHex)
	add("kt_hot", "kpc", tracedAt, tracedHex)
	add("kt_traced", "kpc", tracedInAt, tracedInHex)
	for _, at := range []arch.Addr{tracedAt, tracedInAt} {
		if b.settings.Kernel.IBT {
			at += 4
		}
		_, ok := b.ftrace.AddSite(at)
		require.True(t, ok)
	}
	add("kt_rec", "kpc", recAt, recHex)
	add("__switch_to", "", switchToAt, otherHex)
	for i, f := range askedFunctions {
		at := askedAt + arch.Addr(0x40*i)
		add(f.name, f.module, at, hotHex)
		b.k.Symbols.AddRange(kernel.Range{Addr: at, Size: 0x40, Kind: f.kind})
		if f.ban != kapi.BanNone {
			b.k.Symbols.Ban(kapi.Function{Name: f.name, Addr: at, Size: 0x40, Module: f.module}, f.ban)
		}
	}
	for _, d := range []kapi.Function{{Name: "data", Addr: moduleDataAt, Size: 8, Module: "kpc"},
		{Name: "jiffies", Addr: jiffiesAt, Size: 8}} {
		b.m.Memory().Map(d.Addr, make([]byte, d.Size), smp.PermRead|smp.PermWrite)
		b.k.Symbols.Add(d, nil)
		b.k.Symbols.AddRange(kernel.Range{Addr: d.Addr, Size: d.Size, Kind: kapi.TextData})
	}
}

// call calls kt_hot_nt(7, 5, 3): 469, or 308 if rdi becomes 100.
func (y *asker) call() uint64 {
	r := y.x.Regs()
	r.R[x86.RDI], r.R[x86.RSI], r.R[x86.RDX] = 7, 5, 3
	return y.x.Call(hotAt)
}

// hot is a probe on kt_hot_nt.
func (y *asker) hot(pre PreHandler) *Kprobe { return &Kprobe{Symbol: "kt_hot_nt", Pre: pre} }

// redirect is a pre_handler that goes on elsewhere and says so.
func redirect(hits *int) PreHandler {
	return func(_ kapi.Context, _ *Kprobe, regs *arch.Regs) int {
		*hits++
		regs.IP = hotOtherAt
		return 1
	}
}

func counts(n *int) PreHandler {
	return func(kapi.Context, *Kprobe, *arch.Regs) int { *n++; return 0 }
}

// errno is how the module printed an answer.
func (y *asker) errno(err error) int {
	if err == nil {
		return 0
	}
	return -int(err.(Errno))
}

func (y *asker) register(k *Kprobe) int   { return y.errno(y.b.e.Register(y.x, k)) }
func (y *asker) unregister(k *Kprobe) int { return y.errno(y.b.e.Unregister(y.x, k)) }
func (y *asker) enable(k *Kprobe) int     { return y.errno(y.b.e.Enable(y.x, k)) }
func (y *asker) disable(k *Kprobe) int    { return y.errno(y.b.e.Disable(y.x, k)) }

// flags is how the module printed those of a probe that is alone: its own, and
// those of its aggregator if it has one, which is if a detour was made for it.
func (y *asker) flags(k *Kprobe) string {
	own, with := y.b.e.FlagsOf(k), "ap==p"
	if k.aggr.detour.size != 0 {
		own, with = own&^FlagOptimized, "ap!=p"
	}
	return fmt.Sprintf("flags=%x %s flags=%x", own, with, y.b.e.FlagsOf(k))
}

// one registers a probe and prints the answer.
func one(as Kprobe) func(y *asker) string {
	return func(y *asker) string {
		k := as
		n := y.register(&k)
		if n == 0 {
			y.unregister(&k)
		}
		return fmt.Sprint(n)
	}
}

// disabledOne registers one disabled and prints the answer and the flags.
func disabledOne(name string) func(y *asker) string {
	return func(y *asker) string {
		k := &Kprobe{Symbol: name, Flags: FlagDisabled}
		n := y.register(k)
		if n != 0 {
			return fmt.Sprint(n)
		}
		says := fmt.Sprintf("%d %s", n, y.flags(k))
		y.unregister(k)
		return says
	}
}

var behaviours = slices.Concat([]behaviour{
	{says: "reg symbol+addr", k61: "-22", asks: one(Kprobe{Symbol: "kt_hot_nt", Addr: hotAt})},
	{says: "reg unknown symbol", k61: "-2", asks: one(Kprobe{Symbol: "nobody"})},
	{says: "reg empty symbol string", k61: "-2", asks: one(Kprobe{}),
		differs: "an empty string is no symbol here: there is no pointer that could be nil", ours: "-22"},
	{says: "reg no symbol, addr NULL", k61: "-22", asks: one(Kprobe{})},
	{says: "reg no symbol, addr NULL, offset 4", k61: "-22", asks: one(Kprobe{Offset: 4})},
	{says: "reg addr 0x1000", k61: "-2", asks: one(Kprobe{Addr: 0x1000})},
	{says: "reg addr in module .data", k61: "-22", asks: one(Kprobe{Addr: moduleDataAt + 4})},
	{says: "reg addr in kmalloc", k61: "-2", asks: one(Kprobe{Addr: jiffiesAt + 0x800})},
	{says: "reg symbol that is data (jiffies)", k61: "-22", asks: one(Kprobe{Symbol: "jiffies"})},
	{says: "reg symbol offset beyond module", k61: "-2", asks: one(Kprobe{Symbol: "kt_hot_nt", Offset: 0x100000})},
	{says: "reg mid-instruction kt_hot_nt+1", k61: "-84", asks: one(Kprobe{Symbol: "kt_hot_nt", Offset: 1})},
	{says: "reg NOKPROBE_SYMBOL fn", k61: "-22", asks: one(Kprobe{Symbol: "n_nokprobe"})},
	{says: "same struct 2nd register, symbol and address set now", k61: "0 -22 -22", asks: func(y *asker) string {
		k := y.hot(nil)
		first, second := y.register(k), y.register(k)
		k.Symbol = ""
		third := y.register(k)
		y.unregister(k)
		return fmt.Sprint(first, second, third)
	}},
	{says: "addr after unregister, and after another one", k61: "true 0", asks: func(y *asker) string {
		k := y.hot(nil)
		y.register(k)
		y.unregister(k)
		first := k.Addr == hotAt+y.head
		y.unregister(k)
		return fmt.Sprint(first, uint64(k.Addr))
	}},
	{says: "re-register same struct w/o clearing", k61: "-22", asks: func(y *asker) string {
		k := y.hot(nil)
		y.register(k)
		y.unregister(k)
		return fmt.Sprint(y.register(k))
	}},
	{says: "unregister, disable, enable never-registered", k61: "0 -22 -22", asks: func(y *asker) string {
		k := &Kprobe{Addr: hotAt}
		y.unregister(k)
		return fmt.Sprint(uint64(k.Addr), y.disable(k), y.enable(k))
	}},
	{says: "disable twice, hits, enable twice, hits, both after unregister",
		k61: "0 0 0 0 flags=12 ap!=p flags=12 0 0 1 -22 -22", asks: func(y *asker) string {
			hits := 0
			k := y.hot(counts(&hits))
			a := []int{y.register(k), y.disable(k), y.disable(k)}
			y.call()
			says := fmt.Sprintln(a[0], a[1], a[2], hits, y.flags(k))
			says = says[:len(says)-1] + fmt.Sprint(" ", y.enable(k), " ", y.enable(k))
			y.call()
			y.unregister(k)
			return fmt.Sprint(says, " ", hits, " ", y.enable(k), " ", y.disable(k))
		}},
	{says: "register_kprobes bad middle: errno, first and third in the table", k61: "-2 false false",
		asks: func(y *asker) string {
			ks := []*Kprobe{y.hot(nil), {Symbol: "nobody"}, {Symbol: "kt_hot_nt", Offset: 3 + int(y.head)}}
			n := y.errno(y.b.e.RegisterAll(y.x, ks))
			return fmt.Sprint(n, " ", ks[0].aggr != nil, " ", ks[2].aggr != nil)
		}},
	{says: "register_kprobes num=0", k61: "-22", asks: func(y *asker) string {
		return fmt.Sprint(y.errno(y.b.e.RegisterAll(y.x, nil)))
	}},
	{says: "register_kprobes same struct twice, in table", k61: "-22 0", asks: func(y *asker) string {
		k := y.hot(nil)
		return fmt.Sprint(y.errno(y.b.e.RegisterAll(y.x, []*Kprobe{k, k})), y.b.e.Table.probes.Len())
	}},
	{says: "reg with flags=0xff", k61: "0 flags now=12", asks: func(y *asker) string {
		k := y.hot(nil)
		k.Flags = 0xff
		says := fmt.Sprintf("%d flags now=%x", y.register(k), y.b.e.FlagsOf(k))
		y.unregister(k)
		return says
	}},
	{says: "3 at same addr: order, with middle disabled, after unregister first", k61: "[3 2 1 12 11] [3 1 11] [3]",
		asks: func(y *asker) string {
			var got []int
			note := func(n int) *Kprobe {
				k := y.hot(func(kapi.Context, *Kprobe, *arch.Regs) int { got = append(got, n); return 0 })
				if n < 3 {
					k.Post = func(kapi.Context, *Kprobe, *arch.Regs, uint64) { got = append(got, 10+n) }
				}
				return k
			}
			ks := []*Kprobe{note(1), note(2), note(3)}
			for _, k := range ks {
				require.Zero(y.t, y.register(k))
			}
			y.call()
			says := fmt.Sprint(got)
			got = got[:0]
			y.disable(ks[1])
			y.call()
			says += fmt.Sprint(" ", got)
			got = got[:0]
			y.unregister(ks[0])
			y.call()
			y.unregister(ks[1])
			y.unregister(ks[2])
			return says + fmt.Sprint(" ", got)
		}},
	{says: "aggregate, first pre returns 1 and redirects", k61: "[2 1] 7005", asks: func(y *asker) string {
		var got []int
		first := y.hot(func(_ kapi.Context, _ *Kprobe, regs *arch.Regs) int {
			got = append(got, 1)
			regs.IP = hotOtherAt
			return 1
		})
		second := y.hot(func(kapi.Context, *Kprobe, *arch.Regs) int { got = append(got, 2); return 0 })
		first.Post = func(kapi.Context, *Kprobe, *arch.Regs, uint64) { got = append(got, 11) }
		y.register(first)
		y.register(second)
		ret := y.call()
		y.unregister(first)
		y.unregister(second)
		return fmt.Sprint(got, ret)
	}},
	{says: "pre returns 1 redirect: by int3, optimized",
		k61: "0 1 7005 flags=10 ap!=p flags=14; 2 469 flags=10 ap!=p flags=14", asks: func(y *asker) string {
			hits := 0
			k := y.hot(redirect(&hits))
			n := y.register(k)
			ret := y.call()
			says := fmt.Sprint(n, hits, ret, " ", y.flags(k), "; ")
			y.b.e.Optimizer.WaitOptimizer(y.x)
			ret = y.call()
			says += fmt.Sprint(hits, ret, " ", y.flags(k))
			y.unregister(k)
			return says
		}},
	{says: "with post_handler pre returns 1 redirect", k61: "1 0 7005 flags=10 ap!=p flags=10",
		asks: func(y *asker) string {
			hits, post := 0, 0
			k := y.hot(redirect(&hits))
			k.Post = func(kapi.Context, *Kprobe, *arch.Regs, uint64) { post++ }
			y.register(k)
			y.b.e.Optimizer.WaitOptimizer(y.x)
			ret := y.call()
			says := fmt.Sprint(hits, post, ret, " ", y.flags(k))
			y.unregister(k)
			return says
		}},
	{says: "handler sets di=100: by int3, optimized", k61: "308 308 flags=10 ap!=p flags=14",
		asks: func(y *asker) string {
			k := y.hot(func(_ kapi.Context, _ *Kprobe, regs *arch.Regs) int { regs.R[x86.RDI] = 100; return 0 })
			y.register(k)
			first := y.call()
			y.b.e.Optimizer.WaitOptimizer(y.x)
			second := y.call()
			says := fmt.Sprint(first, second, " ", y.flags(k))
			y.unregister(k)
			return says
		}},
	{says: "pre+post: ip in each, flags, how often, atomic; optimized pre", k61: "1 3 0 1 1 true; 1 1 true",
		asks: func(y *asker) string {
			var ip, post arch.Addr
			pres, posts, atomic, flags := 0, 0, true, uint64(9)
			k := y.hot(func(x kapi.Context, k *Kprobe, regs *arch.Regs) int {
				ip, pres, atomic = regs.IP-k.Addr, pres+1, atomic && x.(*smp.Ctx).Atomic()
				return 0
			})
			k.Post = func(x kapi.Context, k *Kprobe, regs *arch.Regs, f uint64) {
				post, posts, flags, atomic = regs.IP-k.Addr, posts+1, f, atomic && x.(*smp.Ctx).Atomic()
			}
			y.register(k)
			y.call()
			says := fmt.Sprintln(uint64(ip), uint64(post), flags, pres, posts, atomic)
			y.unregister(k)
			k.Symbol, k.Post, pres, ip = "", nil, 0, 0
			y.register(k)
			y.b.e.Optimizer.WaitOptimizer(y.x)
			y.call()
			y.unregister(k)
			return says[:len(says)-1] + fmt.Sprint("; ", uint64(ip), pres, " ", atomic)
		}},
	{says: "no handlers at all", k61: "0 469 flags=10 ap!=p flags=14", asks: func(y *asker) string {
		k := y.hot(nil)
		n := y.register(k)
		says := fmt.Sprint(n, y.call(), " ", y.flags(k))
		y.unregister(k)
		return says
	}},
	{says: "int3 in int3: pre, inner, its post, nmissed of both; direct call then", k61: "1 0 0 0 1; 1 1",
		asks: func(y *asker) string {
			pre, inner, post := 0, 0, 0
			outer := y.hot(func(x kapi.Context, _ *Kprobe, _ *arch.Regs) int { pre++; x.Call(hotOtherAt); return 0 })
			in := &Kprobe{ID: 1, Symbol: "kt_other", Pre: counts(&inner),
				Post: func(kapi.Context, *Kprobe, *arch.Regs, uint64) { post++ }}
			y.register(outer)
			y.register(in)
			y.call()
			says := fmt.Sprint(pre, inner, post, outer.Missed(), in.Missed(), "; ")
			y.x.Call(hotOtherAt)
			says += fmt.Sprint(inner, in.Missed())
			y.unregister(outer)
			y.unregister(in)
			return says
		}},
	{says: "self reentry: pre, nmissed, by int3 and optimized", k61: "1 1; 2 2", asks: func(y *asker) string {
		pre := 0
		k := y.hot(func(x kapi.Context, _ *Kprobe, _ *arch.Regs) int { pre++; x.Call(hotAt); return 0 })
		y.register(k)
		y.call()
		says := fmt.Sprint(pre, k.Missed(), "; ")
		y.b.e.Optimizer.WaitOptimizer(y.x)
		y.call()
		says += fmt.Sprint(pre, k.Missed())
		y.unregister(k)
		return says
	}},
	{says: "aggregate self reentry: pre, second, nmissed of both", k61: "1 1 1 1", asks: func(y *asker) string {
		pre, second := 0, 0
		p, q := y.hot(func(x kapi.Context, _ *Kprobe, _ *arch.Regs) int { pre++; x.Call(hotAt); return 0 }),
			y.hot(counts(&second))
		y.register(p)
		y.register(q)
		y.call()
		says := fmt.Sprint(pre, second, p.Missed(), q.Missed())
		y.unregister(p)
		y.unregister(q)
		return says
	}},
}, disabledOnes, returnOnes, ftraceOnes)

// disabledOnes are the functions that were registered disabled one by one.
var disabledOnes = func() (all []behaviour) {
	for _, f := range askedFunctions {
		want := "0 flags=12 ap!=p flags=12"
		switch f.name {
		case "n_c_init":
			want = "-2"
		case "n_entry_text", "n_unlikely", "__schedule":
		default:
			want = "-22"
		}
		all = append(all, behaviour{says: "reg(disabled) " + f.name, k61: want, asks: disabledOne(f.name)})
	}
	return all
}()

// TestBehaviour asks each question in both editions.
func TestBehaviour(t *testing.T) {
	for _, real := range []struct {
		name string
		k    rules.Kernel
		ed   rules.Edition
	}{{"k61", rules.K61, rules.Edition65}, {"k612", rules.K612, rules.Edition69}} {
		s := settingsOf(real.ed, true)
		s.Kernel = real.k
		for _, q := range behaviours {
			t.Run(real.name+"/"+q.says, func(t *testing.T) {
				want := q.k61
				if q.k612 != "" && real.name == "k612" {
					want = q.k612
				}
				if q.differs != "" {
					require.True(t, q.k61 != q.ours || q.k612 != "" && q.k612 != q.ours, "it doesn't differ: %s",
						q.differs)
					want = q.ours
				}
				bootBench(t, s, nil, func(b *bench) { bootAsked(t, b) }, func(b *bench, x *smp.Ctx) {
					y := &asker{t: t, b: b, x: x}
					if s.Kernel.IBT {
						y.head = 4
					}
					require.Equal(t, want, q.asks(y))
					b.e.Optimizer.WaitOptimizer(x)
					require.Zero(t, b.e.Table.probes.Len())
				}).pass(t)
			})
		}
	}
}
