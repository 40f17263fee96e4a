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
	"kpsim/smp/arch"
	"kpsim/smp/arch/x86"
	"kpsim/smp/kapi"
)

// The rows of rules/testdata are what two real kernels answered; the rules are
// compared with all of them in their own package. Here the engine registers the
// probes: one at every byte offset, and two near each other or at one address.

const oracleDir = "rules/testdata"

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

func oracleCodes(t testing.TB, kernel, set string) (codes []code, at map[string]arch.Addr) {
	at = make(map[string]arch.Addr)
	for _, r := range readOracle(t, kernel, set+"_bytes") {
		a, err := strconv.ParseUint(r[1], 16, 64)
		require.NoError(t, err)
		b, err := hex.DecodeString(r[3])
		require.NoError(t, err)
		codes = append(codes, code{name: r[0], at: arch.Addr(a), bytes: b})
		at[r[0]] = arch.Addr(a)
	}
	return codes, at
}

// A verdict is what is known of one probe.
type verdict struct {
	errno, delta, isize                 int
	opt, emul, aggr, off, armed, ftrace bool
	slot                                arch.Addr
	copied                              []byte // what stands there
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
	a.aggr, a.off, a.ftrace = r[6] == "1", r[7] == "1", r[2] == "1"
	a.armed = strings.HasPrefix(r[9], "cc") || strings.HasPrefix(r[9], "e9")
	if r[10] != "" {
		slot, err := strconv.ParseUint(r[10], 16, 64)
		require.NoError(t, err)
		a.slot = arch.Addr(slot)
	}
	var err error
	a.copied, err = hex.DecodeString(r[11])
	require.NoError(t, err)
	return a
}

// tell says what the engine has made of a probe that was asked for at addr.
func (b *bench) tell(x *smp.Ctx, k *Kprobe, addr arch.Addr, err error) (a verdict) {
	if err != nil {
		a.errno = -int(err.(Errno))
		return a
	}
	p := k.aggr
	a.opt, a.emul, a.isize, a.delta, a.slot = p.jumped, p.verdict.Emulated, p.verdict.Len, int(p.addr-addr), p.slot.Peek().at
	a.aggr, a.off = p.detour.size != 0 || len(p.probes.Peek().probes) > 1, b.e.FlagsOf(k)&FlagDisabled != 0
	a.ftrace = b.e.FlagsOf(k)&FlagFtrace != 0
	var now [1]byte
	b.k.Text.Read(x, p.addr, now[:])
	a.armed = now[0] == x86.Int3 || now[0] == jumpOpcode
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
	same := got.opt == want.opt && got.emul == want.emul && got.isize == want.isize &&
		got.aggr == want.aggr && got.ftrace == want.ftrace && got.off == want.off && got.armed == want.armed
	if got.slot == 0 {
		return same && (got.emul || got.ftrace)
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
	in, err := x86.Decode(copied, 0)
	if err != nil && bytes.HasPrefix(copied, []byte{0xc6}) { // of which the kernel takes every form for a mov
		in, err = x86.Decode(append([]byte{0xc6, copied[1] & 0xc7}, copied[2:]...), 0)
	}
	if err != nil {
		return 0
	}
	pos, _ := in.RIPRelative()
	return pos
}

// TestOracle registers the probes of every row, one row at a time, waits for
// the optimizer, and compares what became of them (spec 4.2, 4.4, 6.1, 6.2).
func TestOracle(t *testing.T) {
	for _, kernel := range []struct {
		name string
		k    rules.Kernel
	}{{"k61", rules.K61}, {"k612", rules.K612}} {
		for _, set := range []string{"hand", "modes"} {
			codes, at := oracleCodes(t, kernel.name, set)
			for _, kind := range []string{"pre", "post", "disabled", "near", "twosame", "twoprepost"} {
				rows := readOracle(t, kernel.name, set+"_"+kind)
				if rows == nil {
					continue
				}
				t.Run(kernel.name+"/"+set+"_"+kind, func(t *testing.T) {
					s := repaired
					s.Kernel = kernel.k
					agree, skipped := 0, 0
					b := bootBench(t, s, codes, func(b *bench) { declareFacts(b, kernel.name, codes) }, func(b *bench, x *smp.Ctx) {
						for i, r := range rows {
							if i%less != 0 {
								skipped++
								continue
							}
							if b.compareRow(t, x, kind, at[r[0]], r) {
								agree++
							}
						}
					})
					b.pass(t)
					t.Logf("%d rows, %d left out, %d agree", len(rows), skipped, agree)
					require.Equal(t, len(rows)-skipped, agree)
				})
			}
		}
	}
}

// compareRow registers the probe or the two probes of a row.
func (b *bench) compareRow(t testing.TB, x *smp.Ctx, kind string, f arch.Addr, r []string) bool {
	offset, err := strconv.Atoi(r[2])
	require.NoError(t, err)
	post := func(x kapi.Context, k *Kprobe, regs *arch.Regs, flags uint64) {}
	addr := f + arch.Addr(offset)
	probes := []*Kprobe{{Addr: addr}}
	asked := []arch.Addr{addr}
	wants := []verdict{parseVerdict(t, r[3:])}
	switch kind {
	case "post":
		probes[0].Post = post
	case "disabled":
		probes[0].Flags = FlagDisabled
	}
	if len(r) > 15 && r[16] != "" {
		d, err := strconv.Atoi(r[15])
		require.NoError(t, err)
		second := &Kprobe{ID: 1, Addr: addr + arch.Addr(d)}
		if kind == "twoprepost" {
			second.Post = post
		}
		probes, asked, wants = append(probes, second), append(asked, second.Addr), append(wants, parseVerdict(t, r[16:]))
	}
	errs := make([]error, len(probes))
	for i, k := range probes {
		errs[i] = b.e.Register(x, k)
	}
	b.e.Optimizer.WaitOptimizer(x)
	ok := true
	for i, k := range probes {
		got := b.tell(x, k, asked[i], errs[i])
		rip := 0
		if !b.settings.Kernel.Bits32 {
			rip = ripOf(wants[i].copied)
		}
		if !agrees(got, wants[i], rip) {
			t.Errorf("%s+%d, probe %d: got %+v, want %+v", r[0], offset, i, got, wants[i])
			ok = false
		}
	}
	for i, k := range probes {
		if errs[i] == nil {
			require.NoError(t, b.e.Unregister(x, k))
		}
	}
	b.e.Optimizer.WaitOptimizer(x)
	return ok
}
