package x86test_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"kpsim/internal/litmus/x86test"
)

const whole = `X86_64 A+name
"a string with { in it"
Key=value
(* Result: sometimes (* nested *) *)
{ int64_t t[2]={1,-1}; 0:rax=t; uint8_t b = 255; [x]=3; p=x; int y; 1:ebx=-7; }
 P0          | P1            ;
 movl $1,(x) | L0: movl (x),%ebx ;
             | cmpl $0,%ebx  ;
 mfence      | jne L0        ;
 mov (b),%cl |               ;
locations [y; t[1]; 1:rbx;]
filter x=1
~exists (0:rax=t /\ 1:rbx=-7 \/ not (b=1) => [t[0]]<>1:rcx)
`

// TestParse: a test with all that the syntax has.
func TestParse(t *testing.T) {
	c, err := x86test.Parse("f", whole)
	require.NoError(t, err)
	require.Equal(t, "A+name", c.Name)
	require.Equal(t, "Sometimes", c.Expected)
	require.Equal(t, x86test.NotExists, c.Quant)
	require.Equal(t, `(0:rax=t /\ 1:rbx=-7) \/ not ([b]=1) => t[0]<>1:rcx`, c.Cond.String())
	require.Equal(t, `[x]=1`, c.Filter.String())
	var seen []string
	sizes := make(map[string]int)
	for _, r := range c.Seen {
		seen = append(seen, r.Name)
		sizes[r.Name] = r.Size
	}
	require.Equal(t, []string{"0:rax", "1:rbx", "1:rcx", "[b]", "[x]", "[y]", "t[0]", "t[1]"}, seen)
	require.Equal(t, map[string]int{"0:rax": 8, "1:rbx": 4, "1:rcx": 4, "[b]": 1, "[x]": 4, "[y]": 4, "t[0]": 8,
		"t[1]": 8}, sizes)
	require.Len(t, c.Threads[0].Instrs, 3)
	require.Len(t, c.Threads[1].Instrs, 3)
	require.Equal(t, "cmpl $0,%ebx", c.Threads[1].Instrs[1].Text)
	require.EqualValues(t, ^uint64(6), c.Threads[1].Init[3])
	require.EqualValues(t, c.Address(0, 0), c.Threads[0].Init[0])

	// What a condition says of values.
	load := func(v map[string]uint64) func(*x86test.Ref) uint64 {
		return func(r *x86test.Ref) uint64 { return v[r.Name] }
	}
	holds := map[string]uint64{"0:rax": c.Address(0, 0), "1:rbx": 0xffff_fff9, "[b]": 1, "1:rcx": 2}
	require.True(t, c.Cond.Eval(load(holds)))
	holds["1:rcx"] = 0
	require.False(t, c.Cond.Eval(load(holds)))
	require.Equal(t, "-7", c.Show(&c.Seen[1], 0xffff_fff9))
	require.Equal(t, "255", c.Show(&c.Seen[3], 0xff))
	require.Equal(t, "t", c.Show(&c.Seen[0], c.Address(0, 0)))
}

