package kprobes

import (
	"bytes"
	"compress/gzip"
	"encoding/csv"
	"encoding/hex"
	"os"
	"slices"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"

	"kpsim/smp"
	"kpsim/smp/isa"
)

// testdata/oracle_hand.csv.gz is what two real kernels answered when a probe
// with a pre_handler was registered at every byte offset of some 230 functions,
// one at a time, and looked at when the optimizer had finished: Linux 6.1.192
// (k61) and 6.12.113 (k612), both of Debian. The first row of a function has
// its bytes, padding up to the next symbol included.

// A verdict is the answer for one probe.
type verdict struct {
	offset int
	errno  int // 0 or negative
	delta  int // where the probe went, less where it was asked for
	opt    bool
	ftrace bool
	emul   bool
	isize  int
	slot   []byte // the copy and the breakpoint behind it; a displacement is zeroed
}

type judged struct {
	kernel string
	code   code
	rows   []verdict
}

// withExtable are the functions whose exception-table entries are known.
var withExtable = map[string][]int{"n_ext_first": {0}, "n_ext_late": {9}, "n_ext_split_from": {7}}

var oracleFile = "testdata/oracle_hand.csv.gz"

func readOracle(t testing.TB, kernel string) (fs []judged) {
	f, err := os.Open(oracleFile)
	require.NoError(t, err)
	defer f.Close()
	z, err := gzip.NewReader(f)
	require.NoError(t, err)
	records, err := csv.NewReader(z).ReadAll()
	require.NoError(t, err)
	number := func(s string) int {
		if s == "" { // not said of a probe that was refused
			return 0
		}
		n, err := strconv.Atoi(s)
		require.NoError(t, err)
		return n
	}
	unhex := func(s string) []byte {
		b, err := hex.DecodeString(s)
		require.NoError(t, err)
		return b
	}
	for _, r := range records[1:] {
		if r[0] != "" {
			at, err := strconv.ParseUint(r[2], 16, 64)
			require.NoError(t, err)
			fs = append(fs, judged{r[0], code{r[1], isa.Addr(at), unhex(r[3]), withExtable[r[1]]}, nil})
		}
		last := &fs[len(fs)-1]
		last.rows = append(last.rows, verdict{
			offset: number(r[4]), errno: number(r[5]), opt: r[6] == "1", ftrace: r[7] == "1", emul: r[8] == "1",
			isize: number(r[9]), delta: number(r[10]), slot: unhex(r[11]),
		})
	}
	return slices.DeleteFunc(fs, func(f judged) bool { return f.kernel != kernel })
}

// ask has the engine answer for each row, one probe at a time.
func ask(t testing.TB, s Settings, fs []judged) [][]verdict {
	var codes []code
	for _, f := range fs {
		codes = append(codes, f.code)
	}
	got := make([][]verdict, len(fs))
	b := newBench(t, s, codes, func(b *bench, x *smp.Ctx) {
		for i, f := range fs {
			for _, w := range f.rows {
				got[i] = append(got[i], b.judge(t, x, f.code.at, w.offset))
			}
		}
	})
	b.pass(t)
	return got
}

func (b *bench) judge(t testing.TB, x *smp.Ctx, f isa.Addr, offset int) verdict {
	v := verdict{offset: offset}
	k := &Kprobe{Addr: f + isa.Addr(offset)}
	if err := b.e.Register(x, k); err != nil {
		v.errno = -int(err.(Errno))
		return v
	}
	b.e.WaitOptimizer(x)
	p := k.point
	v.opt, v.emul, v.isize = p.jumped, p.insn.Emulated(), int(p.insn.Len)
	if p.slot != 0 {
		v.slot = make([]byte, p.slotSize())
		b.k.Text.Read(x, p.slot, v.slot)
	}
	require.NoError(t, b.e.Unregister(x, k))
	b.e.WaitOptimizer(x)
	return v
}

// agrees compares an answer with the kernel's. Where an instruction that is
// emulated here would have its copy doesn't matter.
func agrees(got, want verdict, at isa.Addr, code []byte) bool {
	if got.errno != want.errno || want.delta != 0 || want.ftrace {
		return false
	}
	if want.errno != 0 {
		return true
	}
	if in, err := isa.Decode(code[want.offset:], at+isa.Addr(want.offset)); err == nil && !got.emul {
		if pos, rip := in.RIPRelative(); rip && got.isize == want.isize {
			clear(want.slot[pos : pos+4])
			clear(got.slot[pos : pos+4])
		}
	}
	return got.opt == want.opt && got.emul == want.emul && got.isize == want.isize && (got.emul || bytes.Equal(got.slot, want.slot))
}

// Why an answer may differ.
const (
	whyFtrace    = "a probe at a fentry site goes to ftrace: not here yet"
	whyEndbr     = "6.12 moves a probe at endbr64 behind it"
	whyBlacklist = "NOKPROBE_SYMBOL, .kprobes.text, .noinstr.text: not in these bytes"
	whyReserved  = "a jump label, static call, alternative or BUG: not in these bytes"
	whyExtable   = "an exception-table entry: not in these bytes"
	whyThunk     = "6.1: a jump into the indirect or return thunks counts as indirect"
	whyUnknown   = "isa knows no such instruction: 06, 17, ce, d6, 0f 01 d8, two REX, f2 f3 in a row"
	whyUd0       = "ud0 has a ModRM byte for isa, as in the manual, and none for the kernel"
	whyEnd       = "the last instruction ends behind the function's end: there it can't be read"
	whyVex       = "the kernel takes VEX opcode 70 for a jcc, which seems to jump into a region too"
	whyAddr32    = "isa moves no eip-relative operand (67)"
	whyInt3      = "6.1: a breakpoint byte is EINVAL, later EILSEQ"
	whyUd        = "6.1 accepts ud1, ud2, int1 and int n"
	whyBad       = "6.1: bytes that are no instruction are EINVAL, later EILSEQ"
	whyGroup     = "6.1 copies none of c0 c1 d0-d3 f6 f7 fe ff"
)

