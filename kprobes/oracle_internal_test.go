package kprobes

import (
	"bytes"
	"compress/gzip"
	"encoding/binary"
	"encoding/csv"
	"encoding/hex"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"kpsim/kprobes/rules"
	"kpsim/smp"
	"kpsim/smp/isa"
	"kpsim/smp/kapi"
)

// The rows of rules/testdata are what two real kernels answered; the rules are
// compared with all of them in their own package. Here the engine registers the
// probes: one at every byte offset, and two near each other or at one address.
// The functions are those in assembly that need no facts but their bytes.

const oracleDir = "rules/testdata"

// needFacts have an exception table, are blacklisted or jump to a thunk.
var needFacts = []string{"n_ext_", "n_nokprobe", "n_noinstr", "n_kprobes_text", "n_retp_", "n_ret_thunk"}

func needsFacts(name string) bool {
	for _, p := range needFacts {
		if strings.HasPrefix(name, p) {
			return true
		}
	}
	return strings.Contains(name, "_c_") || strings.HasPrefix(name, "kt_")
}

// readOracle reads a file of rows; nil if there is none.
func readOracle(t testing.TB, kernel, kind string) [][]string {
	f, err := os.Open(filepath.Join(oracleDir, kernel, kind+".csv.gz"))
	if os.IsNotExist(err) {
		return nil
	}
	require.NoError(t, err)
	defer f.Close()
	z, err := gzip.NewReader(f)
	require.NoError(t, err)
	c := csv.NewReader(z)
	c.FieldsPerRecord = -1
	rows, err := c.ReadAll()
	require.NoError(t, err)
	return rows[1:]
}

func oracleCodes(t testing.TB, kernel string) (codes []code, at map[string]isa.Addr) {
	at = make(map[string]isa.Addr)
	for _, r := range readOracle(t, kernel, "hand_bytes") {
		a, err := strconv.ParseUint(r[1], 16, 64)
		require.NoError(t, err)
		b, err := hex.DecodeString(r[3])
		require.NoError(t, err)
		codes = append(codes, code{name: r[0], at: isa.Addr(a), bytes: b})
		at[r[0]] = isa.Addr(a)
	}
	return codes, at
}

// A verdict is what is known of one probe.
type verdict struct {
	errno, delta, isize int
	opt, emul           bool
	slot                isa.Addr
	copied              []byte // what stands there
}

// parseVerdict reads the columns of a probe, of which the first is errno.
func parseVerdict(t testing.TB, r []string) (a verdict) {
	number := func(s string) int {
		if s == "" {
			return 0
		}
		n, err := strconv.Atoi(s)
		require.NoError(t, err)
		return n
	}
	a.errno, a.opt, a.emul, a.isize, a.delta = number(r[0]), r[1] == "1", r[4] == "1", number(r[5]), number(r[8])
	if r[10] != "" {
		slot, err := strconv.ParseUint(r[10], 16, 64)
		require.NoError(t, err)
		a.slot = isa.Addr(slot)
	}
	var err error
	a.copied, err = hex.DecodeString(r[11])
	require.NoError(t, err)
	return a
}

// tell says what the engine has made of a probe that was asked for at addr.
func (b *bench) tell(x *smp.Ctx, k *Kprobe, addr isa.Addr, err error) (a verdict) {
	if err != nil {
		a.errno = -int(err.(Errno))
		return a
	}
	p := k.point
	a.opt, a.emul, a.isize, a.delta, a.slot = p.jumped, p.verdict.Emulated, p.verdict.Len, int(p.addr-addr), p.slot.Peek().at
	if s := p.slot.Peek(); s.at != 0 {
		a.copied = make([]byte, s.size)
		b.k.Text.Read(x, s.at, a.copied)
	}
	return a
}