// TestRefused: what isn't a test is told in one line that names the place.
func TestRefused(t *testing.T) {
	one := func(code string) string { return test("X86_64", "", code) }
	intel := func(code string) string { return test("X86", "", code) }
	for _, c := range []struct{ text, want string }{
		{"", "f:1:1: there is no initial state"},
		{"{}", "f:1:1: the first line has no language and name"},
		{"AArch64 MP\n{}\nP0;\n", `the language "AArch64" isn't known`},
		{"X86_64 a\n{ 0:rip=0 }", `f:2:5: "rip" is no register of a test`},
		{"X86_64 a\n{ 0:rsp=0 }", "the stack pointer isn't the test's"},
		{"X86_64 a\n{ 99:rax=0 }", "99 is outside 0 to 15"},
		{"X86_64 a\n{ 2:rax=0; }\nP0;\nnop;\nexists true", "f:4:1: the initial state names thread 2; there are 1 threads"},
		{"X86_64 a\n{ float x; }", `the type "float" isn't known`},
		{"X86_64 a\n{ int t[2]={1,2,3}; }", "more values than the array has"},
		{"X86_64 a\n{ int t[100000]; }", "100000 is outside 1 to 64"},
		{"X86_64 a\n{ x=99999999999999999999; }", "no number of 64 bits"},
		{"X86_64 a\n(* {", "f:2:1: the comment has no end"},
		{"X86_64 a\n{}\nP1;", `f:3:1: "P1" where the thread P0 is expected`},
		{"X86_64 a\n{}\nP0;\nnop | nop;\nexists true", "more columns than threads"},
		{"X86_64 a\n{}\nP0;\nnop;", "there is no condition"},
		{"X86_64 a\n{}\nP0;\nnop;\nexists (1:rax=0)", "there is no thread 1"},
		{"X86_64 a\n{}\nP0;\nnop;\nexists (rax=0)", "rax is a register; write of which thread, as 0:rax"},
		{"X86_64 a\n{}\nP0;\nnop;\nexists (x=0", `the end of the file where ")" is expected`},
		{"X86_64 a\n{}\nP0;\nnop;\nexists (x=0) y", "after the condition"},
		{"X86_64 a\n{}\nP0;\nnop;\nexists " + strings.Repeat("(", 10_000), "nested deeper than 100"},
		{"X86_64 a\n{}\nP0;\nnop;\nexists " + strings.Repeat("not ", 10_000), "nested deeper than 100"},
		{"X86_64 a\n{}\nP0;\nnop;\nexists x\x01", "has no place in a test"},
		{one("frob %eax"), `f:4:1: the instruction "frob" isn't known`},
		{one("movntil %eax,(x)"), "non-temporal stores aren't modelled"},
		{one("clflush (x)"), "caches aren't modelled"},
		{one("push %rax"), `"push" isn't known`},
		{one("movl $1,(x),(y)"), `"," after an instruction`},
		{one("movl (x),(y)"), "two operands in memory"},
		{one("movl (x),$1"), "X86_64 has the source first"},
		{intel("MOV $1,[x]"), "X86 has the destination first"},
		{one("movl (x),%rax"), "operands of 32 and 64 bits"},
		{one("movb $256,(x)"), "doesn't fit"},
		{one("movq $0x123456789,(x)"), "32 bits at most"},
		{one("movl x,%eax"), "write a location as [x]"},
		{one("movl (x,%rax,3),%eax"), "this is no scale; give 1, 2, 4 or 8"},
		{one("movl (%rax,%ebx,4),%eax"), "take the same size"},
		{one("movl (%ax),%eax"), "no register for addresses"},
		{one("movl 0x80000000(%rax),%eax"), "32 bits at most"},
		{one("movl 0x7fffffff(x),%eax"), "out of reach"},
		{one("lock movl $1,(x)"), "lock before what doesn't"},
		{one("lock addl $1,%eax"), "lock before what doesn't"},
		{one("cmpxchgl %eax,%ebx"), "ambiguous"},
		{one("jmp L"), "there is no label L"},
		{one("L: nop\nL: nop"), "the label L is there twice"},
		{one(strings.Repeat("nop\n", 300) + "nop"), "more than 256 instructions"},
		{one("movl $1,(" + strings.Repeat("x", 100) + ")"), "is too long"},
		{strings.Repeat("x", 300_000), "a test has at most"},
	} {
		_, err := x86test.Parse("f", c.text)
		require.Error(t, err, c.text)
		require.Contains(t, err.Error(), c.want)
		require.Regexp(t, `^f:\d+:\d+: .+; .+`, err.Error())
		require.NotContains(t, err.Error(), "\n")
		require.Less(t, len(err.Error()), 300)
	}
}

