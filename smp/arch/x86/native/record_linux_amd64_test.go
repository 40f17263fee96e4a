package native

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/require"

	"kpsim/smp/arch"
	"kpsim/smp/arch/x86"
)

// rerecord writes a file of rows, after every trial has ended on a processor as
// Exec ends it.
func rerecord(t *testing.T, mode x86.Mode, name string) {
	var list []row
	if mode == x86.Mode32 {
		r := newRunner32(t)
		list = rows(t, newPair(r.text, r), mode)
	} else {
		h, err := newHost()
		require.NoError(t, err)
		unlock := h.lock()
		list = rows(t, newPair(h.text, h), mode)
		unlock()
	}
	var b strings.Builder
	for _, r := range list {
		b.WriteString(r.String() + "\n")
	}
	require.NoError(t, os.WriteFile(name, []byte(b.String()), 0o644))
	t.Logf("%d rows written", len(list))
}

// TestRunner32 compares 32-bit code with a program built by gcc -m32.
func TestRunner32(t *testing.T) {
	r := newRunner32(t)
	h := newPair(r.text, r)
	trials := 0
	for _, f := range forms(x86.Mode32, recorded, map[string]int{}) {
		if f.variant() {
			continue
		}
		got := h.each(f, perEncoding, nil)
		trials += got.ran
		if len(got.diffs) > 0 {
			t.Error(got.diffs[0])
		}
	}
	t.Logf("%d trials", trials)
}

// A runner32 is testdata/runner32.c at work. It shares a file with us: the text,
// the three pages, and an area.
type runner32 struct {
	text          *[textSize]byte
	memory        [3]*[pageSize]byte
	area          *area32
	ask, answered *os.File
}

// An area32 is struct area of runner32.c.
type area32 struct {
	In      [8]uint32
	InFlags uint32
	Entry   uint32
	Out     [8]uint32
	Flags   uint32
	IP      uint32
	Trap    int32
	CR2     uint32
	Leave   uint32 // where code comes back to
	OutIPAt uint32 // the address of IP
}

func newRunner32(t *testing.T) *runner32 {
	dir := t.TempDir()
	program, shared := filepath.Join(dir, "runner32"), filepath.Join(dir, "shared")
	out, err := exec.Command("gcc", "-m32", "-O1", "-fno-pie", "-no-pie", "-o", program, "testdata/runner32.c").
		CombinedOutput()
	if err != nil {
		t.Skipf("no gcc -m32 here: %v\n%s", err, out)
	}
	const size = textSize + 4*pageSize
	require.NoError(t, os.WriteFile(shared, make([]byte, size), 0o700))
	f, err := os.OpenFile(shared, os.O_RDWR, 0)
	require.NoError(t, err)
	b, err := syscall.Mmap(int(f.Fd()), 0, size, syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_SHARED)
	require.NoError(t, err)
	f.Close()
	r := &runner32{text: (*[textSize]byte)(b)}
	for i := range r.memory {
		r.memory[i] = (*[pageSize]byte)(b[textSize+i*pageSize:])
	}
	r.area = (*area32)(unsafe.Pointer(&b[textSize+3*pageSize]))

	cmd := exec.Command(program, shared)
	childIn, ask, err := os.Pipe()
	require.NoError(t, err)
	answered, childOut, err := os.Pipe()
	require.NoError(t, err)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = childIn, childOut, os.Stderr
	require.NoError(t, cmd.Start())
	childIn.Close()
	childOut.Close()
	r.ask, r.answered = ask, answered
	t.Cleanup(func() {
		ask.Close()
		require.NoError(t, cmd.Wait())
		require.NoError(t, syscall.Munmap(b))
	})
	r.wait()
	return r
}

func (r *runner32) wait() {
	var b [1]byte
	if _, err := r.answered.Read(b[:]); err != nil {
		panic("runner32 died: " + err.Error())
	}
}

// pad implements rival.
func (r *runner32) pad(_ x86.Mode, a arch.Addr) []byte {
	b := le32(le32([]byte{0xc7, 0x05}, r.area.OutIPAt), uint32(a))
	b = append(b, 0xe9)
	return le32(b, r.area.Leave-uint32(a)-uint32(len(b))-4)
}

// pages implements rival.
func (r *runner32) pages() [3]*[pageSize]byte { return r.memory }

// run implements rival.
func (r *runner32) run(_ *program, s *arch.Regs) ending {
	a := r.area
	for i := range a.In {
		a.In[i] = uint32(s.R[i])
	}
	a.InFlags, a.Entry = uint32(s.Flags), uint32(s.IP)
	if _, err := r.ask.Write([]byte{0}); err != nil {
		panic(err)
	}
	r.wait()
	e := ending{s: arch.Regs{IP: arch.Addr(a.IP), Flags: uint64(a.Flags)}, trap: int(a.Trap), cr2: uint64(a.CR2),
		fs: fsBase32, gs: gsBase32}
	for i, v := range a.Out {
		e.s.R[i] = uint64(v)
	}
	return e
}