// agrees compares a verdict with the kernel's. What is emulated has no copy
// here; a RIP-relative operand leads to the same place from another slot.
func agrees(got, want verdict, rip int) bool {
	if got.errno != want.errno || want.errno == 0 && got.delta != want.delta {
		return false
	}
	if want.errno != 0 {
		return true
	}
	same := got.opt == want.opt && got.emul == want.emul && got.isize == want.isize
	if got.slot == 0 {
		return same && got.emul
	}
	moved := bytes.Clone(want.copied)
	if rip != 0 {
		d := moved[rip : rip+4]
		binary.LittleEndian.PutUint32(d, binary.LittleEndian.Uint32(d)+uint32(want.slot-got.slot))
	}
	return same && bytes.Equal(got.copied, moved)
}

// ripOf returns where the displacement of a RIP-relative operand is, as isa
// sees it, 0 if there is none.
func ripOf(copied []byte) int {
	if in, err := isa.Decode(copied, 0); err == nil {
		pos, _ := in.RIPRelative()
		return pos
	}
	return 0
}

// TestOracle registers the probes of every row, one row at a time, waits for
// the optimizer, and compares what became of them (spec 4.2, 4.4, 6.1, 6.2).
func TestOracle(t *testing.T) {
	for _, kernel := range []struct {
		name string
		k    rules.Kernel
	}{{"k61", rules.K61}, {"k612", rules.K612}} {
		codes, at := oracleCodes(t, kernel.name)
		for _, kind := range []string{"hand_pre", "hand_post", "hand_near", "hand_twosame", "hand_twoprepost"} {
			rows := readOracle(t, kernel.name, kind)
			if rows == nil {
				continue
			}
			t.Run(kernel.name+"/"+kind, func(t *testing.T) {
				s := repaired
				s.Kernel = kernel.k
				agree, skipped := 0, 0
				b := newBench(t, s, codes, func(b *bench, x *smp.Ctx) {
					for _, r := range rows {
						if needsFacts(r[0]) || len(r) > 15 && r[16] == "" {
							skipped++
							continue
						}
						if b.compareRow(t, x, kind, at[r[0]], r) {
							agree++
						}
					}
				})
				b.pass(t)
				t.Logf("%d rows, %d need facts that the engine's bench has not, %d agree", len(rows), skipped, agree)
				require.Equal(t, len(rows)-skipped, agree)
			})
		}
	}
}

// compareRow registers the probe or the two probes of a row.
func (b *bench) compareRow(t testing.TB, x *smp.Ctx, kind string, f isa.Addr, r []string) bool {
	offset, err := strconv.Atoi(r[2])
	require.NoError(t, err)
	post := func(x kapi.Context, k *Kprobe, regs *isa.Regs, flags uint64) {}
	addr := f + isa.Addr(offset)
	probes := []*Kprobe{{Addr: addr}}
	asked := []isa.Addr{addr}
	wants := []verdict{parseVerdict(t, r[3:])}
	if kind == "hand_post" {
		probes[0].Post = post
	}
	if len(r) > 15 {
		d, err := strconv.Atoi(r[15])
		require.NoError(t, err)
		second := &Kprobe{ID: 1, Addr: addr + isa.Addr(d)}
		if kind == "hand_twoprepost" {
			second.Post = post
		}
		probes, asked, wants = append(probes, second), append(asked, second.Addr), append(wants, parseVerdict(t, r[16:]))
	}
	errs := make([]error, len(probes))
	for i, k := range probes {
		errs[i] = b.e.Register(x, k)
	}
	b.e.WaitOptimizer(x)
	ok := true
	for i, k := range probes {
		got := b.tell(x, k, asked[i], errs[i])
		if !agrees(got, wants[i], ripOf(wants[i].copied)) {
			t.Errorf("%s+%d, probe %d: got %+v, want %+v", r[0], offset, i, got, wants[i])
			ok = false
		}
	}
	for i, k := range probes {
		if errs[i] == nil {
			require.NoError(t, b.e.Unregister(x, k))
		}
	}
	b.e.WaitOptimizer(x)
	return ok
}