var differs = map[string]string{
	"n_nokprobe": whyBlacklist, "n_noinstr": whyBlacklist, "n_kprobes_text": whyBlacklist,
	"n_c_nokprobe": whyBlacklist, "n_c_noinstr": whyBlacklist, "n_c_kprobes_attr": whyBlacklist,
	"x_c_static_call": whyReserved, "x_c_static_mid": whyReserved, "x_c_static_true": whyReserved,
	"x_c_static_false": whyReserved, "x_c_static_false_nt": whyReserved, "x_c_sleep": whyReserved,
	"x_c_warn": whyReserved, "x_c_warn_nt": whyReserved, "x_c_bug": whyReserved,
	"x_c_nofault": whyExtable, "n_c_unsafe": whyExtable,
	"n_retp_jmp": whyThunk, "n_retp_jmp_r11": whyThunk, "n_retp_jcc": whyThunk, "n_ret_thunk": whyThunk, "n_c_indirect_tail": whyThunk,
	"n_badop": whyUnknown, "n_badop_d6": whyUnknown, "n_into": whyUnknown, "n_popss": whyUnknown, "n_vm": whyUnknown, "n_rex_junk": whyUnknown,
	"n_ud0": whyUd0, "n_rip_sse": whyVex, "n_rip_addr32": whyAddr32,
	"n_after_nokprobe": whyEnd, "kt_exit": whyEnd, "n_c_void_notrace": whyEnd,
}

// why says why the engine's answer differs, "" if nothing explains it.
func why(f *judged, got, want verdict) string {
	b := f.code.bytes[want.offset:]
	k61 := f.kernel == "k61"
	switch {
	case want.ftrace:
		return whyFtrace
	case want.delta != 0:
		return whyEndbr
	case k61 && want.errno == -int(EINVAL) && got.errno == -int(EILSEQ) && b[0] == isa.Int3 && differs[f.code.name] != whyBlacklist:
		return whyInt3
	case differs[f.code.name] != "":
		return differs[f.code.name]
	case k61 && want.errno == -int(EINVAL) && got.errno == -int(EILSEQ):
		return whyBad
	case k61 && got.errno == -int(EILSEQ) && want.errno == 0 && (b[0] == 0x0f || b[0] == 0xf1 || b[0] == 0xcd):
		return whyUd
	case k61 && got.opt && !want.opt && copiesGroup(f, want.offset):
		return whyGroup
	}
	return ""
}

// copiesGroup reports whether the region holds an instruction of the groups
// that 6.1 doesn't copy.
func copiesGroup(f *judged, offset int) bool {
	for off := offset; off < offset+jumpSize; {
		in, err := isa.Decode(f.code.bytes[off:], f.code.at+isa.Addr(off))
		if err != nil {
			return false
		}
		switch op, _ := opcode(&in); op[0] {
		case 0xc0, 0xc1, 0xd0, 0xd1, 0xd2, 0xd3, 0xf6, 0xf7, 0xfe, 0xff:
			return true
		}
		off += int(in.Len)
	}
	return false
}

// TestOracle registers a probe at every byte offset of the recorded functions
// and compares errno, whether it was optimized, whether its instruction is
// emulated, how long that is, and the out-of-line copy with what the kernels
// said (spec 4.2, 6.1, 6.2). Every row is compared. Those that differ are
// counted by the reason; a row that differs for no known reason fails.
func TestOracle(t *testing.T) {
	for _, test := range []struct {
		kernel   string
		indirect bool
		rows     int
		agree    int
		differ   map[string]int
	}{
		{"k612", true, 6540, 6238, map[string]int{
			whyFtrace: 72, whyEndbr: 11, whyBlacklist: 112, whyReserved: 27, whyExtable: 12,
			whyUnknown: 44, whyUd0: 6, whyEnd: 15, whyVex: 2, whyAddr32: 1,
		}},
		{"k61", false, 6628, 4527, map[string]int{
			whyFtrace: 36, whyBlacklist: 412, whyReserved: 31, whyExtable: 8, whyThunk: 10,
			whyUnknown: 45, whyUd0: 7, whyEnd: 14, whyVex: 2, whyAddr32: 1,
			whyInt3: 1511, whyUd: 6, whyBad: 1, whyGroup: 17,
		}},
	} {
		t.Run(test.kernel, func(t *testing.T) {
			s := repaired
			s.IndirectJumps = test.indirect
			fs := readOracle(t, test.kernel)
			got := ask(t, s, fs)
			rows, agree, differ := 0, 0, make(map[string]int)
			for i := range fs {
				f := &fs[i]
				for j, want := range f.rows {
					rows++
					if agrees(got[i][j], want, f.code.at, f.code.bytes) {
						agree++
						continue
					}
					reason := why(f, got[i][j], want)
					differ[reason]++
					if reason == "" {
						t.Errorf("%s+%d: % x:\n got %+v\nwant %+v", f.code.name, want.offset,
							f.code.bytes[want.offset:min(len(f.code.bytes), want.offset+isa.MaxLen)], got[i][j], want)
					}
				}
			}
			t.Logf("%d rows, %d agree", rows, agree)
			require.Equal(t, test.rows, rows)
			require.Equal(t, test.differ, differ)
			require.Equal(t, test.agree, agree)
		})
	}
}