// FuzzParse: nothing that a file holds makes the parser fail otherwise than by an error.
func FuzzParse(f *testing.F) {
	f.Add(whole)
	f.Add(test("X86", "int *p=x", "L: LOCK XADD [p],EAX\nJE L"))
	for _, c := range assembled {
		f.Add(test("X86_64", "", c.att))
	}
	f.Fuzz(func(t *testing.T, text string) {
		c, err := x86test.Parse("f", text)
		if err != nil {
			return
		}
		for i := range c.Threads {
			_, err := c.Assemble(i)
			require.NoError(t, err)
		}
		require.NotEmpty(t, c.Cond.String())
	})
}

// TestLanguage: a test says by its first word what it is written in.
func TestLanguage(t *testing.T) {
	require.Equal(t, "C", x86test.Language("(* X86 *)\nC MP\n{}"))
	require.Equal(t, "", x86test.Language("(* "))
}

// TestOldSyntax: the vendors' first tests name registers P0:EAX, assign with :=, and end with
// final (...), claims of each model, and commands.
func TestOldSyntax(t *testing.T) {
	const head = "(* first *)X86 two/sb (TwoSB) \"a note\"\n"
	const threads = "\n P0 | P1 ;\n xchg [x], EAX | mov [y], 1 ;\n mov EBX, [y] | mov EDX, [x];\n"
	const commands = "\n<<\nshow flags false\ngenprog \"a-b.tex\"\n>>\n<< show 0 of ess 0 >>\n"
	for _, c := range []struct {
		text, cond string
		quant      x86test.Quantifier
	}{
		{head + "{x = 0; y := 2; P0:EAX = 1};" + threads + `exists (P0:EBX = 0 /\ P1:EDX=0);` + commands,
			`0:EBX=0 /\ 1:EDX=0`, x86test.Exists},
		{head + "{y := 2; P0:EAX := 1}" + threads + `~ exists (P0:EBX = P1:EDX \/ P1 = 7)`, `0:EBX=1:EDX \/ [P1]=7`,
			x86test.NotExists},
		{head + "{y = 2; 0:EAX=1}" + threads + `final (P1:EDX = 0);` +
			"\nwith\ncc: exists;\ntso: ~exists;\ndefault: forall;\n" + commands, `1:EDX=0`, x86test.NotExists},
		{head + "{y = 2; 0:EAX=1}" + threads + `final (P1:EDX = 0) with cc: exists; default: forall;`, `1:EDX=0`,
			x86test.Forall},
		{head + "{y = 2; 0:EAX=1}" + threads + `final (P1:EDX = 0);`, `1:EDX=0`, x86test.Exists},
	} {
		got, err := x86test.Parse("f", c.text)
		require.NoError(t, err, c.text)
		require.Equal(t, c.cond, got.Cond.String())
		require.Equal(t, c.quant, got.Quant, c.text)
		require.EqualValues(t, 1, got.Threads[0].Init[0])
		y := slices.IndexFunc(got.Locations, func(l x86test.Location) bool { return l.Name == "y" })
		require.EqualValues(t, 2, got.Locations[y].Values[0], c.text)
	}
	for text, says := range map[string]string{
		"\n\nexists (P2:EAX=0)":           "f:6:10: there is no thread 2; the last one is P1",
		"final (x=0) with tso ~exists;":   `f:4:22: "~" where ":" is expected; put one there, or correct it`,
		"exists (x=0);\n<<\nshow flags":   "f:5:1: the commands have no end; close them with >>, or remove them",
		"exists (x=0) << a >> exists (x)": `f:4:22: "exists" after the condition; a test ends there`,
	} {
		_, err := x86test.Parse("f", "X86 t\n{x=0; P0:EAX=1;}\nP0|P1; MOV [x],EAX|MOV [x],$2;\n"+text)
		require.EqualError(t, err, says)
	}
}
