package archtest

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// A Record has, by mnemonic, how many results there were, and a digest of them.
type Record map[string]*sum

type sum struct {
	number int
	digest uint64
}

// Add takes a result into a mnemonic's digest: registers, and a multiple of 8 bytes of memory.
func (r Record) Add(mnemonic string, memory []byte, registers ...uint64) {
	s := r.next(mnemonic)
	for _, v := range registers {
		s.mix(v)
	}
	for ; len(memory) > 0; memory = memory[8:] {
		s.mix(binary.LittleEndian.Uint64(memory))
	}
}

// AddText takes an instruction's text into a mnemonic's digest.
func (r Record) AddText(mnemonic, text string) {
	s := r.next(mnemonic)
	for _, c := range []byte(text) {
		s.digest = (s.digest ^ uint64(c)) * 0x100000001b3
	}
}

func (r Record) next(mnemonic string) *sum {
	s := r[mnemonic]
	if s == nil {
		s = new(sum)
		r[mnemonic] = s
	}
	s.number++
	return s
}

func (s *sum) mix(v uint64) {
	s.digest = (s.digest ^ v) * 0x100000001b3
	s.digest ^= s.digest >> 29
}

// Compare fails unless the record is the file's. If write is set it makes the file first, unless the test has
// failed.
func (r Record) Compare(t *testing.T, file string, write bool) {
	t.Helper()
	var b strings.Builder
	total := 0
	for _, name := range slices.Sorted(maps.Keys(r)) {
		fmt.Fprintf(&b, "%s %d %016x\n", name, r[name].number, r[name].digest)
		total += r[name].number
	}
	t.Logf("%d cases of %d mnemonics", total, len(r))
	if write && !t.Failed() {
		require.NoError(t, os.WriteFile(file, []byte(b.String()), 0o666))
	}
	want, err := os.ReadFile(file)
	require.NoError(t, err)
	was, now := strings.Split(string(want), "\n"), strings.Split(b.String(), "\n")
	for i := range max(len(was), len(now)) {
		if i >= len(was) || i >= len(now) || was[i] != now[i] {
			t.Fatalf("%s: line %d isn't what it was (%d lines, now %d)", file, i+1, len(was), len(now))
		}
	}
}

// Emulate runs a command on cases, and returns its results, one a case. Both are read and written as
// encoding/binary does, little-endian, the cases after their number.
func Emulate[Case, Result any](t *testing.T, command string, cases []Case) []Result {
	t.Helper()
	var in bytes.Buffer
	require.NoError(t, binary.Write(&in, binary.LittleEndian, uint64(len(cases))))
	require.NoError(t, binary.Write(&in, binary.LittleEndian, cases))
	args := strings.Fields(command)
	cmd := exec.Command(args[0], args[1:]...)
	cmd.Stdin, cmd.Stderr = &in, os.Stderr
	b, err := cmd.Output()
	require.NoError(t, err)
	results := make([]Result, len(cases))
	require.NoError(t, binary.Read(bytes.NewReader(b), binary.LittleEndian, results))
	return results
}
